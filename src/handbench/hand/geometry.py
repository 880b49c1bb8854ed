"""Normalised joints, bend angles, distances and offsets (HandVQA, sections 3.1 and 6.1).

All functions take (N, 21, 3) arrays in the order of :data:`handbench.hand.skeleton.JOINTS` and work in
float64 without a loop over hands.  A joint that is not annotated is NaN and makes whatever uses it NaN.
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_TO_VIEWER = np.array([1.0, -1.0, -1.0])


class Scale(StrEnum):
    """Which extent of the hand is made 1 (the two rules give different numbers and are never mixed)."""

    PAPER = "paper"
    """The largest of the three extents (HandVQA, eqs. 6 and 7)."""

    RELEASED = "released"
    """The x extent alone, as the released code does; depends on how the hand is turned."""


def center_and_extent(points: NDArray[np.floating]) -> tuple[Floats, Floats]:
    """Mean and axis-aligned size of point sets.

    Args:
        points: (N, P, 3) mesh vertices or joints, any unit.

    Returns:
        (N, 3) means and (N, 3) extents ``max - min``; NaN where a point is NaN.
    """
    points = np.asarray(points, np.float64)
    return points.mean(axis=1), points.max(axis=1) - points.min(axis=1)


def normalise(joints_cam: NDArray[np.floating], center: Floats, extent: Floats, scale: Scale) -> Floats:
    """Centre the joints, scale them by one factor and turn them into the viewer's frame.

    Args:
        joints_cam: (N, 21, 3) joints in the camera frame (x right, y down, z away), any unit.
        center: (N, 3) centroid of the mesh or of the joints, same frame and unit.
        extent: (N, 3) axis-aligned size of the mesh or of the joints, same frame and unit.
        scale: which extent becomes 1.

    Returns:
        (N, 21, 3) joints without unit: x right, y up, z toward the camera.  NaN where the extent is not
        positive, which no real hand has.

    Source: HandVQA, eqs. 4 to 8; a rotation by 180 degrees about x, read in the released code.
    """
    size = extent.max(axis=-1) if scale is Scale.PAPER else extent[..., 0]
    factor = np.divide(1.0, size, out=np.full_like(size, np.nan), where=size > 0)
    centred = np.asarray(joints_cam, np.float64) - center[:, None, :]
    return np.asarray(centred * (factor[:, None, None] * _TO_VIEWER))


def bend_angles(joints: NDArray[np.floating], triples: NDArray[np.intp]) -> Floats:
    """Interior angle at the middle joint of each triple.

    Args:
        joints: (N, 21, 3) joints in any unit and frame.
        triples: (T, 3) joint rows (before, at, after).

    Returns:
        (N, T) degrees, 180 being straight; NaN where two joints of a triple coincide or one is missing.
    """
    joints = np.asarray(joints, np.float64)
    at = joints[:, triples[:, 1]]
    toward = joints[:, triples[:, 0]] - at
    away = joints[:, triples[:, 2]] - at
    product = np.einsum("ntk,ntk->nt", toward, away)
    lengths = np.sqrt(np.einsum("ntk,ntk->nt", toward, toward) * np.einsum("ntk,ntk->nt", away, away))
    cosine = np.divide(product, lengths, out=np.full_like(product, np.nan), where=lengths > 0)
    return np.asarray(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))))


def offsets(joints: NDArray[np.floating], pairs: NDArray[np.intp]) -> Floats:
    """First-named joint minus second-named joint.

    Args:
        joints: (N, 21, 3) joints.
        pairs: (P, 2) joint rows.

    Returns:
        (N, P, 3) differences in the frame and unit of the joints.
    """
    joints = np.asarray(joints, np.float64)
    return joints[:, pairs[:, 0]] - joints[:, pairs[:, 1]]
