"""A simply drawn face behind a raised index finger."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from handbench.synth.person import draw_looks, draw_person
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
    draw_person(ImageDraw.Draw(image), x, y, unit, draw_looks(rng, tone))
    small = image.resize((picture.shape[1], picture.shape[0]), Image.Resampling.LANCZOS)
    return np.asarray(small, dtype=np.float32) / np.float32(255)
