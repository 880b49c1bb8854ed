"""A page of annotated frames to check by eye."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from PIL import Image, ImageDraw, UnidentifiedImageError

from handbench.hand.skeleton import BONES
from handbench.reports.environment import template

_SIDE: Final = 420
_COLOURS: Final = {"left": (70, 150, 255), "right": (255, 150, 30)}
_HIDDEN: Final = (230, 60, 60)


def write(frames: pl.DataFrame, hands: pl.DataFrame, root: Path, name: str, out: Path) -> Path:
    """Write the page.

    Args:
        frames: the frames to check, with ``rare`` where they are.
        hands: the ``hands`` table.
        root: folder of the images.
        name: of the annotations.
        out: the page.
    """
    by_image = hands.partition_by("image", as_dict=True)
    cards = []
    for row in frames.iter_rows(named=True):
        mine = by_image.get((row["image"],))
        listed = mine.to_dicts() if mine is not None else []
        sides = ", ".join(str(hand["side"]) for hand in listed) or "no hand"
        cards.append((row["image"], sides, row.get("rare", False), _picture(root / row["image"], listed)))
    text = template("audit.html.j2").render(cards=cards, name=name)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text, encoding="utf-8")
    return out


def _picture(path: Path, hands: list[dict[str, Any]]) -> str | None:
    try:
        with Image.open(path) as image:
            picture = image.convert("RGB")
    except (OSError, UnidentifiedImageError):
        return None
    scale = _SIDE / max(picture.size)
    picture = picture.resize((round(picture.width * scale), round(picture.height * scale)))
    pen = ImageDraw.Draw(picture)
    for number, hand in enumerate(hands):
        colour = _COLOURS.get(str(hand["side"]), (220, 220, 220))
        points = np.asarray(hand["joints_px"], float) * scale
        for one, other in BONES:
            if np.isfinite(points[[one, other]]).all():
                pen.line([tuple(points[one]), tuple(points[other])], fill=colour, width=2)
        for (x, y), hidden in zip(points, hand["occluded"] or [False] * 21, strict=True):
            if np.isfinite([x, y]).all():
                pen.ellipse((x - 2, y - 2, x + 2, y + 2), fill=_HIDDEN if hidden else colour)
        if np.isfinite(points[0]).all():
            pen.text((points[0][0] + 4, points[0][1] + 4), f"{number} {hand['side']}", fill=(255, 255, 255))
    buffer = io.BytesIO()
    picture.save(buffer, format="JPEG", quality=82)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode()
