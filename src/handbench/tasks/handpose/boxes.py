"""Hand boxes, their overlap and their sizes: the same rule for true and predicted hands."""

from __future__ import annotations

import numpy as np

from handbench.tasks.handpose.arrays import Bools, Floats


def hand_boxes(points: Floats, valid: Bools, sizes: Floats | None = None, pad: float = 0.0) -> Floats:
    """The tight box of each hand's valid points, padded and clipped to its image.

    Args:
        points: (N, 21, 2) pixels.
        valid: (N, 21) the points that count.
        sizes: (N, 2) width and height of the images; no clipping without.
        pad: share of the box's sides added on every side.

    Returns:
        (N, 4) x1, y1, x2, y2; NaN for a hand without a valid point.
    """
    if valid.all():
        low, high = points.min(axis=1), points.max(axis=1)
    else:
        low = np.where(valid[..., None], points, np.inf).min(axis=1)
        high = np.where(valid[..., None], points, -np.inf).max(axis=1)
    if pad:
        margin = pad * (high - low)
        low, high = low - margin, high + margin
    if sizes is not None:
        low, high = np.clip(low, 0, sizes), np.clip(high, 0, sizes)
    boxes = np.concatenate([low, high], axis=1)
    boxes[~valid.any(axis=1)] = np.nan
    return boxes


def paired_iou(one: Floats, other: Floats) -> Floats:
    """(N,) intersection over union of (N, 4) boxes with (N, 4) boxes; 0 where a box is NaN or has no area.

    Two equal boxes without area (a single point) have 0, too: such a hand cannot be matched by its box.
    """
    x1, y1, x2, y2 = one.T
    u1, v1, u2, v2 = other.T
    wide = np.minimum(x2, u2) - np.maximum(x1, u1)
    high = np.minimum(y2, v2) - np.maximum(y1, v1)
    shared = np.maximum(wide, 0) * np.maximum(high, 0)
    union = (x2 - x1) * (y2 - y1) + (u2 - u1) * (v2 - v1) - shared
    iou = np.zeros(len(one))
    np.divide(shared, union, out=iou, where=union > 0)
    return iou


def center_distance(one: Floats, other: Floats) -> Floats:
    """(N,) distance of two boxes' centres over the diagonal of the larger one (VERA-Hand, appendix E)."""
    gap = np.hypot(*((one[:, :2] + one[:, 2:] - other[:, :2] - other[:, 2:]) / 2).T)
    diagonal = np.maximum(np.hypot(*(one[:, 2:] - one[:, :2]).T), np.hypot(*(other[:, 2:] - other[:, :2]).T))
    distance = np.full(len(one), np.inf)
    np.divide(gap, diagonal, out=distance, where=diagonal > 0)
    return distance


def longer_side(boxes: Floats) -> Floats:
    """(N,) longer side of each box."""
    return np.asarray(np.maximum(boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]))
