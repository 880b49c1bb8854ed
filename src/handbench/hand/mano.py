"""The MANO hand as arrays: shape, pose and skin (Romero et al., SIGGRAPH Asia 2017; Loper et al., 2015).

A template of vertices is displaced by shape coefficients and, to correct the skin at bent joints, by the pose;
joints are weighted means of the shaped vertices; each vertex then follows its joints by linear blend skinning.
This is written from those papers' equations.  The model's numbers are the user's own and come from
:mod:`handbench.datasets.mano`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from handbench.hand.geometry import Floats
from handbench.hand.skeleton import reorder

PARENTS: Final = (-1, 0, 1, 2, 0, 4, 5, 0, 7, 8, 0, 10, 11, 0, 13, 14)
"""Parent of each of the 16 joints: wrist, then three joints each of index, middle, little, ring and thumb."""

JOINTS: Final = 16
VERTICES: Final = 778
TIPS: Final[dict[str, tuple[int, ...]]] = {
    "right": (745, 317, 444, 556, 673),
    "left": (745, 317, 445, 556, 673),
}
"""Vertices that stand for the tips of thumb, index, middle, ring and little finger, as the MANO layer that HandVQA
and DexYCB use takes them; other code takes neighbours a few millimetres away."""

_BLOCK = 256


@dataclass(frozen=True)
class HandModel:
    """One hand's model.

    Attributes:
        side: ``left`` or ``right``.
        template: (V, 3) vertices at rest, metres.
        shape_basis: (V, 3, B) displacement for each shape coefficient.
        pose_basis: (V, 3, 135) displacement for each entry of the rotations of the 15 finger joints.
        regressor: (16, V) weights of the vertices in each joint.
        weights: (V, 16) how much each vertex follows each joint.
        mean_pose: (45,) the mean of the finger joints' rotation vectors.
        components: (45, 45) principal components of the finger joints' rotation vectors, a row each.
    """

    side: str
    template: Floats
    shape_basis: Floats
    pose_basis: Floats
    regressor: Floats
    weights: Floats
    mean_pose: Floats
    components: Floats


def rotations(vectors: NDArray[np.floating]) -> Floats:
    """Rotation matrices of rotation vectors (Rodrigues' formula).

    Args:
        vectors: (..., 3) axis times angle in radians.

    Returns:
        (..., 3, 3).
    """
    vectors = np.asarray(vectors, np.float64)
    angle = np.linalg.norm(vectors, axis=-1)[..., None, None]
    cross = np.zeros((*vectors.shape[:-1], 3, 3))
    cross[..., [2, 0, 1], [1, 2, 0]] = vectors
    cross[..., [1, 2, 0], [2, 0, 1]] = -vectors
    # sin(a)/a and (1 - cos(a))/a^2 by functions that are smooth at 0.
    sine = np.sinc(angle / np.pi)
    cosine = 0.5 * np.sinc(angle / (2 * np.pi)) ** 2
    return np.asarray(np.eye(3) + sine * cross + cosine * (cross @ cross), np.float64)


def pose_hands(
    model: HandModel,
    pose: NDArray[np.floating],
    shape: NDArray[np.floating],
    translation: NDArray[np.floating] | None = None,
) -> tuple[Floats, Floats]:
    """Shape, pose and skin hands.

    Args:
        model: the hand's model.
        pose: (N, 48) absolute rotation vectors: of the wrist in the frame of the result, then of the 15 finger
            joints against their parents (a model's mean pose is added by the caller where its parameters want it).
        shape: (N, B) shape coefficients; fewer than the model has are taken as the first ones.
        translation: (N, 3) metres, added to everything; nothing where None.

    Returns:
        (N, V, 3) vertices and (N, 21, 3) joints in our order, metres; the tips are vertices.
    """
    count = len(pose)
    vertices = np.empty((count, len(model.template), 3))
    joints = np.empty((count, JOINTS, 3))
    for start in range(0, count, _BLOCK):
        part = slice(start, start + _BLOCK)
        vertices[part], joints[part] = _block(model, np.asarray(pose[part]), np.asarray(shape[part]))
    if translation is not None:
        vertices += np.asarray(translation)[:, None]
        joints += np.asarray(translation)[:, None]
    with_tips = np.concatenate([joints, vertices[:, list(TIPS[model.side])]], axis=1)
    return vertices, np.asarray(reorder(with_tips, "mano"), np.float64)


def _block(model: HandModel, pose: Floats, shape: Floats) -> tuple[Floats, Floats]:
    count, size = len(pose), len(model.template)
    turns = rotations(pose.reshape(count, JOINTS, 3))
    shaped = model.template + (shape @ model.shape_basis[..., : shape.shape[1]].reshape(size * 3, -1).T).reshape(
        count, size, 3
    )
    rest = model.regressor @ shaped
    bent = (turns[:, 1:] - np.eye(3)).reshape(count, -1)
    surface = shaped + (bent @ model.pose_basis.reshape(size * 3, -1).T).reshape(count, size, 3)

    # Turn and place of each joint in the frame of the result, parents first.
    turned = np.empty((count, JOINTS, 3, 3))
    placed = np.empty((count, JOINTS, 3))
    turned[:, 0], placed[:, 0] = turns[:, 0], rest[:, 0]
    for joint, parent in enumerate(PARENTS[1:], 1):
        turned[:, joint] = turned[:, parent] @ turns[:, joint]
        bone = rest[:, joint] - rest[:, parent]
        placed[:, joint] = placed[:, parent] + np.einsum("nij,nj->ni", turned[:, parent], bone)
    # A vertex moves with joint j as x -> R_j (x - rest_j) + place_j; these maps are blended by its weights.
    offset = placed - np.einsum("njab,njb->nja", turned, rest)
    blend = (model.weights @ turned.reshape(count, JOINTS, 9)).reshape(count, size, 3, 3)
    vertices = np.einsum("nvab,nvb->nva", blend, surface) + model.weights @ offset
    return np.asarray(vertices), placed
