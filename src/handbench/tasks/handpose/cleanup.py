"""Cleanup of predictions after the fact (VERA-Hand, section 4.4 and appendix E): no truth, no pixels.

Two stages, in this order: *spatial* resolves a left and a right hand predicted at one place; *temporal* removes
duplicates of a label, then hands that do not persist, then fills short gaps.  Each step can be switched off.  The
baseline is a majority vote over labels, which neither removes nor adds a hand.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import polars as pl

from handbench import tables
from handbench.tasks.handpose.arrays import UNKNOWN, Bools, Floats, Frames, Hands, Ints, predicted_hands
from handbench.tasks.handpose.boxes import hand_boxes, longer_side, paired_iou
from handbench.tasks.handpose.overlap import coinciding, pairs_within

_STRIDE: Final = 1 << 32
"""Larger than any frame number: video · stride + number is one key in the order of time."""


@dataclass(frozen=True)
class Cleanup:
    """Which steps are taken, and every threshold.

    Attributes:
        spatial: whether overlaps of a left and a right hand are resolved.
        deduplicate: whether one hand of each label is kept in a frame.
        phantoms: whether hands that do not persist are removed.
        gaps: whether short gaps are filled.
        majority: the baseline instead of all other steps.
        overlap_iou: least IoU of two hands at one place (paper).
        overlap_center: farthest distance of their centres over the larger box's diagonal (paper).
        window: frames around and with a frame that speak for it (paper).
        phantom_neighbours: a hand with fewer hands of its label in the window is a phantom (ours).
        phantom_iou: least IoU of such a neighbour (ours); a neighbour that the hand could have come from counts, too.
        phantom_motion: hand sizes per frame that a hand may have moved from such a neighbour (ours).
        gap_neighbours: hands of the label that must be in the window of a missing frame, some before and some after
            it (paper).
        gap_longest: longest gap that is filled, in frames (paper).
        gap_motion: most hand sizes per missing frame that the hand may move across a gap (the paper skips large
            motion and gives no number).
    """

    spatial: bool = True
    deduplicate: bool = True
    phantoms: bool = True
    gaps: bool = True
    majority: bool = False
    overlap_iou: float = 0.80
    overlap_center: float = 0.15
    window: int = 7
    phantom_neighbours: int = 2
    phantom_iou: float = 0.1
    phantom_motion: float = 1.0
    gap_neighbours: int = 4
    gap_longest: int = 3
    gap_motion: float = 0.5


_OFF: Final = Cleanup(spatial=False, deduplicate=False, phantoms=False, gaps=False)

STAGES: Final[dict[str, Cleanup]] = {
    "spatial": replace(_OFF, spatial=True),
    "deduplicate": replace(_OFF, deduplicate=True),
    "phantoms": replace(_OFF, phantoms=True),
    "gaps": replace(_OFF, gaps=True),
    "temporal": replace(Cleanup(), spatial=False),
    "both": Cleanup(),
    "majority": replace(_OFF, majority=True),
}
"""Named combinations: each step alone, the two stages, both, and the baseline."""


@dataclass(frozen=True)
class Cleaned:
    """What cleanup left.

    Attributes:
        hands: the predictions, sorted by frame and falling score; ``row`` is -1 for hands that were filled in.
        counts: hands removed, added or renamed, by reason.
        touched: (F,) frames in which anything was changed.
    """

    hands: Hands
    counts: dict[str, int] = field(default_factory=dict)
    touched: Bools = field(default_factory=lambda: np.zeros(0, bool))


def clean(hands: Hands, frames: Frames, how: Cleanup) -> Cleaned:
    """Clean one estimator's predictions.

    Args:
        hands: predictions, sorted by frame and falling score.
        frames: the frames of the set.
        how: steps and thresholds.
    """
    touched = np.zeros(len(frames), bool)
    counts: dict[str, int] = {}
    if how.majority:
        side = majority_label_vote(hands, frames, how)
        touched[hands.frame[side != hands.side]] = True
        return Cleaned(replace(hands, side=side), {"label outvoted": int((side != hands.side).sum())}, touched)
    for wanted, reason, dropped in (
        (how.spatial, "on a surer hand of the other label", _overlapping),
        (how.deduplicate, "second hand of its label", _duplicates),
        (how.phantoms, "phantom", _phantoms),
    ):
        if wanted:
            gone = dropped(hands, frames, how)
            touched[hands.frame[gone]] = True
            counts[reason] = int(gone.sum())
            hands = hands.take(~gone)
    if how.gaps:
        filled = _fill(hands, frames, how)
        touched[filled.frame] = True
        counts["filled in"] = len(filled)
        hands = _joined(hands, filled)
    return Cleaned(hands, counts, touched)


def _boxes(hands: Hands, frames: Frames) -> Floats:
    return hand_boxes(hands.points, hands.valid, frames.sizes[hands.frame])


def _keys(hands: Hands, frames: Frames) -> Ints:
    return frames.video[hands.frame] * _STRIDE + frames.number[hands.frame]


def _overlapping(hands: Hands, frames: Frames, how: Cleanup) -> Bools:
    """(N,) hands on a surer one of the other label; the surest act first, so that no dropped hand drops another."""
    boxes = _boxes(hands, frames)
    first, second = pairs_within(hands.frame)
    opposite = (hands.side[first] != hands.side[second]) & (hands.side[first] >= 0) & (hands.side[second] >= 0)
    first, second = first[opposite], second[opposite]
    hit = coinciding(boxes[first], boxes[second], how.overlap_iou, how.overlap_center)
    return _suppress(len(hands), first[hit], second[hit], hands.frame)


def _suppress(count: int, surer: Ints, other: Ints, frame: Ints) -> Bools:
    """(count,) hands that a surer one suppresses which is itself not suppressed."""
    gone = np.zeros(count, bool)
    place = surer - np.searchsorted(frame, frame[surer]) if len(surer) else surer
    for rank in range(int(place.max(initial=-1)) + 1):
        acting = (place == rank) & ~gone[surer]
        gone[other[acting]] = True
    return gone


def _duplicates(hands: Hands, frames: Frames, how: Cleanup) -> Bools:
    """(N,) hands of a label of which the frame has a surer one; equally sure ones are told by the frame before."""
    boxes, keys = _boxes(hands, frames), _keys(hands, frames)
    before = np.zeros(len(hands))
    mine, other = _same_label_pairs(keys, hands.side, -1)
    np.maximum.at(before, mine, paired_iou(boxes[mine], boxes[other]))
    order = np.lexsort((-before, -hands.score, hands.side, hands.frame))
    again = np.zeros(len(hands), bool)
    again[order[1:]] = (
        (hands.frame[order[1:]] == hands.frame[order[:-1]])
        & (hands.side[order[1:]] == hands.side[order[:-1]])
        & (hands.side[order[1:]] != UNKNOWN)
    )
    return again


def _same_label_pairs(keys: Ints, side: np.ndarray[Any, np.dtype[np.int8]], step: int) -> tuple[Ints, Ints]:
    """Pairs of a hand and a hand of its label ``step`` frames later, both as rows."""
    mine, other = _pairs_at(keys, step)
    same = side[mine] == side[other]
    return mine[same], other[same]


def _pairs_at(keys: Ints, step: int) -> tuple[Ints, Ints]:
    start = np.searchsorted(keys, keys + step, side="left")
    count = np.searchsorted(keys, keys + step, side="right") - start
    mine = np.repeat(np.arange(len(keys)), count)
    before = np.repeat(np.cumsum(count) - count, count)
    return mine, np.arange(len(mine)) - before + np.repeat(start, count)


def _steps(window: int) -> list[int]:
    half = window // 2
    return [step for step in range(-half, half + 1) if step]


def _phantoms(hands: Hands, frames: Frames, how: Cleanup) -> Bools:
    """(N,) hands with too few neighbours of their label that overlap them or are within reach.

    Overlap alone would take fast hands for phantoms.  A short video asks for fewer neighbours.
    """
    boxes, keys = _boxes(hands, frames), _keys(hands, frames)
    support = np.zeros(len(hands), np.int64)
    for step in _steps(how.window):
        mine, other = _same_label_pairs(keys, hands.side, step)
        gap = np.hypot(*((boxes[mine, :2] + boxes[mine, 2:] - boxes[other, :2] - boxes[other, 2:]) / 2).T)
        reach = how.phantom_motion * abs(step) * np.maximum(longer_side(boxes[mine]), longer_side(boxes[other]))
        near = (paired_iou(boxes[mine], boxes[other]) >= how.phantom_iou) | (gap <= reach)
        support[np.unique(mine[near])] += 1
    there = _frames_in_window(frames, how.window)[hands.frame]
    return np.asarray(support < np.minimum(how.phantom_neighbours, there))


def _frames_in_window(frames: Frames, window: int) -> Ints:
    """(F,) how many other frames of the window the video has."""
    keys = frames.video * _STRIDE + frames.number
    half = window // 2
    return np.asarray(np.searchsorted(keys, keys + half, "right") - np.searchsorted(keys, keys - half, "left") - 1)


def _fill(hands: Hands, frames: Frames, how: Cleanup) -> Hands:
    """Hands for the frames of short gaps, keypoints interpolated between the gap's ends."""
    grid = frames.video * _STRIDE + frames.number
    found = [_fill_side(hands, frames, grid, side, how) for side in (0, 1)]
    return Hands(*(np.concatenate(parts) for parts in zip(*found, strict=True)))


