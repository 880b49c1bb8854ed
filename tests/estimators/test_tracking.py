from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handbench.estimators._hand import Hand
from handbench.estimators._pipeline import HandPipeline
from handbench.estimators._region import Region
from handbench.estimators._tracking import BlazeTracker, next_region

FRAME = np.zeros((200, 200, 3), np.uint8)

# A hand that points up, wrist at the origin: palm 10 wide and 8 long to the MCPs, PIPs at 12, tips far off.
UP = np.zeros((21, 2))
UP[1:5] = [[-4, -2], [-5, -4], [-6, -6], [-90, -6]]
for first, column in ((5, -3), (9, 0), (13, 3), (17, 4)):
    UP[first : first + 4] = [[column, -8], [column, -12], [column, -50], [column, -90]]


def test_next_region_worked_by_hand() -> None:
    # Of the steady joints x spans -6 to 4 and y -12 to 0: the square is 2 × 12 wide and 0.1 × 12 higher.
    region = next_region(UP)
    np.testing.assert_allclose(region.center, (-1, -6 - 1.2))
    assert region.side == pytest.approx(24)
    assert region.angle == pytest.approx(0)


@given(st.floats(-3, 3), st.floats(0.5, 5), st.floats(-100, 100))
def test_next_region_turns_grows_and_moves_with_the_hand(turn: float, scale: float, move: float) -> None:
    rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    upright, region = next_region(UP), next_region(scale * UP @ rotation.T + [move, 2 * move])
    np.testing.assert_allclose(region.side, scale * upright.side)
    np.testing.assert_allclose(region.angle, turn, atol=1e-9)
    np.testing.assert_allclose(region.center, scale * rotation @ upright.center + [move, 2 * move], atol=1e-7)


class Scene:
    """Hands at known places, found by a palm detector and read from any region that holds one's wrist."""

    def __init__(self, wrists: Sequence[tuple[float, float]]) -> None:
        self.wrists = list(wrists)
        self.detections = 0
        self.reads = 0

    def find(self, image: np.ndarray) -> list[Region]:
        self.detections += 1
        return [next_region(UP + wrist) for wrist in self.wrists]

    def read(self, image: np.ndarray, region: Region) -> Hand:
        self.reads += 1
        for wrist in self.wrists:
            if (np.abs(region.to_region(wrist) - 0.5) < 0.5).all():
                return Hand("left", 1, 0.9, UP + wrist, np.full(21, 0.9), None, None, region)
        return Hand("left", 1, 0.1, UP, np.full(21, 0.1), None, None, region)


def test_the_detector_rests_while_all_hands_are_followed() -> None:
    scene = Scene([(50, 50), (150, 150)])
    track = BlazeTracker(HandPipeline(scene.find, scene.read, 2, 0.5))
    for step in range(5):
        scene.wrists = [(50 + step, 50), (150, 150 + step)]
        found = [tuple(hand.keypoints_px[0]) for hand in track(FRAME)]
        assert found == scene.wrists
    assert scene.detections == 1
    assert scene.reads == 10


def test_a_lost_hand_wakes_the_detector_and_a_followed_one_is_read_once() -> None:
    scene = Scene([(50, 50), (150, 150)])
    track = BlazeTracker(HandPipeline(scene.find, scene.read, 2, 0.5))
    track(FRAME)
    scene.wrists = [(51, 50), (50, 150)]  # the second hand jumped
    scene.reads = 0
    assert [tuple(hand.keypoints_px[0]) for hand in track(FRAME)] == [(51, 50), (50, 150)]
    assert scene.detections == 2
    assert scene.reads == 3  # followed, lost, found again


def test_no_hand_is_made_up_when_it_leaves() -> None:
    scene = Scene([(50, 50)])
    track = BlazeTracker(HandPipeline(scene.find, scene.read, 1, 0.5))
    track(FRAME)
    scene.wrists = []
    assert track(FRAME) == []
    assert track(FRAME) == []
    assert scene.detections == 3


def test_reset_starts_with_the_detector() -> None:
    scene = Scene([(50, 50)])
    track = BlazeTracker(HandPipeline(scene.find, scene.read, 1, 0.5))
    track(FRAME)
    track.reset()
    track(FRAME)
    assert scene.detections == 2
