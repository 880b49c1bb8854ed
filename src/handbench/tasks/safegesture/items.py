"""Readings of one model → arrays, one entry per item."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from handbench.tasks.safegesture.cell_counts import count_cells
from handbench.tasks.safegesture.cells import Cells
from handbench.tasks.safegesture.reading import KEY

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Items:
    """One model's answers.

    Attributes:
        cell: (N,) number of the cell, gesture · S + scenario.
        gesture: (N,) number of the gesture named, -1 where none is readable.
        label: (N,) number of the label, -1 where none is readable.
        asked_gesture: whether a gesture was asked for at all.
    """

    cell: Ints
    gesture: Ints
    label: Ints
    asked_gesture: bool

    def true_gesture(self, cells: Cells) -> Ints:
        """(N,) number of the gesture shown."""
        return self.cell // len(cells.scenarios)

    def truth_counts(self, cells: Cells) -> list[int]:
        """K numbers of items by the label that is right, then 0."""
        return [*map(int, np.bincount(cells.flat_truth[self.cell], minlength=len(cells.labels) + 1))]

    def label_counts(self, cells: Cells) -> list[int]:
        """K numbers of items by the label said, then how many have none that is readable."""
        size = len(cells.labels)
        return [*map(int, np.bincount(np.where(self.label < 0, size, self.label), minlength=size + 1))]

    def counts(self, cells: Cells, label: Ints | None = None) -> Ints:
        """(C, 2, K + 1) counts by cell, of these answers or of other labels with the same gestures."""
        answered = self.label if label is None else label
        right = self.gesture == self.true_gesture(cells)
        return count_cells(self.cell, right, answered, cells.truth.size, len(cells.labels))


def items_of(questions: pl.DataFrame, readings: pl.DataFrame, cells: Cells) -> Items:
    """Bring one model's readings into arrays.

    A reply to a scenario alone serves every gesture of that scenario (section 3.8).

    Args:
        questions: the ``questions`` table.
        readings: the ``readings`` of one model.
        cells: the grid.
    """
    rows = readings.join(
        questions.select(*KEY, "about_gesture", "about_scenario"), on=KEY, how="left", maintain_order="left"
    )
    gestures = pl.DataFrame({"every": cells.gesture_ids})
    rows = rows.with_columns(pl.col("about_gesture").cast(pl.String))
    alone = rows.filter(pl.col("about_gesture").is_null()).join(gestures, how="cross")
    rows = pl.concat(
        [rows.drop_nulls("about_gesture"), alone.with_columns(pl.col("every").alias("about_gesture")).drop("every")]
    )
    shown, scenario, gesture, label = (
        _numbers(rows[column], names)
        for column, names in (
            ("about_gesture", cells.gesture_ids),
            ("about_scenario", cells.scenario_ids),
            ("gesture", cells.gesture_ids),
            ("label", cells.label_ids),
        )
    )
    asked = bool(rows["gesture_correct"].is_not_null().any())
    return Items(shown * len(cells.scenarios) + scenario, gesture, label, asked)


def _numbers(names: pl.Series, known: tuple[str, ...]) -> Ints:
    table = {name: number for number, name in enumerate(known)}
    numbers = names.cast(pl.String).replace_strict(table, default=-1, return_dtype=pl.Int64)
    return np.asarray(numbers.fill_null(-1).to_numpy(), np.int64)
