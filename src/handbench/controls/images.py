"""The images of controls: mirrored, hand covered, blank.  Pure pictures; no task, no table of questions."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path, PurePath
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageOps, UnidentifiedImageError

from handbench.errors import HandbenchError

FOLDER: Final = "controls"
"""First part of the path of every control image, below the run's folder."""

GREY: Final = (128, 128, 128)
"""What covers a hand and fills a blank image."""

PAD: Final = 0.25
"""How far a mask reaches beyond the joints, as a share of the larger side: skin and nails lie outside the joints."""


def is_control(image: str) -> bool:
    """Whether a path in ``images`` is that of a control image."""
    return PurePath(image).parts[:1] == (FOLDER,)


def control_path(control: str, image: str, box: Sequence[float] | None = None) -> str:
    """Where a control's image lies below the run's folder: readable, and its own for each image and box.

    Args:
        control: ``mirror``, ``masked``, ``armless`` or ``blank``.
        image: the original's path, as in the tables.
        box: what is covered, a box or a polygon, pixels of the original.
    """
    key = image if box is None else f"{image} {' '.join(f'{side:.2f}' for side in box)}"
    digest = blake2b(key.encode(), digest_size=5).hexdigest()
    return f"{FOLDER}/{control}/{PurePath(image).stem[:48]}-{digest}.png"


def boxes_of(points: NDArray[np.floating]) -> NDArray[np.float64]:
    """Boxes to cover hands with.

    Args:
        points: (N, K, 2) joints in pixels; NaN where unknown.

    Returns:
        (N, 4) boxes [x1, y1, x2, y2], padded by :data:`PAD` of the larger side; NaN where no joint is known.
    """
    known = ~np.isnan(points).any(2)
    low = np.where(known[..., None], points, np.inf).min(1)
    high = np.where(known[..., None], points, -np.inf).max(1)
    pad = PAD * np.maximum(high - low, 1.0).max(1, keepdims=True)
    boxes = np.concatenate([low - pad, high + pad], axis=1)
    boxes[~known.any(1)] = np.nan
    return np.asarray(boxes, np.float64)


def mirrored(image: Image.Image) -> Image.Image:
    """Left and right exchanged."""
    return ImageOps.mirror(image)


def padded(boxes: NDArray[np.floating]) -> NDArray[np.float64]:
    """(N, 4) boxes of whole hands, with a little room about the skin."""
    pad = 0.06 * (boxes[:, 2:] - boxes[:, :2]).max(axis=1, keepdims=True)
    return np.asarray(np.hstack([boxes[:, :2] - pad, boxes[:, 2:] + pad]), np.float64)


def arms_of(boxes: NDArray[np.floating], joints: NDArray[np.floating]) -> NDArray[np.float64]:
    """Strips to cover forearms with, from the wrist straight on beyond any picture's edge.

    Args:
        boxes: (N, 4) of the hands.
        joints: (N, 21, 2) joints in pixels; where they are NaN the arm is taken to hang straight down from the box.

    Returns:
        (N, 8) four corners of each strip, x and y in turn.
    """
    middle, size = (boxes[:, :2] + boxes[:, 2:]) / 2, boxes[:, 2:] - boxes[:, :2]
    known = ~np.isnan(joints[:, [0, 5, 9, 17]]).any((1, 2))[:, None]
    wrist = np.where(known, joints[:, 0], np.stack([middle[:, 0], boxes[:, 3]], axis=1))
    way = np.where(known, joints[:, 0] - joints[:, 9], np.array([0.0, 1.0]))
    way = way / np.maximum(np.linalg.norm(way, axis=1, keepdims=True), 1e-6)
    palm = np.where(known[:, 0], np.linalg.norm(joints[:, 5] - joints[:, 17], axis=1), size[:, 0] / 2)
    half = np.maximum(0.9 * palm, 0.25 * size.max(axis=1))[:, None]
    across = np.stack([-way[:, 1], way[:, 0]], axis=1)
    start, end = wrist + 0.25 * half * way, wrist + 10_000 * way
    # An arm comes nearer to the camera and widens on its way.
    wide = half * (1 + 10_000 / np.maximum(size.max(axis=1, keepdims=True), 1.0) * 0.35)
    corners = [start - half * across, start + half * across, end + wide * across, end - wide * across]
    return np.asarray(np.hstack(corners), np.float64)


def covered(image: Image.Image, region: Sequence[float]) -> Image.Image:
    """Grey over part of an image: a box x1, y1, x2, y2, or a polygon of x, y, x, y and so on."""
    out = image.copy()
    pen = ImageDraw.Draw(out)
    if len(region) == 4:
        pen.rectangle(tuple(region), fill=GREY)
    else:
        pen.polygon(list(region), fill=GREY)
    return out


def blank(image: Image.Image) -> Image.Image:
    """Grey, of the same size."""
    return Image.new("RGB", image.size, GREY)


def write(root: Path, folder: Path, plan: pl.DataFrame) -> int:
    """Write the images of controls that are not there yet; each appears whole or not at all.

    Args:
        root: the folder that the originals' paths are relative to.
        folder: the folder that the control images' paths are relative to.
        plan: ``control, image, source, box``: which image is made of which, and how.

    Returns:
        How many were written.

    Raises:
        HandbenchError: an original is missing or no image.
    """
    written = 0
    for control, image, source, box in plan.select("control", "image", "source", "box").iter_rows():
        target = folder / image
        if target.exists():
            continue
        try:
            with Image.open(root / source) as opened:
                original = opened.convert("RGB")
        except FileNotFoundError:
            raise HandbenchError(f"{root / source}: the image is missing; was the dataset's folder moved?") from None
        except (UnidentifiedImageError, OSError) as error:
            raise HandbenchError(f"{root / source}: not a readable image ({error})") from None
        made = {"mirror": mirrored, "blank": blank}[control](original) if box is None else covered(original, box)
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(target.name + ".part")
        made.save(draft, format="PNG")
        draft.replace(target)
        written += 1
    return written
