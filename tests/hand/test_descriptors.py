from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from handbench.hand.camera import project
from handbench.hand.descriptors import PAPER, UNDEFINED, categorise, describe, margins
from handbench.hand.geometry import Scale, bend_angles, center_and_extent, normalise
from handbench.hand.skeleton import ANGLE_JOINTS, BONES, JOINT_PAIRS, JOINTS, ORDERS


def hand(seed: int = 0, count: int = 1) -> np.ndarray:
    joints = np.random.default_rng(seed).normal(0, 0.04, (count, 21, 3))
    joints[..., 2] += 0.6
    return joints


@pytest.mark.parametrize("mode", ["paper", "released"])
@pytest.mark.parametrize("name", ["freihand", "fpha"])
def test_golden_parity(shared, name, mode):
    folder = shared / "golden/handvqa/released_mode"
    given_, expected = (np.load(folder / f"{name}_like_{part}.npz") for part in ("inputs", "expected"))
    joints = given_["joints_m"] if name == "freihand" else given_["joints_cam_mm"]
    cloud = given_["vertices_m"] if name == "freihand" else joints
    values = describe(joints, *center_and_extent(cloud), Scale(mode))
    wanted = expected[f"values_{mode}"]
    assert (categorise(values) == expected[f"categories_{mode}"]).all()
    # The released code works in float32, where arccos is off by hundredths of a degree near 180.
    near_straight = wanted[:, :15] > 179
    error = np.abs(values - wanted)
    assert error[:, :15][near_straight].max(initial=0) < 0.1
    assert error[:, :15][~near_straight].max() < 1e-3
    assert error[:, 15:].max() < 2e-6


def test_columns_are_those_of_the_golden_files(shared):
    folder = shared / "golden/handvqa"
    table = json.loads((folder / "reference_results.json").read_text())["table_5"]
    angles = [(row["name"].lower().replace("-", "_")) for row in table["angles"]]
    assert list(ANGLE_JOINTS) == angles
    assert len(JOINT_PAIRS) == 23
    assert len(PAPER.items) == 107


def test_angle_by_hand():
    joints = np.zeros((1, 21, 3))
    joints[0, 5], joints[0, 6], joints[0, 7] = [0, 0, 0], [1, 0, 0], [1, 1, 0]
    angle = bend_angles(joints, np.array([[5, 6, 7]]))
    assert angle[0, 0] == pytest.approx(90)


def test_offsets_by_hand():
    # Thumb tip 0.2 to the left of, 0.3 below and 0.1 nearer than the index tip, in a hand of size 1.
    joints = np.zeros((1, 21, 3))
    joints[0, 4] = [-0.2, 0.3, -0.1]  # camera axes: y down, z away
    center, extent = np.zeros((1, 3)), np.array([[1.0, 0.8, 0.5]])
    values = describe(joints, center, extent)[0]
    column = PAPER.items.index((2, "thumb_tip", "index_tip"))
    pairs = len(PAPER.pairs)
    assert values[[column, column + pairs, column + 2 * pairs]] == pytest.approx([-0.2, -0.3, 0.1])
    names = [
        PAPER.descriptors[index].labels[categorise(values[None])[0, at]]
        for index, at in ((2, column), (3, column + pairs), (4, column + 2 * pairs))
    ]
    assert names == ["at the left of", "below", "aligned"]


@pytest.mark.parametrize(
    ("value", "label"),
    [
        (104.999, "bent completely inward"),
        (105, "bent inward"),
        (150, "bent slightly inward"),
        (170, "straight"),
    ],
)
def test_intervals_are_half_open(value, label):
    values = np.full((1, 107), np.nan)
    values[0, 0] = value
    assert PAPER.descriptors[0].labels[categorise(values)[0, 0]] == label


@given(st.integers(0, 10_000), st.floats(0.2, 5), st.floats(-1, 1))
def test_paper_scale_ignores_size_and_place(seed, size, shift):
    joints = hand(seed)
    center, extent = center_and_extent(joints)
    moved = joints * size + shift
    first = describe(joints, center, extent)
    second = describe(moved, *center_and_extent(moved))
    np.testing.assert_allclose(first, second, atol=1e-9)


@given(st.integers(0, 10_000))
def test_angles_do_not_turn_with_the_hand(seed):
    joints = hand(seed)
    turn = Rotation.random(random_state=seed).as_matrix()
    turned = joints @ turn.T
    first = describe(joints, *center_and_extent(joints))
    second = describe(turned, *center_and_extent(turned))
    np.testing.assert_allclose(first[:, :15], second[:, :15], atol=1e-6)


@given(st.integers(0, 10_000))
def test_mirroring_flips_x_alone(seed):
    joints = hand(seed)
    mirrored = joints * [-1, 1, 1]
    first = describe(joints, *center_and_extent(joints))
    second = describe(mirrored, *center_and_extent(mirrored))
    sign = np.ones(107)
    sign[PAPER.columns(2)] = -1
    np.testing.assert_allclose(first * sign, second, atol=1e-9)


def test_the_normalised_hand_has_size_one():
    joints = hand(3, 50)
    for scale, axis in ((Scale.PAPER, None), (Scale.RELEASED, 0)):
        cloud = normalise(joints, *center_and_extent(joints), scale)
        extent = np.ptp(cloud, axis=1)
        size = extent.max(axis=1) if axis is None else extent[:, axis]
        np.testing.assert_allclose(size, 1)


def test_a_missing_joint_leaves_the_rest_defined():
    joints = hand(5)
    joints[0, 8] = np.nan
    center, extent = np.zeros((1, 3)), np.ones((1, 3))
    categories = categorise(describe(joints, center, extent))[0]
    touched = [
        "index_tip" in (a, b) or (index == 0 and a == "index_dip") for index, a, b in PAPER.items
    ]  # the tip ends the triple at the DIP
    assert ((categories == UNDEFINED) == touched).all()


def test_a_zero_bone_has_no_angle_and_no_extent_no_scale():
    joints = hand(6)
    joints[0, 7] = joints[0, 6]
    values = describe(joints, np.zeros((1, 3)), np.zeros((1, 3)))
    assert np.isnan(values[0, PAPER.items.index((0, "index_pip", None))])
    assert np.isnan(values[0, 15:]).all()


def test_margins():
    values = np.full((1, 107), np.nan)
    values[0, 0], values[0, 15], values[0, 38] = 152.0, 0.28, -0.5
    found = margins(values)
    assert found[0, [0, 15, 38]] == pytest.approx([2.0, 0.02, 0.35])


def test_orders_are_permutations():
    for order in ORDERS.values():
        assert len(order) == 21
        assert len(set(order)) == 21
    assert len(JOINTS) == 21
    assert len(BONES) == 20


def test_projection_by_hand():
    points = np.array([[[0.1, -0.2, 2.0], [0, 0, -1]]])
    camera = np.array([[100, 0, 50], [0, 200, 60], [0, 0, 1.0]])
    pixels = project(points, camera)
    assert pixels[0, 0] == pytest.approx([55, 40])
    assert np.isnan(pixels[0, 1]).all()
