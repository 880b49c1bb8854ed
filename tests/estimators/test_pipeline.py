from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from handbench.errors import HandbenchError
from handbench.estimators._hand import Hand, side_from_probability
from handbench.estimators._pipeline import HandPipeline, add_distinct, same_hand
from handbench.estimators._region import Region

IMAGE = np.zeros((100, 100, 3), np.uint8)
SHAPE = np.random.default_rng(5).uniform(0, 1, (21, 2))
SHAPE[:2] = [[0, 0], [1, 1]]  # so that the box of the unit shape is the unit square


def hand(x: float = 0.0, score: float = 0.9, size: float = 50.0, shape: np.ndarray = SHAPE) -> Hand:
    """A hand of fixed shape whose box starts at (x, 0)."""
    keypoints = shape * size + [x, 0.0]
    region = Region((x + size / 2, size / 2), size)
    return Hand("left", 0.9, score, keypoints, np.full(21, score), None, None, region)


def pipeline(hands: Sequence[Hand], max_hands: int = 2, threshold: float = 0.5) -> tuple[HandPipeline, list[Hand]]:
    """A pipeline that finds these hands' regions and reads the hand of each, and the list of those read."""
    by_region = {each.region: each for each in hands}
    seen: list[Hand] = []

    def read(image: np.ndarray, region: Region) -> Hand:
        seen.append(by_region[region])
        return by_region[region]

    return HandPipeline(lambda image: list(by_region), read, max_hands, threshold), seen


def test_a_shift_below_a_fifth_of_the_hand_is_the_same_hand() -> None:
    assert same_hand(hand(0), hand(9.9))
    assert not same_hand(hand(0), hand(10.1))


def test_a_close_small_hand_is_measured_by_its_own_size() -> None:
    small = hand(4, size=30)
    assert not same_hand(small, hand(0, size=50))


def test_one_hand_read_as_left_and_as_right_is_one_hand() -> None:
    mirrored = SHAPE * [-1, 1] + [1, 0]
    assert np.linalg.norm(mirrored - SHAPE, axis=1).mean() > 0.2
    assert same_hand(hand(0), hand(0, shape=mirrored))
    # Moved by 6 of 50: IoU is 44 / 56, below 0.8.
    assert not same_hand(hand(0), hand(6, shape=mirrored))


def test_of_two_readings_of_one_hand_the_surer_one_stays_in_its_place() -> None:
    first, other, better, worse = hand(0, 0.7), hand(200, 0.6), hand(2, 0.8), hand(1, 0.65)
    assert add_distinct([first, other], better) == [better, other]
    assert add_distinct([first, other], worse) == [first, other]


def test_a_reading_between_two_hands_leaves_one() -> None:
    assert [each.score for each in add_distinct([hand(0, 0.7), hand(16, 0.9)], hand(8, 0.8))] == [0.9]


def test_duplicates_do_not_use_up_the_number_of_hands() -> None:
    hands = [hand(0, 0.8), hand(1, 0.9), hand(200, 0.7)]
    find_two, seen = pipeline(hands)
    assert [each.score for each in find_two(IMAGE)] == [0.9, 0.7]
    assert len(seen) == 3


def test_reading_stops_when_there_are_enough_hands() -> None:
    find_one, seen = pipeline([hand(0, 0.8), hand(200, 0.9)], max_hands=1)
    assert [each.score for each in find_one(IMAGE)] == [0.8]
    assert len(seen) == 1


def test_a_hand_must_be_above_the_threshold() -> None:
    find, _ = pipeline([hand(0, 0.6), hand(200, 0.61)], threshold=0.6)
    assert [each.score for each in find(IMAGE)] == [0.61]


def test_no_region_no_hand() -> None:
    find, _ = pipeline([])
    assert find(IMAGE) == []


@pytest.mark.parametrize(
    "image",
    [
        np.zeros((10, 10), np.uint8),
        np.zeros((10, 10, 4), np.uint8),
        np.zeros((10, 10, 3)),
        np.zeros((0, 10, 3), np.uint8),
    ],
)
def test_other_images_are_refused(image: np.ndarray) -> None:
    find, _ = pipeline([])
    with pytest.raises(HandbenchError, match="RGB array"):
        find(image)


def test_bad_settings_are_refused() -> None:
    with pytest.raises(HandbenchError, match="max_hands must be at least 1, found 0"):
        pipeline([], max_hands=0)
    with pytest.raises(HandbenchError, match=r"presence_threshold must lie between 0 and 1, found 1\.5"):
        pipeline([], threshold=1.5)


def test_side_and_its_probability() -> None:
    assert side_from_probability(0.75) == ("right", 0.75)
    assert side_from_probability(0.25) == ("left", 0.75)
    assert side_from_probability(0.5) == ("left", 0.5)
