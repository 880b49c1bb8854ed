"""Backgrounds, cheap and without any outside picture."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter

Picture = NDArray[np.float32]

BACKGROUNDS: Final = ("solid", "gradient", "clutter", "noise", "room", "desk")

_DRAWN: Final = 160
"""Shapes are drawn at this size and enlarged: they are out of focus behind the hand anyway."""


def background(rng: np.random.Generator, kind: str, size: int) -> Picture:
    """Draw a background.

    Args:
        rng: the source of colours and shapes.
        kind: one of :data:`BACKGROUNDS`.
        size: side of the square picture.

    Returns:
        (size, size, 3) sRGB 0..1.
    """
    if kind == "solid":
        return np.tile(rng.uniform(0.1, 0.92, 3).astype(np.float32), (size, size, 1))
    if kind == "gradient":
        small = Image.fromarray(rng.integers(25, 235, (2, 2, 3), dtype=np.uint8))
        return _enlarge(small, size)
    if kind == "noise":
        return _noise(rng, size)
    image = Image.new("RGB", (_DRAWN, _DRAWN), _colour(rng, 60, 230))
    draw = ImageDraw.Draw(image)
    if kind == "clutter":
        for _ in range(rng.integers(8, 22)):
            _thing(rng, draw, rng.uniform(-20, _DRAWN, 2), rng.uniform(10, 70, 2))
        blur = rng.uniform(0.5, 4)
    elif kind == "room":
        blur = rng.uniform(1, 3.5)
        _room(rng, draw)
    else:
        blur = rng.uniform(0.3, 1.5)
        _desk(rng, draw)
    return _enlarge(image.filter(ImageFilter.GaussianBlur(blur)), size)


def _enlarge(image: Image.Image, size: int) -> Picture:
    enlarged = image.resize((size, size), Image.Resampling.BICUBIC)
    return np.asarray(enlarged, dtype=np.float32) / np.float32(255)


def _colour(rng: np.random.Generator, low: int, high: int) -> tuple[int, int, int]:
    red, green, blue = (int(c) for c in rng.integers(low, high, 3))
    return red, green, blue


def _muted(rng: np.random.Generator, low: int, high: int) -> tuple[int, int, int]:
    """A wall or furniture colour: near grey."""
    grey = rng.integers(low, high)
    red, green, blue = (int(c) for c in np.clip(grey + rng.normal(0, 12, 3), 0, 255))
    return red, green, blue


def _thing(
    rng: np.random.Generator, draw: ImageDraw.ImageDraw, at: NDArray[np.float64], extent: NDArray[np.float64]
) -> None:
    """A box, a disc or a slanted slab."""
    (x, y), (width, height) = at, extent
    colour = _colour(rng, 10, 245)
    kind = rng.integers(3)
    if kind == 0:
        draw.rectangle((x, y, x + width, y + height), fill=colour)
    elif kind == 1:
        draw.ellipse((x, y, x + width, y + width), fill=colour)
    else:
        lean = rng.uniform(-0.5, 0.5) * width
        draw.polygon([(x, y), (x + width, y), (x + width + lean, y + height), (x + lean, y + height)], fill=colour)


def _room(rng: np.random.Generator, draw: ImageDraw.ImageDraw) -> None:
    """Back wall, a side wall, floor, a window or a picture, a piece of furniture."""
    side = _DRAWN
    floor = rng.uniform(0.62, 0.95) * side
    corner = rng.uniform(-0.2, 1.2) * side
    wall = np.array(_muted(rng, 110, 235))
    draw.rectangle((0, 0, side, floor), fill=tuple(int(c) for c in wall))
    dimmer = tuple(int(c) for c in wall * 0.86)
    slope = rng.uniform(0.1, 0.4) * side
    if rng.random() < 0.5:
        draw.polygon([(0, 0), (corner, 0), (corner, floor), (0, floor + slope)], fill=dimmer)
    draw.polygon([(0, floor + slope * 0.2), (side, floor), (side, side), (0, side)], fill=_muted(rng, 50, 170))
    for _ in range(rng.integers(1, 4)):
        x, y = rng.uniform(-0.1, 0.9, 2) * [side, floor * 0.7]
        width, height = rng.uniform(0.15, 0.45, 2) * side
        draw.rectangle((x - 3, y - 3, x + width + 3, y + height + 3), fill=_muted(rng, 40, 245))
        draw.rectangle((x, y, x + width, y + height), fill=_colour(rng, 90, 250))
    for _ in range(rng.integers(0, 3)):
        x, width, top = rng.uniform(-0.2, 0.9) * side, rng.uniform(0.2, 0.6) * side, rng.uniform(0.45, 0.75) * side
        draw.rectangle((x, top, x + width, max(top, floor + 0.1 * side)), fill=_muted(rng, 30, 150))


def _desk(rng: np.random.Generator, draw: ImageDraw.ImageDraw) -> None:
    """A table top seen from above at a slant, with a few things on it."""
    side = _DRAWN
    edge = rng.uniform(-0.3, 0.35) * side
    wood = rng.uniform(0.5, 1.0) * np.array([200, 150, 105]) + rng.normal(0, 12, 3)
    draw.rectangle((0, 0, side, max(edge, 0)), fill=_muted(rng, 60, 220))
    centre = rng.uniform(0.2, 0.8) * side
    for lane in range(-9, 10):
        shade = np.clip(wood * rng.uniform(0.92, 1.06), 0, 255)
        near, far = side * 0.42, side * 0.2
        left, right = lane, lane + 1
        draw.polygon(
            [
                (centre + left * far, edge),
                (centre + right * far, edge),
                (centre + right * near, side),
                (centre + left * near, side),
            ],
            fill=tuple(int(c) for c in shade),
        )
    for _ in range(rng.integers(2, 6)):
        x, y = rng.uniform(-0.1, 1.0) * side, rng.uniform(max(edge, 0) + 4, side)
        grow = 0.5 + (y - edge) / (2 * side)
        _thing(rng, draw, np.array([x, y]), rng.uniform(8, 34, 2) * grow)


def _noise(rng: np.random.Generator, size: int) -> Picture:
    """Soft blotches of two colours at several scales."""
    total = np.zeros((size, size), dtype=np.float32)
    for cells, amount in ((3, 0.5), (7, 0.3), (17, 0.2)):
        grid = Image.fromarray(rng.random((cells, cells), dtype=np.float32))
        total += np.float32(amount) * np.asarray(grid.resize((size, size), Image.Resampling.BICUBIC))
    one, two = rng.uniform(0.05, 0.95, (2, 3)).astype(np.float32)
    mixed = np.clip((total - 0.2) / 0.6, 0, 1)[:, :, None]
    return np.asarray(one + mixed * (two - one), dtype=np.float32)
