"""The cells as heat maps, and what was shown against what was said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from handbench.tasks.safegesture.cell_counts import accuracy_by_cell, by_truth, modal_shares
from handbench.tasks.safegesture.cells import Cells
from handbench.tasks.safegesture.items import Items

SHORT: Final = {
    "CRITICAL_STOP": "CRIT",
    "WARNING_ATTENTION": "WARN",
    "HELP_DISTRESS": "HELP",
    "SAFE_NEUTRAL": "SAFE",
    "AMBIGUOUS_VERIFY": "AMBIG",
}
"""As the paper abbreviates the labels (Table 9)."""

_COLOURS: Final = ("179,64,42", "217,138,61", "139,95,168", "47,143,91", "95,131,181", "194,161,77", "27,127,121")
_NONE: Final = "138,143,152"
_GOOD: Final = "27,127,77"
_BAD: Final = "179,64,42"


@dataclass(frozen=True)
class Cell:
    """A cell of a heat map: its text and share in percent, its colour (``r,g,b,alpha``), what pointing at it tells."""

    text: str
    colour: str
    title: str = ""
    share: str = ""


Grid = list[tuple[str, list[Cell]]]


def short_labels(cells: Cells) -> list[str]:
    """The labels in a few letters."""
    return [SHORT.get(label, label[:5].rstrip("_")) for label in cells.label_ids]


def label_colours(cells: Cells) -> list[str]:
    """A colour of each label."""
    return [_COLOURS[place % len(_COLOURS)] for place in range(len(cells.labels))]


def truth_grid(cells: Cells) -> Grid:
    """The right label of every cell, and what the system should do where the file has it."""
    names, colours = short_labels(cells), label_colours(cells)
    return [
        (
            gesture.id,
            [
                Cell(
                    names[label],
                    f"{colours[label]},0.55",
                    cells.behavior.get((gesture.id, scenario.id), cells.label_ids[label]),
                )
                for scenario, label in zip(cells.scenarios, row, strict=True)
            ],
        )
        for gesture, row in zip(cells.gestures, cells.truth, strict=True)
    ]


def prediction_grid(items: Items, cells: Cells) -> Grid:
    """What a model says most often in every cell; the paler, the less often."""
    counts = items.counts(cells)
    answers, shares = counts.sum(1), modal_shares(counts)
    names, colours = [*short_labels(cells), "none"], [*label_colours(cells), _NONE]
    found = []
    for place, said in enumerate(answers):
        if not said.sum():
            found.append(Cell("–", "0,0,0,0", "no item"))
            continue
        modal = int(said.argmax())
        title = ", ".join(f"{name} {count}" for name, count in zip(names, said, strict=True) if count)
        share = float(shares[place])
        colour = f"{colours[modal]},{0.1 + 0.45 * share:.2f}"
        found.append(Cell(names[modal], colour, title, "" if share == 1 else f"{100 * share:.0f}"))
    return _rows(found, cells)


def agreement_grid(items: Items, cells: Cells) -> Grid:
    """How often a model is right in every cell."""
    found = []
    for share in accuracy_by_cell(items.counts(cells), cells):
        if np.isnan(share):
            found.append(Cell("–", "0,0,0,0", "no item"))
            continue
        colour, depth = (_GOOD, share) if share >= 0.5 else (_BAD, 1 - share)
        found.append(Cell(f"{100 * share:.0f}", f"{colour},{0.08 + 0.5 * (2 * depth - 1):.2f}"))
    return _rows(found, cells)


def _rows(flat: list[Cell], cells: Cells) -> Grid:
    width = len(cells.scenarios)
    return [(gesture.id, flat[place * width : (place + 1) * width]) for place, gesture in enumerate(cells.gestures)]


def confusion(items: Items, cells: Cells) -> Grid:
    """Labels that are right (rows) and said (columns, the last for none readable): Appendix F."""
    counts = by_truth(items.counts(cells), cells.flat_truth, len(cells.labels)).sum(1)
    return _shaded(short_labels(cells), counts)


def printed_confusion(matrix: list[list[int]], cells: Cells) -> Grid:
    """One of the paper's confusion matrices; it has no unreadable labels."""
    return _shaded(short_labels(cells), np.array(matrix))


def named(items: Items, cells: Cells) -> Grid:
    """Gestures shown (rows) and named (columns, the last for none readable), by item."""
    size = len(cells.gestures)
    said = np.where(items.gesture < 0, size, items.gesture)
    code = items.true_gesture(cells) * (size + 1) + said
    return _shaded(list(cells.gesture_ids), np.bincount(code, minlength=size * (size + 1)).reshape(size, size + 1))


def _shaded(names: list[str], counts: NDArray[np.int64]) -> Grid:
    rows = []
    for own, (name, row) in enumerate(zip(names, counts, strict=True)):
        total = max(int(row.sum()), 1)
        cells = [
            Cell(str(count), f"{_GOOD if place == own else _BAD},{0.75 * count / total:.2f}")
            for place, count in enumerate(row)
        ]
        rows.append((name, cells))
    return rows
