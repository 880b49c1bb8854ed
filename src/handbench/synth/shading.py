"""Light on meshes: albedo to pixels.

Any mesh with vertex normals is a :class:`Surface`; several share one z-buffer and one shadow map (:func:`draw`).
Colours are linear light inside this module; :func:`decode` and :func:`encode` convert from and to sRGB.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from handbench.synth.mesh import unit, vertex_normals
from handbench.synth.raster import DepthBuffer, Fragments, project, rasterise

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Material = Callable[[Fragments], tuple[NDArray[np.floating], NDArray[np.floating]]]
"""From fragments to (N, 3) linear albedo and (N,) gloss."""

_WRAP = np.array([0.34, 0.18, 0.12])
"""How far light creeps round skin, per colour: red the farthest."""

_SHADOW_SIZE = 224
_SHADOW_OFFSET = 0.004
"""A surface is looked up this far outside itself (metres), or its own coarse shadow would stripe it."""


@dataclass(frozen=True)
class Surface:
    """A mesh in camera axes, with what it is made of.

    Attributes:
        vertices: (V, 3) metres.
        faces: (T, 3) counter-clockwise from outside.
        material: gives albedo and gloss; see :func:`painted` and :func:`skin_material`.
        openness: (V,) part of the surrounding light that reaches each vertex, 0..1.
        wrap: 1 for skin, which light enters; 0 for hard surfaces.
    """

    vertices: Floats
    faces: Ints
    material: Material
    openness: Floats
    wrap: float = 1.0


@dataclass(frozen=True)
class Light:
    """One sun and a sky.

    Attributes:
        direction: toward the sun, camera axes.
        key: colour and strength of the sun, linear RGB.
        sky: of the light from above; the light from below is half of it and warmer.
    """

    direction: tuple[float, float, float]
    key: tuple[float, float, float]
    sky: tuple[float, float, float]


def decode(srgb: NDArray[np.floating]) -> NDArray[np.floating]:
    """From sRGB 0..1 to linear light (power 2.2)."""
    return np.asarray(np.power(np.maximum(srgb, 0), 2.2))


def encode(linear: NDArray[np.floating]) -> NDArray[np.floating]:
    """From linear light to sRGB, clipped to 0..1 (power 1 / 2.2)."""
    return np.asarray(np.power(np.clip(linear, 0, 1), 1 / 2.2))


def painted(colours: NDArray[np.floating], faces: Ints, gloss: float = 0.05) -> Material:
    """A material from (V, 3) sRGB vertex colours."""
    corners = decode(colours)[faces]

    def material(fragments: Fragments) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
        return fragments.of(corners), np.full(len(fragments.pixel), gloss)

    return material


def draw(
    surfaces: Sequence[Surface],
    matrix: Floats,
    width: int,
    height: int,
    light: Light,
    casters: Sequence[Surface] | None = None,
) -> tuple[Ints, Floats]:
    """Draw meshes into one picture.

    Args:
        surfaces: the meshes.
        matrix: (3, 3) intrinsics of the picture.
        width: of the picture.
        height: of the picture.
        light: the light.
        casters: the meshes that cast shadows, all by default; without a large ground the rest has a finer shadow.

    Returns:
        (N,) flat pixel indices that a mesh covers and their (N, 3) linear colours.
    """
    buffer = DepthBuffer(width, height)
    layers = []
    for number, surface in enumerate(surfaces):
        screen = project(surface.vertices, matrix)
        layer = rasterise(screen, surface.vertices[:, 2], surface.faces, width, height)
        buffer.draw(layer, number)
        layers.append(layer)
    if len(surfaces) > 1:
        layers = [buffer.seen(layer, number) for number, layer in enumerate(layers)]
    shadow = ShadowMap(surfaces if casters is None else casters, light)
    colours = [_shade(surface, layer, light, shadow) for surface, layer in zip(surfaces, layers, strict=True)]
    return np.concatenate([layer.pixel for layer in layers]), np.concatenate(colours)


def _shade(surface: Surface, layer: Fragments, light: Light, shadow: ShadowMap) -> Floats:
    """(N, 3) linear colour of fragments: wrapped diffuse light, sky, a highlight and a rim."""
    corner = surface.faces
    normals = vertex_normals(surface.vertices, surface.faces)
    # One gather for all that is interpolated: position, normal, openness.
    packed = np.column_stack([surface.vertices, normals, surface.openness])
    values = layer.of(packed[corner])
    point, normal, openness = values[:, :3], unit(values[:, 3:6]), values[:, 6:7]
    albedo, gloss = surface.material(layer)
    toward_eye = unit(-point)
    direction = unit(np.array(light.direction))
    facing = normal @ direction
    lit = shadow.light_at(point + _SHADOW_OFFSET * normal)
    wrap = _WRAP * surface.wrap
    diffuse = np.clip((facing[:, None] + wrap) / (1 + wrap), 0, 1)
    # A shadow takes the sun; on the side turned away the wrap has already dimmed it.
    key = np.array(light.key) * diffuse * (0.06 + 0.94 * lit[:, None])
    up = (0.5 - 0.5 * normal[:, 1])[:, None]
    sky = np.array(light.sky) * (up + (1 - up) * np.array([0.52, 0.48, 0.44])) * openness
    half = unit(direction + toward_eye)
    highlight = gloss * np.clip((normal * half).sum(axis=1), 0, 1) ** 28 * lit * (facing > 0)
    rim = 0.05 * (1 - np.clip((normal * toward_eye).sum(axis=1), 0, 1)) ** 3 * openness[:, 0]
    return np.asarray(albedo * (key + sky) + (highlight * np.array(light.key).mean() + rim)[:, None])


class ShadowMap:
    """What the sun sees, from the direction of a light, without perspective."""

    def __init__(self, surfaces: Sequence[Surface], light: Light) -> None:
        toward = unit(np.array(light.direction))
        right = unit(np.cross(toward, [0.13, 0.9, 0.41] if abs(toward[1]) < 0.9 else [1.0, 0, 0]))
        self.axes = np.stack([right, np.cross(toward, right), -toward])
        seen = [surface.vertices @ self.axes.T for surface in surfaces]
        low = np.min([points.min(axis=0) for points in seen], axis=0)
        high = np.max([points.max(axis=0) for points in seen], axis=0)
        self.low = low
        self.scale = (_SHADOW_SIZE - 2) / (high - low)[:2].max()
        buffer = DepthBuffer(_SHADOW_SIZE, _SHADOW_SIZE)
        for number, (surface, points) in enumerate(zip(surfaces, seen, strict=True)):
            screen = (points[:, :2] - low[:2]) * self.scale + 1
            depth = points[:, 2] - low[2] + 1
            buffer.draw(
                rasterise(screen, depth, surface.faces, _SHADOW_SIZE, _SHADOW_SIZE, cull=False, perspective=False),
                number,
            )
        self.depth = buffer.depth.reshape(_SHADOW_SIZE, _SHADOW_SIZE)

    def light_at(self, points: Floats) -> Floats:
        """(N,) part of the sun that reaches (N, 3) points: 0 to 1, soft over two texels."""
        local = points @ self.axes.T - self.low
        place = local[:, :2] * self.scale + 0.5
        corner = np.clip(place.astype(np.int64), 0, _SHADOW_SIZE - 2)
        x, y = np.clip(place - corner, 0, 1).T
        depth = local[:, 2] + 1 - 0.25 * _SHADOW_OFFSET
        taps = [self.depth[corner[:, 1] + dy, corner[:, 0] + dx] > depth for dy in (0, 1) for dx in (0, 1)]
        a, b, c, d = (tap.astype(np.float64) for tap in taps)
        return np.asarray((a * (1 - x) + b * x) * (1 - y) + (c * (1 - x) + d * x) * y)
