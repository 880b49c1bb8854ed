"""The report of an experiment: what each model scores where, what transfers, what is hard."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import polars as pl
from markupsafe import Markup

from handbench.reports import figures
from handbench.reports.drawing import TITLES
from handbench.reports.environment import template

COLUMNS: Final = (
    ("angle", "accuracy", "Angle acc."),
    ("angle", "mae_answered", "Angle MAE"),
    ("distance", "accuracy", "Distance acc."),
    ("distance", "macro_f1", "Distance macro-F1"),
    ("x", "accuracy", "X acc."),
    ("y", "accuracy", "Y acc."),
    ("z", "accuracy", "Z acc."),
)


def write(
    out: Path,
    results: pl.DataFrame,
    gaps: Sequence[dict[str, Any]],
    datasets: Sequence[str],
    questions: dict[str, int],
    chance: dict[str, float],
) -> Path:
    """Write ``report.html``.

    Args:
        out: the experiment's folder.
        results: as the experiment gives them.
        gaps: tuned against base, a row per base, training set, test set and descriptor.
        datasets: their names in order.
        questions: how many were asked of each.
        chance: accuracy of a random answer, by descriptor.
    """
    text = template("experiment.html.j2").render(
        version=version("handbench"),
        columns=COLUMNS,
        titles=TITLES,
        datasets=datasets,
        questions=questions,
        boards={name: _board(results, name) for name in datasets},
        dots={name: Markup(_dots(results, name, chance)) for name in datasets},
        strength=strength,
        transfers=_transfers(gaps, datasets),
        factors=_factors(results),
    )
    path = out / "report.html"
    path.write_text(text, encoding="utf-8")
    return path


def _name(base: str, tuned_on: str) -> str:
    """``tiny``, ``tiny, tuned on A``, ``tiny, tuned on all``."""
    return f"{base}, tuned on {tuned_on}" if tuned_on else base


def _dots(results: pl.DataFrame, dataset: str, chance: dict[str, float]) -> str:
    """Accuracy of every model on one dataset."""
    part = results.filter(pl.col("evaluated_on") == dataset)
    names = [_name(*row) for row in part.select("base", "tuned_on").iter_rows()]
    return figures.accuracy_dots(part.with_columns(pl.Series("model", names)), chance)


_FULL: Final = 0.4
"""A gain of so much has the fullest colour."""


def strength(gap: dict[str, Any]) -> str:
    """Background of a gain: fuller the larger it is; none where its interval holds zero.

    A gain that ends below the commonest answer has none either: it can be had without a look at any hand.
    """
    if gap["low"] <= 0 <= gap["high"] or (gap["difference"] > 0 and gap["above"] is not None and gap["above_low"] <= 0):
        return "transparent"
    share = min(1.0, abs(gap["difference"]) / _FULL)
    return f"rgba({'27, 127, 77' if gap['difference'] > 0 else '179, 64, 42'}, {0.08 + 0.32 * share:.2f})"


def _board(results: pl.DataFrame, dataset: str) -> list[dict[str, Any]]:
    """A line per model on one dataset (Tables 2, 3, 7, 8 and 11)."""
    whole = results.filter(pl.col("evaluated_on") == dataset, pl.col("slice") == "all")
    lines = []
    for (base, tuned_on), part in whole.group_by("base", "tuned_on", maintain_order=True):
        found = {(row["descriptor"], row["metric"]): row for row in part.iter_rows(named=True)}
        lines.append(
            {
                "base": base,
                "tuned_on": tuned_on,
                "cells": [_cell(found.get((name, metric)), metric) for name, metric, _ in COLUMNS],
            }
        )
    return lines


def _cell(row: dict[str, Any] | None, metric: str) -> dict[str, str]:
    if row is None or row["value"] is None:
        return {"text": "–", "interval": ""}
    if metric.startswith("mae"):
        return {"text": f"{row['value']:.3f}", "interval": ""}
    interval = "" if row["low"] is None else f"{100 * row['low']:.0f}–{100 * row['high']:.0f}"
    return {"text": f"{100 * row['value']:.1f}", "interval": interval}


def _transfers(gaps: Sequence[dict[str, Any]], datasets: Sequence[str]) -> list[dict[str, Any]]:
    """Tuned on (down) against tested on (across): the gain over the base, by descriptor (Tables 9 and 10)."""
    tables = []
    keys = list(dict.fromkeys((gap["base"], gap["descriptor"]) for gap in gaps))
    for base, descriptor in keys:
        mine = [gap for gap in gaps if (gap["base"], gap["descriptor"]) == (base, descriptor)]
        rows = []
        for tuned_on in dict.fromkeys(gap["tuned_on"] for gap in mine):
            found = {gap["evaluated_on"]: gap for gap in mine if gap["tuned_on"] == tuned_on}
            rows.append({"tuned_on": tuned_on, "cells": [found.get(name) for name in datasets]})
        tables.append({"base": base, "descriptor": descriptor, "rows": rows})
    return tables


def _factors(results: pl.DataFrame) -> list[dict[str, Any]]:
    """Easy and hard: accuracy by how much of the hand is seen (Table 12)."""
    part = results.filter(pl.col("slice") == "factor_visible", pl.col("metric") == "accuracy")
    rows = []
    for key, group in part.group_by("base", "tuned_on", "evaluated_on", "slice_value", maintain_order=True):
        values = dict(group.select("descriptor", "value").iter_rows())
        count = int(group["n"].sum())
        rows.append(
            {**dict(zip(("base", "tuned_on", "evaluated_on", "seen"), key, strict=True)), "n": count,
             "values": [values.get(name) for name in TITLES]}
        )  # fmt: skip
    return rows
