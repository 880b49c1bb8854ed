"""Boxes against boxes: IoU; scores against labels: ROC area.  Vectorised, no protocol."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def iou(one: NDArray[np.floating], other: NDArray[np.floating]) -> Floats:
    """Intersection over union of boxes, pair by pair.

    Args:
        one: (..., 4) x1, y1, x2, y2; NaN where there is no box.
        other: (..., 4) likewise, broadcast against ``one``.

    Returns:
        (...,) 0 to 1; 0 where a box is missing or has no area.
    """
    one, other = np.asarray(one, np.float64), np.asarray(other, np.float64)
    low = np.maximum(one[..., :2], other[..., :2])
    high = np.minimum(one[..., 2:], other[..., 2:])
    shared = np.clip(high - low, 0, None).prod(axis=-1)
    areas = [np.clip(box[..., 2:] - box[..., :2], 0, None).prod(axis=-1) for box in (one, other)]
    union = areas[0] + areas[1] - shared
    found = np.zeros(np.broadcast_shapes(shared.shape, union.shape))
    np.divide(shared, union, out=found, where=union > 0)
    return np.where(np.isnan(found), 0.0, found)


def ray_meets_boxes(ray: NDArray[np.floating], boxes: NDArray[np.floating]) -> tuple[NDArray[np.bool_], Floats]:
    """Whether rays enter boxes, and how far away: the slab test.

    Args:
        ray: (..., 4) a point and a direction (need not be unit), pixels, y down.
        boxes: (..., 4) x1, y1, x2, y2, broadcast against ``ray``.

    Returns:
        (...,) whether the ray meets the box (its edge counts; a ray that begins inside meets it), and (...,) how far
        along, in lengths of the direction: 0 where it begins inside, infinite where it misses.
    """
    ray, boxes = np.broadcast_arrays(np.asarray(ray, np.float64), np.asarray(boxes, np.float64))
    start, way = ray[..., :2], ray[..., 2:]
    still = way == 0
    safe = np.where(still, 1.0, way)
    with np.errstate(over="ignore"):  # a direction all but level meets the lines at infinity
        one, two = (boxes[..., :2] - start) / safe, (boxes[..., 2:] - start) / safe
    # Along an axis in which it does not move, a ray is always or never within the slab.
    within = (start >= boxes[..., :2]) & (start <= boxes[..., 2:])
    enter = np.where(still, np.where(within, -np.inf, np.inf), np.minimum(one, two)).max(axis=-1)
    leave = np.where(still, np.where(within, np.inf, -np.inf), np.maximum(one, two)).min(axis=-1)
    moves = ~still.all(axis=-1)
    met = moves & (enter <= leave) & (leave >= 0)
    return met, np.where(met, np.maximum(enter, 0.0), np.inf)


def angle_to(ray: NDArray[np.floating], points: NDArray[np.floating]) -> Floats:
    """(...,) degrees between a ray's direction and the way from its start to points (..., 2)."""
    ray = np.asarray(ray, np.float64)
    way = np.asarray(points, np.float64) - ray[..., :2]
    direction = ray[..., 2:]
    across = direction[..., 0] * way[..., 1] - direction[..., 1] * way[..., 0]
    along = (direction * way).sum(axis=-1)
    return np.asarray(np.degrees(np.abs(np.arctan2(across, along))))


def roc_auc(labels: NDArray[np.bool_], scores: NDArray[np.floating]) -> float:
    """Area under the ROC curve: how often a positive outscores a negative, ties counting half.

    Args:
        labels: (N,) true for positives.
        scores: (N,).

    Returns:
        NaN where one of the classes is empty.
    """
    labels, scores = np.asarray(labels, bool), np.asarray(scores, np.float64)
    positives, negatives = int(labels.sum()), int((~labels).sum())
    if not positives or not negatives:
        return float("nan")
    _, place, count = np.unique(scores, return_inverse=True, return_counts=True)
    rank = np.cumsum(count) - (count - 1) / 2
    total = rank[place][labels].sum()
    return float((total - positives * (positives + 1) / 2) / (positives * negatives))


def rejection_sweep(rejectable: NDArray[np.bool_], confidence: NDArray[np.floating]) -> dict[str, Floats]:
    """Precision, recall and accuracy of rejecting below every threshold.

    A box is rejected where its confidence is below the threshold; at the lowest threshold nothing is rejected, at the
    highest everything.

    Args:
        rejectable: (N,) whether rejecting is right.
        confidence: (N,) in the box.

    Returns:
        ``tau`` (T,) ascending, and at each ``precision`` (NaN where nothing is rejected), ``recall`` (NaN where nothing
        should be), ``accuracy``.
    """
    rejectable, confidence = np.asarray(rejectable, bool), np.asarray(confidence, np.float64)
    values = np.unique(confidence)
    tau = np.concatenate([values, [np.nextafter(values[-1], np.inf)]]) if len(values) else np.zeros(0)
    rejected = confidence[None, :] < tau[:, None]
    right = (rejected & rejectable).sum(axis=1)
    made, due = rejected.sum(axis=1), int(rejectable.sum())
    with np.errstate(invalid="ignore", divide="ignore"):
        precision = np.where(made > 0, right / np.maximum(made, 1), np.nan)
        recall = right / due if due else np.full(len(tau), np.nan)
    kept_right = (~rejected & ~rejectable).sum(axis=1)
    accuracy = (right + kept_right) / max(len(confidence), 1)
    return {"tau": tau, "precision": precision, "recall": recall, "accuracy": accuracy}
