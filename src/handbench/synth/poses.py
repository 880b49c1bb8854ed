"""Named and random hand poses, of a right hand, without self-intersection.

Names follow HaGRID where it has one (``like``, ``dislike``, ``call``, ``rock``, ``ok``, ``stop``, ``mute``, ``three2``,
``two_up``). Pads that touch in a pose (``ok``, ``pinch``) and thumbs that hold curled fingers down are solved for every
shape (:func:`handbench.synth.contact.touch`), so that they touch whatever the lengths of the fingers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from handbench.synth.contact import PADS, SkinPoint, gap, penetration, touch
from handbench.synth.kinematics import ANGLE_INDEX, ANGLES, LIMITS, pose
from handbench.synth.mesh import RestHand

Floats = NDArray[np.float64]

_THUMB_FREE = ANGLES[:5]


@dataclass(frozen=True)
class NamedPose:
    """A gesture.

    Attributes:
        angles: (23,) degrees, as :data:`handbench.synth.kinematics.ANGLES`.
        contact: two points of the skin that touch, or none.
        free: names of the angles that are solved to make them touch.
    """

    angles: tuple[float, ...]
    contact: tuple[SkinPoint, SkinPoint] | None = None
    free: tuple[str, ...] = ()


def _named(
    thumb: Sequence[float],
    *fingers: Sequence[float],
    contact: tuple[SkinPoint, SkinPoint] | None = None,
    free: tuple[str, ...] = _THUMB_FREE,
) -> NamedPose:
    angles = [*thumb, *(angle for finger in fingers for angle in finger), 0.0, 0.0]
    return NamedPose(tuple(float(a) for a in angles), contact, free if contact else ())


def _up(spread: float) -> tuple[float, ...]:
    """A straight finger: MCP, spread, PIP, DIP."""
    return (2, spread, 4, 2)


_CURL_INDEX = _CURL_MIDDLE = (81, 0, 95, 53)
_CURL_RING = (81, 1, 95, 53)
_CURL_LITTLE = (80, 3, 90, 46)
_CURLED = (_CURL_INDEX, _CURL_MIDDLE, _CURL_RING, _CURL_LITTLE)
_THUMB_OUT = (8, 45, -60, -4, -10)


def _on(finger: str, along: float, side: float) -> tuple[SkinPoint, SkinPoint]:
    """The thumb's pad on the middle phalanx of a curled finger."""
    return PADS["thumb"], SkinPoint(finger, 1, along, side)


_PINCH_FREE = (*_THUMB_FREE, "index_mcp", "index_pip", "index_dip")
_LIKE = _named(_THUMB_OUT, *_CURLED)
_POINT = _named((46, 20, -81, 30, 36), _up(2), *_CURLED[1:], contact=_on("middle", 0.5, 160))

NAMED: Final[dict[str, NamedPose]] = {
    "open_palm": _named((25, 50, -62, 5, 5), _up(12), _up(0), _up(-9), _up(-20)),
    "stop": _named((18, 26, -62, 5, 5), _up(-3), _up(-1), _up(0), _up(0)),
    "fist": _named((66, 31, -89, 42, 40), *_CURLED, contact=_on("middle", 0.95, 170)),
    "point": _POINT,
    "mute": _POINT,
    "like": _LIKE,
    "dislike": _LIKE,
    "victory": _named((40, 2, -83, 36, 31), _up(12), _up(-8), _CURL_RING, _CURL_LITTLE, contact=_on("ring", 0.5, 160)),
    "two_up": _named((40, 2, -83, 36, 31), _up(-4), _up(0), _CURL_RING, _CURL_LITTLE, contact=_on("ring", 0.5, 160)),
    "three": _named(
        (33, -20, -86, 34, 21),
        _up(10),
        _up(0),
        _up(-10),
        (76, 8, 92, 50),
        contact=_on("little", 0.7, 155),
        free=(*_THUMB_FREE, "little_mcp", "little_spread", "little_pip"),
    ),
    "three2": _named((22, 52, -62, 0, 0), _up(10), _up(-2), _CURL_RING, _CURL_LITTLE),
    "four": _named((32, 0, -95, 42, 40), _up(10), _up(0), _up(-8), _up(-18)),
    "ok": _named(
        (45, 17, -88, 8, 13),
        (45, 0, 64, 18),
        (18, 0, 14, 8),
        (10, -6, 10, 5),
        (4, -15, 8, 4),
        contact=(PADS["thumb"], PADS["index"]),
        free=_PINCH_FREE,
    ),
    "pinch": _named(
        (47, 16, -88, 5, 12),
        (52, 0, 55, 19),
        (58, 0, 60, 35),
        (62, 0, 66, 38),
        (64, -2, 66, 38),
        contact=(PADS["thumb"], PADS["index"]),
        free=_PINCH_FREE,
    ),
    "call": _named((15, 58, -60, 0, -10), *_CURLED[:3], _up(-16)),
    "rock": _named((47, 17, -81, 30, 37), _up(4), *_CURLED[1:3], _up(-14), contact=_on("middle", 0.6, 175)),
    "grasp": _named((55, 20, -80, 15, 25), (45, 3, 48, 25), (45, 0, 50, 28), (46, -2, 50, 28), (48, -6, 48, 26)),
    "relaxed": _named((30, 35, -65, 15, 20), (18, 5, 25, 12), (24, 0, 32, 15), (28, -5, 36, 18), (32, -10, 36, 18)),
}
"""The gestures. ``mute`` and ``dislike`` are poses of other gestures seen another way (by place, by roll)."""

