"""Rotated square image regions: where a hand network looks, and the pixels that it gets to see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class Region:
    """A square on the image, possibly turned and possibly reaching beyond the border.

    Attributes:
        center: (x, y) of its middle, pixels.
        side: Length of a side, pixels.
        angle: Turn in radians, clockwise as seen on the screen; 0 is upright. The region's "up" points to
            (sin angle, -cos angle) in the image.
    """

    center: tuple[float, float]
    side: float
    angle: float = 0.0

    @property
    def rotation(self) -> NDArray[np.float64]:
        """The (2, 2) matrix that turns region axes into image axes."""
        cosine, sine = np.cos(self.angle), np.sin(self.angle)
        return np.array([[cosine, -sine], [sine, cosine]])

    def to_image(self, points: ArrayLike) -> NDArray[np.float64]:
        """Map (..., 2) region coordinates, (0, 0) top left to (1, 1) bottom right, to image pixels."""
        offsets = (np.asarray(points, np.float64) - 0.5) * self.side
        return offsets @ self.rotation.T + self.center

    def to_region(self, points: ArrayLike) -> NDArray[np.float64]:
        """Map (..., 2) image pixels to region coordinates: the inverse of ``to_image``."""
        offsets = np.asarray(points, np.float64) - self.center
        return offsets @ self.rotation / self.side + 0.5

    @property
    def box(self) -> NDArray[np.float64]:
        """The (4,) box x1, y1, x2, y2 of the region turned back upright."""
        center, half = np.array(self.center), self.side / 2
        return np.concatenate([center - half, center + half])

    def scaled(self, factor: float) -> Region:
        """Return the region with its side multiplied by ``factor`` about the same centre."""
        return Region(self.center, self.side * factor, self.angle)


def expand(box: NDArray[np.float64], angle: float, *, scale: float, shift: float) -> Region:
    """Return a turned square around a box: moved "up" by ``shift`` box heights, ``scale`` longer sides wide.

    Args:
        box: (4,) x1, y1, x2, y2 on axes turned by ``angle`` about the box's own centre.
        angle: As in ``Region``.
        scale: Side of the square over the longer side of the box.
        shift: Movement along the region's "up" over the height of the box.
    """
    width, height = box[2:] - box[:2]
    x, y = (box[:2] + box[2:]) / 2
    move = shift * height
    center = (float(x + move * np.sin(angle)), float(y - move * np.cos(angle)))
    return Region(center, float(scale * max(width, height)), angle)


def letterbox(width: int, height: int) -> Region:
    """Return the smallest upright square that holds the whole image, centred on it."""
    return Region((width / 2, height / 2), float(max(width, height)))


def crop(
    image: NDArray[np.uint8], region: Region, size: int, border: Literal["replicate", "zero"]
) -> NDArray[np.float32]:
    """Resample a region to ``size`` by ``size`` pixels, bilinearly and without antialiasing.

    Output pixel (i, j) is read at array index ``region.to_image((j, i) / size)``: the index convention of
    OpenCV's warps, without the half-pixel offset, because the networks were released with it.

    Args:
        image: (H, W, 3) uint8.
        region: What to read.
        size: Pixels per side of the result.
        border: What lies outside the image: the nearest pixel of it, or black.

    Returns:
        (size, size, 3) float32, 0 to 255.
    """
    height, width = image.shape[:2]
    steps = np.arange(size) / size
    (across_x, down_x), (across_y, down_y) = region.rotation * region.side
    first_x, first_y = region.to_image((0.0, 0.0))
    x = (first_x + down_x * steps)[:, None] + across_x * steps
    y = (first_y + down_y * steps)[:, None] + across_y * steps
    inside_x, inside_y = np.clip(x, 0.0, width - 1.0), np.clip(y, 0.0, height - 1.0)
    pixels = _bilinear(image, inside_x, inside_y)
    if border == "zero":
        # A read that lies d < 1 pixels outside mixes d of black with 1 - d of the border pixel.
        weight = np.clip(1.0 - np.abs(x - inside_x), 0.0, 1.0) * np.clip(1.0 - np.abs(y - inside_y), 0.0, 1.0)
        pixels *= weight[..., None].astype(np.float32)
    return pixels


def _bilinear(image: NDArray[np.uint8], x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float32]:
    """Read an image at array indices inside it: two mixes along x and one along y."""
    height, width, channels = image.shape
    left, top = x.astype(np.intp), y.astype(np.intp)
    fraction_x = (x - left).astype(np.float32)[..., None]
    fraction_y = (y - top).astype(np.float32)[..., None]
    flat = image.reshape(-1, channels)
    upper = top * width + left
    lower = upper + width * (top < height - 1)
    right = left < width - 1
    return _mix(
        _mix(_read(flat, upper), _read(flat, upper + right), fraction_x),
        _mix(_read(flat, lower), _read(flat, lower + right), fraction_x),
        fraction_y,
    )


def _read(flat: NDArray[np.uint8], rows: NDArray[np.intp]) -> NDArray[np.float32]:
    return flat.take(rows, axis=0).astype(np.float32)


def _mix(first: NDArray[np.float32], second: NDArray[np.float32], fraction: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return ``first + (second - first) * fraction`` in their own memory: half the time of new arrays."""
    second -= first
    second *= fraction
    first += second
    return first
