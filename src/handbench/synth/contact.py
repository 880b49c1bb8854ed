"""Where parts of a hand touch: self-intersection by capsules, and angles that bring two points of the skin together.

Everything works on a batch of poses of a right hand in the palm frame, before any skin is computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from handbench.hand.skeleton import FINGERS
from handbench.synth.kinematics import ANGLE_INDEX, ANGLES, LIMITS, Posed, pose
from handbench.synth.mesh import DIGITS, RestHand

Floats = NDArray[np.float64]

SOFT: Final = 0.35
"""How deep two capsules may press into one another, as a part of the thinner one's radius: flesh gives way."""

SOFT_PAD: Final = 0.55
"""The same for two fingertips, and for anything that presses into the palm."""

_PALM_DEPTH, _PALM_RADIUS = 0.07, 0.14
"""Middle of the palm's flesh in front of the joints, and its half thickness, as parts of wrist to middle MCP."""

_BONE_HEADS: Final = np.array([base + step for base in DIGITS for step in range(3)])
_TAPER: Final = np.where(np.arange(15) % 3 == 2, 0.8, 1.0)
"""Fingertips are thinner and softer than the mean of their bone."""
_PALM: Final = len(_BONE_HEADS)


def _pairs() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Capsules that may not meet: of different digits, and digits with the palm, unless grown together.

    Capsule 3 d + s is bone s of digit d; capsule 15 + d is the palm ray of finger d (1 to 4).
    """
    pairs = [
        (3 * one + s, 3 * two + t)
        for one in range(5)
        for two in range(one + 1, 5)
        for s in range(3)
        for t in range(3)
        # Neighbouring proximal phalanges share a web; the thumb metacarpal lies in the palm.
        if not (s == t == 0) and not (one == 0 and s == 0)
    ]
    pairs += [
        (3 * digit + s, _PALM + ray)
        for digit in range(5)
        for s in (1, 2)
        for ray in range(4)
        # The thumb's proximal phalanx is rooted beside the index ray.
        if (digit, s, ray) != (0, 1, 0)
    ]
    first, second = np.array(pairs).T
    return first, second


_FIRST, _SECOND = _pairs()
_SOFT: Final = np.where((_SECOND >= _PALM) | ((_FIRST % 3 == 2) & (_SECOND % 3 == 2)), SOFT_PAD, SOFT)


def segment_distance(a: Floats, b: Floats, c: Floats, d: Floats) -> Floats:
    """Smallest distance between segments a-b and c-d, all (..., 3) (Ericson, Real-Time Collision Detection, 5.1.9)."""
    u, v, w = b - a, d - c, a - c
    uu, uv, vv = (u * u).sum(-1), (u * v).sum(-1), (v * v).sum(-1)
    uw, vw = (u * w).sum(-1), (v * w).sum(-1)
    denominator = uu * vv - uv * uv
    s = np.clip(np.divide(uv * vw - vv * uw, denominator, out=np.zeros_like(uu), where=denominator > 1e-18), 0, 1)
    t = (uv * s + vw) / vv
    outside = (t < 0) | (t > 1)
    t = np.clip(t, 0, 1)
    s = np.where(outside, np.clip((uv * t - uw) / uu, 0, 1), s)
    gap = w + s[..., None] * u - t[..., None] * v
    return np.asarray(np.sqrt((gap * gap).sum(-1)))


def penetration(hand: RestHand, posed: Posed) -> Floats:
    """How deep any two parts of the hand lie in one another.

    Args:
        hand: the shape.
        posed: a batch of poses.

    Returns:
        (...) metres: the largest overlap of two capsules beyond what flesh allows (:data:`SOFT`, :data:`SOFT_PAD`); at
        most 0 if there is none.
    """
    joints = posed.joints
    scale = np.linalg.norm(hand.joints[9])
    rays = joints[..., DIGITS[1:], :]
    low = rays * [0.35, 0.25, 0.0]
    # A tip joint lies less than a radius under the skin, so its capsule ends before it.
    head, tail = joints[..., _BONE_HEADS, :], joints[..., _BONE_HEADS + 1, :]
    radius = np.append(hand.radii[_BONE_HEADS] * _TAPER, np.full(4, _PALM_RADIUS * scale))
    short = np.where(np.arange(15) % 3 == 2, 0.3 * radius[:15] / hand.lengths[_BONE_HEADS], 0.0)
    tail = tail - (tail - head) * short[:, None]
    lift = np.array([0, 0, _PALM_DEPTH * scale])
    start = np.concatenate([head, low + lift], axis=-2)
    end = np.concatenate([tail, rays * [1, 0.95, 1] + lift], axis=-2)
    distance = segment_distance(
        start[..., _FIRST, :], end[..., _FIRST, :], start[..., _SECOND, :], end[..., _SECOND, :]
    )
    one, two = radius[_FIRST], radius[_SECOND]
    return np.asarray((one + two - _SOFT * np.minimum(one, two) - distance).max(axis=-1))


@dataclass(frozen=True)
class SkinPoint:
    """A point on the skin of a digit.

    Attributes:
        digit: name of the finger, or thumb.
        bone: 0, 1 or 2, counted from the base of the digit.
        along: where on the bone, 0 at its head and 1 at its end.
        side: angle around the bone, degrees: 0 the palmar side (pad), 90 the thumb side, 180 the dorsal side (nail).
    """

    digit: str
    bone: int
    along: float
    side: float

    def at(self, hand: RestHand, posed: Posed) -> tuple[Floats, Floats]:
        """(..., 3) position and outward normal."""
        head = DIGITS[FINGERS.index(self.digit)] + self.bone
        frame = posed.frames[..., head, :, :]
        turn = np.radians(self.side)
        normal = np.cos(turn) * frame[..., 2] + np.sin(turn) * frame[..., 0]
        spine = posed.joints[..., head, :] + self.along * hand.lengths[head] * frame[..., 1]
        return spine + hand.radii[head] * normal, normal


PADS: Final = {digit: SkinPoint(digit, 2, 0.68, 0.0) for digit in FINGERS}
"""The finger pads."""


def touch(
    hand: RestHand,
    angles: Floats,
    one: SkinPoint,
    two: SkinPoint,
    free: tuple[str, ...],
    *,
    facing: float = 0.001,
    steps: int = 8,
) -> Floats:
    """Change some angles as little as possible so that two points of the skin meet, face to face.

    Damped Gauss-Newton on the gap, the sum of the two normals and the change of the angles; within the limits.

    Args:
        hand: the shape.
        angles: (23,) degrees, where to start from and to stay near to.
        one: a point of the skin.
        two: the point that it shall touch.
        free: names of the angles that may change.
        facing: metres of gap that a normal off by 1 (radian, about) is worth.
        steps: iterations.

    Returns:
        (23,) angles. How near the points came is to be looked at by the caller (:func:`gap`).
    """
    columns = np.array([ANGLE_INDEX[name] for name in free])
    low, high = LIMITS[columns].T
    eye = np.zeros((len(columns) + 1, len(ANGLES)))
    eye[np.arange(len(columns)) + 1, columns] = 0.5
    start = angles[columns]
    current = angles.copy()
    # A change by 30 degrees (10 for the twist) weighs as much as a gap of 1 mm: enough to choose a natural one.
    stay = np.where(columns == ANGLE_INDEX["thumb_twist"], 0.001 / 10, 0.001 / 30)

    for _ in range(steps):
        posed = pose(hand, current + eye)
        (p, n), (q, m) = one.at(hand, posed), two.at(hand, posed)
        residual = np.concatenate([p - q, facing * (n + m)], axis=-1)
        jacobian = (residual[1:] - residual[0]).T / 0.5
        matrix = jacobian.T @ jacobian + np.diag(stay**2)
        gradient = jacobian.T @ residual[0] + stay**2 * (current[columns] - start)
        step = np.clip(np.linalg.solve(matrix, -gradient), -15, 15)
        current[columns] = np.clip(current[columns] + step, low, high)
    return current


def gap(hand: RestHand, angles: Floats, one: SkinPoint, two: SkinPoint) -> float:
    """Distance of two points of the skin in a pose, metres."""
    posed = pose(hand, angles)
    return float(np.linalg.norm(one.at(hand, posed)[0] - two.at(hand, posed)[0]))
