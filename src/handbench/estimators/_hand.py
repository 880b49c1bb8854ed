"""One predicted hand, and what every estimator here asks of its input image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from handbench.errors import HandbenchError
from handbench.estimators._region import Region

Side = Literal["left", "right"]


@dataclass(frozen=True)
class Hand:
    """One predicted hand.

    Attributes:
        side: The subject's own side, on an ordinary (unmirrored) photo.
        side_score: Probability of that side, 0.5 to 1.
        score: Probability that the region shows a hand at all.
        keypoints_px: (21, 2) pixels of the original image.
        keypoint_scores: (21,) 0 to 1.
        keypoints_z: (21,) depth relative to the wrist on the scale of the pixels, away from the camera; not
            metric. None for a 2D estimator.
        keypoints_cam: (21, 3) metres, x right, y down, z away, with the origin at the hand's own centre:
            where the hand stands before the camera is not estimated. None for a 2D estimator.
        region: The part of the image that the landmark network saw.
    """

    side: Side
    side_score: float
    score: float
    keypoints_px: NDArray[np.float64]
    keypoint_scores: NDArray[np.float64]
    keypoints_z: NDArray[np.float64] | None
    keypoints_cam: NDArray[np.float64] | None
    region: Region

    @property
    def box(self) -> NDArray[np.float64]:
        """The (4,) box x1, y1, x2, y2 of the keypoints."""
        return np.concatenate([self.keypoints_px.min(axis=0), self.keypoints_px.max(axis=0)])


def side_from_probability(right: float) -> tuple[Side, float]:
    """Return the side and its probability from the probability of a right hand."""
    return ("right", right) if right > 0.5 else ("left", 1.0 - right)


def require_rgb(image: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the image as it is, or raise when it is not (H, W, 3) uint8 with at least one pixel."""
    if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8 or image.size == 0:
        raise HandbenchError(
            f"an image must be an RGB array (height, width, 3) of uint8, found {image.shape} of {image.dtype}"
        )
    return image
