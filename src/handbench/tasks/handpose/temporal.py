"""How steady predictions are over time: jerk, motion energy, gaps.  Predictions alone; no truth is asked.

Low jerk is no proof of correctness: a hand that is predicted at rest has none.  Motion energy beside it tells.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from handbench.tasks.handpose.arrays import KNUCKLES, TIPS, Bools, Floats, Frames, Hands, Ints
from handbench.tasks.handpose.boxes import hand_boxes, longer_side
from handbench.tasks.handpose.protocol import JerkUnit
from handbench.tasks.handpose.rates import ratio

GROUPS: Final[dict[str, tuple[int, ...]]] = {
    "all": tuple(range(21)),
    "fingertips": TIPS,
    "base": (0, *KNUCKLES),
}
"""Keypoints whose motion is told apart: fingertips, and the wrist with the base joints of the fingers."""

_LONGEST_SHORT_GAP: Final = 3


@dataclass(frozen=True)
class Track:
    """One side's hand through all videos: at most one hand per frame, in the order of time.

    Attributes:
        frame: (N,) row of the frame.
        video: (N,) video.
        number: (N,) frame number.
        points: (N, 21, 2) pixels.
        size: (N,) longer side of the hand's box, pixels.
        run: (N,) which maximal run of consecutive frames with whole hands it belongs to, from 0.
        rate: (N,) frames per second, NaN where not known.
        duplicates: hands of the same side left out since a surer one is in the frame.
    """

    frame: Ints
    video: Ints
    number: Ints
    points: Floats
    size: Floats
    run: Ints
    rate: Floats
    duplicates: int


def track_of_side(hands: Hands, frames: Frames, side: int) -> Track:
    """Follow one side: in each frame the surest hand of that label.

    Args:
        hands: predictions, best score first within a frame.
        frames: the frames.
        side: 0 left, 1 right.
    """
    mine = hands.take(hands.side == side)
    first = np.ones(len(mine), dtype=bool)
    first[1:] = mine.frame[1:] != mine.frame[:-1]
    kept = mine.take(first)
    video, number = frames.video[kept.frame], frames.number[kept.frame]
    known: Bools = np.asarray(np.isfinite(kept.points).all(axis=2))
    whole: Bools = np.asarray(known.all(axis=1))
    goes_on = np.zeros(len(kept), bool)
    goes_on[1:] = (video[1:] == video[:-1]) & (number[1:] == number[:-1] + 1) & whole[1:] & whole[:-1]
    boxes = hand_boxes(kept.points, known)
    return Track(
        frame=kept.frame,
        video=video,
        number=number,
        points=kept.points,
        size=longer_side(boxes),
        run=np.cumsum(~goes_on) - 1,
        rate=_rates(frames)[video] if len(frames) else np.zeros(0),
        duplicates=int((~first).sum()),
    )


def _rates(frames: Frames) -> Floats:
    """(V,) frames per second of each video: the median over neighbouring frames."""
    rates = np.full(len(frames.videos), np.nan)
    step = np.diff(frames.seconds)
    neighbours = (np.diff(frames.video) == 0) & (np.diff(frames.number) == 1) & (step > 0)
    video, step = frames.video[1:][neighbours], step[neighbours]
    order = np.lexsort((step, video))
    found, start, count = np.unique(video[order], return_index=True, return_counts=True)
    rates[found] = 1 / step[order][start + count // 2]
    return rates


def _within(run: Ints, reach: int) -> Ints:
    """Rows t such that t + reach belongs to the same run."""
    if len(run) <= reach:
        return np.zeros(0, np.int64)
    return np.flatnonzero(run[reach:] == run[:-reach])


def _run_sizes(track: Track) -> Floats:
    """(N,) median hand size of the run that each hand belongs to."""
    if not len(track.run):
        return np.zeros(0)
    order = np.lexsort((track.size, track.run))
    _, start, count = np.unique(track.run[order], return_index=True, return_counts=True)
    sizes = track.size[order]
    middle = (sizes[start + (count - 1) // 2] + sizes[start + count // 2]) / 2
    return np.asarray(np.where(middle > 0, middle, np.nan)[track.run])


def jerk_third_difference(track: Track, unit: JerkUnit) -> tuple[Ints, Floats]:
    """Norm of the third difference p[t+3] - 3 p[t+2] + 3 p[t+1] - p[t] within runs of consecutive frames.

    White noise of standard deviation s in each coordinate gives s √20 in each coordinate of the difference.

    Args:
        track: one side's hand.
        unit: see :class:`~handbench.tasks.handpose.protocol.JerkUnit`.

    Returns:
        (M,) row in the track of each start t, and (M, 21) jerk of every keypoint; NaN where the unit is not known.
    """
    start = _within(track.run, 3)
    p = track.points
    jerk = np.linalg.norm(p[start + 3] - 3 * p[start + 2] + 3 * p[start + 1] - p[start], axis=2)
    if unit is JerkUnit.PX:
        return start, jerk
    jerk = jerk / _run_sizes(track)[start, None]
    if unit is JerkUnit.HAND_PCT:
        jerk = 100 * jerk
    if unit is JerkUnit.PER_SECOND:
        jerk = jerk * track.rate[start, None] ** 3
    return start, jerk


def motion_energy_hand_sizes(track: Track) -> tuple[Ints, Floats]:
    """Squared displacement from frame to frame over the squared median hand size of the run.

    Returns:
        (M,) row in the track of each start, and (M, 21) energy of every keypoint.
    """
    start = _within(track.run, 1)
    step = track.points[start + 1] - track.points[start]
    return start, (step**2).sum(axis=2) / _run_sizes(track)[start, None] ** 2


@dataclass(frozen=True)
class Gaps:
    """Where a track is interrupted, between its first and last appearance in each video.

    Attributes:
        video: (G,) video of each gap.
        length: (G,) frames that it lasts.
        span: (V,) frames from first to last appearance, both included; 0 where it never appears.
    """

    video: Ints
    length: Ints
    span: Ints


def gaps_between_appearances(track: Track, frames: Frames) -> Gaps:
    """Find the gaps of a track; only frames that the set has are counted as missing."""
    place = track.frame  # frames are sorted by video and number: rows between two appearances are the gap
    same = track.video[1:] == track.video[:-1] if len(place) else np.zeros(0, bool)
    missing = place[1:] - place[:-1] - 1 if len(place) else np.zeros(0, np.int64)
    gap = same & (missing > 0)
    span = np.zeros(len(frames.videos), np.int64)
    if len(place):
        found, first = np.unique(track.video, return_index=True)
        last = np.r_[first[1:], len(place)] - 1
        span[found] = place[last] - place[first] + 1
    return Gaps(track.video[:-1][gap] if len(place) else np.zeros(0, np.int64), missing[gap], span)


def gap_measures(gaps: Gaps) -> dict[str, float]:
    """Missing-frame rate, gaps per 1,000 frames, mean, median and longest gap, share of gaps of at most 3 frames.

    NaN where there is nothing to tell of: no appearance, or no gap.
    """
    frames, count = int(gaps.span.sum()), len(gaps.length)
    length = gaps.length.astype(np.float64)
    return {
        "missing_frame_rate": float(ratio(length.sum(), frames)),
        "gaps_per_1000": float(ratio(1000 * count, frames)),
        "gap_mean": float(length.mean()) if count else float("nan"),
        "gap_median": float(np.median(length)) if count else float("nan"),
        "gap_longest": float(length.max()) if count else float("nan"),
        "gap_short_share": float((length <= _LONGEST_SHORT_GAP).mean()) if count else float("nan"),
    }


def sums_by_video(video: Ints, values: Floats, videos: int) -> tuple[Floats, Floats]:
    """(V,) sum and (V,) count of values by video, NaN left out.

    Args:
        video: (M,).
        values: (M, K).
        videos: V.
    """
    known: Bools = ~np.isnan(values)
    total = np.where(known, values, 0.0).sum(axis=1)
    count = known.sum(axis=1).astype(np.float64)
    return _by_video(video, total, videos), _by_video(video, count, videos)


def _by_video(video: Ints, weights: Floats, videos: int) -> Floats:
    return np.asarray(np.bincount(video, weights, videos), np.float64)
