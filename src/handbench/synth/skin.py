"""What the skin of a hand looks like: a texture of creases, nails, palm and flush, and skin tones.

The texture is computed once from the neutral hand, in the texture coordinates of the mesh, so that it fits every shape
and pose. Its channels say what is where; colours come in only when a hand with its tone is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.ndimage import distance_transform_edt
from scipy.spatial import cKDTree

from handbench.synth.mesh import DIGITS, FOREARM, Template, rest_hand, template, unit, vertex_normals
from handbench.synth.raster import Fragments, rasterise

Floats = NDArray[np.float64]
Texels = NDArray[np.float32]

SIZE: Final = 640
"""Texels along a side."""

CHANNELS: Final = ("crease", "palm", "flush", "nail", "edge", "mottle")
"""Skin folds; palm skin; redder (or darker) skin of knuckles, pads and fingertips; nail; its white free edge; blotches
(-1 to 1)."""

_HEART = ((-50, 63), (-36, 65), (-18, 71), (-2, 78), (9, 88), (13, 97))
_HEAD = ((40, 67), (27, 66), (8, 62), (-12, 54), (-28, 44), (-38, 34))
_LIFE = ((40, 65), (26, 61), (13, 52), (5, 39), (2, 24), (5, 9), (9, 0))
_FATE = ((-8, 21), (-6, 38), (-3, 55))
_WRIST = (((-30, -10), (-10, -13), (12, -13), (32, -9)), ((-30, -19), (0, -21), (32, -18)))
_PALM_LINES: Final = (
    (_HEART, 1.0, 0.9),
    (_HEAD, 1.0, 0.9),
    (_LIFE, 1.0, 1.0),
    (_FATE, 0.4, 0.6),
    (_WRIST[0], 0.7, 0.8),
    (_WRIST[1], 0.5, 0.8),
)
"""Lines of the palm: points (x, y) in millimetres of the neutral palm frame, strength, half width in millimetres."""


_WRINKLES: Final = ((0.35, 0.7), (0.75, 0.5))
"""Depth of the wrinkles over the two knuckles of the thumb, and of a finger."""


@dataclass(frozen=True)
class _Surface:
    """The texels on the mesh: position, normal, skinning weights, and how palmar the skin faces (-1 to 1)."""

    point: Floats
    normal: Floats
    weight: Floats
    palmar: Floats


def _smoothstep(x: Floats) -> Floats:
    x = np.clip(x, 0, 1)
    return x * x * (3 - 2 * x)


@cache
def texture() -> Texels:
    """(SIZE, SIZE, 6) channels as :data:`CHANNELS`."""
    base = template()
    corner = base.uv[base.corner_uv].reshape(-1, 2) * SIZE
    count = len(base.faces)
    faces = np.arange(3 * count).reshape(count, 3)
    texels = rasterise(corner, np.ones(len(corner)), faces, SIZE, SIZE, cull=False, perspective=False)
    surface = _surface(base, texels)
    nail, edge = _nails(surface, base)
    crease, flush = _palm_creases(surface), _pads(surface)
    for digit, head in enumerate(DIGITS):
        lines, red = _joint_marks(surface, base.joints, digit, head)
        crease, flush = np.maximum(crease, lines), flush + red
    channels = np.zeros((SIZE * SIZE, len(CHANNELS)), dtype=np.float32)
    palm = _smoothstep((surface.palmar + 0.25) / 0.55) * _smoothstep(1.6 * (1 - surface.weight[:, FOREARM]) - 0.3)
    # A nail lies in a fold of skin, which is what makes it visible from afar.
    fold = 4 * nail * (1 - nail) * 0.8
    crease = np.where(nail > 0.9, 0, np.maximum(crease * (1 - nail), fold))
    columns = [crease, palm, np.clip(flush, 0, 1), nail, edge, _mottle(surface.point)]
    channels[texels.pixel] = np.column_stack(columns)
    # Bilinear look-ups at the border of an island must not reach texels without skin.
    empty = np.ones(SIZE * SIZE, dtype=bool)
    empty[texels.pixel] = False
    row, column = distance_transform_edt(empty.reshape(SIZE, SIZE), return_distances=False, return_indices=True)
    return np.asarray(channels.reshape(SIZE, SIZE, -1)[row, column])


def _surface(base: Template, texels: Fragments) -> _Surface:
    normals = vertex_normals(base.vertices, base.faces)
    weight = texels.of(base.weights[base.faces])
    normal = unit(texels.of(normals[base.faces]))
    facing = rest_hand({}).frames[:, :, 2]
    palmar = (normal * unit(weight @ facing)).sum(axis=1)
    return _Surface(texels.of(base.vertices[base.faces]), normal, weight, palmar)


def _line(distance: Floats, width: float) -> Floats:
    """A fold: a dark core and a soft shoulder."""
    return 0.8 * np.exp(-((distance / width) ** 2)) + 0.2 * np.exp(-((distance / (2.5 * width)) ** 2))


def _palm_creases(surface: _Surface) -> Floats:
    """The lines of the palm and of the wrist."""
    crease = np.zeros(len(surface.point))
    front = np.flatnonzero(surface.normal[:, 2] > 0.05)
    on_palm = surface.weight[front][:, [0, 1, 5, 9, 13, 17, FOREARM]].sum(axis=1) > 0.6
    front = front[on_palm]
    for points, strength, width in _PALM_LINES:
        knots = np.array(points, dtype=np.float64)
        path = CubicSpline(np.arange(len(knots)), knots)(np.linspace(0, len(knots) - 1, 400)) / 1000
        distance, nearest = cKDTree(path).query(surface.point[front][:, :2])
        # Lines fade out at their ends.
        ends = _smoothstep(np.minimum(nearest, 399 - nearest) / 60 + 0.15)
        crease[front] = np.maximum(crease[front], strength * ends * _line(distance, width / 1000))
    return crease


def _joint_marks(surface: _Surface, joints: Floats, digit: int, head: int) -> tuple[Floats, Floats]:
    """Flexion creases on the palmar side, wrinkles and flush over the knuckles on the dorsal side."""
    crease, flush = np.zeros(len(surface.point)), np.zeros(len(surface.point))
    bones = unit(np.diff(joints[head : head + 4], axis=0))
    owner = surface.weight[:, head : head + 3].sum(axis=1)
    palm_side = _smoothstep((surface.palmar + 0.1) / 0.5)
    back_side = _smoothstep((-surface.palmar - 0.1) / 0.5)

    def along(joint: int, direction: Floats) -> tuple[NDArray[np.int64], Floats, Floats]:
        """Texels of this digit near a joint, their place along it and across it (metres)."""
        offset = surface.point - joints[joint]
        place = offset @ direction
        near = np.flatnonzero((owner > 0.5) & (np.abs(place) < 0.030))
        across = offset[near] - place[near, None] * direction
        return near, place[near], np.linalg.norm(across, axis=1)

    for step in (1, 2):
        near, place, radius = along(head + step, unit(bones[step - 1] + bones[step]))
        here = radius < 0.016
        near, place = near[here], place[here]
        wave = place + 0.0003 * np.sin(surface.point[near] @ np.array([600.0, 200.0, 500.0]) + 2 * head)
        first = _line(wave + 0.0015, 0.0007)
        pair = 0.85 * _line(wave - 0.0012, 0.0006) if step == 1 and digit > 0 else 0.0
        crease[near] = np.maximum(crease[near], palm_side[near] * np.maximum(first, pair))
        wrinkles = sum(
            amount * _line(wave - centre, 0.0005)
            for centre, amount in ((-0.0045, 0.4), (-0.0022, 0.7), (0.0, 0.8), (0.0022, 0.7), (0.0045, 0.4))
        )
        crease[near] = np.maximum(crease[near], _WRINKLES[digit > 0][step - 1] * back_side[near] * wrinkles)
        flush[near] += 0.9 * back_side[near] * np.exp(-((place / 0.006) ** 2))
    if digit > 0:
        # The crease at the root of the finger lies at the web, halfway along the proximal phalanx.
        near, place, radius = along(head, bones[0])
        here = radius < 0.015
        root = 0.52 * np.linalg.norm(joints[head + 1] - joints[head])
        line = palm_side[near] * np.maximum(_line(place - root, 0.0007), 0.6 * _line(place - root - 0.0024, 0.0006))
        crease[near[here]] = np.maximum(crease[near[here]], line[here])
        distance = np.linalg.norm(surface.point - joints[head], axis=1)
        flush += 0.8 * back_side * np.exp(-((distance / 0.009) ** 2))
    tip = np.linalg.norm(surface.point - joints[head + 3], axis=1)
    flush += 0.8 * np.exp(-((tip / 0.011) ** 2))
    return crease, flush


def _pads(surface: _Surface) -> Floats:
    """Redder cushions of the palm: below the thumb, along the little finger's side, below the fingers."""
    cushions = (((26, 33), 16, 0.5), ((-32, 33), 14, 0.45), ((-30, 71), 9, 0.4), ((-8, 80), 9, 0.4), ((15, 82), 9, 0.4))
    flush = np.zeros(len(surface.point))
    for centre, size, amount in cushions:
        square = ((surface.point[:, :2] * 1000 - centre) ** 2).sum(axis=1)
        flush += amount * np.exp(-square / size**2) * np.clip(surface.normal[:, 2], 0, 1)
    return flush


