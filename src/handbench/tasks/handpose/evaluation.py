"""One estimator's predictions held against the truth, hand by hand."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl

from handbench.tasks.handpose.arrays import Bools, Floats, Frames, Hands, Ints, predicted_hands, true_hands
from handbench.tasks.handpose.boxes import hand_boxes
from handbench.tasks.handpose.localization import (
    mpjpe_per_hand,
    normalisers,
    pck_and_distance_per_keypoint,
    pck_strict_per_hand,
)
from handbench.tasks.handpose.matching import Matches, match
from handbench.tasks.handpose.overlap import overlapping_frames_opposite_label
from handbench.tasks.handpose.protocol import Protocol
from handbench.tasks.handpose.rates import pose_passes_pck_share, swaps_unambiguous


@dataclass(frozen=True)
class Truth:
    """The true hands of a set, ready to be matched.

    Attributes:
        frames: the frames.
        hands: T hands on scored frames.
        boxes: (T, 4).
        size: (T,) normaliser, pixels.
        table: the ``hands`` table that ``hands.row`` points into.
        skipped: hands left out, by reason.
    """

    frames: Frames
    hands: Hands
    boxes: Floats
    size: Floats
    table: pl.DataFrame
    skipped: dict[str, int] = field(default_factory=dict)


def prepare_truth(frames: Frames, table: pl.DataFrame, protocol: Protocol) -> Truth:
    """Bring the true hands of a set into the form that evaluation needs."""
    hands, skipped = true_hands(table, frames, occluded=protocol.occluded)
    boxes = hand_boxes(hands.points, hands.valid, frames.sizes[hands.frame], protocol.pad)
    size = normalisers(hands.points, hands.valid, protocol.normaliser, boxes)
    return Truth(frames, hands, boxes, size, table, skipped)


@dataclass(frozen=True)
class Evaluation:
    """What became of every true hand and every prediction.

    Attributes:
        protocol: how.
        truth: T true hands.
        everywhere: all predictions, on scored frames or not (for temporal measures).
        predicted: P predictions on scored frames.
        boxes: (P, 4).
        matches: who matched whom.
        right: (T, 21) keypoints of same-label matches that are right.
        counted: (T, 21) keypoints of same-label matches that count.
        distance: (T, 21) in normalisers, NaN where there is none.
        distance_px: (T, 21) in pixels.
        pck: (T,) of same-label matches, NaN elsewhere.
        passed: (T,) same-label matches that Pose-F1 takes.
        judged: (T,) matches in which the label is judged; ``swapped``: (T,) those with the other label.
        crossed: (F,) frames with a left and a right prediction on one another.
        skipped: rows left out, by reason.
    """

    protocol: Protocol
    truth: Truth
    everywhere: Hands
    predicted: Hands
    boxes: Floats
    matches: Matches
    right: Bools
    counted: Bools
    distance: Floats
    distance_px: Floats
    pck: Floats
    passed: Bools
    judged: Bools
    swapped: Bools
    crossed: Bools
    skipped: dict[str, int]

    @property
    def mpjpe(self) -> Floats:
        """(T,) mean distance of same-label matches, in normalisers."""
        return mpjpe_per_hand(self.distance)

    def home(self, matched: Ints) -> Ints:
        """(P,) the true hand that each prediction belongs to: its match, else the nearest in its frame, else -1."""
        home = self.matches.nearest.copy()
        taken = np.flatnonzero(matched >= 0)
        home[matched[taken]] = taken
        return home


def evaluate(truth: Truth, poses: pl.DataFrame, protocol: Protocol) -> Evaluation:
    """Match one estimator's poses (of one stage) with the truth and measure every match.

    Args:
        truth: the prepared truth.
        poses: rows of the ``poses`` table of one estimator and stage.
        protocol: how to match and measure.
    """
    frames = truth.frames
    everywhere, skipped = predicted_hands(poses, frames)
    return evaluate_hands(truth, everywhere, protocol, skipped)


def evaluate_hands(
    truth: Truth, everywhere: Hands, protocol: Protocol, skipped: dict[str, int] | None = None
) -> Evaluation:
    """The same from arrays; ``everywhere`` are predictions on any frame, sorted by frame and falling score."""
    frames = truth.frames
    predicted = everywhere.take(frames.scored[everywhere.frame])
    boxes = hand_boxes(predicted.points, predicted.valid, frames.sizes[predicted.frame], protocol.pad)
    found = match(truth.hands, predicted, truth.boxes, boxes, protocol.iou)
    rows = np.flatnonzero(found.same_label >= 0)
    count = len(truth.hands)
    right, counted = np.zeros((count, 21), bool), np.zeros((count, 21), bool)
    distance, pixels = np.full((count, 21), np.nan), np.full((count, 21), np.nan)
    here = truth.hands.valid[rows]
    right[rows], distance[rows] = pck_and_distance_per_keypoint(
        truth.hands.points[rows], predicted.points[found.same_label[rows]], here, truth.size[rows], protocol.alpha
    )
    counted[rows] = here & ~np.isnan(truth.size[rows])[:, None]
    pixels[rows] = distance[rows] * truth.size[rows, None]
    pck = pck_strict_per_hand(right, counted)
    judged, swapped = swaps_unambiguous(truth.hands, predicted, found.any_label, found.unambiguous)
    return Evaluation(
        protocol=protocol,
        truth=truth,
        everywhere=everywhere,
        predicted=predicted,
        boxes=boxes,
        matches=found,
        right=right,
        counted=counted,
        distance=distance,
        distance_px=pixels,
        pck=pck,
        passed=pose_passes_pck_share(pck, protocol.beta),
        judged=judged,
        swapped=swapped,
        crossed=overlapping_frames_opposite_label(predicted, boxes, len(frames)),
        skipped=skipped or {},
    )
