"""What divides the hands of a set: size, occlusion, motion, sharpness and blur (VERA-Hand, section 3.5).

Sharpness is the variance of the Laplacian (Pech-Pacheco et al. 2000) of the hand's crop, brought to one size first.
The paper names two signals and three classes and calibrates its thresholds by eye; here a hand is *sharp* when neither
signal speaks against it, *blurry* when both do and *mild* when one does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray
from PIL import Image

from handbench.tasks.handpose.arrays import Bools, Floats, Frames, flags_of, inside, points_of
from handbench.tasks.handpose.boxes import hand_boxes, longer_side

CROP: Final = 128
PADDING: Final = 0.2
FARTHEST_NEIGHBOUR: Final = 5
"""Frames to the next annotated one, beyond which nothing is said of motion."""

SIZE_EDGES: Final = (48, 96, 192)
SIZE_NAMES: Final = ("under 48 px", "48 to 96 px", "96 to 192 px", "192 px and more")
OCCLUSION_NAMES: Final = ("all points seen", "under half hidden", "half or more hidden")
BLUR_NAMES: Final = ("sharp", "mild", "blurry")


@dataclass(frozen=True)
class BlurThresholds:
    """Where blur begins.

    Attributes:
        sharpness: a crop below it is not sharp.
        motion: hand sizes per frame above which a hand moves fast.
    """

    sharpness: float
    motion: float


def sharpness_laplacian(image: NDArray[np.uint8], box: Floats) -> float:
    """Variance of the Laplacian of a hand's crop, 128 pixels wide, grey.

    Args:
        image: (H, W, 3) or (H, W) uint8.
        box: (4,) of the hand, pixels.

    Returns:
        The variance, in squared grey levels; NaN for an empty crop.
    """
    height, width = image.shape[:2]
    side = box[2:] - box[:2]
    low = np.floor(np.clip(box[:2] - PADDING * side, 0, [width, height])).astype(int)
    high = np.ceil(np.clip(box[2:] + PADDING * side, 0, [width, height])).astype(int)
    if (high - low < 3).any():
        return float("nan")
    crop = Image.fromarray(np.ascontiguousarray(image[low[1] : high[1], low[0] : high[0]])).convert("L")
    scale = CROP / max(crop.size)
    size = (max(round(crop.width * scale), 3), max(round(crop.height * scale), 3))
    grey = np.asarray(crop.resize(size, Image.Resampling.BILINEAR), np.float64)
    middle = grey[1:-1, 1:-1]
    laplacian = grey[:-2, 1:-1] + grey[2:, 1:-1] + grey[1:-1, :-2] + grey[1:-1, 2:] - 4 * middle
    return float(laplacian.var())


def boxes_of(hands: pl.DataFrame, frames: Frames) -> Floats:
    """(N, 4) box of every true hand of a table; NaN without a point inside the frame."""
    points = points_of(hands["joints_px"])
    row = np.maximum(frames.rows_of(hands["image"]), 0)
    sizes = frames.sizes[row]
    return hand_boxes(points, inside(points, sizes) & flags_of(hands["in_frame"], True), sizes)


def motion_of_hands(hands: pl.DataFrame, frames: Frames) -> Floats:
    """Median displacement of a hand's points to the neighbouring annotated frames, in hand sizes per frame.

    Both neighbours count where both are near; NaN where none is.

    Returns:
        (N,).
    """
    row = frames.rows_of(hands["image"])
    points, size = points_of(hands["joints_px"]), longer_side(boxes_of(hands, frames))
    side = hands["side"].cast(pl.String).fill_null("unknown").rank("dense").to_numpy()
    video, number = frames.video[np.maximum(row, 0)], frames.number[np.maximum(row, 0)]
    order = np.lexsort((number, side, video))
    total, count = np.zeros(len(row)), np.zeros(len(row))
    one, other = order[:-1], order[1:]
    gap = number[other] - number[one]
    near = (video[one] == video[other]) & (side[one] == side[other]) & (gap > 0) & (gap <= FARTHEST_NEIGHBOUR)
    one, other, gap = one[near], other[near], gap[near]
    step = np.median(np.linalg.norm(points[one] - points[other], axis=2), axis=1) if len(one) else np.zeros(0)
    for mine in (one, other):
        speed = step / gap / size[mine]
        known = np.isfinite(speed)
        np.add.at(total, mine[known], speed[known])
        np.add.at(count, mine[known], 1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def blur_thresholds(sharpness: Floats, motion: Floats) -> BlurThresholds | None:
    """Default thresholds: the least sharp third and the fastest third; None where a signal is wholly missing."""
    known = [values[np.isfinite(values)] for values in (sharpness, motion)]
    if not all(len(values) for values in known):
        return None
    return BlurThresholds(float(np.quantile(known[0], 1 / 3)), float(np.quantile(known[1], 2 / 3)))


def blur_class(sharpness: Floats, motion: Floats, thresholds: BlurThresholds) -> pl.Series:
    """(N,) sharp, mild or blurry; null where a signal is missing."""
    signs = (sharpness < thresholds.sharpness).astype(int) + (motion > thresholds.motion)
    names = pl.Series([*BLUR_NAMES, None], dtype=pl.String)
    known = np.isfinite(sharpness) & np.isfinite(motion)
    return names.gather(np.where(known, signs, len(BLUR_NAMES)))


def size_class(boxes: Floats) -> pl.Series:
    """(N,) class of the longer side of each box."""
    side = longer_side(boxes)
    names = pl.Series([*SIZE_NAMES, None], dtype=pl.String)
    return names.gather(np.where(np.isfinite(side), np.searchsorted(SIZE_EDGES, side, "right"), len(SIZE_NAMES)))


def occlusion_class(hands: pl.DataFrame) -> pl.Series:
    """(N,) class by the share of hidden points among those in the frame; null where the set does not tell."""
    names = pl.Series([*OCCLUSION_NAMES, None], dtype=pl.String)
    told: Bools = ~hands["occluded"].is_null().to_numpy()
    here = flags_of(hands["in_frame"], True)
    hidden = (flags_of(hands["occluded"], False) & here).sum(axis=1)
    place = np.where(hidden == 0, 0, np.where(2 * hidden < here.sum(axis=1), 1, 2))
    return names.gather(np.where(told, place, len(OCCLUSION_NAMES)))
