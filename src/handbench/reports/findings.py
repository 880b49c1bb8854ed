"""What the numbers say, in sentences; and where a model fails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from handbench.reports.drawing import TITLES

BLIND = ("chance", "prior", "oracle")
"""Models that see no image: what others are held against."""


def kind(model: str) -> str:
    """``chance`` of ``chance?seed=1``."""
    return model.partition("?")[0].partition(":")[0]


def _whole(scores: pl.DataFrame, metric: str) -> dict[tuple[str, str], dict[str, Any]]:
    rows = scores.filter((pl.col("slice").cast(pl.String) == "all") & (pl.col("metric").cast(pl.String) == metric))
    return {(row["model"], row["descriptor"]): row for row in rows.iter_rows(named=True)}


def verdicts(scores: pl.DataFrame) -> list[str]:
    """One sentence per model that sees images: where it beats the prior, and what it left open."""
    accuracy, answered = _whole(scores, "accuracy"), _whole(scores, "answer_rate")
    models = scores["model"].cast(pl.String).unique(maintain_order=True).to_list()
    prior = next((model for model in models if kind(model) == "prior"), None)
    sentences = []
    for model in models:
        if kind(model) == "oracle" and any(row["value"] != 1.0 for (name, _), row in accuracy.items() if name == model):
            sentences.append("The oracle is not at 100 %: the harness itself is at fault; trust nothing below.")
        if kind(model) in BLIND:
            continue
        groups: dict[str, list[str]] = {"above": [], "below": [], "level with": []}
        for name, title in TITLES.items():
            mine, base = accuracy.get((model, name)), accuracy.get((prior or "", name))
            if mine is None or base is None or mine["low"] is None:
                continue
            relation = (
                "above" if mine["low"] > base["value"] else "below" if mine["high"] < base["value"] else "level with"
            )
            groups[relation].append(_in_words(title))
        parts = [f"{relation} the prior on {_and(names)}" for relation, names in groups.items() if names]
        rate = answered.get((model, "all"))
        tail = f" It answered {100 * rate['value']:.1f} % of the questions." if rate and rate["value"] < 1 else ""
        if parts:
            sentences.append(f"{model} is {'; '.join(parts)} (its 95 % interval against the prior's score).{tail}")
        elif tail:
            sentences.append(f"{model}:{tail}")
    return sentences


def _in_words(title: str) -> str:
    return title.partition(" (")[0].lower()


def _and(names: list[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


@dataclass(frozen=True)
class Weak:
    """A slice with its accuracy."""

    descriptor: str
    slice: str
    name: str
    value: float
    low: float | None
    high: float | None
    n: int


def weakest(scores: pl.DataFrame, model: str, part: str, count: int = 6, least: int = 20) -> list[Weak]:
    """The slices of one kind in which a model is worst.

    Args:
        scores: the ``scores`` table.
        model: which model.
        part: ``pair``, ``joint``, ``side`` or a factor.
        count: how many.
        least: slices with fewer answers are left out.
    """
    rows = scores.filter(
        pl.col("model").cast(pl.String) == model,
        pl.col("slice").cast(pl.String) == part,
        pl.col("metric").cast(pl.String) == "accuracy",
        pl.col("n") >= least,
        pl.col("value").is_not_null(),
    ).sort("value")
    return [
        Weak(
            TITLES[row["descriptor"]],
            part,
            row["slice_value"],
            row["value"],
            row["low"],
            row["high"],
            row["n"],
        )
        for row in rows.head(count).iter_rows(named=True)
    ]


@dataclass(frozen=True)
class Grid:
    """Accuracy by the values of one factor (rows) and descriptor (columns)."""

    factor: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[float | None, ...], int], ...]


def factor_grids(scores: pl.DataFrame, model: str) -> list[Grid]:
    """Accuracy of one model by side and by every factor of the data."""
    rows = scores.filter(
        pl.col("model").cast(pl.String) == model,
        pl.col("metric").cast(pl.String) == "accuracy",
        pl.col("slice").cast(pl.String).str.contains("^(side|factor_)"),
    )
    names = [name for name in TITLES if name in set(rows["descriptor"].cast(pl.String))]
    grids = []
    for (factor,), part in rows.group_by("slice", maintain_order=True):
        found = {(row["slice_value"], row["descriptor"]): row for row in part.iter_rows(named=True)}
        values = sorted({value for value, _ in found})
        lines = tuple(
            (
                value,
                tuple(found[value, name]["value"] if (value, name) in found else None for name in names),
                sum(found[value, name]["n"] for name in names if (value, name) in found),
            )
            for value in values
        )
        grids.append(Grid(str(factor).removeprefix("factor_"), tuple(TITLES[name] for name in names), lines))
    return grids


@dataclass(frozen=True)
class Confusion:
    """Truth down, choice across, the last column the answers without a reading."""

    title: str
    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]


def confusions(rows: pl.DataFrame, model: str, labels: dict[str, tuple[str, ...]]) -> list[Confusion]:
    """Confusion matrices of one model, one per descriptor.

    Args:
        rows: answers with ``model, about_descriptor, truth_rank, chosen_rank``.
        model: which model.
        labels: labels of each descriptor in rank order.
    """
    mine = rows.filter(pl.col("model").cast(pl.String) == model)
    result = []
    for name, known in labels.items():
        part = mine.filter(pl.col("about_descriptor").cast(pl.String) == name)
        if part.is_empty():
            continue
        counted = part.group_by("truth_rank", pl.col("chosen_rank").fill_null(len(known))).len()
        found = {(row[0], row[1]): row[2] for row in counted.iter_rows()}
        table = tuple(
            tuple(found.get((truth, chosen), 0) for chosen in range(len(known) + 1)) for truth in range(len(known))
        )
        result.append(Confusion(TITLES[name], known, table))
    return result
