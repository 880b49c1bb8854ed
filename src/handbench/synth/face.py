"""A simply drawn face behind a raised index finger."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from handbench.synth.sample import Annotation

_INDEX_LENGTH: Final = 0.075
"""Metres from knuckle to tip, by which the face is sized."""


def draw_face(picture: NDArray[np.float32], truth: Annotation, *, tone: float, seed: int) -> NDArray[np.float32]:
    """Draw head, neck and shoulders such that the lips lie behind the last bones of the index finger.

    Args:
        picture: (H, W, 3) sRGB 0..1.
        truth: of the hand that will be before it.
        tone: of the skin, 0 (lightest) to 1 (darkest).
        seed: of hair and shirt.

    Returns:
        (H, W, 3) sRGB 0..1.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    scale = 2
    image = Image.fromarray(np.asarray(np.clip(picture, 0, 1) * 255 + 0.5).astype(np.uint8))
    image = image.resize((image.width * scale, image.height * scale), Image.Resampling.BICUBIC)
    joints = truth.joints_px * scale
    unit = float(np.linalg.norm(joints[8] - joints[5])) / _INDEX_LENGTH  # pixels per metre at the finger
    x, y = (joints[7] + joints[8]) / 2
    skin = _mixed((232, 190, 165), (84, 54, 40), tone)
    dark = _mixed(skin, (40, 20, 15), 0.55)
    hair = tuple(int(c) for c in rng.choice([(30, 24, 20), (70, 45, 25), (120, 90, 50), (150, 150, 150)]))
    shirt = tuple(int(c) for c in rng.integers(40, 200, 3))
    pen = ImageDraw.Draw(image)

    def oval(cx: float, cy: float, rx: float, ry: float, fill: tuple[int, ...]) -> None:
        """An ellipse about a point given in metres from the lips."""
        middle = x + cx * unit, y + cy * unit
        box = (middle[0] - rx * unit, middle[1] - ry * unit, middle[0] + rx * unit, middle[1] + ry * unit)
        pen.ellipse(box, fill=fill)

    oval(0, 0.26, 0.21, 0.15, shirt)
    oval(0, 0.09, 0.055, 0.09, _mixed(skin, (0, 0, 0), 0.15))
    oval(0, -0.065, 0.085, 0.115, hair)
    oval(0, -0.04, 0.074, 0.1, skin)
    for side in (-1, 1):
        oval(side * 0.031, -0.062, 0.012, 0.0065, (245, 245, 242))
        oval(side * 0.031, -0.062, 0.0055, 0.0055, (40, 30, 25))
        oval(side * 0.031, -0.079, 0.016, 0.0028, hair)
    oval(0, -0.024, 0.009, 0.012, _mixed(skin, dark, 0.25))
    oval(0, 0.0, 0.024, 0.0085, _mixed((190, 95, 90), dark, 0.3 + 0.4 * tone))
    small = image.resize((picture.shape[1], picture.shape[0]), Image.Resampling.LANCZOS)
    return np.asarray(small, dtype=np.float32) / np.float32(255)


def _mixed(one: tuple[int, ...], other: tuple[int, ...], part: float) -> tuple[int, ...]:
    return tuple(round(a + (b - a) * part) for a, b in zip(one, other, strict=True))
