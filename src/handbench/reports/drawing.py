"""What all pictures share: their style, their colours, the names in them, and how they become SVG."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import matplotlib as mpl
from matplotlib.figure import Figure

COLOURS: Final = ("#8a8f98", "#c2a14d", "#1b7f79", "#c0563f", "#5b5ea6", "#7a9b3a", "#a34f8b", "#3f7fbf")
TITLES: Final = {
    "angle": "Angle",
    "distance": "Distance",
    "x": "Left / right (X)",
    "y": "Above / below (Y)",
    "z": "Front / behind (Z)",
}
_STYLE: Final[Any] = {
    "font.family": "sans-serif",
    "font.size": 9.5,
    "axes.edgecolor": "#9aa0a6",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": "#22262b",
    "axes.labelcolor": "#22262b",
    "xtick.color": "#4a5058",
    "ytick.color": "#4a5058",
    "svg.fonttype": "none",
    "svg.hashsalt": "handbench",
}


@contextmanager
def style() -> Iterator[None]:
    """Draw in the style of the reports."""
    with mpl.rc_context(rc=_STYLE):
        yield


def svg(figure: Figure) -> str:
    """A figure as the text of an ``<svg>`` element, the same at every drawing."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True, bbox_inches="tight", metadata={"Date": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def colours(models: list[str]) -> dict[str, str]:
    """A colour for each model, the same in every picture."""
    return {model: COLOURS[place % len(COLOURS)] for place, model in enumerate(models)}


def label(model: str, longest: int = 30) -> str:
    """A model's name for a narrow place; dollar signs would begin a formula."""
    short = model if len(model) <= longest else f"{model[: longest // 2 - 1]}…{model[-longest // 2 :]}"
    return short.replace("$", r"\$")
