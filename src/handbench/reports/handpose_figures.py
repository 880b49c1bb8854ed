"""Figures of pose estimators as inline SVG: ranks that cross, blur and region, jerk and presence over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from handbench.reports.drawing import label, style, svg
from handbench.tasks.handpose.arrays import Frames, Hands
from handbench.tasks.handpose.protocol import JerkUnit
from handbench.tasks.handpose.scoring import Rank
from handbench.tasks.handpose.temporal import jerk_third_difference, track_of_side

_GRID = "#e4e6e9"


def rank_lines(ranks: dict[str, list[Rank]], paint: dict[str, str]) -> str:
    """How ranks cross from axis to axis, with the 95 % interval of each rank.

    Args:
        ranks: per axis, a rank for every estimator.
        paint: colour of each estimator.
    """
    headings = list(ranks)
    models = [rank.model for rank in next(iter(ranks.values()))]
    with style():
        figure = Figure(figsize=(1.65 * len(headings) + 2.2, 0.5 * len(models) + 1.1), layout="constrained")
        axes = figure.add_subplot()
        for place, model in enumerate(models):
            shift = (place - (len(models) - 1) / 2) * 0.05
            found = [(x, each) for x, heading in enumerate(headings) for each in ranks[heading] if each.model == model]
            known = [(x, each.rank, each) for x, each in found if each.rank is not None]
            axes.plot([x for x, _, _ in known], [rank for _, rank, _ in known], color=paint[model], linewidth=1.6)
            for x, rank, each in known:
                if each.low is not None and each.high is not None:
                    axes.plot([x + shift] * 2, [each.low, each.high], color=paint[model], linewidth=5, alpha=0.25)
                axes.plot(x, rank, "o", color=paint[model], markersize=9)
            if known:
                x, rank, _ = known[-1]
                axes.annotate(label(model), (x + 0.12, rank), va="center", color=paint[model])
        axes.set_xticks(range(len(headings)), headings)
        axes.set_yticks(range(1, len(models) + 1), [str(rank) for rank in range(1, len(models) + 1)])
        axes.set_ylim(len(models) + 0.4, 0.6)
        axes.set_xlim(-0.25, len(headings) - 0.1 + 0.14 * max(len(label(model)) for model in models) / 2)
        axes.set_ylabel("rank (1 is best)")
        axes.spines["bottom"].set_visible(False)
        axes.tick_params(length=0)
        axes.grid(axis="y", color=_GRID, linewidth=0.8)
        axes.set_axisbelow(True)
        return svg(figure)


def by_class(
    panels: Sequence[tuple[str, Sequence[str], dict[str, list[dict[str, Any] | None]]]], paint: dict[str, str]
) -> str:
    """A number per class and estimator, with intervals, one panel per division.

    Args:
        panels: title, classes, and per estimator the scores row of each class (None where there is none).
        paint: colour of each estimator.
    """
    with style():
        widths = [max(len(classes), 2) for _, classes, _ in panels]
        figure = Figure(figsize=(min(0.95 * sum(widths) + 1.2, 13), 2.7), layout="constrained")
        grid = figure.add_gridspec(1, len(panels), width_ratios=widths)
        for place, (title, classes, values) in enumerate(panels):
            axes = figure.add_subplot(grid[0, place])
            _class_panel(axes, classes, values, paint)
            axes.set_title(title, fontsize=10, loc="left")
            if place:
                axes.set_yticklabels([])
        return svg(figure)


def _class_panel(
    axes: Axes, classes: Sequence[str], values: dict[str, list[dict[str, Any] | None]], paint: dict[str, str]
) -> None:
    step = 0.7 / max(len(values), 1)
    for place, (model, rows) in enumerate(values.items()):
        x = np.arange(len(classes)) + (place - (len(values) - 1) / 2) * step
        for at, row in zip(x, rows, strict=True):
            if row is None or row["value"] is None:
                continue
            axes.bar(at, row["value"], width=step * 0.9, color=paint[model], alpha=0.85)
            if row["low"] is not None:
                axes.plot([at, at], [row["low"], row["high"]], color="#22262b", linewidth=1)
    counts = [max((row["n"] for rows in values.values() if (row := rows[k]) is not None), default=0) for k in
              range(len(classes))]  # fmt: skip
    axes.set_xticks(
        range(len(classes)),
        [f"{name.replace(' ', chr(10), 1)}\nn={n}" for name, n in zip(classes, counts, strict=True)],
        fontsize=8,
    )
    axes.set_ylim(0, 1.02)
    axes.set_yticks([0, 0.5, 1], ["0", "0.5", "1"])
    axes.tick_params(axis="x", length=0)
    axes.grid(axis="y", color=_GRID, linewidth=0.8)
    axes.set_axisbelow(True)


def over_time(
    frames: Frames, truth: Hands, predicted: dict[str, Hands], video: int, paint: dict[str, str], side: int
) -> str:
    """Presence and jerk of one side's hand through one video.

    Args:
        frames: the frames.
        truth: the true hands.
        predicted: every estimator's hands.
        video: which video.
        paint: colours.
        side: 0 left, 1 right.
    """
    mine = np.flatnonzero(frames.video == video)
    number = frames.number[mine]
    with style():
        figure = Figure(figsize=(10.5, 0.24 * (len(predicted) + 1) + 2.5), layout="constrained")
        grid = figure.add_gridspec(2, 1, height_ratios=[0.24 * (len(predicted) + 1) + 0.2, 1.9])
        above = figure.add_subplot(grid[0])
        lines = {"truth": truth, **predicted}
        for line, (name, hands) in enumerate(lines.items()):
            there = np.unique(hands.frame[(hands.side == side) & (frames.video[hands.frame] == video)])
            for first, last in _runs(frames.number[there]):
                above.barh(line, last - first + 1, left=first - 0.5, height=0.62, color=paint.get(name, "#22262b"))
        above.set_yticks(range(len(lines)), [label(name) for name in lines])
        above.set_ylim(len(lines) - 0.5, -0.5)
        above.set_xlim(number.min() - 1, number.max() + 1)
        above.tick_params(axis="both", length=0, labelbottom=False)
        above.spines["left"].set_visible(False)
        below = figure.add_subplot(grid[1])
        for name, hands in predicted.items():
            track = track_of_side(hands, frames, side)
            start, jerk = jerk_third_difference(track, JerkUnit.PX)
            chosen = track.video[start] == video
            x, y = track.number[start][chosen] + 1.5, jerk[chosen].mean(axis=1)
            for first, last in _runs(track.number[start][chosen]):
                part = (x >= first + 1) & (x <= last + 2)
                below.plot(x[part], y[part], color=paint[name], linewidth=1.1)
        below.set_xlim(*above.get_xlim())
        below.set_yscale("symlog", linthresh=1)
        below.set_ylim(bottom=0)
        below.set_ylabel("jerk, px per frame³")
        below.set_xlabel("frame")
        below.grid(axis="y", color=_GRID, linewidth=0.8)
        return svg(figure)


def _runs(numbers: NDArray[np.int64]) -> list[tuple[int, int]]:
    """First and last number of each stretch of consecutive numbers."""
    if not len(numbers):
        return []
    cut = np.flatnonzero(np.diff(numbers) != 1)
    starts, ends = np.r_[0, cut + 1], np.r_[cut, len(numbers) - 1]
    return [(int(numbers[a]), int(numbers[b])) for a, b in zip(starts, ends, strict=True)]


def rows_by(scores: pl.DataFrame, metric: str, slice_name: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Scores of raw poses by (model, slice value)."""
    found = scores.filter(
        (pl.col("stage").cast(pl.String) == "raw")
        & pl.col("metric").cast(pl.String).str.starts_with(metric)
        & (pl.col("slice").cast(pl.String) == slice_name)
    )
    return {(row["model"], row["slice_value"]): row for row in found.iter_rows(named=True)}
