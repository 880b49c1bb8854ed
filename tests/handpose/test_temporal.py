from __future__ import annotations

import numpy as np
import pytest

from handbench.tasks.handpose.protocol import JerkUnit
from handbench.tasks.handpose.temporal import (
    gap_measures,
    gaps_between_appearances,
    jerk_third_difference,
    motion_energy_hand_sizes,
    sums_by_video,
    track_of_side,
)
from tests.handpose.makers import SHAPE, frames, hands

SIZE = 92.0


def _moving(offsets, number=None, seconds=None):
    offsets = np.asarray(offsets, float)
    count = len(offsets)
    points = SHAPE + np.stack([offsets, np.zeros(count)], axis=1)[:, None, :]
    return track_of_side(hands(np.arange(count), points=points), frames([0] * count, number, seconds), 1)


def test_jerk_of_a_cubic_by_hand():
    """x = t³: the third difference is 3! = 6 at every t; a parabola's is 0."""
    time = np.arange(7.0)
    start, jerk = jerk_third_difference(_moving(time**3), JerkUnit.PX)
    assert start.tolist() == [0, 1, 2, 3]
    assert jerk == pytest.approx(6)
    assert jerk_third_difference(_moving(5 * time**2 + time), JerkUnit.PX)[1] == pytest.approx(0)


def test_jerk_in_each_unit():
    """The hand is 92 px large: 6 px per frame³ are 6/92 hand sizes, 600/92 %, and at 10 frames/s 1000 · 6/92 per s³."""
    track = _moving(np.arange(5.0) ** 3, seconds=np.arange(5) / 10)
    values = {unit: float(jerk_third_difference(track, unit)[1].mean()) for unit in JerkUnit}
    assert values == pytest.approx({"px": 6, "hand": 6 / SIZE, "hand_pct": 600 / SIZE, "per_second": 6000 / SIZE})
    assert np.isnan(jerk_third_difference(_moving(np.arange(5.0)), JerkUnit.PER_SECOND)[1]).all()


def test_white_noise_comes_out_enlarged_by_the_root_of_20():
    rng = np.random.default_rng(1)
    count, sigma = 4000, 0.7
    points = SHAPE + rng.normal(0, sigma, (count, 21, 2))
    track = track_of_side(hands(np.arange(count), points=points), frames([0] * count), 1)
    _, jerk = jerk_third_difference(track, JerkUnit.PX)
    # The norm of two independent normal numbers of deviation s has the mean s √(π/2).
    assert jerk.mean() == pytest.approx(sigma * np.sqrt(20) * np.sqrt(np.pi / 2), rel=0.01)
    assert np.sqrt((jerk**2).mean() / 2) == pytest.approx(sigma * np.sqrt(20), rel=0.01)


def test_jerk_never_bridges_a_gap_or_two_videos():
    """Frames 0-3 and 5-7: one window; the next video's three frames: none."""
    number = [0, 1, 2, 3, 5, 6, 7, 0, 1, 2]
    video = [0] * 7 + [1] * 3
    track = track_of_side(hands(np.arange(10)), frames(video, number), 1)
    assert jerk_third_difference(track, JerkUnit.PX)[0].tolist() == [0]
    assert motion_energy_hand_sizes(track)[0].tolist() == [0, 1, 2, 4, 5, 7, 8]


@pytest.mark.parametrize("count", [0, 1, 3])
def test_too_few_frames_for_jerk(count):
    track = track_of_side(hands(np.arange(count)), frames([0] * count), 1)
    assert jerk_third_difference(track, JerkUnit.HAND)[1].shape == (0, 21)


def test_motion_energy_by_hand():
    """A step of 9.2 px is a tenth of the hand: energy 0.01."""
    _, energy = motion_energy_hand_sizes(_moving([0, 9.2, 18.4]))
    assert energy == pytest.approx(0.01)


def test_a_track_keeps_the_surest_hand_of_its_side():
    predicted = hands([0, 0, 0, 1], side=[1, 1, 0, 0], score=[0.9, 0.5, 0.8, 0.7])
    track = track_of_side(predicted, frames([0, 0]), 1)
    assert track.frame.tolist() == [0]
    assert track.duplicates == 1


def test_gaps_by_hand():
    """Present at 1, 2, 5, 6, 10 of 12 frames: span 10, gaps of 2 and 3 frames; before and after does not count."""
    present = [1, 2, 5, 6, 10]
    grid = frames([0] * 12 + [1] * 3)
    gaps = gaps_between_appearances(track_of_side(hands(present), grid, 1), grid)
    assert gaps.length.tolist() == [2, 3]
    assert gaps.span.tolist() == [10, 0]
    assert gap_measures(gaps) == pytest.approx(
        {
            "missing_frame_rate": 0.5,
            "gaps_per_1000": 200,
            "gap_mean": 2.5,
            "gap_median": 2.5,
            "gap_longest": 3,
            "gap_short_share": 1,
        }
    )


def test_no_gap_to_tell_of():
    grid = frames([0] * 4)
    never = gap_measures(gaps_between_appearances(track_of_side(hands([]), grid, 1), grid))
    assert all(np.isnan(value) for value in never.values())
    always = gap_measures(gaps_between_appearances(track_of_side(hands([0, 1, 2, 3]), grid, 1), grid))
    assert always["missing_frame_rate"] == 0
    assert np.isnan(always["gap_mean"])


def test_sums_by_video_leave_nan_out():
    total, count = sums_by_video(np.array([0, 1, 1]), np.array([[1, 2], [3, np.nan], [5, 7]], float), 3)
    assert total.tolist() == [3, 15, 0]
    assert count.tolist() == [2, 3, 0]
