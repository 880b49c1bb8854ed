"""Figures as inline SVG: accuracy with intervals, accuracy against margin."""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from handbench.hand.descriptors import DESCRIPTORS
from handbench.reports.drawing import TITLES, colours, label, style, svg
from handbench.stats.sliced import Slice, score_slices

_BINS = 6
_VALUE_BINS = 10


def accuracy_dots(scores: pl.DataFrame, chance: dict[str, float]) -> str:
    """Accuracy of every model on every descriptor, with its 95 % interval.

    Args:
        scores: the ``scores`` table.
        chance: accuracy of a random answer, by descriptor.
    """
    whole = scores.filter(
        (pl.col("slice").cast(pl.String) == "all") & (pl.col("metric").cast(pl.String) == "accuracy")
    ).with_columns(pl.col("model", "descriptor").cast(pl.String))
    models = whole["model"].unique(maintain_order=True).to_list()
    names = [name for name in TITLES if name in set(whole["descriptor"])]
    paint = colours(models)
    with style():
        figure = Figure(figsize=(1.9 * len(names), 0.34 * len(models) + 0.75), layout="constrained")
        for place, name in enumerate(names):
            axes = figure.add_subplot(1, len(names), place + 1)
            _dots(axes, whole.filter(pl.col("descriptor") == name), models, paint)
            axes.axvline(100 * chance[name], color="#9aa0a6", linewidth=0.8, linestyle=(0, (3, 3)), zorder=0)
            axes.set_title(TITLES[name], fontsize=10, loc="left")
            if place:
                axes.set_yticklabels([])
        return svg(figure)


def _dots(axes: Axes, part: pl.DataFrame, models: list[str], paint: dict[str, str]) -> None:
    found = {row["model"]: row for row in part.iter_rows(named=True)}
    for line, model in enumerate(models):
        row = found.get(model)
        if row is None or row["value"] is None:
            continue
        if row["low"] is not None:
            axes.plot(
                [100 * row["low"], 100 * row["high"]],
                [line, line],
                color=paint[model],
                linewidth=2.2,
                alpha=0.55,
            )
        axes.plot(100 * row["value"], line, "o", color=paint[model], markersize=6)
    axes.set_ylim(len(models) - 0.5, -0.5)
    axes.set_yticks(range(len(models)), [label(model) for model in models])
    axes.set_xlim(0, 103)
    axes.set_xticks([0, 50, 100], ["0", "50", "100 %"])
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x", color="#e4e6e9", linewidth=0.8)
    axes.set_axisbelow(True)


def accuracy_against_margin(rows: pl.DataFrame, models: list[str], chance: dict[str, float]) -> str:
    """Accuracy in bins of the truth's distance to its nearest threshold, with 95 % bands.

    Args:
        rows: answers with ``model, about_descriptor, truth_margin, truth_rank, correct, cluster``.
        models: which models, in order.
        chance: accuracy of a random answer, by descriptor.
    """
    names = [name for name in TITLES if name in set(rows["about_descriptor"].cast(pl.String))]
    paint = colours(models)
    with style():
        figure = Figure(figsize=(2.25 * len(names), 2.3), layout="constrained")
        for place, name in enumerate(names):
            axes = figure.add_subplot(1, len(names), place + 1)
            part = rows.filter(pl.col("about_descriptor").cast(pl.String) == name)
            edges = np.quantile(part["truth_margin"].to_numpy(), np.linspace(0, 1, _BINS + 1))
            for model in models:
                _margin_line(axes, part.filter(pl.col("model").cast(pl.String) == model), edges, paint[model])
            axes.axhline(100 * chance[name], color="#9aa0a6", linewidth=0.8, linestyle=(0, (3, 3)), zorder=0)
            axes.set_title(TITLES[name], fontsize=10, loc="left")
            axes.set_ylim(0, 104)
            axes.set_xlim(left=0)
            axes.set_xlabel("degrees to threshold" if name == "angle" else "hand sizes to threshold")
            axes.grid(axis="y", color="#e4e6e9", linewidth=0.8)
            axes.set_axisbelow(True)
            axes.set_yticks([0, 50, 100], ["0", "50", "100 %"] if place == 0 else ["", "", ""])
        return svg(figure)


def accuracy_over_value(rows: pl.DataFrame, models: list[str]) -> str:
    """Accuracy over the true angle and the true distance, in groups of equal size, with 95 % bands.

    Args:
        rows: answers with ``model, about_descriptor, truth_value, correct, cluster``.
        models: which models, in order.
    """
    known = {descriptor.name: descriptor for descriptor in DESCRIPTORS}
    names = [name for name in ("angle", "distance") if name in set(rows["about_descriptor"].cast(pl.String))]
    paint = colours(models)
    with style():
        figure = Figure(figsize=(4.6 * len(names), 2.5), layout="constrained")
        for place, name in enumerate(names):
            axes = figure.add_subplot(1, len(names), place + 1)
            part = rows.filter(pl.col("about_descriptor").cast(pl.String) == name)
            part = part.with_columns(pl.col("truth_value").alias("truth_margin"))
            edges = np.quantile(part["truth_margin"].to_numpy(), np.linspace(0, 1, _VALUE_BINS + 1))
            for model in models:
                _margin_line(axes, part.filter(pl.col("model").cast(pl.String) == model), edges, paint[model])
            for limit in known[name].thresholds:
                axes.axvline(limit, color="#9aa0a6", linewidth=0.8, linestyle=(0, (3, 3)), zorder=0)
            axes.set_title(TITLES[name], fontsize=10, loc="left")
            axes.set_ylim(0, 104)
            axes.set_xlabel("true angle, degrees (180 is straight)" if name == "angle" else "true distance, hand sizes")
            axes.grid(axis="y", color="#e4e6e9", linewidth=0.8)
            axes.set_axisbelow(True)
            axes.set_yticks([0, 50, 100], ["0", "50", "100 %"])
        return svg(figure)


def _margin_line(axes: Axes, part: pl.DataFrame, edges: NDArray[np.floating], colour: str) -> None:
    if part.is_empty():
        return
    margin = part["truth_margin"].to_numpy()
    bins = len(edges) - 1
    place = np.clip(np.searchsorted(edges, margin, side="right") - 1, 0, bins - 1)
    slices = [
        Slice(("", "margin", str(index)), np.flatnonzero(place == index), 2, False)
        for index in range(bins)
        if (place == index).any()
    ]
    found = score_slices(
        part["cluster"].rank("dense").to_numpy().astype(np.int64) - 1,
        np.zeros(part.height, np.int64),
        np.where(part["correct"].to_numpy(), 0, 1),
        slices,
        resamples=1_000,
    )
    line = [score for score in found if score.metric == "accuracy"]
    x = np.array([margin[place == int(score.keys[2])].mean() for score in line])
    low, value, high = (
        np.array([100 * (getattr(score, end) if getattr(score, end) is not None else np.nan) for score in line])
        for end in ("low", "value", "high")
    )
    axes.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)
    axes.plot(x, value, "o-", color=colour, markersize=3.5, linewidth=1.4)
