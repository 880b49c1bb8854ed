"""Prompts, one per family and sub-task, from ``prompts.json``: the paper's own (Tables 8 and 9), the others ours."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from handbench.errors import HandbenchError
from handbench.replies.families import Family, Form
from handbench.replies.frames import Frame, Layout, Size

_COORDINATES: Final = {
    Frame.PIXEL: "in pixels of the image, which is {width} x {height}",
    Frame.PIXEL_SENT: "in pixels of the image, which is {width} x {height}",
    Frame.NORM_1: "normalized to [0, 1] relative to image width/height",
    Frame.NORM_999: "in range [0, 999] (relative to image size)",
    Frame.NORM_1000: "in range [0, 1000] (relative to image size)",
    Frame.LOC_1000: "bins from 0 to 999 across the image, written as location tokens",
}
_NAMES: Final = {
    Layout.XYXY: "[x1, y1, x2, y2]",
    Layout.XYWH: "[x, y, w, h]",
    Layout.CXCYWH: "[cx, cy, w, h]",
    Layout.YXYX: "[y1, x1, y2, x2]",
}


@cache
def _data() -> dict[str, Any]:
    return dict(json.loads((files(__package__) / "prompts.json").read_text(encoding="utf-8")))


VERSION: Final = str(_data()["version"])
"""Of the wording; it stands in every question's variant, and another wording gets another number."""


def template(family: str, subtask: str) -> tuple[str, str]:
    """A prompt's template and where it comes from.

    Raises:
        HandbenchError: there is no such family; those that there are are listed.
    """
    families = _data()["families"]
    if family not in families:
        raise HandbenchError(f"no prompts for family {family!r}; there are {', '.join(families)}")
    entry = families[family][subtask]
    return str(entry["text"]), str(entry["source"])


def filled(text: str, values: Mapping[str, str]) -> str:
    """Put values in place of ``{name}``; other braces belong to the text, and so do braces inside a value."""
    parts = [text]
    for name, value in values.items():
        mark = f"{{{name}}}"
        parts = [
            piece
            for part, is_text in ((part, number % 2 == 0) for number, part in enumerate(parts))
            for piece in (_around(part, mark, value) if is_text else [part])
        ]
    return "".join(parts)


def _around(text: str, mark: str, value: str) -> list[str]:
    """Text, value, text, value, ..., text."""
    pieces = text.split(mark)
    return [part for piece in pieces[:-1] for part in (piece, value)] + pieces[-1:]


def coordinates(speaks: Family, size: Size) -> str:
    """A family's frame in words, for an image of that size."""
    width, height = speaks.placement(size).size
    return filled(_COORDINATES[speaks.frame], {"width": str(width), "height": str(height)})


def said_box(speaks: Family, box: NDArray[np.floating], size: Size) -> str:
    """A box for the model to read: the bare numbers in its own frame and layout, or its location tokens."""
    if speaks.form is Form.LOC_TOKENS:
        return speaks.write(box, size)
    numbers = (f"{value:.3f}".rstrip("0").rstrip(".") or "0" for value in speaks.numbers(box, size))
    return f"[{', '.join(numbers)}]"


def form(speaks: Family) -> str:
    """How the reply is to be written, with names in place of numbers."""
    if speaks.form is Form.LOC_TOKENS:
        return "<loc_x1><loc_y1><loc_x2><loc_y2>"
    if speaks.form is Form.JSON:
        key = "bbox_2d" if speaks.layout is Layout.XYXY else f"bbox_{speaks.layout}"
        return f'{{"{key}": {_NAMES[speaks.layout]}}}'
    return _NAMES[speaks.layout]


def prompt(
    speaks: Family,
    subtask: str,
    size: Size,
    *,
    hand: NDArray[np.floating],
    referent: str = "",
    caption: str = "",
    question: str = "",
    reject: bool = False,
) -> str:
    """The user turn of one question.

    Args:
        speaks: the family.
        subtask: one of :data:`handbench.tasks.pointing.options.SUBTASKS`.
        size: width and height of the original image.
        hand: (4,) the hand's box, pixels of the original image.
        referent: what is said while pointing.
        caption: of the target, which GroundingGPT's D-REC prompt consists of.
        question: of D-VQA.
        reject: say how to answer that nothing is pointed at.
    """
    text, _ = template(speaks.name, subtask)
    if reject:
        text += str(_data()["rejection_vqa" if subtask == "d-vqa" else "rejection"])
    width, height = speaks.placement(size).size
    values = {
        "hand_input": said_box(speaks, hand, size),
        "underspecified_referent": referent,
        "object_caption": caption,
        "question": question,
        "coordinates": coordinates(speaks, size),
        "format": _NAMES[speaks.layout],
        "form": form(speaks),
        "width": str(width),
        "height": str(height),
    }
    return filled(text, values)
