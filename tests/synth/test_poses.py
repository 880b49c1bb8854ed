from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from handbench.synth import poses
from handbench.synth.contact import PADS, gap, penetration, segment_distance, touch
from handbench.synth.kinematics import ANGLES, LIMITS, pose, skin
from handbench.synth.mesh import DIGITS, RestHand, rest_hand, template
from handbench.synth.sample import recipe

FINGERS = {"index": 5, "middle": 9, "ring": 13, "little": 17}
SHAPES = ({}, {"male": 1.0, "max_muscle": 0.5}, {"finger_length_incr": 0.35}, {"min_weight": 0.5, "old": 0.6})


def straightness(joints: np.ndarray, head: int) -> float:
    """Distance from the base of a digit to its tip over the length of its bones: 1 if straight."""
    chain = joints[head : head + 4]
    return float(np.linalg.norm(chain[3] - chain[0]) / np.linalg.norm(np.diff(chain, axis=0), axis=1).sum())


def drawn(name: str, shape: dict[str, float], seed: int) -> tuple[RestHand, np.ndarray, np.ndarray]:
    hand = rest_hand(shape)
    angles = poses.draw_named(np.random.default_rng(seed), hand, name)
    return hand, angles, pose(hand, angles).joints


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("name", "straight", "curled"),
    [
        ("open_palm", "index middle ring little", ""),
        ("stop", "index middle ring little", ""),
        ("fist", "", "index middle ring little"),
        ("point", "index", "middle ring little"),
        ("mute", "index", "middle ring little"),
        ("like", "", "index middle ring little"),
        ("dislike", "", "index middle ring little"),
        ("victory", "index middle", "ring little"),
        ("two_up", "index middle", "ring little"),
        ("three", "index middle ring", "little"),
        ("three2", "index middle", "ring little"),
        ("four", "index middle ring little", ""),
        ("ok", "middle ring little", ""),
        ("call", "little", "index middle ring"),
        ("rock", "index little", "middle ring"),
    ],
)
def test_gestures_hold_the_fingers_that_they_say(name, straight, curled, shape):
    joints = drawn(name, shape, 3)[2]
    for finger in straight.split():
        assert straightness(joints, FINGERS[finger]) > 0.95, finger
    for finger in curled.split():
        assert straightness(joints, FINGERS[finger]) < 0.6, finger
        # The tip comes back to the palm.
        assert np.linalg.norm(joints[FINGERS[finger] + 3] - joints[[0, 5, 9, 13, 17]].mean(axis=0)) < 0.075


@pytest.mark.parametrize("seed", range(4))
def test_what_tells_neighbouring_gestures_apart(seed):
    stop, open_palm = drawn("stop", {}, seed)[2], drawn("open_palm", {}, seed)[2]
    width = [np.linalg.norm(j[8] - j[20]) for j in (stop, open_palm)]
    assert width[0] < 0.75 * width[1]
    for name in ("like", "call", "three2", "open_palm"):  # a thumb that sticks out
        joints = drawn(name, {}, seed)[2]
        assert straightness(joints, 1) > 0.95
        assert np.linalg.norm(joints[4] - joints[5]) > 0.05
    for name in ("fist", "point", "victory", "three", "rock", "four"):  # one that lies across the hand
        joints = drawn(name, {}, seed)[2]
        assert joints[4, 0] < joints[5, 0]
    spread = [np.linalg.norm(np.subtract(*drawn(name, {}, seed)[2][[8, 12]])) for name in ("victory", "two_up")]
    assert spread[0] > 1.6 * spread[1]


@pytest.mark.parametrize("name", ["ok", "pinch"])
@pytest.mark.parametrize("shape", SHAPES)
def test_pads_touch_skin_to_skin(name, shape):
    hand, angles, joints = drawn(name, shape, 5)
    assert gap(hand, angles, PADS["thumb"], PADS["index"]) < 0.0005
    assert np.linalg.norm(joints[4] - joints[8]) < 0.018  # two half fingertips
    vertices = skin(hand, pose(hand, angles))
    thumb, index = (vertices[template().weights[:, bone] > 0.6] for bone in (3, 7))
    assert np.linalg.norm(thumb[:, None] - index[None], axis=2).min() < 0.004


