"""Coordinate frames of boxes, and how an image came to the model: resized, padded, cropped.

A box is ``(x1, y1, x2, y2)`` in pixels of the original image, from its upper left corner; the right and lower
edges of an image W by H are W and H.  In which frame a model speaks is declared (:mod:`handbench.replies.families`)
and never taken from the values.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from handbench.errors import HandbenchError

Floats = NDArray[np.float64]
Size = tuple[int, int]
"""Width and height, pixels."""

BINS: Final = 1000
"""N of the quantiser (EgoPoint-Ground, equation 2), and the number of Florence-2's location tokens."""


class Frame(StrEnum):
    """What the numbers of a box are counted in."""

    PIXEL = "pixel"
    """Pixels of the original image."""
    PIXEL_SENT = "pixel_sent"
    """Pixels of the image as the model got it."""
    NORM_1 = "norm_1"
    """Parts of the image's sides, 0 to 1."""
    NORM_999 = "norm_999"
    """999ths of the image's sides."""
    NORM_1000 = "norm_1000"
    """1000ths of the image's sides."""
    LOC_1000 = "loc_1000"
    """Location tokens: numbers 0 to 999 of equal bins, each read as its middle."""


class Layout(StrEnum):
    """What the four numbers of a box are."""

    XYXY = "xyxy"
    XYWH = "xywh"
    CXCYWH = "cxcywh"
    YXYX = "yxyx"


@dataclass(frozen=True)
class Placement:
    """How the pixels of the original image lie in the image as the model got it.

    ``sent = original * scale + shift``, per axis.  A crop has a negative shift, padding a positive one.

    Attributes:
        size: width and height as the model got it, pixels.
        scale: of x and of y.
        shift: of x and of y, pixels of the image as the model got it.
    """

    size: Size
    scale: tuple[float, float] = (1.0, 1.0)
    shift: tuple[float, float] = (0.0, 0.0)

    @classmethod
    def resized(cls, original: Size, sent: Size) -> Placement:
        """The whole image, stretched to another size."""
        return cls(sent, (sent[0] / original[0], sent[1] / original[1]))

    @classmethod
    def letterboxed(cls, original: Size, sent: Size, *, centred: bool = True) -> Placement:
        """The whole image at one scale, padded to the size sent: on both sides, or to the right and below."""
        scale = min(sent[0] / original[0], sent[1] / original[1])
        free = sent[0] - original[0] * scale, sent[1] - original[1] * scale
        part = 0.5 if centred else 0.0
        return cls(sent, (scale, scale), (free[0] * part, free[1] * part))

    @classmethod
    def cropped(cls, crop: tuple[float, float, float, float], sent: Size) -> Placement:
        """A part of the image (x1, y1, x2, y2 in its pixels), stretched to the size sent."""
        x1, y1, x2, y2 = crop
        if x2 <= x1 or y2 <= y1:
            raise HandbenchError(f"crop {crop}: has no area")
        scale = sent[0] / (x2 - x1), sent[1] / (y2 - y1)
        return cls(sent, scale, (-x1 * scale[0], -y1 * scale[1]))

    def forward(self, boxes: Floats) -> Floats:
        """(..., 4) boxes from pixels of the original image to pixels as sent."""
        return np.asarray(boxes * (self.scale * 2) + self.shift * 2)

    def back(self, boxes: Floats) -> Floats:
        """(..., 4) boxes from pixels as sent to pixels of the original image."""
        return np.asarray((boxes - np.array(self.shift * 2)) / np.array(self.scale * 2))


def placement_of(frame: Frame, image_size: Size, sent_size: Size | Placement | None) -> Placement:
    """The placement that a frame is to be read with.

    Args:
        frame: the declared frame.
        image_size: of the original, pixels.
        sent_size: of the image as the model got it (a plain resize), or the whole placement; None where the
            image went as it is.

    Raises:
        HandbenchError: a size is not positive, or the frame counts pixels as sent and nobody says what was sent.
    """
    sizes = [image_size, *([] if sent_size is None else [_size(sent_size)])]
    if any(side <= 0 for size in sizes for side in size):
        raise HandbenchError(f"image sizes must be positive, not {sizes}")
    if frame is Frame.PIXEL:
        return Placement(image_size)
    if sent_size is None:
        if frame is Frame.PIXEL_SENT:
            raise HandbenchError("frame pixel_sent: the size of the image as sent is needed (sent_size)")
        return Placement(image_size)
    return sent_size if isinstance(sent_size, Placement) else Placement.resized(image_size, sent_size)


def _size(sent: Size | Placement) -> Size:
    return sent.size if isinstance(sent, Placement) else sent


