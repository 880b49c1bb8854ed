"""Which prediction is which true hand: by the IoU of hand boxes, one to one (VERA-Hand, section 3.3).

Within a frame the matching has the largest sum of IoU among pairs that pass the gate (scipy's assignment); pairs
below the gate, or of different labels where labels count, can never be matched.  Frames with at most two true and
two predicted hands, nearly all of them, are solved together by comparing their only two matchings.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from handbench.tasks.handpose.arrays import UNKNOWN, Bools, Floats, Hands, Ints
from handbench.tasks.handpose.boxes import paired_iou


@dataclass(frozen=True)
class Pairs:
    """Every true hand with every prediction of its frame.

    Attributes:
        truth: (K,) row of the true hand.
        prediction: (K,) row of the prediction.
        iou: (K,) of their boxes.
    """

    truth: Ints
    prediction: Ints
    iou: Floats


def pairs_in_frames(truth_frame: Ints, predicted_frame: Ints, truth_boxes: Floats, predicted_boxes: Floats) -> Pairs:
    """All pairs of hands that share a frame.

    Args:
        truth_frame: (T,) frame of each true hand, ascending.
        predicted_frame: (P,) frame of each prediction, ascending.
        truth_boxes: (T, 4).
        predicted_boxes: (P, 4).
    """
    truth, prediction = _pairs(truth_frame, predicted_frame)
    return Pairs(truth, prediction, paired_iou(truth_boxes[truth], predicted_boxes[prediction]))


def _pairs(truth_frame: Ints, predicted_frame: Ints) -> tuple[Ints, Ints]:
    start = np.searchsorted(predicted_frame, truth_frame, side="left")
    count = np.searchsorted(predicted_frame, truth_frame, side="right") - start
    truth = np.repeat(np.arange(len(truth_frame)), count)
    before = np.repeat(np.cumsum(count) - count, count)
    return truth, np.arange(len(truth)) - before + np.repeat(start, count)


def match_one_to_one(pairs: Pairs, truth_frame: Ints, predicted_frame: Ints, gate: float, allowed: Bools) -> Ints:
    """The gated matching of largest total IoU in every frame.

    Args:
        pairs: all pairs, as :func:`pairs_in_frames` orders them.
        truth_frame: (T,) frame of each true hand, ascending.
        predicted_frame: (P,) frame of each prediction, ascending.
        gate: least IoU of a match.
        allowed: (K,) pairs that may be matched as far as labels go.

    Returns:
        (T,) row of each true hand's prediction, -1 where it has none.
    """
    matched = np.full(len(truth_frame), -1, np.int64)
    chosen = np.flatnonzero(allowed & (pairs.iou >= gate))
    if not len(chosen):
        return matched
    truth, prediction, iou = pairs.truth[chosen], pairs.prediction[chosen], pairs.iou[chosen]
    # A pair that no other pair competes with is a match; the rest is decided frame by frame.
    alone = (np.bincount(truth, minlength=len(truth_frame))[truth] == 1) & (
        np.bincount(prediction, minlength=len(predicted_frame))[prediction] == 1
    )
    matched[truth[alone]] = prediction[alone]
    if not alone.all():
        rest = ~alone
        _contested(matched, truth[rest], prediction[rest], iou[rest], truth_frame)
    return matched


def _contested(matched: Ints, truth: Ints, prediction: Ints, iou: Floats, truth_frame: Ints) -> None:
    """Decide frames in which a hand has more than one candidate; ``matched`` is filled in."""
    frame, place = np.unique(truth_frame[truth], return_inverse=True)
    first_truth = np.full(len(frame), np.iinfo(np.int64).max)
    first_prediction = first_truth.copy()
    np.minimum.at(first_truth, place, truth)
    np.minimum.at(first_prediction, place, prediction)
    row, column = truth - first_truth[place], prediction - first_prediction[place]
    wide = np.zeros(len(frame), bool)
    wide[place[(row > 1) | (column > 1)]] = True
    small = ~wide[place]
    gain = np.zeros((len(frame), 2, 2))
    gain[place[small], row[small], column[small]] = iou[small]
    straight = gain[:, 0, 0] + gain[:, 1, 1] >= gain[:, 0, 1] + gain[:, 1, 0]
    taken = small & ((row == column) == straight[place])
    matched[truth[taken]] = prediction[taken]
    if wide.any():
        left = np.flatnonzero(~small)
        for rows in np.split(left, np.flatnonzero(np.diff(place[left])) + 1):
            _assign(matched, truth[rows], prediction[rows], iou[rows])


def _assign(matched: Ints, truth: Ints, prediction: Ints, iou: Floats) -> None:
    from scipy.optimize import linear_sum_assignment  # slow to import, and seldom needed

    hands, row = np.unique(truth, return_inverse=True)
    candidates, column = np.unique(prediction, return_inverse=True)
    gain = np.zeros((len(hands), len(candidates)))
    gain[row, column] = iou
    rows, columns = linear_sum_assignment(gain, maximize=True)
    kept = gain[rows, columns] > 0
    matched[hands[rows[kept]]] = candidates[columns[kept]]


@dataclass(frozen=True)
class Matches:
    """The matches of a set with one estimator's predictions.

    Attributes:
        any_label: (T,) prediction matched whatever its label (detection), -1 for none.
        same_label: (T,) prediction matched among those of the same label (localisation, Pose-F1).
        any_iou: (T,) best IoU of the true hand with any prediction, 0 for none.
        unambiguous: (T,) exactly one prediction passes the gate and it passes with this hand alone.
        nearest: (P,) true hand of the same frame with the largest IoU (by rank where all are 0), -1 for none.
    """

    any_label: Ints
    same_label: Ints
    any_iou: Floats
    unambiguous: Bools
    nearest: Ints


def same_label(truth: Hands, predicted: Hands, pairs: Pairs) -> Bools:
    """(K,) whether labels allow a pair; a true hand of unknown side accepts any label."""
    true_side = truth.side[pairs.truth]
    return np.asarray((true_side == predicted.side[pairs.prediction]) | (true_side == UNKNOWN))


def match(truth: Hands, predicted: Hands, truth_boxes: Floats, predicted_boxes: Floats, gate: float) -> Matches:
    """All that the metrics need to know of who matches whom.

    Args:
        truth: T true hands.
        predicted: P predictions.
        truth_boxes: (T, 4).
        predicted_boxes: (P, 4).
        gate: least IoU of a match.
    """
    pairs = pairs_in_frames(truth.frame, predicted.frame, truth_boxes, predicted_boxes)
    everything = np.ones(len(pairs.truth), bool)
    passing = pairs.iou >= gate
    touched_truth = np.bincount(pairs.truth[passing], minlength=len(truth))
    touched_prediction = np.bincount(pairs.prediction[passing], minlength=len(predicted))
    anyone = match_one_to_one(pairs, truth.frame, predicted.frame, gate, everything)
    alone = (touched_truth == 1) & (anyone >= 0)
    alone[alone] = touched_prediction[anyone[alone]] == 1
    best = np.zeros(len(truth))
    np.maximum.at(best, pairs.truth, pairs.iou)
    return Matches(
        any_label=anyone,
        same_label=match_one_to_one(pairs, truth.frame, predicted.frame, gate, same_label(truth, predicted, pairs)),
        any_iou=best,
        unambiguous=alone,
        nearest=_nearest(pairs, len(predicted)),
    )


def _nearest(pairs: Pairs, predictions: int) -> Ints:
    order = np.lexsort((pairs.truth, -pairs.iou, pairs.prediction))
    found, first = np.unique(pairs.prediction[order], return_index=True)
    nearest = np.full(predictions, -1, np.int64)
    nearest[found] = pairs.truth[order][first]
    return nearest
