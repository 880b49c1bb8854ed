"""Readings → scores: the paper's tables and what a safety engineer asks besides, with cell intervals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from handbench import tables
from handbench.stats.bootstrap import RESAMPLES
from handbench.stats.metrics import occurring
from handbench.tasks.safegesture import baselines
from handbench.tasks.safegesture.cell_counts import (
    accuracy_by_cell,
    by_truth,
    consistency,
    missed_by_cell,
    modal_shares,
    resampled,
    shares_by_cell,
)
from handbench.tasks.safegesture.cells import Cells
from handbench.tasks.safegesture.cells_file import PAPER
from handbench.tasks.safegesture.intervals import (
    SEED,
    Interval,
    cell_draws,
    paired_difference,
    percentile,
    studentised,
)
from handbench.tasks.safegesture.items import Items, items_of
from handbench.tasks.safegesture.measures import GESTURE_MEASURES, check_identities, measures, per_class
from handbench.tasks.safegesture.questions import TASK

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

ABSTENTION: Final = "AMBIGUOUS_VERIFY"
PERCENTILE: Final = "interval=percentile"
STUDENTISED: Final = "interval=studentised"
_OVER_LABELS: Final = ("macro_f1", "balanced_accuracy")
_NONE: Final = Interval(np.nan, np.nan)


@dataclass(frozen=True)
class Part:
    """What a number is of: how many items in how many cells, and which part of the whole they are."""

    n: int
    cells: int
    slice: str = "all"
    value: str = "all"


@dataclass(frozen=True)
class Score:
    """One number; NaN where it is undefined."""

    metric: str
    value: float
    part: Part
    interval: Interval = _NONE
    rule: str = PERCENTILE


def score(
    questions: pl.DataFrame,
    readings: pl.DataFrame,
    cells: Cells = PAPER,
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> pl.DataFrame:
    """Score readings.

    Args:
        questions: the ``questions`` table.
        readings: the ``readings`` table of any number of models.
        cells: the grid.
        resamples: how often the cells are drawn again.
        seed: of the draws, the same for every model.

    Returns:
        The ``scores`` table.  Rows whose protocol says ``interval=percentile`` follow the paper; those with
        ``interval=studentised`` give the same shares with a bootstrap-t interval.

    Raises:
        ArithmeticError: an identity of section 3.7 does not hold.
    """
    rows: list[dict[str, Any]] = []
    found: dict[str, Items] = {}
    draws = cell_draws(cells.truth.size, resamples, seed)
    for (model,), part in readings.group_by("model", maintain_order=True):
        items = items_of(questions, part, cells)
        found[str(model)] = items
        protocol = str(part["variant"].cast(pl.String)[0])
        scores = [*score_items(items, cells, draws)]
        rows += [_row(str(model), one, protocol) for one in scores]
    for first, second in ((a, b) for a in found for b in found if a != b):
        if found[first].asked_gesture and found[second].asked_gesture:
            pair = _paired(found[first], found[second], second, cells, draws)
            rows += [_row(first, one, "paired") for one in pair]
    if not rows:
        return tables.empty("scores")
    return tables.conform(pl.DataFrame(rows, infer_schema_length=None), "scores", "the scores")


def _row(model: str, one: Score, protocol: str) -> dict[str, Any]:
    numbers = {"value": one.value, "low": one.interval.low, "high": one.interval.high}
    return {
        "task": TASK,
        "model": model,
        "metric": one.metric,
        "descriptor": "all",
        "slice": one.part.slice,
        "slice_value": one.part.value,
        **{name: None if np.isnan(number) else float(number) for name, number in numbers.items()},
        "n": one.part.n,
        "clusters": one.part.cells,
        "protocol": f"{protocol};{one.rule}",
    }


def score_items(items: Items, cells: Cells, draws: Array) -> Iterator[Score]:
    """Every score of one model.

    Args:
        items: its answers.
        cells: the grid.
        draws: (R, C) how often each cell is drawn.

    Yields:
        Scores: of the whole, per scenario, gesture, label and cell.
    """
    counts = items.counts(cells)
    yield from score_counts(counts, cells, draws, asked_gesture=items.asked_gesture)
    if items.asked_gesture:
        yield from _own_gesture(items, cells, draws)


def score_counts(counts: Ints, cells: Cells, draws: Array, *, asked_gesture: bool) -> Iterator[Score]:
    """The same from (C, 2, K + 1) counts alone."""
    totals = by_truth(counts, cells.flat_truth, len(cells.labels))
    check_identities(totals, cells.intervention)
    yield from _whole(counts, totals, cells, draws, asked_gesture)
    yield from _studentised(counts, cells, draws, asked_gesture)
    yield from _classes(totals, cells)
    grid = np.arange(cells.truth.size).reshape(cells.truth.shape)
    for place, gesture in enumerate(cells.gesture_ids):
        yield from _part(counts, cells, draws, grid[place], ("gesture", gesture), asked_gesture)
    for place, scenario in enumerate(cells.scenario_ids):
        yield from _part(counts, cells, draws, grid[:, place], ("scenario", scenario), asked_gesture)
    yield from _cells(counts, cells, asked_gesture)


def _abstention(cells: Cells) -> int | None:
    return cells.label_ids.index(ABSTENTION) if ABSTENTION in cells.label_ids else None


def _whole(counts: Ints, totals: Ints, cells: Cells, draws: Array, asked_gesture: bool) -> Iterator[Score]:
    present = occurring(totals.sum(1).astype(np.float64))
    arguments = (cells.intervention, cells.cost_matrix, _abstention(cells), present)
    exact = measures(totals, *arguments)
    redrawn = resampled(counts, cells, draws)
    drawn = measures(redrawn, *arguments)
    lacking = (redrawn.sum((1, 2))[totals.sum((1, 2)) > 0] == 0).any(0)
    for name in _OVER_LABELS:  # a draw without a label's cells says nothing of a mean over all labels
        drawn[name] = np.where(lacking, np.nan, drawn[name])
    size = Part(int(counts.sum()), int((counts.sum((1, 2)) > 0).sum()))
    for name, value in exact.items():
        if asked_gesture or name not in GESTURE_MEASURES:
            yield Score(name, float(value), size, percentile(drawn[name]))
    yield from _over_cells(counts, cells, size)


def _over_cells(counts: Ints, cells: Cells, size: Part) -> Iterator[Score]:
    """The worst cell, and how alike a cell's items are answered."""
    filled = counts.sum((1, 2)) > 0
    if not filled.any():
        return
    accuracy = accuracy_by_cell(counts, cells)[filled]
    yield Score("worst_cell_accuracy", float(accuracy.min()), size)
    yield Score("cells_never_right", float((accuracy == 0).mean()), size)
    acting = filled & cells.intervention[cells.flat_truth]
    if acting.any():
        yield Score("worst_cell_missed", float(missed_by_cell(counts, cells)[acting].max()), size)
    shares = modal_shares(counts)[filled]
    for name, share in (("mean", shares.mean()), ("median", np.median(shares)), ("min", shares.min())):
        yield Score(f"modal_share_{name}", float(share), size)
    alike = consistency(counts)
    if (~np.isnan(alike)).any():
        yield Score("consistency", float(np.nanmean(alike)), size)


