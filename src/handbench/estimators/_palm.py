"""Palm detection: from the network's raw numbers to palms, and from a palm to the hand's region.

Sources: Bazarevsky et al. 2019, BlazeFace (anchors, blended non-maximum suppression); Zhang et al. 2020,
MediaPipe Hands, section 2 (palm detector and hand region); constants from MediaPipe 0.10.21's
``palm_detection_cpu`` and ``palm_detection_detection_to_roi`` graphs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from handbench.estimators._litert import Network
from handbench.estimators._region import Region, crop, expand, letterbox

Variant = Literal["full", "lite"]

INPUT_SIZE: Final = 192
"""Pixels per side of the palm network's input."""

ANCHOR_LAYERS: Final = ((24, 2), (12, 6))
"""Feature maps as (cells per side, anchors per cell): stride 8 once, stride 16 three times, 2 each."""

PALM_KEYPOINTS: Final = 7
"""Keypoints per palm; 0 is the wrist, 2 the middle finger's MCP."""

_WRIST, _MIDDLE_MCP = 0, 2
_REGION_SCALE: Final = 2.6
_REGION_SHIFT: Final = 0.5

UPRIGHT_ANGLE: Final = np.pi / 2
"""Direction of wrist to middle MCP inside an upright region, radians counter-clockwise from the x axis."""

TASKS_ANGLE: Final = 90.0
"""The same in MediaPipe Tasks, which puts 90 degrees into a field of radians: regions turned by 26.6°."""


@dataclass(frozen=True)
class Palms:
    """Palms on one image.

    Attributes:
        boxes: (N, 4) x1, y1, x2, y2.
        keypoints: (N, 7, 2).
        scores: (N,) 0 to 1.
    """

    boxes: NDArray[np.float64]
    keypoints: NDArray[np.float64]
    scores: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.scores)

    def __getitem__(self, rows: NDArray[np.bool_] | NDArray[np.intp]) -> Palms:
        return Palms(self.boxes[rows], self.keypoints[rows], self.scores[rows])

    def placed(self, region: Region) -> Palms:
        """Return the palms in image pixels, from coordinates of an upright region."""
        corners = region.to_image(self.boxes.reshape(-1, 2, 2))
        return Palms(corners.reshape(-1, 4), region.to_image(self.keypoints), self.scores)

    def hand_regions(self, target_angle: float = UPRIGHT_ANGLE) -> list[Region]:
        """Return the region of the whole hand for each palm (in image pixels), see ``hand_region``."""
        pairs = zip(self.boxes, self.keypoints, strict=True)
        return [hand_region(box, keypoints, target_angle) for box, keypoints in pairs]


class PalmDetector:
    """Finds palms on an image."""

    def __init__(self, variant: Variant = "full", threshold: float = 0.5) -> None:
        self._network = Network(f"palm_detection_{variant}.tflite")
        self._anchors = anchor_centers()
        self._threshold = threshold

    def __call__(self, image: NDArray[np.uint8]) -> Palms:
        """Return the palms on an (H, W, 3) uint8 image, in its pixels, best score first."""
        whole = letterbox(image.shape[1], image.shape[0])
        pixels = crop(image, whole, INPUT_SIZE, border="zero") / np.float32(255)
        outputs = self._network(pixels)
        found = decode(outputs["Identity"], outputs["Identity_1"], self._anchors, self._threshold)
        return weighted_nms(found).placed(whole)


def anchor_centers() -> NDArray[np.float64]:
    """Return the (2016, 2) anchor centres in input coordinates 0 to 1, in the network's output order."""
    layers = []
    for cells, repeats in ANCHOR_LAYERS:
        middle = (np.arange(cells) + 0.5) / cells
        x, y = np.meshgrid(middle, middle)
        layers.append(np.repeat(np.stack([x, y], axis=-1).reshape(-1, 2), repeats, axis=0))
    return np.concatenate(layers)


