"""Gesture rules, on hands bent by hand and on rendered hands' exact joints."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handbench.hand.gestures import RULES, UNKNOWN, extended, name_gestures, straightness
from handbench.synth.gestures import GESTURES, gesture_recipe
from handbench.synth.sample import annotate


def hand(*straight, thumb=True):
    """A flat right hand: a straight finger is 4 units long, a curled one returns to its knuckle."""
    joints = np.zeros((21, 3))
    for finger in range(5):
        base = np.array([finger - 2.0, -4.0, 0.0]) if finger else np.array([-2.0, -1.0, 0.0])
        out = straight[finger] if finger else thumb
        along = np.array([0.0, -1.0, 0.0]) if finger else np.array([-1.0, -0.3, 0.0])
        steps = (0, 1.6, 2.8, 4) if out else (0, 1.0, 0.6, 0.1)
        if not finger and not out:
            along, steps = np.array([0.8, -0.75, 0.3]), (0, 1.2, 2.4, 3.6)
        joints[1 + 4 * finger : 5 + 4 * finger] = base + np.outer(steps, along)
    return joints


@pytest.mark.parametrize(
    ("fingers", "thumb", "name"),
    [
        ((0, 1, 1, 1, 1), True, "stop"),
        ((0, 1, 1, 1, 1), False, "stop"),
        ((0, 0, 0, 0, 0), False, "fist"),
        ((0, 0, 0, 0, 1), True, "call"),
        ((0, 1, 0, 0, 0), False, "point"),
        ((0, 1, 1, 0, 0), False, UNKNOWN),
        ((0, 0, 0, 0, 1), False, UNKNOWN),
    ],
)
def test_rules_by_hand(fingers, thumb, name):
    joints = hand(*fingers, thumb=thumb)[None]
    assert extended(joints)[0].tolist() == [thumb, *map(bool, fingers[1:])]
    assert name_gestures(joints) == [name]


def test_thumb_up_and_down():
    up = hand(0, 0, 0, 0, 0) @ np.array([[0, 1, 0], [-1, 0, 0], [0, 0, 1.0]]).T
    down = up * [1, -1, 1]
    assert sorted(name_gestures(np.stack([up, down]))) == ["like", UNKNOWN]


def test_a_raised_index_finger_is_what_it_is_declared_to_be():
    joints = hand(0, 1, 0, 0, 0, thumb=False)[None]
    assert name_gestures(joints, upright_index="mute") == ["mute"]
    sideways = joints[..., [1, 0, 2]]
    assert name_gestures(sideways, upright_index="mute") == ["point"]


def test_no_two_rules_hold_of_one_hand():
    hands = [[bool(number >> place & 1) for place in range(5)] for number in range(32)]
    for fingers in hands:
        held = [
            name
            for name, rule in RULES.items()
            if all(wanted in (None, out) for wanted, out in zip(rule, fingers, strict=True))
        ]
        assert len(held) <= 1


@given(st.floats(0.01, 100), st.tuples(st.floats(-5, 5), st.floats(-5, 5), st.floats(-5, 5)))
def test_size_and_place_do_not_matter(size, place):
    joints = np.stack([hand(0, 1, 1, 1, 1), hand(0, 0, 0, 0, 1)])
    assert name_gestures(joints * size + np.array(place)) == ["stop", "call"]


def test_missing_joints_are_unknown():
    joints = hand(0, 1, 1, 1, 1)[None]
    joints[0, 12] = np.nan
    assert name_gestures(joints) == [UNKNOWN]
    assert name_gestures(np.zeros((1, 21, 3))) == [UNKNOWN] or np.isnan(straightness(np.zeros((1, 21, 3)))).all()


@pytest.mark.parametrize("gesture", GESTURES)
def test_exact_joints_of_rendered_gestures(gesture):
    """Other seeds than those that the thresholds were set on."""
    joints = np.stack([annotate(gesture_recipe(gesture, 900, index, 64).hand).joints_cam for index in range(12)])
    named = name_gestures(joints, upright_index="mute")
    assert sum(name == gesture for name in named) >= 11, named