def _fill_side(hands: Hands, frames: Frames, grid: Ints, side: int, how: Cleanup) -> tuple[Any, ...]:
    mine = hands.take(hands.side == side)
    first = np.ones(len(mine), dtype=bool)
    first[1:] = mine.frame[1:] != mine.frame[:-1]
    mine = mine.take(first)  # the surest one speaks for the label where duplicates were left
    keys = _keys(mine, frames)
    missing = np.diff(keys) - 1
    before = np.flatnonzero((missing > 0) & (missing <= how.gap_longest))
    length = missing[before]
    size = longer_side(_boxes(mine, frames)) if len(mine) else np.zeros(0)
    center = np.nanmean(np.where(mine.valid[..., None], mine.points, np.nan), axis=1) if len(mine) else np.zeros((0, 2))
    moved = np.linalg.norm(center[before + 1] - center[before], axis=1)
    calm = moved <= how.gap_motion * length * (size[before] + size[before + 1]) / 2
    before, length = before[calm], length[calm]
    gap = np.repeat(np.arange(len(before)), length)
    step = np.arange(len(gap)) - np.repeat(np.cumsum(length) - length, length) + 1
    key = keys[before][gap] + step
    half = how.window // 2
    left = np.searchsorted(keys, key) - np.searchsorted(keys, key - half)
    right = np.searchsorted(keys, key + half, "right") - np.searchsorted(keys, key)
    frame = np.minimum(np.searchsorted(grid, key), len(grid) - 1) if len(grid) else key
    supported = (left > 0) & (right > 0) & (left + right >= how.gap_neighbours) & (grid[frame] == key)
    gap, step, frame = gap[supported], step[supported], frame[supported]
    start = before[gap]
    part = (step / (length[gap] + 1))[:, None, None]
    points = mine.points[start] * (1 - part) + mine.points[start + 1] * part
    score = np.minimum(mine.score[start], mine.score[start + 1])
    valid = mine.valid[start] & mine.valid[start + 1]
    usable = valid.any(axis=1)
    none = np.full(len(gap), -1, np.int64)
    return tuple(part[usable] for part in (frame, np.full(len(gap), side, np.int8), points, valid, score, none))


