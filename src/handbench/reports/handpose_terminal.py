"""What the terminal shows of scored pose estimators, and what the numbers say in sentences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import polars as pl
from rich.table import Table

from handbench.reports.terminal_table import plain


@dataclass(frozen=True)
class Axis:
    """A column of the main table.

    Attributes:
        key: beginning of the metric's name.
        heading: what stands above it.
        larger: whether larger is better.
        where: slice and slice value.
        percent: whether it is told in percent.
        published: its name in the paper's numbers, empty where the paper gives none.
    """

    key: str
    heading: str
    larger: bool
    where: tuple[str, str] = ("all", "all")
    percent: bool = False
    published: str = ""


AXES: Final = (
    Axis("det_f1@", "Det-F1", True, published="Det-F1"),
    Axis("pck@", "PCK", True, published="PCK"),
    Axis("swap_rate@", "swap %", False, percent=True, published="label_swap_rate"),
    Axis("jerk/px", "jerk (right)", False, ("side", "right"), published="J_jerk"),
    Axis("pose_f1@", "Pose-F1", True, published="Pose-F1"),
)
"""The paper's five, whose ranks are held against one another (section 4.1)."""

FULL: Final = (
    Axis("det_p@", "Det-P", True),
    Axis("det_r@", "Det-R", True),
    AXES[0],
    AXES[1],
    Axis("mpjpe/", "MPJPE", False),
    Axis("oks_ap/", "OKS-AP", True),
    AXES[2],
    AXES[3],
    AXES[4],
)
"""All columns of the main table (Table 3)."""


def number(scores: pl.DataFrame, model: str, stage: str, axis: Axis) -> dict[str, Any] | None:
    """The row of one number, None where there is none."""
    found = scores.filter(
        (pl.col("model").cast(pl.String) == model)
        & (pl.col("stage").cast(pl.String) == stage)
        & pl.col("metric").cast(pl.String).str.starts_with(axis.key)
        & (pl.col("slice").cast(pl.String) == axis.where[0])
        & (pl.col("slice_value") == axis.where[1])
    )
    return found.row(0, named=True) if found.height else None


def shown(value: float | None, axis: Axis) -> str:
    """A value as it is printed; a dash where it is undefined."""
    if value is None:
        return "–"
    return f"{100 * value:.2f}" if axis.percent else f"{value:.3f}"


def _short(value: float, axis: Axis) -> str:
    """An end of an interval, for narrow places."""
    return f"{100 * value:.1f}" if axis.percent else f"{value:.2f}"


def models_of(scores: pl.DataFrame) -> list[str]:
    """The estimators, in the order of the table."""
    return scores["model"].cast(pl.String).unique(maintain_order=True).to_list()


def stages_of(scores: pl.DataFrame) -> list[str]:
    """The stages scored, raw first."""
    return scores["stage"].cast(pl.String).unique(maintain_order=True).to_list()


def board(scores: pl.DataFrame, manifest: dict[str, Any]) -> Table:
    """The score board: a row per estimator and stage."""
    told = manifest["set"]
    mark = " (synthetic)" if manifest["source"]["synthetic"] else ""
    title = (
        f"handpose on {manifest['source']['name']}{mark}: {told['hands']} hands ({told['left']} left) on "
        f"{told['frames']} frames, {told['videos']} videos"
    )
    table = plain(
        title, "95 % intervals over the videos. Det without labels; PCK, MPJPE and Pose-F1 with the same label."
    )
    table.add_column("estimator", overflow="fold", min_width=14, max_width=22)
    for axis in AXES:
        table.add_column(f"{axis.heading} {'↑' if axis.larger else '↓'}", justify="right", no_wrap=True)
    # Of an ablation's many stages the terminal shows the first and the whole; the report has them all.
    told_stages = [stage for stage in stages_of(scores) if stage in ("raw", "both")] or stages_of(scores)
    if len(stages_of(scores)) < 4:
        told_stages = stages_of(scores)
    for model in models_of(scores):
        for stage in told_stages:
            cells = []
            for axis in AXES:
                row = number(scores, model, stage, axis)
                interval = ""
                if row and row["low"] is not None:
                    interval = f"\n[dim]{_short(row['low'], axis)}–{_short(row['high'], axis)}[/dim]"
                cells.append(shown(row["value"] if row else None, axis) + interval)
            name = f"[bold]{model}[/bold]" if stage == "raw" else f"  [dim]{stage}[/dim]"
            table.add_row(name, *cells)
    return table


def order_on(scores: pl.DataFrame, axis: Axis, stage: str = "raw") -> list[tuple[str, float]]:
    """Estimators with their values on an axis, the best first; those without a value are left out."""
    found = [(model, number(scores, model, stage, axis)) for model in models_of(scores)]
    known = [(model, row["value"]) for model, row in found if row is not None and row["value"] is not None]
    return sorted(known, key=lambda pair: -pair[1] if axis.larger else pair[1])


def sentences(scores: pl.DataFrame) -> list[str]:
    """Who leads each axis, and whether the order is the same on all of them."""
    orders = {axis.heading: order_on(scores, axis) for axis in AXES}
    told = []
    leaders: dict[str, list[str]] = {}
    for heading, order in orders.items():
        if len(order) > 1:
            leaders.setdefault(order[0][0], []).append(heading)
    for model, headings in leaders.items():
        told.append(f"{model} leads {_and(headings)}.")
    full = [[model for model, _ in order] for order in orders.values() if len(order) > 1]
    if len(full) > 1:
        same = all(order == full[0] for order in full)
        told.append(
            "The estimators stand in the same order on all five axes."
            if same
            else "The order of the estimators changes from axis to axis: no one number ranks them."
        )
    if "both" in stages_of(scores):
        told += _cleanup(scores)
    return told


def _cleanup(scores: pl.DataFrame) -> list[str]:
    told = []
    for model in models_of(scores):
        raw, both = (number(scores, model, stage, AXES[4]) for stage in ("raw", "both"))
        if raw and both and raw["value"] is not None and both["value"] is not None:
            one, other = f"{raw['value']:.3f}", f"{both['value']:.3f}"
            told.append(
                f"Cleanup leaves {model}'s Pose-F1 at {one}."
                if one == other
                else f"Cleanup moves {model}'s Pose-F1 from {one} to {other}."
            )
    return told


def _and(names: list[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]
