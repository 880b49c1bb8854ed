"""Pointing's own control: the image mirrored, with everything that the questions say of it."""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np
import polars as pl

from handbench import tables
from handbench.controls.names import tagged
from handbench.errors import HandbenchError
from handbench.tasks.pointing.options import PointingOptions
from handbench.tasks.pointing.questions import ask

_OTHER: Final = {"left": "right", "right": "left"}
_SIDE: Final = re.compile(r"\b(left|right)\b", re.IGNORECASE)
_MIRROR: Final = ";control=mirror"

_BOXES: Final = ("hand_box", "target_box")
_TEXTS: Final = ("question", "caption_image", "caption_object", "caption_hand")


def vary(
    questions: pl.DataFrame, control: str, options: PointingOptions, scenes: pl.DataFrame | None
) -> tuple[pl.DataFrame, dict[str, int]]:
    """Rows of the control ``mirror``: boxes, words for left and right, and the hand's side change over.

    Args:
        questions: main questions.
        control: ``mirror``.
        options: how the questions were made.
        scenes: the run's scenes.

    Raises:
        HandbenchError: another control, or the scenes are not there.
    """
    if control != "mirror" or scenes is None:
        raise HandbenchError(f"pointing: makes the control mirror from scenes, not {control!r}")
    wanted = scenes.filter(pl.col("scene_id").is_in(questions["scene_id"].unique().implode()))
    mirrored = tables.conform(
        pl.DataFrame([mirror_scene(row) for row in wanted.iter_rows(named=True)], schema=wanted.schema), "scenes"
    )
    made, missing = ask(mirrored, options)
    made = made.with_columns(tagged(pl.col("variant"), "mirror").alias("variant"))
    return questions.select("question_id").join(made, on="question_id", how="inner", maintain_order="left").select(
        made.columns
    ), missing


def is_mirrored(row: dict[str, Any]) -> bool:
    """Whether a question is about the mirrored image."""
    return _MIRROR in str(row["variant"])


def mirror_scene(scene: dict[str, Any]) -> dict[str, Any]:
    """A row of the ``scenes`` table as its mirror image shows it; candidates keep their order."""
    width = float(scene["width"])
    made = dict(scene)
    for name in _BOXES:
        made[name] = None if scene[name] is None else _box(scene[name], width)
    made["candidate_boxes"] = [_box(box, width) for box in scene["candidate_boxes"]]
    if scene["hand_px"] is not None:
        joints = np.array(scene["hand_px"])
        made["hand_px"] = np.stack([width - joints[:, 0], joints[:, 1]], axis=1).tolist()
    if scene["ray_px"] is not None:
        x, y, dx, dy = scene["ray_px"]
        made["ray_px"] = [width - x, y, -dx, dy]
    made["hand_side"] = _OTHER.get(scene["hand_side"], scene["hand_side"])
    for name in _TEXTS:
        made[name] = None if scene[name] is None else _swapped(scene[name])
    made["referents"] = [_swapped(text) for text in scene["referents"]]
    return made


def _box(box: list[float], width: float) -> list[float]:
    x1, y1, x2, y2 = box
    return [width - x2, y1, width - x1, y2]


def _swapped(text: str) -> str:
    return _SIDE.sub(lambda found: _OTHER[found[1].lower()], text)
