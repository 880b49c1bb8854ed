"""The score board: the paper's Tables 2 and 3 in one, the run's models first and published rows below."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import polars as pl

COLUMNS: Final = (
    ("angle", "accuracy", "Angle", "acc. ↑"),
    ("angle", "mae_answered", "Angle", "MAE ↓"),
    ("distance", "accuracy", "Distance", "acc. ↑"),
    ("distance", "mae_answered", "Distance", "MAE ↓"),
    ("x", "accuracy", "Left / right (X)", "acc. ↑"),
    ("y", "accuracy", "Above / below (Y)", "acc. ↑"),
    ("z", "accuracy", "Front / behind (Z)", "acc. ↑"),
    ("all", "answer_rate", "Answered", "share"),
)
"""(descriptor, metric, heading, unit) of the board's columns (HandVQA, Tables 2 and 3)."""

_PUBLISHED_NAMES: Final = {"freihand": "FreiHAND", "interhand": "InterHand2.6M", "fpha": "FPHA"}


@dataclass(frozen=True)
class Cell:
    """One number of the board; ``value`` is None where there is none."""

    value: float | None
    low: float | None = None
    high: float | None = None
    percent: bool = True

    @property
    def text(self) -> str:
        """``71.4`` percent, or ``0.334`` ranks."""
        return "–" if self.value is None else _format(self.value, self.percent)

    @property
    def interval(self) -> str:
        """``69.0–73.7``, empty where there is none."""
        if self.low is None or self.high is None:
            return ""
        between = "–" if self.low >= 0 else " to "  # a dash between two signs is hard to read
        return f"{_format(self.low, self.percent)}{between}{_format(self.high, self.percent)}"

    @property
    def short_interval(self) -> str:
        """``69–74`` percent, or ``.33–.41`` ranks: for narrow places; empty where the ends are one."""
        if self.low is None or self.high is None or self.low == self.high:
            return ""
        return f"{_short(self.low, self.percent)}–{_short(self.high, self.percent)}"


def _short(value: float, percent: bool) -> str:
    if percent:
        return f"{100 * value:.0f}"
    return f"{value:.2f}"[1:] if value < 1 else f"{value:.1f}"


def _format(value: float, percent: bool) -> str:
    return f"{100 * value:.1f}" if percent else f"{value:.3f}"


@dataclass(frozen=True)
class Row:
    """One line of the board."""

    name: str
    cells: tuple[Cell, ...]
    published: bool = False
    ceiling: bool = False


def model_rows(scores: pl.DataFrame) -> list[Row]:
    """A line per model of the run, in the run's order."""
    whole = scores.filter(pl.col("slice").cast(pl.String) == "all")
    rows = []
    for (model,), part in whole.group_by("model", maintain_order=True):
        found = {
            (row["descriptor"], row["metric"]): Cell(row["value"], row["low"], row["high"], _percent(row["metric"]))
            for row in part.iter_rows(named=True)
        }
        cells = tuple(found.get((descriptor, metric), Cell(None)) for descriptor, metric, _, _ in COLUMNS)
        rows.append(Row(str(model), cells))
    return rows


def ceiling_row(ceiling: pl.DataFrame | None) -> Row | None:
    """The line of the truth's own ceiling, None where there is none.

    Args:
        ceiling: the ``ceiling`` table of the run.
    """
    if ceiling is None or ceiling.is_empty():
        return None
    found = {row["descriptor"]: row for row in ceiling.iter_rows(named=True)}
    first = next(iter(found.values()))
    cells = []
    for descriptor, metric, _, _ in COLUMNS:
        row = found.get(descriptor)
        if row is None or metric == "answer_rate":
            cells.append(Cell(None))
        elif metric == "accuracy":
            cells.append(Cell(row["accuracy"], row["low"], row["high"]))
        else:
            cells.append(Cell(row["mae"], percent=False))
    named = f"truth's ceiling: joints off by {1000 * first['noise']:.3g} mm ({first['noise_source']})"
    return Row(named, tuple(cells), ceiling=True)


def _percent(metric: str) -> bool:
    return not metric.startswith("mae")


def published_rows(published: pl.DataFrame, dataset: str) -> tuple[list[Row], str]:
    """The paper's own lines for a dataset, and what must be said of them.

    Args:
        published: as a task's ``published()`` gives it.
        dataset: the run's dataset; where the paper has no such set, its FreiHAND lines are shown, and the
            note says that they are of other data.
    """
    name = _PUBLISHED_NAMES.get(dataset, "FreiHAND")
    note = f"Published: HandVQA Tables 2 and 3, {name}; percent and ranks as printed there, without intervals."
    if dataset not in _PUBLISHED_NAMES:
        note += " Other images than this run's: for orientation, not for comparison."
    tables = published.filter(pl.col("table").is_in(["Table 2", "Table 3"]), pl.col("evaluated_on") == name)
    rows = []
    for (model, tuned), part in tables.group_by("model", "tuned_on", maintain_order=True):
        found = {(row["descriptor"], row["metric"]): row["value"] for row in part.iter_rows(named=True)}
        cells = []
        for descriptor, metric, _, _ in COLUMNS:
            value = found.get((descriptor, "mae" if metric == "mae_answered" else metric))
            percent = _percent(metric)
            cells.append(Cell(value / 100 if value is not None and percent else value, percent=percent))
        tuning = "base" if tuned is None else f"tuned on {tuned}"
        rows.append(Row(f"{model}, {tuning}", tuple(cells), published=True))
    return rows, note
