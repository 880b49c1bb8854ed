"""Detection, Pose-F1 and label swaps as ratios of counts.

Counts may have any shape (one number, one per stratum, one per bootstrap resample).  A ratio without a denominator
is NaN in these arrays and null in a table: precision where nothing is predicted, recall where no hand is there, F1
where neither is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from handbench.tasks.handpose.arrays import UNKNOWN, Bools, Floats, Hands, Ints


def ratio(numerator: ArrayLike, denominator: ArrayLike) -> Floats:
    """Numerator over denominator, NaN where the denominator is 0."""
    top, bottom = np.broadcast_arrays(np.asarray(numerator, np.float64), np.asarray(denominator, np.float64))
    result = np.full(top.shape, np.nan)
    np.divide(top, bottom, out=result, where=bottom > 0)
    return result


def precision_micro(tp: ArrayLike, fp: ArrayLike) -> Floats:
    """Share of the predictions that are matched, over all frames together."""
    return ratio(tp, np.asarray(tp) + np.asarray(fp))


def recall_micro(tp: ArrayLike, fn: ArrayLike) -> Floats:
    """Share of the true hands that are matched, over all frames together."""
    return ratio(tp, np.asarray(tp) + np.asarray(fn))


def f1_micro(tp: ArrayLike, fp: ArrayLike, fn: ArrayLike) -> Floats:
    """Harmonic mean of precision and recall, from counts over all frames; 0 when all are missed or spurious."""
    return ratio(2 * np.asarray(tp), 2 * np.asarray(tp) + np.asarray(fp) + np.asarray(fn))


def detection_counts_label_agnostic(matched: Ints, predictions: int) -> tuple[int, int, int]:
    """True positives, false positives and false negatives of one-to-one matches.

    Args:
        matched: (T,) prediction of each true hand, -1 for none.
        predictions: how many predictions there are.
    """
    tp = int((matched >= 0).sum())
    return tp, predictions - tp, len(matched) - tp


def pose_passes_pck_share(pck: Floats, beta: float) -> Bools:
    """Whether a matched hand counts for Pose-F1: at least ``beta`` of its valid keypoints are within alpha.

    A hand without a PCK (no valid point, no normaliser) does not pass.
    """
    return np.asarray(np.nan_to_num(pck, nan=-1.0) >= beta)


def pose_counts_alpha_beta(matched: Ints, passed: Bools, predictions: int) -> tuple[int, int, int]:
    """True positives, false positives and false negatives of Pose-F1 (VERA-Hand, section 3.4).

    A same-label match that fails the PCK test is one false positive and one false negative.

    Args:
        matched: (T,) prediction of the same label, -1 for none.
        passed: (T,) whether the match passes.
        predictions: how many predictions there are.
    """
    tp = int(((matched >= 0) & passed).sum())
    return tp, predictions - tp, len(matched) - tp


def swaps_unambiguous(truth: Hands, predicted: Hands, matched: Ints, unambiguous: Bools) -> tuple[Bools, Bools]:
    """Label swaps over unambiguous label-agnostic matches.

    Args:
        truth: T true hands.
        predicted: the predictions.
        matched: (T,) label-agnostic match, -1 for none.
        unambiguous: (T,) as :class:`~handbench.tasks.handpose.matching.Matches` says.

    Returns:
        (T,) matches that are judged, and (T,) those whose label is the other one.  Hands whose true or predicted
        side is not known are not judged.
    """
    said = np.where(matched >= 0, predicted.side[matched] if len(predicted) else UNKNOWN, UNKNOWN)
    judged = unambiguous & (matched >= 0) & (truth.side != UNKNOWN) & (said != UNKNOWN)
    return judged, judged & (said != truth.side)
