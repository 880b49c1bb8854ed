"""A perspective-correct z-buffer rasteriser for triangle meshes, in numpy.

Several meshes may share one z-buffer (:class:`DepthBuffer`): each is rasterised by itself, and the buffer says
which of its fragments are in front of what was drawn before.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NEAR = 1e-3
"""Triangles with a corner nearer than this (metres) are not drawn; there is no clipping."""


@dataclass(frozen=True)
class Fragments:
    """The front-most point of a mesh at each pixel that it covers.

    Attributes:
        pixel: (N,) flat pixel index ``row * width + column``, ascending.
        face: (N,) index of the triangle.
        weight: (N, 3) barycentric weights of its corners, perspective-correct.
        depth: (N,) z.
    """

    pixel: Ints
    face: Ints
    weight: Floats
    depth: Floats

    def of(self, corners: NDArray[np.floating]) -> Floats:
        """Interpolate a (T, 3, C) array of corner values to (N, C)."""
        return np.asarray(np.einsum("nk,nkc->nc", self.weight, corners[self.face]))

    def take(self, chosen: NDArray[np.bool_]) -> Fragments:
        """The fragments where a (N,) mask is true."""
        return Fragments(self.pixel[chosen], self.face[chosen], self.weight[chosen], self.depth[chosen])


def project(points: NDArray[np.floating], intrinsics: NDArray[np.floating]) -> Floats:
    """Pinhole projection of (..., 3) camera points to (..., 2) pixels; pixel centres lie at .5."""
    image = np.asarray(points @ np.asarray(intrinsics).T)
    return np.asarray(image[..., :2] / image[..., 2:])


def front_facing(corners: Floats) -> NDArray[np.bool_]:
    """(T,) whether triangles (T, 3, 2) in pixels, counter-clockwise from outside, face the camera.

    With y pointing down, counter-clockwise in space is clockwise in pixels: a negative signed area.
    """
    return signed_area(corners) < 0


def signed_area(corners: Floats) -> Floats:
    """(T,) twice the signed area of triangles (T, 3, 2)."""
    one, two = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    return np.asarray(one[:, 0] * two[:, 1] - one[:, 1] * two[:, 0])


def rasterise(
    screen: Floats,
    depth: Floats,
    faces: Ints,
    width: int,
    height: int,
    *,
    cull: bool = True,
    perspective: bool = True,
) -> Fragments:
    """Find the front-most triangle at every pixel centre.

    Args:
        screen: (V, 2) pixel position of the vertices.
        depth: (V,) z of the vertices, positive in front of the camera.
        faces: (T, 3) triangles.
        width: of the image.
        height: of the image.
        cull: leave out triangles that turn their back to the camera.
        perspective: the projection is perspective (else depth is linear on screen, as for a shadow map).

    Returns:
        The fragments, sorted by pixel.
    """
    corners, z = screen[faces], depth[faces]
    area = signed_area(corners)
    drawn = (np.abs(area) > 1e-9) & (z.min(axis=1) > NEAR)
    if cull:
        drawn &= area < 0
    size = np.array([width, height])
    # Only pixel centres (at .5) inside the bounding box are candidates.
    low = np.clip(np.ceil(corners.min(axis=1) - 0.5), 0, size).astype(np.int64)
    high = np.clip(np.floor(corners.max(axis=1) - 0.5) + 1, 0, size).astype(np.int64)
    span = high - low
    drawn &= (span > 0).all(axis=1)
    ids = np.flatnonzero(drawn)
    count = span[ids].prod(axis=1)
    face = np.repeat(ids, count)
    step = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    row, column = np.divmod(step, span[face, 0])
    column += low[face, 0]
    row += low[face, 1]

    # Barycentric weights are affine in the pixel position: w = a x + b y + c for each corner.
    first, second, third = corners[:, 0], corners[:, 1], corners[:, 2]
    inverse = 1 / np.where(drawn, area, 1)
    plane = np.stack(
        [
            np.stack([third[:, 1] - first[:, 1], first[:, 1] - second[:, 1]]) * inverse,
            np.stack([first[:, 0] - third[:, 0], second[:, 0] - first[:, 0]]) * inverse,
        ]
    )
    x = column + 0.5 - first[face, 0]
    y = row + 0.5 - first[face, 1]
    w1 = plane[0, 0][face] * x + plane[1, 0][face] * y
    w2 = plane[0, 1][face] * x + plane[1, 1][face] * y
    w0 = 1 - w1 - w2
    inside = np.minimum(np.minimum(w0, w1), w2) >= -1e-9
    face, pixel = face[inside], (row * width + column)[inside]
    weight = np.stack([w0[inside], w1[inside], w2[inside]], axis=1)
    if perspective:
        weight = weight / z[face]
        total = weight.sum(axis=1)
        weight /= total[:, None]
        distance = 1 / total
    else:
        distance = (weight * z[face]).sum(axis=1)
    nearest = _front(pixel, distance, width * height)
    return Fragments(pixel[nearest], face[nearest], weight[nearest], distance[nearest])


def _front(pixel: Ints, depth: Floats, count: int) -> Ints:
    """Index of the nearest fragment of every pixel that has one, in the order of the pixels."""
    least = np.full(count, np.inf)
    np.minimum.at(least, pixel, depth)
    candidate = np.flatnonzero(depth <= least[pixel])
    winner = np.full(count, -1)
    winner[pixel[candidate]] = candidate
    return winner[winner >= 0]


class DepthBuffer:
    """The nearest depth and the number of the mesh seen, per pixel.

    Attributes:
        depth: (height * width,) z, infinite where nothing was drawn.
        owner: (height * width,) number of the mesh, -1 where nothing was drawn.
    """

    def __init__(self, width: int, height: int) -> None:
        self.depth = np.full(width * height, np.inf)
        self.owner = np.full(width * height, -1, dtype=np.int64)

    def draw(self, fragments: Fragments, owner: int) -> None:
        """Enter the fragments of one mesh where they are in front."""
        front = fragments.depth < self.depth[fragments.pixel]
        pixel = fragments.pixel[front]
        self.depth[pixel] = fragments.depth[front]
        self.owner[pixel] = owner

    def seen(self, fragments: Fragments, owner: int) -> Fragments:
        """The fragments of a mesh that stayed in front after all were drawn."""
        return fragments.take(self.owner[fragments.pixel] == owner)
