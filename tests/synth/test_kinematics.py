from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from handbench.hand.skeleton import BONES
from handbench.synth.kinematics import ANGLE_INDEX, ANGLES, LIMITS, angle_array, measure, pose, skin
from handbench.synth.mesh import rest_hand, template
from handbench.synth.poses import NAMED

SHAPES = ({}, {"male": 1.0, "old": 0.5}, {"child": 1.0}, {"finger_length_incr": 0.5, "max_weight": 0.6})


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(SHAPES))
def test_any_commanded_angles_are_measured_in_the_joints(seed, shape):
    generator = np.random.default_rng(seed)
    commanded = generator.uniform(*LIMITS.T)
    commanded[ANGLE_INDEX["thumb_mcp"]] = abs(commanded[ANGLE_INDEX["thumb_mcp"]]) + 1  # else there is no twist to see
    posed = pose(rest_hand(shape), commanded)
    # Any place and orientation will do.
    turn, shift = Rotation.random(rng=generator).as_matrix(), generator.normal(size=3)
    np.testing.assert_allclose(measure(posed.joints @ turn.T + shift), commanded, atol=1e-5)


def test_bends_are_the_angles_between_bones():
    """The measure that needs no frame: the angle between neighbouring bones is the commanded bend."""
    hand = rest_hand({})
    for named in NAMED.values():
        joints = pose(hand, np.array(named.angles)).joints
        for finger, head in zip(("index", "middle", "ring", "little"), (5, 9, 13, 17), strict=True):
            bones = np.diff(joints[head : head + 4], axis=0)
            bones /= np.linalg.norm(bones, axis=1, keepdims=True)
            found = np.degrees(np.arccos(np.clip((bones[:-1] * bones[1:]).sum(axis=1), -1, 1)))
            wanted = [named.angles[ANGLE_INDEX[f"{finger}_{joint}"]] for joint in ("pip", "dip")]
            np.testing.assert_allclose(found, np.abs(wanted), atol=1e-5)


def test_a_straight_thumb_has_no_twist_to_measure():
    angles = angle_array({"thumb_palmar": 20, "thumb_radial": 30, "thumb_twist": -60})
    measured = measure(pose(rest_hand({}), angles).joints)
    assert np.isnan(measured[ANGLE_INDEX["thumb_twist"]])
    assert measured[ANGLE_INDEX["thumb_radial"]] == pytest.approx(30)


def test_hand_worked_directions():
    hand = rest_hand({})
    joints = pose(hand, angle_array({"index_mcp": 90, "middle_spread": 10, "wrist_flexion": 30})).joints
    index, middle = joints[6] - joints[5], joints[10] - joints[9]
    np.testing.assert_allclose(index / np.linalg.norm(index), [0, 0, 1], atol=1e-12)
    assert middle[0] > 0  # toward the thumb
    # A hand bent to the palm has its forearm, seen from the hand, on the palm's side.
    assert joints[21, 2] > 0
    assert joints[21, 1] < 0


def test_a_batch_is_its_members():
    hand = rest_hand({})
    batch = np.array([NAMED[name].angles for name in ("fist", "ok", "rock")])
    together = pose(hand, batch)
    for row, angles in enumerate(batch):
        np.testing.assert_array_equal(together.joints[row], pose(hand, angles).joints)


def test_bones_carry_their_skin_rigidly():
    hand = rest_hand({"male": 0.7})
    posed = pose(hand, np.array(NAMED["grasp"].angles))
    vertices = skin(hand, posed)
    for head in (2, 3, 5, 7, 11, 13, 15, 17, 19, 21):
        mine = np.flatnonzero(template().weights[:, head] > 0.999)
        assert len(mine) > 3
        before = np.linalg.norm(hand.vertices[mine] - hand.joints[head], axis=1)
        after = np.linalg.norm(vertices[mine] - posed.joints[head], axis=1)
        np.testing.assert_allclose(after, before, atol=2e-4)


@pytest.mark.parametrize("name", sorted(NAMED))
def test_no_vertex_flies_off(name):
    hand = rest_hand({})
    bent = list(NAMED[name].angles)
    for flexion in (-45.0, 45.0):
        bent[ANGLE_INDEX["wrist_flexion"]] = flexion
        posed = pose(hand, np.array(bent))
        vertices = skin(hand, posed)
        edges = template().faces[:, [0, 1]].T
        before = np.linalg.norm(np.subtract(*hand.vertices[edges]), axis=1)
        after = np.linalg.norm(np.subtract(*vertices[edges]), axis=1)
        assert (after - before).max() < 0.022
        nearest = np.linalg.norm(vertices[:, None] - posed.joints[None], axis=2).min(axis=1)
        assert nearest[template().on_hand].max() < 0.075


def test_bones_keep_their_length_in_every_shape():
    for shape in SHAPES:
        hand = rest_hand(shape)
        rest = [np.linalg.norm(hand.joints[a] - hand.joints[b]) for a, b in BONES]
        for named in NAMED.values():
            joints = pose(hand, np.array(named.angles)).joints
            np.testing.assert_allclose([np.linalg.norm(joints[a] - joints[b]) for a, b in BONES], rest, atol=1e-10)


def test_an_unknown_angle_is_refused():
    with pytest.raises(KeyError, match="elbow_flexion"):
        angle_array({"elbow_flexion": 3.0})
    assert len(ANGLES) == len(LIMITS) == 23
