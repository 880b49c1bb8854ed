"""Strips of frames with truth and predictions: the worst of each kind of failure."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from PIL import Image, ImageDraw, UnidentifiedImageError

from handbench.hand.skeleton import BONES

PER_KIND: Final = 5
_SIDE: Final = 230
_TRUTH: Final = (40, 200, 90)
_SAID: Final = {"left": (70, 150, 255), "right": (255, 150, 30), None: (220, 220, 220)}

KINDS: Final = (
    ("missed", "Missed hands", "the largest first"),
    ("spurious", "Predictions that match no hand", "those far from every hand first"),
    ("duplicate", "Second predictions on one hand", "the largest overlap first"),
    ("crossed", "A left and a right hand at one place", "the largest overlap first"),
    ("swapped", "The other label", "the largest overlap first"),
    ("misplaced", "Found, but misplaced", "the lowest PCK first"),
)
"""Outcome, title, and which come first."""


@dataclass(frozen=True)
class Shot:
    """One frame of a strip."""

    picture: str | None
    caption: str


@dataclass(frozen=True)
class Strip:
    """The worst frames of one kind of failure."""

    title: str
    order: str
    count: int
    shots: tuple[Shot, ...]


def strips(
    matches: pl.DataFrame, model: str, hands: pl.DataFrame, poses: pl.DataFrame, root: Path, count: int = PER_KIND
) -> list[Strip]:
    """Strips of one estimator's raw poses; at most one frame of a video stands in a strip while others have any.

    Args:
        matches: the ``matches`` table.
        model: the estimator.
        hands: the true hands.
        poses: the estimator's raw poses.
        root: folder of the images.
        count: frames per strip.
    """
    mine = matches.filter(
        (pl.col("estimator").cast(pl.String) == model) & (pl.col("stage").cast(pl.String) == "raw")
    ).with_columns(pl.col("outcome", "video").cast(pl.String))
    found = []
    for outcome, title, order in KINDS:
        rows = mine.filter(pl.col("outcome") == outcome)
        if rows.is_empty():
            continue
        ranked = _ranked(rows, outcome).unique("image", keep="first", maintain_order=True)
        turn = pl.int_range(pl.len()).over("video")
        chosen = ranked.with_columns(turn=turn).sort("turn", maintain_order=True).head(count)
        shots = tuple(_shot(row, hands, poses, root) for row in chosen.iter_rows(named=True))
        found.append(Strip(title, order, rows.height, shots))
    return found


def _ranked(rows: pl.DataFrame, outcome: str) -> pl.DataFrame:
    if outcome == "missed":
        return rows.sort("size", descending=True, nulls_last=True, maintain_order=True)
    if outcome == "misplaced":
        return rows.sort("pck", nulls_last=True, maintain_order=True)
    return rows.sort("iou", descending=outcome != "spurious", nulls_last=True, maintain_order=True)


def _shot(row: dict[str, Any], hands: pl.DataFrame, poses: pl.DataFrame, root: Path) -> Shot:
    said = f", said {row['said']}" if row["said"] else ""
    pck = f", PCK {row['pck']:.2f}" if row["pck"] is not None else ""
    caption = f"{row['image']}: {row['side'] or 'no'} hand{said}{pck}"
    try:
        with Image.open(root / row["image"]) as image:
            picture = image.convert("RGB")
    except (OSError, UnidentifiedImageError):
        return Shot(None, caption)
    scale = _SIDE / max(picture.size)
    picture = picture.resize((round(picture.width * scale), round(picture.height * scale)))
    pen = ImageDraw.Draw(picture)
    here = pl.col("image") == row["image"]
    for hand in hands.filter(here).iter_rows(named=True):
        _skeleton(pen, hand["joints_px"], scale, _TRUTH, 1)
    for pose in poses.filter(here & (pl.col("hand") >= 0)).iter_rows(named=True):
        _skeleton(pen, pose["keypoints_px"], scale, _SAID[pose["side"]], 2)
    buffer = io.BytesIO()
    picture.save(buffer, format="JPEG", quality=80)
    return Shot("data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode(), caption)


def _skeleton(pen: ImageDraw.ImageDraw, joints: Any, scale: float, colour: tuple[int, int, int], width: int) -> None:
    points = np.asarray(joints, float) * scale
    for one, other in BONES:
        if np.isfinite(points[[one, other]]).all():
            pen.line([tuple(points[one]), tuple(points[other])], fill=colour, width=width)