def _nails(surface: _Surface, base: Template) -> tuple[Floats, Floats]:
    """The nail plates, and on them the white free edge and faintly the half-moon at the root.

    The mesh models the plates; their outline is smoothed to a rounded rectangle about its nail vertices.
    """
    nail, edge = np.zeros(len(surface.point)), np.zeros(len(surface.point))
    frames = rest_hand({}).frames
    for head in DIGITS:
        frame, origin = frames[head + 2], base.joints[head + 2]
        plate = (base.vertices[(base.nail > 0.5) & (base.weights[:, head + 2] > 0.5)] - origin) @ frame
        low, high = np.percentile(plate[:, :2], [3, 97], axis=0)
        mine = np.flatnonzero((surface.weight[:, head + 2] > 0.5) & (surface.palmar < -0.05))
        local = (surface.point[mine] - origin) @ frame
        place = (local[:, :2] - (low + high) / 2) / ((high - low) / 2)
        outline = (np.abs(place) ** [2.6, 3.2]).sum(axis=1)
        nail[mine] = _smoothstep((1.25 - outline) / 0.5)
        edge[mine] = _smoothstep((place[:, 1] - 0.62) / 0.15) + 0.35 * _smoothstep((-0.6 - place[:, 1]) / 0.2)
    return nail, edge


