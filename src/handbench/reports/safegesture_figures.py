"""SafeGesture's figures as inline SVG: failure bars and cost curves."""

from __future__ import annotations

from typing import Final

import numpy as np
from matplotlib.figure import Figure

from handbench.reports.drawing import COLOURS, label, style, svg
from handbench.tasks.safegesture.measures import TAXONOMY, cost_curve

CLASS_COLOURS: Final = ("#1b7f4d", "#c2a14d", "#b3402a", "#d98a3d", "#8fb8a0", "#9aa0a6")
"""Of the six classes, in the order of ``TAXONOMY``."""


def failure_bars(shares: dict[str, list[float]]) -> str:
    """The six classes of section 3.7 as one bar per model.

    Args:
        shares: model → share of each class; empty where no gesture was asked for.
    """
    if not shares:
        return ""
    with style():
        figure = Figure(figsize=(9.5, 0.36 * len(shares) + 0.9), layout="constrained")
        axes = figure.add_subplot()
        left = np.zeros(len(shares))
        for place, name in enumerate(TAXONOMY):
            widths = np.array([100 * parts[place] for parts in shares.values()])
            axes.barh(range(len(shares)), widths, left=left, color=CLASS_COLOURS[place], label=name.upper(), height=0.7)
            for line, (start, width) in enumerate(zip(left, widths, strict=True)):
                if width >= 4:
                    axes.text(start + width / 2, line, f"{width:.0f}", ha="center", va="center", fontsize=8, color="w")
            left += widths
        axes.set_yticks(range(len(shares)), [label(model, 34) for model in shares])
        axes.invert_yaxis()
        axes.set_xlim(0, 100)
        axes.set_xticks([0, 50, 100], ["0", "50", "100 %"])
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.legend(ncols=6, fontsize=7.5, frameon=False, loc="upper center", bbox_to_anchor=(0.45, -0.1))
        return svg(figure)


def cost_curves(errors: dict[str, tuple[float | None, ...]], trivial: dict[str, tuple[float, float]]) -> str:
    """Cost of errors over the price of a missed intervention against a false alarm.

    Args:
        errors: model → shares of items with a missed intervention and with a false alarm.
        trivial: the same of policies that always do the same thing.
    """
    ratios = np.logspace(-1, 2, 61)
    with style():
        figure = Figure(figsize=(7.5, 3.4), layout="constrained")
        axes = figure.add_subplot()
        for place, (model, (missed, alarm)) in enumerate(errors.items()):
            if missed is not None and alarm is not None:
                colour = COLOURS[place % len(COLOURS)]
                axes.plot(ratios, cost_curve(missed, alarm, ratios), color=colour, label=label(model), linewidth=1.8)
        for name, (missed, alarm) in trivial.items():
            dashes = (0, (4, 3)) if name.startswith("always") else (0, (1, 2))
            axes.plot(ratios, cost_curve(missed, alarm, ratios), color="#9aa0a6", label=name, linestyle=dashes)
        axes.set_xscale("log")
        axes.set_xticks([0.1, 1, 10, 100], ["1:10", "1:1", "10:1", "100:1"])
        axes.set_xlabel("price of a missed intervention : price of a false alarm")
        axes.set_ylim(bottom=0)
        axes.grid(axis="y", color="#e4e6e9", linewidth=0.8)
        axes.set_axisbelow(True)
        axes.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
        return svg(figure)
