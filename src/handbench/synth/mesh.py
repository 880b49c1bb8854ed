"""The right hand with forearm: the asset, and a hand of any shape blended from it.

Everything is in the *palm frame* of a right hand, metres: origin at the wrist, x toward the thumb side, y from the
wrist to the middle MCP, z out of the palm. The asset is built by ``tools/build_hand_asset.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from handbench.errors import HandbenchError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FOREARM = 21
"""Column of the forearm in the weights, row of the elbow in the joints."""

DIGITS = (1, 5, 9, 13, 17)
"""Rows of the thumb CMC and the four finger MCPs, where the digits begin."""


@dataclass(frozen=True)
class Template:
    """The neutral hand and its morphs.

    Attributes:
        vertices: (V, 3) metres, palm frame.
        joints: (22, 3) the 21 joints and the elbow.
        faces: (T, 3) triangles, counter-clockwise from outside.
        weights: (V, 22) skinning weights; column k belongs to the bone that begins at joint k, column 0 to the
            palm, column 21 to the forearm.
        nail: (V,) 1 on a nail.
        uv: (U, 2) texture coordinates in 0..1.
        corner_uv: (T, 3) row of ``uv`` per triangle corner.
        curl: (5, 3) rest direction of each digit's bending axis (toward the thumb side for the fingers).
        shape_names: the S morphs.
        shape_vertices: (S, V, 3) displacement by a morph of strength 1.
        shape_joints: (S, 22, 3) likewise.
    """

    vertices: Floats
    joints: Floats
    faces: Ints
    weights: Floats
    nail: Floats
    uv: Floats
    corner_uv: Ints
    curl: Floats
    shape_names: tuple[str, ...]
    shape_vertices: Floats
    shape_joints: Floats

    @property
    def on_hand(self) -> NDArray[np.bool_]:
        """(V,) the vertices of the hand itself, without the forearm."""
        return np.asarray(self.weights[:, FOREARM] < 0.5)


@dataclass(frozen=True)
class RestHand:
    """A hand of one shape, at rest.

    Attributes:
        vertices: (V, 3) metres, palm frame.
        joints: (22, 3) the 21 joints and the elbow.
        frames: (22, 3, 3) rest orientation of the bone that begins at each joint; columns: bending axis, direction,
            palmar side. Rows without a bone (the tips) hold the identity.
        lengths: (22,) length of those bones, 0 where there is none.
        weights: (V, 22) skinning weights.
        radii: (22,) mean distance of the skin from those bones.
    """

    vertices: Floats
    joints: Floats
    frames: Floats
    lengths: Floats
    weights: Floats
    radii: Floats


def unit(vectors: NDArray[np.floating]) -> Floats:
    """Scale (..., 3) vectors to length 1."""
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))


def palm_frame(joints: Floats) -> Floats:
    """(3, 3) rows: the axes of a right hand's palm frame, from its joints (J, 3)."""
    up = unit(joints[9] - joints[0])
    across = joints[5] - joints[17]
    radial = unit(across - up * (across @ up))
    return np.stack([radial, up, np.cross(radial, up)])


def vertex_normals(vertices: NDArray[np.floating], faces: Ints) -> Floats:
    """(V, 3) unit normals of a mesh, outward, weighted by area."""
    corners = vertices[faces]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    count = len(vertices)
    total = np.stack([np.bincount(faces.ravel(), np.repeat(normal[:, axis], 3), count) for axis in range(3)], axis=1)
    return np.asarray(total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-20))


