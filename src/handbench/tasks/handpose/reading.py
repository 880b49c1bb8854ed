"""Evaluation → the ``matches`` table: a row for every true hand, and one for every prediction without one."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from handbench import tables
from handbench.tasks.handpose.arrays import SIDES, UNKNOWN, Bools, Ints
from handbench.tasks.handpose.boxes import longer_side, paired_iou
from handbench.tasks.handpose.evaluation import Evaluation
from handbench.tasks.handpose.overlap import coinciding, pairs_within

OUTCOMES: Final = ("right", "misplaced", "swapped", "missed", "duplicate", "crossed", "spurious")
"""What can become of a hand: the first four of true hands, the rest of predictions.

``right`` and ``misplaced`` have a same-label match, which passes the PCK test or does not; ``swapped`` has a match of
the other label alone; a ``duplicate`` lies on a hand that has its match already; ``crossed`` lies on a prediction of
the other label; ``spurious`` is any other prediction without a hand.
"""


def outcomes(evaluation: Evaluation) -> tuple[Ints, Ints]:
    """(T,) and (P,) places in :data:`OUTCOMES`; a prediction that is a true hand's match has -1."""
    found = evaluation.matches
    same, anyone = found.same_label >= 0, found.any_label >= 0
    hands = np.select([same & evaluation.passed, same, anyone], [0, 1, 2], 3)
    used = np.zeros(len(evaluation.predicted), bool)
    used[found.same_label[same]] = True
    used[found.any_label[anyone & ~same]] = True
    best = _best_iou(evaluation)
    kinds = np.select([used, _crossed(evaluation), best >= evaluation.protocol.iou], [-1, 5, 4], 6)
    return hands.astype(np.int64), kinds.astype(np.int64)


def _best_iou(evaluation: Evaluation) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """(P,) IoU of each prediction with the true hand nearest to it."""
    near = evaluation.matches.nearest
    iou = np.zeros(len(near))
    some = near >= 0
    iou[some] = paired_iou(evaluation.truth.boxes[near[some]], evaluation.boxes[some])
    return iou


def _crossed(evaluation: Evaluation) -> Bools:
    """(P,) predictions that lie on one of the other label."""
    side = evaluation.predicted.side
    first, second = pairs_within(evaluation.predicted.frame)
    opposite = (side[first] != side[second]) & (side[first] != UNKNOWN) & (side[second] != UNKNOWN)
    first, second = first[opposite], second[opposite]
    hit = coinciding(evaluation.boxes[first], evaluation.boxes[second])
    found = np.zeros(len(side), bool)
    found[first[hit]] = found[second[hit]] = True
    return found


def matches_table(evaluation: Evaluation, estimator: str, stage: str, poses: pl.DataFrame) -> pl.DataFrame:
    """The ``matches`` table of one estimator and stage.

    Args:
        evaluation: the matches.
        estimator: its name.
        stage: of cleanup.
        poses: the table that ``evaluation.predicted.row`` points into.
    """
    truth, found, predicted = evaluation.truth, evaluation.matches, evaluation.predicted
    hands, kinds = outcomes(evaluation)
    chosen = np.where(found.same_label >= 0, found.same_label, found.any_label)
    has = chosen >= 0
    iou = found.any_iou.copy()
    iou[has] = paired_iou(truth.boxes[has], evaluation.boxes[chosen[has]])
    numbers = poses["hand"].to_numpy()
    said = np.where(has, predicted.side[chosen] if len(predicted) else UNKNOWN, UNKNOWN)
    number = np.where(has, numbers[predicted.row[chosen]] if len(predicted) else -1, -1)
    of_hands = _columns(
        evaluation, truth.hands.frame, hands, truth.hands.side, said, number, iou,
        ids=truth.table["hand_id"].gather(truth.hands.row), pck=evaluation.pck, mpjpe=evaluation.mpjpe,
        size=longer_side(truth.boxes), passed=evaluation.passed & (found.same_label >= 0),
    )  # fmt: skip
    rest = np.flatnonzero(kinds >= 0)
    nothing = np.full(len(rest), np.nan)
    of_predictions = _columns(
        evaluation, predicted.frame[rest], kinds[rest], np.full(len(rest), UNKNOWN), predicted.side[rest],
        numbers[predicted.row[rest]], _best_iou(evaluation)[rest],
        ids=pl.Series("hand_id", [None] * len(rest), dtype=pl.String), pck=nothing, mpjpe=nothing,
        size=longer_side(evaluation.boxes[rest]), passed=np.zeros(len(rest), bool),
    )  # fmt: skip
    table = pl.concat([of_hands, of_predictions]).with_columns(estimator=pl.lit(estimator), stage=pl.lit(stage))
    return tables.conform(table, "matches")


def _columns(
    evaluation: Evaluation,
    frame: Ints,
    outcome: Ints,
    side: np.ndarray[tuple[int], np.dtype[np.integer]],
    said: np.ndarray[tuple[int], np.dtype[np.integer]],
    number: np.ndarray[tuple[int], np.dtype[np.integer]],
    iou: np.ndarray[tuple[int], np.dtype[np.float64]],
    *,
    ids: pl.Series,
    pck: np.ndarray[tuple[int], np.dtype[np.float64]],
    mpjpe: np.ndarray[tuple[int], np.dtype[np.float64]],
    size: np.ndarray[tuple[int], np.dtype[np.float64]],
    passed: Bools,
) -> pl.DataFrame:
    frames = evaluation.truth.frames
    words = pl.Series([*SIDES, None], dtype=pl.String)
    numbers = pl.Series("hand", number, dtype=pl.Int16)
    return pl.DataFrame(
        {
            "image": frames.images.gather(frame),
            "video": pl.Series(frames.videos, dtype=pl.String).gather(frames.video[frame]),
            "frame": frames.number[frame],
            "outcome": pl.Series(OUTCOMES).gather(outcome),
            "hand_id": ids,
            "hand": numbers.set(numbers < 0, None),
            "side": words.gather(np.where(side < 0, 2, side)),
            "said": words.gather(np.where(said < 0, 2, said)),
            "iou": iou,
            "pck": pl.Series(pck).fill_nan(None),
            "mpjpe": pl.Series(mpjpe).fill_nan(None),
            "size": pl.Series(size).fill_nan(None),
            "passed": passed,
        }
    )
