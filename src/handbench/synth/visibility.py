"""Which joints of a hand can be seen.

A joint lies inside the flesh, so nothing is gained by asking whether it is in front of the skin. It counts as visible
if it is inside the picture and the front-most skin on the line of sight to it

- belongs to the bones that meet in the joint, which have at least a quarter of its skinning weight (a finger's MCP
  meets the palm and its proximal phalanx, the wrist the palm, the thumb metacarpal and the forearm, a tip only its
  distal phalanx), and
- is no farther in front of the joint than twice the local radius of the flesh, so that a joint behind a
  fingertip that points at the camera is hidden though the skin in front belongs to its own bone.

The line of sight is cut with the triangles exactly, so the result does not depend on the size of the picture.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from handbench.hand.skeleton import FINGERTIPS, PARENTS
from handbench.synth.mesh import FOREARM, RestHand

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

REACH: Final = 2.0
"""Skin this many local radii in front of a joint no longer shows it."""


SHARE: Final = 0.25
"""Skin belongs to a joint if the bones that meet there have this part of its weight."""


def _bones_at_joint() -> NDArray[np.bool_]:
    """(21, 22) which weight columns (bones) meet in each joint."""
    meet = np.zeros((21, 22), dtype=bool)
    for joint in range(21):
        if joint not in FINGERTIPS:
            meet[joint, joint] = True
        if joint > 0:
            meet[joint, PARENTS[joint]] = True
    meet[0, [1, FOREARM]] = True
    return meet


_MEET: Final = _bones_at_joint()


def joint_radii(hand: RestHand) -> Floats:
    """(21,) radius of the flesh around each joint, metres."""
    radii = np.zeros(21)
    scale = np.linalg.norm(hand.joints[9])
    radii[0] = 0.22 * scale
    for joint in range(1, 21):
        bones = [b for b in np.flatnonzero(_MEET[joint]) if b > 0]
        radii[joint] = hand.radii[bones].max()
    # The palm is thicker than the fingers that grow from it.
    radii[[1, 5, 9, 13, 17]] = np.maximum(radii[[1, 5, 9, 13, 17]], 0.17 * scale)
    return radii


def first_hits(points: Floats, vertices: Floats, faces: Ints) -> tuple[Ints, Floats]:
    """The front-most triangle on the line of sight to each point.

    Args:
        points: (P, 3) camera axes.
        vertices: (V, 3) of a mesh.
        faces: (T, 3) its triangles, counter-clockwise from outside.

    Returns:
        (P,) triangle, -1 where the line meets none, and (P,) depth of the meeting, infinite there.
    """
    ahead = vertices[:, 2] > 1e-3
    flat = vertices[:, :2] / np.where(ahead, vertices[:, 2], 1.0)[:, None]
    target = points[:, :2] / points[:, 2:]
    corners = flat[faces]
    one, two = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    area = one[:, 0] * two[:, 1] - one[:, 1] * two[:, 0]
    low, high = corners.min(axis=1), corners.max(axis=1)
    lowest, highest = target.min(axis=0), target.max(axis=0)
    # A few dozen points against thousands of triangles: leave out first what turns away or lies beside them all.
    candidate = np.flatnonzero(
        (area < -1e-15) & ahead[faces].all(axis=1) & (low <= highest).all(axis=1) & (high >= lowest).all(axis=1)
    )
    inside_box = (
        (low[candidate, 0] <= target[:, None, 0])
        & (high[candidate, 0] >= target[:, None, 0])
        & (low[candidate, 1] <= target[:, None, 1])
        & (high[candidate, 1] >= target[:, None, 1])
    )
    point, column = np.nonzero(inside_box)
    face = candidate[column]
    offset = target[point] - corners[face, 0]
    w1 = (offset[:, 0] * two[face, 1] - offset[:, 1] * two[face, 0]) / area[face]
    w2 = (one[face, 0] * offset[:, 1] - one[face, 1] * offset[:, 0]) / area[face]
    weight = np.stack([1 - w1 - w2, w1, w2], axis=1)
    hit = weight.min(axis=1) >= -1e-9
    point, face, weight = point[hit], face[hit], weight[hit]
    depth = 1 / (weight / vertices[faces[face], 2]).sum(axis=1)
    order = np.lexsort((depth, point))
    found, first = np.unique(point[order], return_index=True)
    nearest, distance = np.full(len(points), -1), np.full(len(points), np.inf)
    nearest[found] = face[order][first]
    distance[found] = depth[order][first]
    return nearest, distance


def visible_joints(hand: RestHand, joints: Floats, vertices: Floats, faces: Ints) -> NDArray[np.bool_]:
    """Which joints the hand itself (with its forearm) leaves in sight; see the module's text.

    Args:
        hand: the shape (for weights and radii).
        joints: (21, 3) camera axes.
        vertices: (V, 3) skinned vertices, camera axes.
        faces: (T, 3) triangles, turned for a left hand.

    Returns:
        (21,) true if seen; whether the joint is inside the picture is not looked at. A joint whose line of sight
        meets no skin (a tip that lies on the skin) is seen.
    """
    face, depth = first_hits(joints, vertices, faces)
    share = (hand.weights[faces[face]].mean(axis=1) * _MEET).sum(axis=1)
    belongs = share >= SHARE
    near = joints[:, 2] - depth <= REACH * joint_radii(hand)
    nothing_in_front = (face < 0) | (depth > joints[:, 2])
    return np.asarray(nothing_in_front | (belongs & near))
