"""Policies that see no image (SafeGesture, section 3.9 and Appendix J), and tables over a model's own gesture."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from handbench.tasks.safegesture.cell_counts import count_cells
from handbench.tasks.safegesture.cells import Cells

POLICIES: Final = ("always-WARNING", "scenario-majority", "scenario-majority-first", "gesture-majority")
"""Policies with one answer per cell; ``-first`` breaks ties toward the first label instead of the commonest."""


def majority(cells: Cells) -> int:
    """The label of most cells, the first of equals."""
    return int(np.bincount(cells.flat_truth, minlength=len(cells.labels)).argmax())


def _majorities(truth: NDArray[np.int64], labels: int, prefer: int | None) -> NDArray[np.int64]:
    """(N, M) labels → (N,) commonest label of each row; of equals the preferred one, else the first."""
    counts = (truth[:, :, None] == np.arange(labels)).sum(1)
    chosen = np.asarray(counts.argmax(1), np.int64)
    if prefer is not None:
        chosen = np.where(counts[:, prefer] == counts.max(1), prefer, chosen)
    return chosen


def policy(name: str, cells: Cells) -> NDArray[np.int64]:
    """(G, S) answers of a policy.

    Args:
        name: one of :data:`POLICIES`.
        cells: the grid; ``always-WARNING`` answers its commonest label.
    """
    shape, labels = cells.truth.shape, len(cells.labels)
    common = majority(cells)
    if name == "always-WARNING":
        return np.full(shape, common)
    if name == "gesture-majority":
        return np.broadcast_to(_majorities(cells.truth, labels, common)[:, None], shape)
    prefer = {"scenario-majority": common, "scenario-majority-first": None}[name]
    return np.broadcast_to(_majorities(cells.truth.T, labels, prefer)[None, :], shape)


def policy_counts(
    answers: NDArray[np.integer], cells: Cells, items: int | NDArray[np.integer] = 1
) -> NDArray[np.int64]:
    """(G, S) answers → (C, 2, K + 1) counts; a policy names no gesture, so none is right.

    Args:
        answers: (G, S) labels.
        cells: the grid.
        items: of each cell, one number for all or (C,).
    """
    flat = answers.ravel()
    counts = count_cells(np.arange(flat.size), np.zeros(flat.size, bool), flat, flat.size, len(cells.labels))
    return np.asarray(counts * np.reshape(items, (-1, 1, 1)), np.int64)


def uniform_accuracy(cells: Cells, items: NDArray[np.integer] | None = None) -> float:
    """Expected accuracy of a uniform guess (J.3), however many ``items`` (C,) each cell has."""
    return 1 / len(cells.labels)


def stratified_accuracy(cells: Cells, items: NDArray[np.integer] | None = None) -> float:
    """Expected accuracy of a guess that follows the labels' shares of the items: the sum of their squares (J.3)."""
    weights = np.ones(cells.flat_truth.size) if items is None else items
    shares = np.bincount(cells.flat_truth, weights, minlength=len(cells.labels)) / max(weights.sum(), 1)
    return float((shares**2).sum())


def own_gesture(gesture: NDArray[np.integer], cells: Cells) -> NDArray[np.int64]:
    """What each named gesture's commonest label would have answered: the model as perceiver, a table as judge.

    Args:
        gesture: (N,) number of the gesture named, -1 where it is not readable.
        cells: the grid.

    Returns:
        (N,) label numbers; the commonest label of all where no gesture is readable.
    """
    common = majority(cells)
    table = _majorities(cells.truth, len(cells.labels), common)
    return np.where(gesture < 0, common, table[gesture])


def own_gesture_by_cell(gesture: NDArray[np.integer], scenario: NDArray[np.integer], cells: Cells) -> NDArray[np.int64]:
    """What the truth of the named gesture in the item's scenario would have answered: perception alone errs.

    Args:
        gesture: (N,) number of the gesture named, -1 where it is not readable.
        scenario: (N,) number of the scenario.
        cells: the grid.

    Returns:
        (N,) label numbers, -1 where no gesture is readable.
    """
    return np.where(gesture < 0, -1, cells.truth[gesture, scenario])
