"""From drawn light to a photograph: layers over a background, a lens, a sensor."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter

from handbench.synth.shading import decode, encode

Floats = NDArray[np.float64]


def develop(rng: np.random.Generator, picture: NDArray[np.float32], blur: float, grain: float) -> NDArray[np.uint8]:
    """What a camera makes of a picture: (size, size, 3) sRGB 0..1 to 8 bit, with a lens's blur and a sensor's grain."""
    sharp = Image.fromarray(np.asarray(np.clip(picture, 0, 1) * 255 + 0.5).astype(np.uint8))
    soft = np.asarray(sharp.filter(ImageFilter.GaussianBlur(blur * len(picture))), dtype=np.float32)
    noise = rng.standard_normal(picture.shape, dtype=np.float32) * np.float32(255 * grain)
    return np.asarray(np.clip(soft + noise + 0.5, 0, 255)).astype(np.uint8)


def compose(picture: NDArray[np.float32], pixel: NDArray[np.int64], colour: Floats, supersample: int) -> None:
    """Lay drawn pixels over a picture, in place.

    Args:
        picture: (H, W, 3) sRGB 0..1.
        pixel: (N,) flat indices in the picture enlarged by ``supersample``.
        colour: (N, 3) linear light.
        supersample: enlargement of what was drawn.
    """
    height, width = picture.shape[:2]
    size = width * height
    flat = picture.reshape(-1, 3)
    if supersample == 1:
        flat[pixel] = encode(colour)
        return
    row, column = np.divmod(pixel, width * supersample)
    target = row // supersample * width + column // supersample
    cover = np.bincount(target, minlength=size) / supersample**2
    touched = np.flatnonzero(cover)
    clipped = np.clip(colour, 0, 1)
    total = np.stack([np.bincount(target, clipped[:, c], size)[touched] for c in range(3)], axis=1)
    behind = decode(flat[touched]) * (1 - cover[touched, None])
    flat[touched] = encode(total / supersample**2 + behind)