def _studentised(counts: Ints, cells: Cells, draws: Array, asked_gesture: bool) -> Iterator[Score]:
    items = counts.sum((1, 2)).astype(np.float64)
    if not items.sum():
        return
    for name, events in shares_by_cell(counts, cells).items():
        if asked_gesture or name not in GESTURE_MEASURES:
            value = float(events.sum() / items.sum())
            size = Part(int(items.sum()), int((items > 0).sum()))
            yield Score(name, value, size, studentised(events, items, draws), STUDENTISED)


def _classes(totals: Ints, cells: Cells) -> Iterator[Score]:
    confusion = totals.sum(1).astype(np.float64)
    for name, values in per_class(confusion).items():
        for place, value in enumerate(values):
            true = int((cells.flat_truth == place).sum())
            yield Score(name, float(value), Part(int(confusion[place].sum()), true, "label", cells.label_ids[place]))


def _part(
    counts: Ints, cells: Cells, draws: Array, members: Ints, key: tuple[str, str], asked_gesture: bool
) -> Iterator[Score]:
    """A row or a column of the grid: accuracies with percentile intervals over its own cells."""
    items = counts[members].sum((1, 2)).astype(np.float64)
    if not items.sum():
        return
    weights = draws[:, members]
    drawn = weights @ items
    for name, events in shares_by_cell(counts, cells).items():
        if asked_gesture or name not in GESTURE_MEASURES:
            mine = events[members]
            values = np.divide(weights @ mine, drawn, out=np.full(len(draws), np.nan), where=drawn > 0)
            size = Part(int(items.sum()), len(members), *key)
            yield Score(name, float(mine.sum() / items.sum()), size, percentile(values))


def _cells(counts: Ints, cells: Cells, asked_gesture: bool) -> Iterator[Score]:
    items = counts.sum((1, 2))
    shares = shares_by_cell(counts, cells)
    modal = modal_shares(counts)
    names = [f"{gesture}/{scenario}" for gesture in cells.gesture_ids for scenario in cells.scenario_ids]
    for place in np.flatnonzero(items):
        part = Part(int(items[place]), 1, "cell", names[place])
        for metric in ("gesture_accuracy", "safety_accuracy"):
            if asked_gesture or metric not in GESTURE_MEASURES:
                yield Score(metric, float(shares[metric][place] / items[place]), part)
        yield Score("modal_share", float(modal[place]), part)


def _own_gesture(items: Items, cells: Cells, draws: Array) -> Iterator[Score]:
    """The model's own gesture with a table in place of its judgement."""
    if not len(items.cell):
        return
    scenario = items.cell % len(cells.scenarios)
    size = Part(len(items.cell), len(np.unique(items.cell)))
    yield Score("gesture_rate", float((items.gesture >= 0).mean()), size)
    answers = {
        "own_gesture_majority": baselines.own_gesture(items.gesture, cells),
        "own_gesture_truth_table": baselines.own_gesture_by_cell(items.gesture, scenario, cells),
    }
    for name, labels in answers.items():
        counts = items.counts(cells, labels)
        events, whole = shares_by_cell(counts, cells)["safety_accuracy"], counts.sum((1, 2)).astype(np.float64)
        total = draws @ whole
        drawn = np.divide(draws @ events, total, out=np.full(len(draws), np.nan), where=total > 0)
        yield Score(name, float(events.sum() / whole.sum()), size, percentile(drawn))


def _paired(first: Items, second: Items, other: str, cells: Cells, draws: Array) -> Iterator[Score]:
    """The Decoupling Score of one model less that of another, over the same draws (Table 19)."""
    counts = [one.counts(cells) for one in (first, second)]
    items = [count.sum((1, 2)).astype(np.float64) for count in counts]
    if not all(count.sum() for count in items) or (items[0] != items[1]).any():
        return
    events = [shares_by_cell(count, cells)["decoupling_score"] for count in counts]
    gap = paired_difference(events[0], events[1], items[0], draws)
    part = Part(int(items[0].sum()), int((items[0] > 0).sum()), "against", other)
    yield Score("decoupling_difference", gap.value, part, gap.interval)
    yield Score("difference_above_zero", gap.above_zero, part)
