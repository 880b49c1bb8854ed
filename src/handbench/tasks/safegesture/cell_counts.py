"""Counts of answers by cell, and what follows from each cell alone.

Counts are (C, 2, K + 1): cell (gesture · S + scenario), whether the gesture was right (0 no, 1 yes), label answered;
the last column counts answers whose label is not readable.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from handbench.tasks.safegesture.cells import Cells
from handbench.tasks.safegesture.measures import ratio

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


def count_cells(
    cell: NDArray[np.integer], gesture_right: NDArray[np.bool_], label: NDArray[np.integer], cells: int, labels: int
) -> NDArray[np.int64]:
    """Count answers.

    Args:
        cell: (N,) number of the cell.
        gesture_right: (N,) whether the gesture was named rightly.
        label: (N,) number of the label, -1 where it is not readable.
        cells: number of cells C.
        labels: number of labels K.

    Returns:
        (C, 2, K + 1) counts.
    """
    column = np.where(label < 0, labels, label).astype(np.int64)
    code = (cell.astype(np.int64) * 2 + gesture_right) * (labels + 1) + column
    counts = np.bincount(code, minlength=cells * 2 * (labels + 1))
    return np.asarray(counts.reshape(cells, 2, labels + 1), np.int64)


def by_truth(counts: NDArray[np.integer], truth: NDArray[np.integer], labels: int) -> NDArray[np.int64]:
    """(C, 2, K + 1) counts of cells → (K, 2, K + 1), summed over the cells of each true label."""
    total = np.zeros((labels, *counts.shape[1:]), np.int64)
    np.add.at(total, truth, counts)
    return total


def resampled(counts: Ints, cells: Cells, draws: Array) -> Array:
    """(C, 2, K + 1) counts → (K, 2, K + 1, R) counts by truth in every draw of the cells."""
    labels = len(cells.labels)
    by_label = np.zeros((labels, *counts.shape[1:], len(draws)))
    for label in range(labels):
        mine = cells.flat_truth == label
        drawn = draws[:, mine] @ counts[mine].reshape(int(mine.sum()), counts[0].size)
        by_label[label] = drawn.T.reshape(*counts.shape[1:], len(draws))
    return by_label


def accuracy_by_cell(counts: Ints, cells: Cells) -> Array:
    """(C,) share of each cell's items with the right label; NaN for an empty cell."""
    right = counts[np.arange(len(counts)), :, cells.flat_truth].sum(1)
    return ratio(right.astype(np.float64), counts.sum((1, 2)).astype(np.float64))


def missed_by_cell(counts: Ints, cells: Cells) -> Array:
    """(C,) share of each cell's items without an intervention; NaN for an empty cell."""
    idle = np.append(~cells.intervention, True)
    return ratio(counts.sum(1)[:, idle].sum(1).astype(np.float64), counts.sum((1, 2)).astype(np.float64))


def shares_by_cell(counts: Ints, cells: Cells) -> dict[str, Array]:
    """(C,) numbers of items by cell that the shares of the whole are made of."""
    acts = np.append(cells.intervention, False)
    truth = cells.flat_truth
    gesture = counts[:, 1].sum(1)
    safety = counts[np.arange(len(counts)), :, truth].sum(1)
    named, every = counts[:, 1], counts.sum(1)
    needed = cells.intervention[truth]
    events = {
        "gesture_accuracy": gesture,
        "safety_accuracy": safety,
        "decoupling_score": gesture - safety,
        "under_safety": np.where(needed, named[:, ~acts].sum(1), 0),
        "over_safety": np.where(needed, 0, named[:, acts].sum(1)),
        "under_safety_any_gesture": np.where(needed, every[:, ~acts].sum(1), 0),
        "over_safety_any_gesture": np.where(needed, 0, every[:, acts].sum(1)),
    }
    return {name: np.asarray(values, np.float64) for name, values in events.items()}


def modal_shares(counts: NDArray[np.integer]) -> Array:
    """(C, 2, K + 1) → (C,) share of each cell's most frequent answer (Appendix I); NaN for an empty cell."""
    answers = counts.sum(1).astype(np.float64)
    return ratio(answers.max(1), answers.sum(1))


def consistency(counts: NDArray[np.integer]) -> Array:
    """(C,) chance that two different items of a cell are answered alike; NaN below two items."""
    answers = counts.sum(1).astype(np.float64)
    n = answers.sum(1)
    return ratio((answers * (answers - 1)).sum(1), n * (n - 1))
