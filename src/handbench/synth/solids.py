"""Simple coloured things to stand on a table: surfaces of revolution, cuboids, a cup with its handle.

Local axes: x and z lie in the table, y points up, metres; the thing stands on y = 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SEGMENTS: Final = 28

COLOURS: Final[dict[str, tuple[float, float, float]]] = {
    "red": (0.80, 0.13, 0.12),
    "blue": (0.13, 0.27, 0.72),
    "green": (0.13, 0.52, 0.22),
    "yellow": (0.93, 0.78, 0.14),
    "orange": (0.93, 0.48, 0.10),
    "purple": (0.46, 0.20, 0.58),
    "white": (0.92, 0.92, 0.90),
    "black": (0.10, 0.10, 0.11),
}
"""sRGB 0..1."""


@dataclass(frozen=True)
class Mesh:
    """A closed or open surface.

    Attributes:
        vertices: (V, 3) metres.
        faces: (T, 3) counter-clockwise from outside.
    """

    vertices: Floats
    faces: Ints

    def joined(self, other: Mesh) -> Mesh:
        """Both surfaces as one."""
        return Mesh(
            np.vstack([self.vertices, other.vertices]), np.vstack([self.faces, other.faces + len(self.vertices)])
        )


def lathe(profile: list[tuple[float, float]], segments: int = SEGMENTS) -> Mesh:
    """Turn a profile about the upright axis.

    Args:
        profile: (radius, height) from the lower middle outward and up, so that the outside is on its right; points
            with radius 0 are drawn together.
        segments: around.
    """
    rows = np.array(profile)
    angle = np.arange(segments) * 2 * np.pi / segments
    ring = np.stack([np.cos(angle), np.zeros(segments), np.sin(angle)], axis=1)
    vertices = (ring[None] * rows[:, None, :1] + np.array([0.0, 1.0, 0.0]) * rows[:, None, 1:]).reshape(-1, 3)
    row, column = np.meshgrid(np.arange(len(rows) - 1), np.arange(segments), indexing="ij")
    a = (row * segments + column).ravel()
    b = (row * segments + (column + 1) % segments).ravel()
    c, d = a + segments, b + segments
    return Mesh(vertices, np.concatenate([np.stack([a, c, b], 1), np.stack([b, c, d], 1)]))


def cuboid(width: float, height: float, depth: float) -> Mesh:
    """A box; every face has corners of its own, so that its edges stay sharp in smooth shading."""
    x, y, z = width / 2, height, depth / 2
    sides: list[list[tuple[float, float, float]]] = [
        [(-x, 0, z), (x, 0, z), (x, y, z), (-x, y, z)],
        [(x, 0, -z), (-x, 0, -z), (-x, y, -z), (x, y, -z)],
        [(x, 0, z), (x, 0, -z), (x, y, -z), (x, y, z)],
        [(-x, 0, -z), (-x, 0, z), (-x, y, z), (-x, y, -z)],
        [(-x, y, z), (x, y, z), (x, y, -z), (-x, y, -z)],
        [(-x, 0, -z), (x, 0, -z), (x, 0, z), (-x, 0, z)],
    ]
    vertices = np.array([corner for side in sides for corner in side], dtype=np.float64)
    first = np.arange(len(sides)) * 4
    faces = np.concatenate([np.stack([first, first + 1, first + 2], 1), np.stack([first, first + 2, first + 3], 1)])
    return Mesh(vertices, faces.astype(np.int64))


def _ball(size: float) -> Mesh:
    angle = np.linspace(-np.pi / 2, np.pi / 2, 15)
    return lathe([(size * np.cos(a), size * (1 + np.sin(a))) for a in angle])


def _can(size: float) -> Mesh:
    r, h = size * 0.62, size * 2.1
    return lathe(
        [(0, 0), (r * 0.92, 0), (r, 0.03 * h), (r, 0.95 * h), (r * 0.9, h), (r * 0.88, 0.97 * h), (0, 0.97 * h)]
    )


def _bottle(size: float) -> Mesh:
    r, h = size * 0.62, size * 3.9
    return lathe(
        [
            (0, 0),
            (r, 0),
            (r, 0.55 * h),
            (0.9 * r, 0.64 * h),
            (0.42 * r, 0.76 * h),
            (0.36 * r, 0.92 * h),
            (0.44 * r, 0.93 * h),
            (0.44 * r, h),
            (0, h),
        ]
    )


def _bowl(size: float) -> Mesh:
    r, h = size * 1.45, size * 0.95
    angle = np.linspace(0.12, np.pi / 2, 9)
    outside = [(r * np.sin(a), h * (1 - np.cos(a))) for a in angle]
    inside = [(0.9 * r * np.sin(a), h * (1.06 - 0.94 * np.cos(a)) - 0.04 * h) for a in angle[::-1]]
    return lathe([(0, 0), (0.45 * r, 0), *outside, *inside, (0, 0.07 * h)])


def _vase(size: float) -> Mesh:
    r, h = size * 0.8, size * 3.0
    t = np.linspace(0, 1, 15)
    outline = 0.62 + 0.38 * np.sin(2.4 * np.pi * t**0.9 - 0.5)
    outside = [(r * max(o, 0.3), h * step) for o, step in zip(outline, t, strict=True)]
    lip = outside[-1][0] * 0.82
    return lathe([(0, 0), *outside, (lip, h), (lip * 0.9, 0.86 * h), (0, 0.84 * h)])


def _cup(size: float) -> Mesh:
    r, h = size * 0.9, size * 1.75
    body = lathe([(0, 0), (0.85 * r, 0), (r, 0.08 * h), (r, h), (0.9 * r, h), (0.88 * r, 0.12 * h), (0, 0.1 * h)])
    return body.joined(_handle(r, h))


def _handle(radius: float, height: float) -> Mesh:
    """Half a ring that stands out from a cup."""
    bend = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 13)
    around = np.arange(10) * 2 * np.pi / 10
    big, small = 0.3 * height, 0.075 * height
    reach = big + small * np.cos(around)[None, :]
    x = radius * 0.94 + reach * np.cos(bend)[:, None]
    y = 0.52 * height + reach * np.sin(bend)[:, None]
    z = np.broadcast_to(small * np.sin(around)[None, :], x.shape)
    vertices = np.stack([x, y, z], axis=-1).reshape(-1, 3)
    row, column = np.meshgrid(np.arange(len(bend) - 1), np.arange(len(around)), indexing="ij")
    a = (row * len(around) + column).ravel()
    b = (row * len(around) + (column + 1) % len(around)).ravel()
    c, d = a + len(around), b + len(around)
    return Mesh(vertices, np.concatenate([np.stack([a, c, b], 1), np.stack([b, c, d], 1)]))


def _box(size: float) -> Mesh:
    return cuboid(1.9 * size, 1.3 * size, 1.5 * size)


def _book(size: float) -> Mesh:
    return cuboid(2.5 * size, 0.5 * size, 3.3 * size)


SOLIDS: Final[dict[str, Callable[[float], Mesh]]] = {
    "ball": _ball,
    "book": _book,
    "bottle": _bottle,
    "bowl": _bowl,
    "box": _box,
    "can": _can,
    "cup": _cup,
    "vase": _vase,
}
"""Category → its shape, from a size in metres (about half of its width).  All are categories of EgoPoint-Ground."""


def first_hit(origin: Floats, direction: Floats, mesh: Mesh) -> float:
    """How far along a ray a surface begins; infinite where the ray misses it (Möller and Trumbore's test).

    Args:
        origin: (3,) where the ray begins.
        direction: (3,) unit.
        mesh: the surface; both of its sides count.
    """
    corner = mesh.vertices[mesh.faces]
    one, two = corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0]
    across = np.cross(direction, two)
    scale = (one * across).sum(axis=1)
    facing = np.abs(scale) > 1e-14
    inverse = 1 / np.where(facing, scale, 1)
    offset = origin - corner[:, 0]
    u = (offset * across).sum(axis=1) * inverse
    turned = np.cross(offset, one)
    v = (turned @ direction) * inverse
    along = (two * turned).sum(axis=1) * inverse
    hit = facing & (u >= 0) & (v >= 0) & (u + v <= 1) & (along > 1e-9)
    return float(along[hit].min()) if hit.any() else float("inf")
