"""Pictures of what a training did: loss, before and after, and how far above the commonest answer it ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from handbench.reports.drawing import COLOURS, TITLES, style, svg

BEFORE: Final = COLOURS[0]
AFTER: Final = COLOURS[2]
WORSE: Final = COLOURS[3]
PRIOR: Final = COLOURS[1]


def loss_curve(steps: NDArray[np.integer], losses: NDArray[np.floating]) -> str:
    """Loss against step, and the mean of the last ten.

    Args:
        steps: (N,) numbers of the steps.
        losses: (N,) their losses.
    """
    summed = np.concatenate([[0.0], np.cumsum(losses)])
    first = np.maximum(np.arange(len(losses)) - 9, 0)
    smooth = (summed[1:] - summed[first]) / (np.arange(len(losses)) + 1 - first)
    with style():
        figure = Figure(figsize=(8.2, 2.8))
        axes = figure.add_subplot()
        axes.scatter(steps, losses, s=6, color=BEFORE, alpha=0.6, linewidths=0)
        axes.plot(steps, smooth, color=AFTER, linewidth=1.8)
        axes.set_xlabel("step")
        axes.set_ylabel("loss")
        axes.set_ylim(bottom=0)
        axes.grid(axis="y", color="#e3e5e8", linewidth=0.7)
        return svg(figure)


def arrows(changes: Sequence[dict[str, Any]]) -> str:
    """An arrow from before to after for each test and descriptor, with a stroke where the commonest answer stands.

    An arrow is grey where the 95 % interval of the difference holds zero.

    Args:
        changes: rows with ``task, data, split, descriptor, before, after, low, high`` and ``prior``, which may be None.
    """
    tests = list(dict.fromkeys((row["task"], row["data"], row["split"]) for row in changes))
    heights = [sum((row["task"], row["data"], row["split"]) == test for row in changes) for test in tests]
    with style():
        figure = Figure(figsize=(8.2, 0.36 * sum(heights) + 0.6 * len(tests) + 0.65), layout="constrained")
        grid = figure.subplots(len(tests), 1, squeeze=False, sharex=True, height_ratios=heights)
        for axes, (task, data, split) in zip(grid[:, 0], tests, strict=True):
            rows = [row for row in changes if (row["task"], row["data"], row["split"]) == (task, data, split)]
            for line, row in enumerate(rows):
                _arrow(axes, line, row)
            axes.set_title(f"{task} on {data} {split}".strip().replace("$", r"\$"), fontsize=10, loc="left")
            axes.set_yticks(range(len(rows)), [TITLES.get(row["descriptor"], row["descriptor"]) for row in rows])
            axes.set_ylim(len(rows) - 0.5, -0.5)
            axes.set_xlim(0, 100)
            axes.tick_params(axis="y", length=0)
            axes.spines["left"].set_visible(False)
            axes.grid(axis="x", color="#e4e6e9", linewidth=0.8)
            axes.set_axisbelow(True)
        grid[-1, 0].set_xticks([0, 25, 50, 75, 100], ["0", "25", "50", "75", "100 %"])
        figure.legend(
            handles=[
                Line2D([], [], marker="o", color=BEFORE, linestyle="", label="before"),
                Line2D([], [], marker="o", color=AFTER, linestyle="", label="after"),
                Line2D([], [], marker="|", color=PRIOR, linestyle="", markersize=11, mew=2.4, label="commonest answer"),
            ],
            loc="outside lower center", ncols=3, frameon=False, fontsize=9,
        )  # fmt: skip
        return svg(figure)


def _arrow(axes: Any, line: int, row: dict[str, Any]) -> None:
    colour = AFTER if row["low"] > 0 else WORSE if row["high"] < 0 else BEFORE
    before, after = 100 * row["before"], 100 * row["after"]
    axes.plot([before, after], [line, line], color=colour, linewidth=2.2, alpha=0.55, solid_capstyle="butt")
    axes.plot(before, line, "o", color=BEFORE, markersize=6)
    axes.plot(after, line, "o", color=colour, markersize=7)
    if row["prior"] is not None:
        axes.plot(100 * row["prior"], line, "|", color=PRIOR, markersize=15, markeredgewidth=2.4)
