"""Hands through a video: each frame starts from where the hands were in the frame before.

Zhang et al. 2020, MediaPipe Hands, section 2: the palm detector runs only while a hand is missing. Constants
from MediaPipe 0.10.21's ``hand_landmark_landmarks_to_roi`` and ``hand_landmark_tracking_cpu`` graphs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from handbench.estimators._hand import Hand, require_rgb
from handbench.estimators._palm import box_iou, turn_upright
from handbench.estimators._pipeline import HandPipeline
from handbench.estimators._region import Region, expand

_REGION_SCALE: Final = 2.0
_REGION_SHIFT: Final = 0.1
_SAME_REGION_OVERLAP: Final = 0.5

_STEADY_JOINTS: Final = (0, 1, 2, 3, 5, 6, 9, 10, 13, 14, 17, 18)
"""Rows of the joints that bend little: the wrist, the thumb but its tip, each finger's MCP and PIP."""

_WRIST, _INDEX_MCP, _MIDDLE_MCP, _RING_MCP = 0, 5, 9, 13


class BlazeTracker:
    """A pipeline on the frames of one video, in order.

    Deterministic for a given sequence of frames. Call ``reset`` before the next video.
    """

    def __init__(self, pipeline: HandPipeline) -> None:
        self._pipeline = pipeline
        self._regions: list[Region] = []

    def reset(self) -> None:
        """Forget the hands: the next frame starts a new video."""
        self._regions = []

    def resume(self, keypoints: Sequence[NDArray[np.float64]]) -> None:
        """Go on after a frame whose hands had these (21, 2) keypoints, in their order."""
        self._regions = [next_region(np.asarray(points, np.float64)) for points in keypoints]

    def __call__(self, image: NDArray[Any]) -> list[Hand]:
        """Return the hands on the next frame, (H, W, 3) uint8 RGB: followed ones first, in their order.

        Raises:
            HandbenchError: The image is not such an array.
        """
        image = require_rgb(image)
        hands = self._pipeline.read(image, self._regions)
        if len(hands) < self._pipeline.max_hands:
            followed = [hand.region for hand in hands]
            fresh = [region for region in self._pipeline.regions(image) if not _covered(region, followed)]
            hands = self._pipeline.read(image, fresh, known=hands)
        self._regions = [next_region(hand.keypoints_px) for hand in hands]
        return hands


def next_region(keypoints: NDArray[np.float64]) -> Region:
    """Return where to look for a hand in the next frame, from its (21, 2) keypoints in this one, pixels."""
    knuckle = (keypoints[_INDEX_MCP] + 2 * keypoints[_MIDDLE_MCP] + keypoints[_RING_MCP]) / 4
    angle = turn_upright(keypoints[_WRIST], knuckle)
    upright = Region((0.0, 0.0), 1.0, angle)
    turned = keypoints[list(_STEADY_JOINTS)] @ upright.rotation
    low, high = turned.min(axis=0), turned.max(axis=0)
    center, half = (low + high) / 2 @ upright.rotation.T, (high - low) / 2
    box = np.concatenate([center - half, center + half])
    return expand(box, angle, scale=_REGION_SCALE, shift=_REGION_SHIFT)


def _covered(region: Region, others: list[Region]) -> bool:
    if not others:
        return False
    boxes = np.stack([other.box for other in others])
    return bool((box_iou(region.box, boxes) > _SAME_REGION_OVERLAP).any())