def units(frame: Frame, placement: Placement) -> Floats:
    """(4,) how many pixels of the image as sent one unit of the frame is, for x, y, x, y."""
    sides = np.array(placement.size * 2, dtype=np.float64)
    divisor = {Frame.NORM_1: 1, Frame.NORM_999: 999, Frame.NORM_1000: 1000, Frame.LOC_1000: BINS}.get(frame)
    return sides / divisor if divisor else np.ones(4)


def to_pixels(values: NDArray[np.floating], frame: Frame, placement: Placement) -> Floats:
    """Boxes as a model says them → pixels of the original image.

    Args:
        values: (..., 4) x1, y1, x2, y2 in the frame.
        frame: the declared frame.
        placement: see :func:`placement_of`.
    """
    counted = np.asarray(values, np.float64) + (0.5 if frame is Frame.LOC_1000 else 0.0)
    return placement.back(counted * units(frame, placement))


def from_pixels(boxes: NDArray[np.floating], frame: Frame, placement: Placement, digits: int | None = None) -> Floats:
    """Boxes in pixels of the original image → as a model of the frame says them.

    Args:
        boxes: (..., 4) pixels.
        frame: the declared frame.
        placement: see :func:`placement_of`.
        digits: places after the point; by default 3 for ``NORM_1``, else none.  Location tokens are always whole.
    """
    counted = placement.forward(np.asarray(boxes, np.float64)) / units(frame, placement)
    if frame is Frame.LOC_1000:
        return np.clip(np.floor(counted), 0, BINS - 1)
    places = digits if digits is not None else 3 if frame is Frame.NORM_1 else 0
    return np.asarray(np.round(counted, places))


def bin_size(frame: Frame, placement: Placement, digits: int | None = None) -> Floats:
    """(2,) width and height in original pixels of the smallest step that the frame can say."""
    places = 0 if frame is Frame.LOC_1000 else digits if digits is not None else 3 if frame is Frame.NORM_1 else 0
    return np.asarray(units(frame, placement)[:2] * 10.0**-places / np.array(placement.scale))


def least_iou(bins: NDArray[np.floating]) -> Floats:
    """The lowest IoU between a box and itself said in a frame, when every edge moves by at most half a bin.

    Args:
        bins: (..., 2) width and height of the box in bins.

    Returns:
        (...,) IoU: every edge half a bin inward is the worst case.
    """
    sides = np.asarray(bins, np.float64)
    return np.asarray(np.prod(np.maximum(sides - 1, 0) / sides, axis=-1))


def quantise(values: NDArray[np.floating], sides: NDArray[np.floating], bins: int = BINS) -> NDArray[np.int64]:
    """The paper's quantiser: ``floor(c / L * (N - 1))`` (EgoPoint-Ground, equation 2).

    Args:
        values: coordinates in pixels, any shape.
        sides: L, the image's side along each coordinate, broadcast against ``values``.
        bins: N.

    Returns:
        Bins 0 to N - 1; coordinates outside the image go to the nearest bin.
    """
    place = np.floor(np.asarray(values) / np.asarray(sides) * (bins - 1))
    return np.clip(place, 0, bins - 1).astype(np.int64)


def dequantise(numbers: NDArray[np.integer], sides: NDArray[np.floating], bins: int = BINS) -> Floats:
    """The middle of what :func:`quantise` maps to a bin; no coordinate is off by more than ``L / (2 (N - 1))``.

    The last bin holds the image's far edge alone and is read as that edge.
    """
    numbers = np.asarray(numbers)
    middle = np.where(numbers >= bins - 1, bins - 1, numbers + 0.5)
    return np.asarray(middle / (bins - 1) * np.asarray(sides))


def corners(values: NDArray[np.floating], layout: Layout) -> Floats:
    """(..., 4) numbers of a layout → x1, y1, x2, y2; end points are not sorted."""
    a, b, c, d = np.moveaxis(np.asarray(values, np.float64), -1, 0)
    if layout is Layout.XYWH:
        return np.stack([a, b, a + c, b + d], -1)
    if layout is Layout.CXCYWH:
        return np.stack([a - c / 2, b - d / 2, a + c / 2, b + d / 2], -1)
    if layout is Layout.YXYX:
        return np.stack([b, a, d, c], -1)
    return np.stack([a, b, c, d], -1)


def laid_out(boxes: NDArray[np.floating], layout: Layout) -> Floats:
    """The inverse of :func:`corners`."""
    x1, y1, x2, y2 = np.moveaxis(np.asarray(boxes, np.float64), -1, 0)
    if layout is Layout.XYWH:
        return np.stack([x1, y1, x2 - x1, y2 - y1], -1)
    if layout is Layout.CXCYWH:
        return np.stack([(x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1], -1)
    if layout is Layout.YXYX:
        return np.stack([y1, x1, y2, x2], -1)
    return np.stack([x1, y1, x2, y2], -1)
