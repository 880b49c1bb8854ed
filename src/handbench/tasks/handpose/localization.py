"""How far keypoints are off: PCK and MPJPE over matched hands."""

from __future__ import annotations

from typing import Final

import numpy as np

from handbench.tasks.handpose.arrays import Bools, Floats
from handbench.tasks.handpose.boxes import hand_boxes, longer_side
from handbench.tasks.handpose.protocol import Normaliser
from handbench.tasks.handpose.rates import ratio

_WRIST: Final = 0
_MIDDLE_MCP: Final = 9
_CHUNK: Final = 4096
"""Hands worked on at a time, so that the intermediate arrays stay in the processor's cache."""


def normalisers(points: Floats, valid: Bools, kind: Normaliser, boxes: Floats | None = None) -> Floats:
    """What each hand's distances are divided by.

    Args:
        points: (N, 21, 2) true keypoints.
        valid: (N, 21) those that count.
        kind: which normaliser.
        boxes: (N, 4) the true hands' boxes, made from the points unless given.

    Returns:
        (N,) pixels; NaN where it is 0 or a point that it needs is not known.
    """
    if kind is Normaliser.NONE:
        return np.ones(len(points))
    if kind is Normaliser.HAND_LENGTH:
        known = valid[:, _WRIST] & valid[:, _MIDDLE_MCP]
        length = np.linalg.norm(points[:, _MIDDLE_MCP] - points[:, _WRIST], axis=1)
        size = np.where(known, length, np.nan)
    else:
        boxes = hand_boxes(points, valid) if boxes is None else boxes
        sides = boxes[:, 2:] - boxes[:, :2]
        size = longer_side(boxes) if kind is Normaliser.BOX_SIDE else np.hypot(sides[:, 0], sides[:, 1])
    return np.where(size > 0, size, np.nan)


def pck_and_distance_per_keypoint(
    truth: Floats, predicted: Floats, valid: Bools, size: Floats, alpha: float
) -> tuple[Bools, Floats]:
    """Which keypoints are right, and the distance of each.

    A keypoint is right when its distance is strictly below ``alpha`` normalisers (mmpose's rule).

    Args:
        truth: (N, 21, 2) pixels.
        predicted: (N, 21, 2) pixels.
        valid: (N, 21) keypoints that count; a predicted point that is missing there is wrong and has no distance.
        size: (N,) normaliser of each hand, pixels.
        alpha: the threshold, in normalisers.

    Returns:
        (N, 21) right, and (N, 21) distance in normalisers, NaN where there is none.
    """
    right = np.zeros(valid.shape, bool)
    distance = np.full(valid.shape, np.nan)
    for start in range(0, len(truth), _CHUNK):
        part = slice(start, start + _CHUNK)
        gap = truth[part] - predicted[part]
        x, y = gap[..., 0], gap[..., 1]
        with np.errstate(invalid="ignore"):
            far = np.sqrt(x * x + y * y)
            far /= size[part, None]
            right[part] = (far < alpha) & valid[part]
        np.copyto(distance[part], far, where=valid[part])
    return right, distance


def pck_strict_per_hand(right: Bools, valid: Bools, rows: tuple[int, ...] | None = None) -> Floats:
    """(N,) share of each hand's valid keypoints (of the rows given) that are right; NaN without any."""
    if rows is not None:
        right, valid = right[:, rows], valid[:, rows]
    return ratio(right.sum(axis=1), valid.sum(axis=1))


def mpjpe_per_hand(distance: Floats, rows: tuple[int, ...] | None = None) -> Floats:
    """(N,) mean distance of each hand's keypoints (of the rows given), in normalisers; NaN without any."""
    if rows is not None:
        distance = distance[:, rows]
    known = ~np.isnan(distance)
    return ratio(np.where(known, distance, 0.0).sum(axis=1), known.sum(axis=1))


def pck_and_mpjpe_per_hand(
    truth: Floats, predicted: Floats, valid: Bools, size: Floats, alpha: float
) -> tuple[Floats, Floats]:
    """(N,) PCK and (N,) MPJPE of hands; arguments as :func:`pck_and_distance_per_keypoint`."""
    pck, mpjpe = np.empty(len(truth)), np.empty(len(truth))
    for start in range(0, len(truth), _CHUNK):
        part = slice(start, start + _CHUNK)
        known = valid[part]
        right, distance = pck_and_distance_per_keypoint(truth[part], predicted[part], known, size[part], alpha)
        pck[part] = pck_strict_per_hand(right, known)
        mpjpe[part] = mpjpe_per_hand(distance)
    return pck, mpjpe