def decode(
    raw: NDArray[np.float32], logits: NDArray[np.float32], anchors: NDArray[np.float64], threshold: float
) -> Palms:
    """Turn raw network outputs into candidate palms, in input coordinates 0 to 1.

    Args:
        raw: (A, 18) box centre, box size and seven keypoints, in input pixels; centre and keypoints are
            offsets from the anchor.
        logits: (A, 1) or (A,).
        anchors: (A, 2) from ``anchor_centers``.
        threshold: Lowest score that is kept.

    Returns:
        The candidates with a box of positive size, in anchor order.
    """
    scores = 1.0 / (1.0 + np.exp(-np.clip(logits.reshape(-1).astype(np.float64), -100.0, 100.0)))
    values = raw.reshape(-1, 2 + PALM_KEYPOINTS, 2) / np.float64(INPUT_SIZE)
    keep = (scores >= threshold) & (values[:, 1] > 0).all(axis=1)
    values, anchors = values[keep], anchors[keep]
    center, half = values[:, 0] + anchors, values[:, 1] / 2
    boxes = np.concatenate([center - half, center + half], axis=1)
    return Palms(boxes, values[:, 2:] + anchors[:, None], scores[keep])


def weighted_nms(palms: Palms, max_overlap: float = 0.3) -> Palms:
    """Blend candidates that overlap: BlazeFace's replacement for non-maximum suppression (section 3.4).

    The best remaining candidate gathers all that overlap it by more than ``max_overlap`` (IoU); box and
    keypoints become their mean weighted by score, and the score stays the best one's.

    Returns:
        One row per group, best score first.
    """
    order = np.argsort(-palms.scores, kind="stable")
    boxes, keypoints, scores = [], [], []
    while order.size:
        together = box_iou(palms.boxes[order[0]], palms.boxes[order]) > max_overlap
        together[0] = True
        group = palms[order[together]]
        boxes.append(np.average(group.boxes, axis=0, weights=group.scores))
        keypoints.append(np.average(group.keypoints, axis=0, weights=group.scores))
        scores.append(group.scores[0])
        order = order[~together]
    if not scores:
        return palms
    return Palms(np.stack(boxes), np.stack(keypoints), np.array(scores))


def box_iou(box: NDArray[np.float64], boxes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the (N,) intersection over union of one box with (N, 4) boxes, all x1, y1, x2, y2."""
    sides = np.minimum(box[2:], boxes[:, 2:]) - np.maximum(box[:2], boxes[:, :2])
    shared = np.clip(sides, 0.0, None).prod(axis=1)
    union = (box[2:] - box[:2]).prod() + (boxes[:, 2:] - boxes[:, :2]).prod(axis=1) - shared
    iou: NDArray[np.float64] = shared / union
    return iou


def hand_region(
    box: NDArray[np.float64], keypoints: NDArray[np.float64], target_angle: float = UPRIGHT_ANGLE
) -> Region:
    """Return the square around the whole hand, turned so that the fingers point up in it.

    Args:
        box: (4,) palm box x1, y1, x2, y2, pixels.
        keypoints: (7, 2) palm keypoints, pixels.
        target_angle: ``UPRIGHT_ANGLE`` or ``TASKS_ANGLE``.
    """
    angle = turn_upright(keypoints[_WRIST], keypoints[_MIDDLE_MCP], target_angle)
    return expand(box, angle, scale=_REGION_SCALE, shift=_REGION_SHIFT)


def turn_upright(wrist: NDArray[np.float64], middle: NDArray[np.float64], target_angle: float = UPRIGHT_ANGLE) -> float:
    """Return the region angle in which wrist to middle knuckle, (2,) pixels each, has ``target_angle``."""
    along = middle - wrist
    return wrap_angle(target_angle - np.arctan2(-along[1], along[0]))


def wrap_angle(angle: float) -> float:
    """Return the same direction within -pi (included) to pi."""
    return float((angle + np.pi) % (2 * np.pi) - np.pi)