def _joined(hands: Hands, more: Hands) -> Hands:
    if not len(more):
        return hands
    names = ("frame", "side", "points", "valid", "score", "row")
    both = Hands(*(np.concatenate([getattr(hands, name), getattr(more, name)]) for name in names))
    return both.take(np.lexsort((-both.score, both.frame)))


def majority_label_vote(hands: Hands, frames: Frames, how: Cleanup) -> np.ndarray[tuple[int], np.dtype[np.int8]]:
    """(N,) sides after a vote: each frame of the window has one vote, of the hand that overlaps this one most.

    A hand keeps its own label in a tie.
    """
    boxes, keys = _boxes(hands, frames), _keys(hands, frames)
    votes = np.where(hands.side == UNKNOWN, 0, np.where(hands.side == 1, 1, -1)).astype(np.int64)
    total = votes.copy()
    for step in _steps(how.window):
        mine, other = _pairs_at(keys, step)
        iou = paired_iou(boxes[mine], boxes[other])
        near = iou >= how.phantom_iou
        mine, other, iou = mine[near], other[near], iou[near]
        order = np.lexsort((-iou, mine))
        voter, first = np.unique(mine[order], return_index=True)
        total[voter] += votes[other[order][first]]
    return np.where(total > 0, np.int8(1), np.where(total < 0, np.int8(0), hands.side)).astype(np.int8)


def cleaned_poses(
    poses: pl.DataFrame, frames: Frames, stage: str, how: Cleanup | None = None
) -> tuple[pl.DataFrame, Cleaned]:
    """Clean one estimator's raw poses: table in, table out.

    Args:
        poses: the ``poses`` table of one estimator, stage ``raw``.
        frames: the frames of the set.
        stage: what to call the result, a key of :data:`STAGES` unless ``how`` is given.
        how: steps and thresholds.

    Returns:
        The ``poses`` table of that stage (frames left without a hand have a row with ``hand`` -1), and what was done.
    """
    hands, _ = predicted_hands(poses, frames)
    done = clean(hands, frames, how or STAGES[stage])
    kept, made = done.hands.take(done.hands.row >= 0), done.hands.take(done.hands.row < 0)
    sides = pl.Series(["left", "right", None], dtype=pl.String)
    text = [pl.col(name).cast(pl.String) for name in ("estimator", "stage", "image", "video", "side")]
    old = poses.with_columns(text)
    rows = old[kept.row].with_columns(side=sides.gather(np.where(kept.side < 0, 2, kept.side)))
    name = old["estimator"][0] if old.height else ""
    highest = old.group_by("image").agg(pl.col("hand").max())
    new = pl.DataFrame(
        {
            "image": frames.images.gather(made.frame),
            "side": sides.gather(np.where(made.side < 0, 2, made.side)),
            "score": pl.Series(made.score, dtype=pl.Float32),
            "keypoints_px": pl.Series(made.points, dtype=tables.JOINTS_2D),
        }
    )
    new = new.join(highest, on="image", how="left", maintain_order="left").with_columns(
        hand=(pl.col("hand").fill_null(-1) + 1 + pl.int_range(pl.len()).over("image")).cast(pl.Int16)
    )
    together = pl.concat([rows, new], how="diagonal_relaxed")
    left_empty = old.filter(pl.col("hand") >= -1).unique("image").join(together, on="image", how="anti")
    blank = left_empty.select("image", "video", "frame", hand=pl.lit(-1, pl.Int16))
    together = pl.concat([together, blank], how="diagonal_relaxed").with_columns(
        estimator=pl.lit(name), stage=pl.lit(stage)
    )
    return tables.conform(together.sort("image", "hand"), "poses"), done