POSE_NAMES: Final = (*NAMED, "random")

_WRIST = [ANGLE_INDEX["wrist_flexion"], ANGLE_INDEX["wrist_deviation"]]
_BATCH = 16
_FAULT = 0.0005
"""A gesture with a contact is accepted when overlap and gap together are below this (metres)."""


def draw_named(rng: np.random.Generator, hand: RestHand, name: str, *, jitter: float = 3.0) -> Floats:
    """Angles of a gesture with a natural variation, contacts solved.

    Args:
        rng: the source of the variation.
        hand: the shape, right hand.
        name: a key of :data:`NAMED`.
        jitter: standard deviation of each angle, degrees.

    Returns:
        (23,) degrees, within the limits; of a few candidates with less and less variation, the first that does not
        intersect itself, else the one that does least.
    """
    named = NAMED[name]
    # The last candidate is the pose itself, which was tuned to be free of intersection.
    scale = np.linspace(1, 0, 6)[:, None] * jitter
    candidates = np.array(named.angles) + scale * rng.standard_normal((len(scale), len(ANGLES)))
    candidates[:, _WRIST] = rng.normal(0, [12, 6], (len(scale), 2))
    candidates = np.clip(candidates, *LIMITS.T)
    if named.contact is None:
        return np.asarray(candidates[_free_of_intersection(hand, candidates)])
    best, least = candidates[-1], np.inf
    for candidate in candidates:
        solved = touch(hand, candidate, *named.contact, named.free)
        depth = float(penetration(hand, pose(hand, solved)))
        fault = max(depth, 0.0) + gap(hand, solved, *named.contact)
        if fault < least:
            best, least = solved, fault
        if fault < _FAULT:
            break
    return np.asarray(best)


def _free_of_intersection(hand: RestHand, candidates: Floats) -> int:
    """The first candidate that does not intersect itself, else the one that does least."""
    depth = penetration(hand, pose(hand, candidates))
    return int(np.argmin(np.maximum(depth, 0)))


def draw_random(rng: np.random.Generator, hand: RestHand) -> Floats:
    """Angles of a random pose within the limits that does not intersect itself.

    Half of the hands bend their fingers about alike; in the other half each finger is straight, half bent or curled
    by itself. DIP follows PIP by about 0.6 and bent fingers do not spread, as in real hands.

    Args:
        rng: the source.
        hand: the shape, right hand.

    Returns:
        (23,) degrees.
    """
    while True:
        candidates = _random_angles(rng, _BATCH)
        depth = penetration(hand, pose(hand, candidates))
        if (depth <= 0).any():
            return np.asarray(candidates[np.argmax(depth <= 0)])


def _random_angles(rng: np.random.Generator, count: int) -> Floats:
    """(count, 23) plausible angles, not tested for intersection."""
    together = rng.beta(0.9, 0.9, (count, 1)) * 80 + rng.normal(0, 14, (count, 4))
    alone = rng.choice([0.0, 40.0, 82.0], (count, 4), p=[0.4, 0.25, 0.35]) + rng.normal(0, 9, (count, 4))
    mcp = np.where(rng.random((count, 1)) < 0.5, together, alone)
    pip = 1.15 * np.maximum(mcp, 0) + rng.normal(4, 14, (count, 4))
    dip = 0.6 * np.maximum(pip, 0) + rng.normal(0, 6, (count, 4))
    fan = rng.normal(0.6, 0.5, (count, 1)) * [12, 0, -9, -19] + rng.normal(0, 2.5, (count, 4))
    spread = fan * np.clip(1 - mcp / 85, 0.1, 1)
    fingers = np.stack([mcp, spread, pip, dip], axis=2).reshape(count, 16)
    palmar, radial = rng.uniform(5, 60, count), rng.uniform(0, 55, count)
    # The thumb turns its pad to the fingers as it leaves the plane of the palm and crosses it.
    twist = -62 - 0.45 * (palmar - 30) - 0.25 * (35 - radial).clip(0) + rng.normal(0, 5, count)
    bends = np.stack([rng.uniform(-5, 42, count), rng.uniform(-10, 60, count)], axis=1)
    wrist = rng.normal(0, [18, 8], (count, 2))
    angles = np.column_stack([palmar, radial, twist, bends, fingers, wrist])
    return np.asarray(np.clip(angles, *LIMITS.T))
