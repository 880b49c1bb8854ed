"""A posed hand as a surface that :func:`handbench.synth.shading.draw` can draw."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from handbench.synth.kinematics import mirrored_faces
from handbench.synth.mesh import DIGITS, FOREARM, template
from handbench.synth.raster import Fragments
from handbench.synth.shading import Surface, decode
from handbench.synth.skin import sample_texture, skin_colour

Floats = NDArray[np.float64]

_HEADS = np.array([base + step for base in DIGITS for step in range(3)])
_BONE_RADIUS = 0.0085


def hand_surface(vertices: Floats, joints: Floats, side: str, tone: float, tint: tuple[float, float, float]) -> Surface:
    """The surface of a hand with forearm.

    Args:
        vertices: (V, 3) skinned vertices, camera axes, metres.
        joints: (22, 3) its joints and the elbow, in the same axes.
        side: ``left`` or ``right``; a left hand's vertices are mirrored, so its triangles are turned.
        tone: of the skin, 0 (lightest) to 1 (darkest).
        tint: factor of red, green and blue.
    """
    base = template()
    faces, corner_uv = base.faces, base.corner_uv
    if side == "left":
        faces, corner_uv = mirrored_faces(faces), mirrored_faces(corner_uv)
    corners = base.uv[corner_uv]

    def material(fragments: Fragments) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
        colour, gloss = skin_colour(sample_texture(fragments.of(corners)), tone, tint)
        return decode(colour), gloss

    return Surface(vertices, faces, material, openness(vertices, joints))


def openness(vertices: Floats, joints: Floats) -> Floats:
    """How much of the surroundings each vertex sees past the fingers: (V,) from 0.25 to 1.

    Every finger bone, as a capsule, hides a part of the sky of a vertex that falls with the square of its distance;
    bones of the vertex's own digit do not count.
    """
    weights = template().weights
    owner = weights.argmax(axis=1)
    digit = np.where((owner == 0) | (owner == FOREARM), -1, (owner - 1) // 4)
    heads = _HEADS[1:]  # the thumb's metacarpal lies in the palm
    bone_digit = (heads - 1) // 4
    head, tail = joints[heads], joints[heads + 1]
    bone = tail - head
    offset = vertices[:, None] - head
    along = np.clip((offset * bone).sum(axis=2) / (bone**2).sum(axis=1), 0, 1)
    distance = np.linalg.norm(offset - along[:, :, None] * bone, axis=2)
    # A vertex on the palm is about as far from a finger grown on it as from one bent over it: its own root is near.
    foreign = digit[:, None] != bone_digit
    grown = (digit[:, None] == -1) & (heads % 4 == 1)
    hidden = np.where(foreign & ~grown, np.minimum((_BONE_RADIUS / np.maximum(distance, 1e-6)) ** 2, 0.6), 0)
    return np.asarray(np.maximum(np.prod(1 - 0.75 * hidden, axis=1), 0.25))