def test_held_fingers_are_held():
    for index in range(40):
        for name in ("fist", "point", "victory", "three", "rock"):
            if index % 5:
                continue
            made = recipe(6, index, pose=name)
            assert gap(rest_hand(dict(made.shape)), np.array(made.angles), *poses.NAMED[name].contact) < 0.006


def test_touch_stays_within_the_limits_and_changes_only_what_is_free():
    hand = rest_hand({})
    start = np.array(poses.NAMED["relaxed"].angles)
    free = (*ANGLES[:5], "little_mcp", "little_pip")
    solved = touch(hand, start, PADS["thumb"], PADS["little"], free)
    assert (solved >= LIMITS[:, 0]).all()
    assert (solved <= LIMITS[:, 1]).all()
    changed = {name for name, a, b in zip(ANGLES, start, solved, strict=True) if a != b}
    assert changed == set(free)
    assert gap(hand, solved, PADS["thumb"], PADS["little"]) < 0.2 * gap(hand, start, PADS["thumb"], PADS["little"])


def test_segment_distance_agrees_with_a_minimiser():
    generator = np.random.default_rng(0)
    for _ in range(40):
        a, b, c, d = generator.normal(size=(4, 3))

        def square(s: np.ndarray, ends: tuple[np.ndarray, ...] = (a, b, c, d)) -> float:
            one, two, three, four = ends
            return float(((one + s[0] * (two - one) - three - s[1] * (four - three)) ** 2).sum())

        best = min(minimize(square, start, bounds=[(0, 1)] * 2).fun for start in ([0.1, 0.9], [0.9, 0.1], [0.5, 0.5]))
        assert float(segment_distance(a, b, c, d)) == pytest.approx(np.sqrt(best), abs=1e-4)


def test_segments_that_are_parallel_or_cross():
    zero, x, y = np.zeros(3), np.array([1.0, 0, 0]), np.array([0, 1.0, 0])
    assert float(segment_distance(zero, x, y, x + y)) == pytest.approx(1)
    assert float(segment_distance(-x, x, -y, y)) == pytest.approx(0)
    assert float(segment_distance(zero, x, 3 * x, 4 * x)) == pytest.approx(2)


def skin_depth(hand: RestHand, angles: np.ndarray) -> float:
    """How near the skin of a digit's outer bones comes to the middle of another digit's bones, in their radii."""
    posed = pose(hand, angles)
    vertices, weights = skin(hand, posed), template().weights
    nearest = np.inf
    for digit, head in enumerate(DIGITS):
        mine = vertices[(weights[:, head + 1] > 0.9) | (weights[:, head + 2] > 0.9)][:, None]
        others = np.array([h + s for k, h in enumerate(DIGITS) for s in (1, 2) if k != digit])
        start, end = posed.joints[others], posed.joints[others + 1]
        along = np.clip(((mine - start) * (end - start)).sum(axis=2) / ((end - start) ** 2).sum(axis=1), 0, 1)
        distance = np.linalg.norm(mine - start - along[:, :, None] * (end - start), axis=2)
        nearest = min(nearest, float((distance / hand.radii[others]).min()))
    return nearest


def test_the_skin_of_random_hands_does_not_run_into_itself():
    generator = np.random.default_rng(7)
    hands = [rest_hand(shape) for shape in SHAPES]
    for number in range(500):
        hand = hands[number % len(hands)]
        angles = poses.draw_random(generator, hand)
        assert (angles >= LIMITS[:, 0]).all()
        assert (angles <= LIMITS[:, 1]).all()
        assert float(penetration(hand, pose(hand, angles))) <= 0
        if number % 5 == 0:
            assert skin_depth(hand, angles) > 0.25


def test_the_test_of_the_skin_finds_a_hand_that_does():
    angles = np.array(poses.NAMED["open_palm"].angles)
    angles[[6, 10]] = -18, 14  # index and middle finger crossed in one plane
    assert skin_depth(rest_hand({}), angles) < 0.25
    assert float(penetration(rest_hand({}), pose(rest_hand({}), angles))) > 0.002


def test_half_of_the_hands_are_named_and_every_name_comes():
    names = [recipe(12, index).pose for index in range(300)]
    assert 0.4 < names.count("random") / 300 < 0.6
    assert set(names) == set(poses.POSE_NAMES)
