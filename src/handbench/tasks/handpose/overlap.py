"""Cross-hand overlap: a left and a right hand predicted at one place (VERA-Hand, section 4.4, appendix E)."""

from __future__ import annotations

from typing import Final

import numpy as np

from handbench.tasks.handpose.arrays import UNKNOWN, Bools, Floats, Hands, Ints
from handbench.tasks.handpose.boxes import center_distance, paired_iou

LEAST_IOU: Final = 0.80
FARTHEST_CENTERS: Final = 0.15
"""Over the diagonal of the larger box."""


def pairs_within(frame: Ints) -> tuple[Ints, Ints]:
    """All pairs (first < second) of hands that share a frame; ``frame`` is (N,) and ascending."""
    last = np.searchsorted(frame, frame, side="right")
    later = last - np.arange(len(frame)) - 1
    first = np.repeat(np.arange(len(frame)), later)
    before = np.repeat(np.cumsum(later) - later, later)
    return first, first + 1 + np.arange(len(first)) - before


def coinciding(one: Floats, other: Floats, least_iou: float = LEAST_IOU, farthest: float = FARTHEST_CENTERS) -> Bools:
    """(N,) whether (N, 4) boxes lie on (N, 4) boxes: IoU and normalised centre distance both pass."""
    return np.asarray((paired_iou(one, other) >= least_iou) & (center_distance(one, other) <= farthest))


def overlapping_frames_opposite_label(hands: Hands, boxes: Floats, frames: int) -> Bools:
    """(frames,) whether a frame has two predictions of opposite label on one another."""
    first, second = pairs_within(hands.frame)
    side = hands.side
    opposite = (side[first] != side[second]) & (side[first] != UNKNOWN) & (side[second] != UNKNOWN)
    first, second = first[opposite], second[opposite]
    hit = coinciding(boxes[first], boxes[second])
    found = np.zeros(frames, bool)
    found[hands.frame[first[hit]]] = True
    return found