@cache
def template() -> Template:
    """Load the asset.

    Raises:
        HandbenchError: the asset is missing from the installation.
    """
    resource = files("handbench") / "data" / "hand.npz"
    try:
        with resource.open("rb") as file, np.load(file) as stored:
            data = {name: stored[name] for name in stored.files}
    except FileNotFoundError as error:
        raise HandbenchError(
            f"{resource}: the hand mesh is missing; reinstall handbench or run tools/build_hand_asset.py"
        ) from error
    joints = data["joints"].astype(np.float64)
    frame = palm_frame(joints)
    vertices = (data["vertices"].astype(np.float64) - joints[0]) @ frame.T
    faces = data["faces"].astype(np.int64)
    weights = data["weights"].astype(np.float64)
    nail = data["nail"].astype(np.float64)
    return Template(
        vertices=vertices,
        joints=(joints - joints[0]) @ frame.T,
        faces=faces,
        weights=weights / weights.sum(axis=1, keepdims=True),
        nail=nail,
        uv=data["uv"].astype(np.float64),
        corner_uv=data["corner_uv"].astype(np.int64),
        curl=_curl_axes(vertex_normals(vertices, faces), (joints - joints[0]) @ frame.T, weights, nail),
        shape_names=tuple(str(name) for name in data["shape_names"]),
        shape_vertices=data["shape_vertices"].astype(np.float64) @ frame.T,
        shape_joints=data["shape_joints"].astype(np.float64) @ frame.T,
    )


def _curl_axes(normals: Floats, joints: Floats, weights: Floats, nail: Floats) -> Floats:
    """(5, 3) bending axes at rest: square to the last bone and to the way that the nail faces."""
    axes = []
    for base in DIGITS:
        mine = (weights[:, base + 2] > 0.5) & (nail > 0.5)
        dorsal = normals[mine].mean(axis=0)
        axes.append(unit(np.cross(dorsal, joints[base + 3] - joints[base + 2])))
    return np.stack(axes)


def rest_hand(shape: Mapping[str, float]) -> RestHand:
    """Blend a hand from morph strengths.

    Args:
        shape: morph name (see ``Template.shape_names``) to strength; morphs left out are 0.

    Raises:
        HandbenchError: a morph is not known.
    """
    base = template()
    unknown = sorted(set(shape) - set(base.shape_names))
    if unknown:
        raise HandbenchError(f"hand shape: unknown morph {unknown[0]!r}; known are {', '.join(base.shape_names)}")
    strength = np.array([shape.get(name, 0.0) for name in base.shape_names])
    used = np.flatnonzero(strength)
    vertices = base.vertices + np.tensordot(strength[used], base.shape_vertices[used], axes=1)
    joints = base.joints + np.tensordot(strength[used], base.shape_joints[used], axes=1)
    frame = palm_frame(joints)
    vertices, joints = (vertices - joints[0]) @ frame.T, (joints - joints[0]) @ frame.T
    frames, lengths = _rest_frames(joints, base.curl)
    return RestHand(vertices, joints, frames, lengths, base.weights, _radii(vertices, joints, frames, lengths))


def _rest_frames(joints: Floats, curl: Floats) -> tuple[Floats, Floats]:
    """Frames and lengths of the 17 bones that move by themselves."""
    frames, lengths = np.tile(np.eye(3), (22, 1, 1)), np.zeros(22)
    heads = np.array([base + step for base in DIGITS for step in range(3)] + [FOREARM])
    bones = joints[heads + 1 - 22 * (heads == FOREARM)] - joints[heads]
    # The forearm's frame points from the elbow to the wrist, so that it is the identity when in line with the palm.
    axes = np.vstack([np.repeat(curl, 3, axis=0), [[1.0, 0.0, 0.0]]])
    lengths[heads] = np.linalg.norm(bones, axis=1)
    direction = bones / lengths[heads, None]
    axes = unit(axes - direction * (axes * direction).sum(axis=1, keepdims=True))
    frames[heads] = np.stack([axes, direction, np.cross(axes, direction)], axis=2)
    return frames, lengths


def _radii(vertices: Floats, joints: Floats, frames: Floats, lengths: Floats) -> Floats:
    """(22,) mean distance from each bone of the skin that belongs to it."""
    base = template()
    owner = base.weights.argmax(axis=1)
    offset = vertices - joints[owner]
    direction = frames[owner, :, 1]
    along = (offset * direction).sum(axis=1)
    distance = np.sqrt(np.maximum((offset**2).sum(axis=1) - along**2, 0))
    beside = (along > 0) & (along < lengths[owner]) & (lengths[owner] > 0)
    count = np.bincount(owner[beside], minlength=22)
    total = np.bincount(owner[beside], distance[beside], minlength=22)
    return np.asarray(total / np.maximum(count, 1))
