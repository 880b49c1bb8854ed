"""Accuracy, macro-F1 and rank errors as functions of a confusion matrix.

A confusion array here is (K, K + 1, ...): truth first, choice second, the last choice counting the answers
that have no reading; trailing axes are bootstrap resamples and slices.  A metric without a denominator is
NaN in these arrays and null in a table.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def _ratio(numerator: Array, denominator: Array) -> Array:
    out = np.full(np.broadcast_shapes(numerator.shape, denominator.shape), np.nan)
    np.divide(numerator, denominator, out=out, where=denominator > 0)
    return out


def _hits(confusion: Array) -> Array:
    """(K, ...) right answers by label."""
    return np.stack([confusion[label, label] for label in range(len(confusion))])


def _weighted(confusion: Array, cost: Array) -> Array:
    """Sum of counts times (K, J) costs."""
    return np.asarray(np.einsum("kj...,kj->...", confusion, cost, optimize=False))


def accuracy(confusion: Array) -> Array:
    """Share of right answers; an answer without a reading is wrong."""
    return _ratio(_hits(confusion).sum(0), confusion.sum((0, 1)))


def accuracy_answered(confusion: Array) -> Array:
    """Share of right answers among those that have a reading."""
    return _ratio(_hits(confusion).sum(0), confusion[:, :-1].sum((0, 1)))


def answer_rate(confusion: Array) -> Array:
    """Share of answers that have a reading."""
    return _ratio(confusion[:, :-1].sum((0, 1)), confusion.sum((0, 1)))


def occurring(confusion: Array) -> NDArray[np.bool_]:
    """(K, ...) labels that occur as truth or as choice: those that scikit-learn's macro-F1 averages over."""
    return np.asarray(confusion.sum(1) + confusion[:, :-1].sum(0) > 0)


def macro_f1(confusion: Array, present: NDArray[np.bool_]) -> Array:
    """Mean F1 over labels; an answer without a reading is a miss of its true label.

    Args:
        confusion: (K, K + 1, ...).
        present: (K, ...) labels to average over, as :func:`occurring` finds them in the whole sample; it may
            lack leading trailing axes that it is broadcast over.

    Returns:
        (...) mean F1; a label that is never chosen has precision 0.
    """
    total = confusion.sum(1) + confusion[:, :-1].sum(0)
    f1 = np.divide(2 * _hits(confusion), total, out=np.zeros(total.shape), where=total > 0)
    count = present.sum(0)
    mean = _ratio((f1 * present).sum(0), count.astype(np.float64))
    return np.where(confusion.sum((0, 1)) > 0, mean, np.nan)


def _rank_errors(labels: int) -> Array:
    rank = np.arange(labels, dtype=np.float64)
    return np.abs(rank[:, None] - rank[None, :])


def mae_answered(confusion: Array) -> Array:
    """Mean distance in ranks between choice and truth, among answers with a reading (HandVQA, 4.1)."""
    known = confusion[:, :-1]
    return _ratio(_weighted(known, _rank_errors(len(known))), known.sum((0, 1)))


def mae_worst_case(confusion: Array) -> Array:
    """The same over all answers; one without a reading costs the largest error that its truth allows."""
    errors = _rank_errors(len(confusion))
    cost = np.concatenate([errors, errors.max(axis=1, keepdims=True)], axis=1)
    return _ratio(_weighted(confusion, cost), confusion.sum((0, 1)))


def all_metrics(confusion: Array, *, ordinal: bool, present: NDArray[np.bool_]) -> dict[str, Array]:
    """Every metric by name.

    Args:
        confusion: (K, K + 1, ...).
        ordinal: whether ranks have distances (angle, distance); else no rank errors are given.
        present: (K, ...) labels that macro-F1 averages over.
    """
    answered = np.concatenate([confusion[:, :-1], np.zeros_like(confusion[:, -1:])], axis=1)
    values = {
        "accuracy": accuracy(confusion),
        "accuracy_answered": accuracy_answered(confusion),
        "answer_rate": answer_rate(confusion),
        "macro_f1": macro_f1(confusion, present),
        "macro_f1_answered": macro_f1(answered, present),
    }
    if ordinal:
        values["mae_answered"] = mae_answered(confusion)
        values["mae_worst_case"] = mae_worst_case(confusion)
    return values