def _mottle(point: Floats) -> Floats:
    """Smooth blotches and fine grain, -1 to 1."""
    rng = np.random.Generator(np.random.PCG64(7))
    total = np.zeros(len(point))
    # Many plane waves in all directions, or the blotches would be stripes.
    for length, amount in ((0.030, 0.25), (0.012, 0.2), (0.006, 0.12)):
        direction = unit(rng.normal(size=(12, 3))) * (2 * np.pi / length)
        total += amount * np.cos(point @ direction.T + rng.uniform(0, 2 * np.pi, 12)).sum(axis=1) / np.sqrt(6)
    return np.clip(total, -1, 1)


def sample_texture(uv: Floats) -> Texels:
    """Bilinear look-up of (N, 2) texture coordinates: (N, 6) channels."""
    texels = texture().reshape(SIZE * SIZE, -1)
    place = np.clip(uv.astype(np.float32) * SIZE - 0.5, 0, SIZE - 1.001)
    corner = place.astype(np.int32)
    x, y = (place - corner).T[:, :, None]
    first = corner[:, 1] * SIZE + corner[:, 0]
    top = texels[first] * (1 - x) + texels[first + 1] * x
    bottom = texels[first + SIZE] * (1 - x) + texels[first + SIZE + 1] * x
    return np.asarray(top * (1 - y) + bottom * y)


_TONES: Final = np.array(
    [
        [0.96, 0.82, 0.73],
        [0.91, 0.72, 0.60],
        [0.80, 0.59, 0.45],
        [0.64, 0.44, 0.31],
        [0.46, 0.31, 0.22],
        [0.34, 0.235, 0.18],
    ]
)
"""Skin from light to dark, sRGB 0..1."""

TONE_NAMES: Final = ("very_light", "light", "medium", "tan", "brown", "dark")
"""Names of six equal steps of the tone, light to dark."""


def tone_name(tone: float) -> str:
    """Name of a tone 0 (lightest) to 1 (darkest)."""
    return TONE_NAMES[min(int(tone * len(TONE_NAMES)), len(TONE_NAMES) - 1)]


def skin_colour(channels: Texels, tone: float, tint: tuple[float, float, float]) -> tuple[Texels, Texels]:
    """Colour and gloss of skin.

    Args:
        channels: (N, 6) from :func:`sample_texture`.
        tone: 0 (lightest) to 1 (darkest).
        tint: factor of red, green and blue, for variation within a tone.

    Returns:
        (N, 3) albedo, sRGB 0..1, and (N,) strength of the highlight.
    """
    crease, palm, flush, nail, edge, mottle = channels.T[:, :, None]
    place = tone * (len(_TONES) - 1)
    base = np.array([np.interp(place, np.arange(len(_TONES)), column) for column in _TONES.T]) * tint
    # Palms hold little pigment, whatever the tone: the darker the skin the more they differ.
    pink = np.array([0.92, 0.66, 0.56]) * (1 - 0.28 * tone)
    amount = 0.30 + 0.40 * tone
    palm_colour = base * (1 - amount) + pink * amount
    colour = (base + palm * (palm_colour - base)).astype(np.float32)
    colour = colour * (1 + 0.05 * mottle)
    colour = colour * (1 - flush * np.array([0.03, 0.13, 0.12], np.float32))
    # A fold is darker and redder than the skin around; on a dark palm it holds pigment.
    depth = np.array([0.27, 0.38, 0.40], np.float32) * np.float32(1 - 0.25 * tone) * (1 + 0.25 * palm)
    colour = colour * (1 - crease * np.minimum(depth, 0.75))
    plate = (base * 0.42 + np.array([0.97, 0.76, 0.72]) * 0.58).astype(np.float32)
    white = np.array([0.97, 0.94, 0.90], np.float32) * np.float32(1 - 0.15 * tone)
    colour = colour + nail * (plate + edge * 0.6 * (white - plate) - colour)
    gloss = 0.07 + 0.25 * nail[:, 0] - 0.03 * palm[:, 0]
    return np.asarray(np.clip(colour, 0, 1)), np.asarray(gloss)
