"""Joints → gesture by rules that can be read.

Each finger sticks out or does not; which ones do names the gesture.  An index finger before the lips looks,
from the hand alone, like any raised index finger; the face is not among the joints.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from handbench.hand.skeleton import FINGERS, JOINT_INDEX

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

STRAIGHT: Final = 0.85
"""A straight finger's ends are at least this far apart, in parts of its own length."""
BEYOND: Final = 1.15
"""And its tip is at least this many times as far from the wrist as its middle joint."""
THUMB_OUT: Final = 0.58
"""The thumb sticks out where its tip is this many palm lengths away from every knuckle and curled finger."""
UPRIGHT: Final = 35.0
"""Degrees from the picture's upright within which a finger points up."""

RULES: Final[dict[str, tuple[bool | None, ...]]] = {
    "stop": (None, True, True, True, True),
    "fist": (False, False, False, False, False),
    "call": (True, False, False, False, True),
    "like": (True, False, False, False, False),
    "point": (None, True, False, False, False),
}
"""Which fingers stick out, thumb first; None for either.  No two rules hold of one hand."""

UNKNOWN: Final = "unknown"


def straightness(joints: NDArray[np.floating]) -> Floats:
    """Distance between the ends of each finger in parts of the length of its bones.

    Args:
        joints: (N, 21, D) joints, D 2 or 3, any unit.

    Returns:
        (N, 5) 1 for a straight finger, smaller when it is bent; NaN where it has no length.
    """
    joints = np.asarray(joints, np.float64)
    chains = joints[:, np.arange(1, 21).reshape(5, 4)]
    lengths = np.linalg.norm(np.diff(chains, axis=2), axis=3).sum(axis=2)
    ends = np.linalg.norm(chains[:, :, 3] - chains[:, :, 0], axis=2)
    return np.asarray(np.divide(ends, lengths, out=np.full_like(ends, np.nan), where=lengths > 0))


def _thumb_reach(joints: NDArray[np.floating]) -> Floats:
    """(N,) distance of the thumb's tip to the nearest knuckle or middle joint of the fingers, in palm lengths."""
    near = [JOINT_INDEX[f"{finger}_{segment}"] for finger in FINGERS[1:] for segment in ("mcp", "pip")]
    tip = joints[:, JOINT_INDEX["thumb_tip"]]
    reach = np.linalg.norm(joints[:, near] - tip[:, None], axis=2).min(axis=1)
    palm = np.linalg.norm(joints[:, JOINT_INDEX["middle_mcp"]] - joints[:, 0], axis=1)
    return np.asarray(np.divide(reach, palm, out=np.full_like(reach, np.nan), where=palm > 0))


def extended(joints: NDArray[np.floating]) -> Bools:
    """Which fingers stick out, thumb first.

    Args:
        joints: (N, 21, D) joints.

    Returns:
        (N, 5) bool; false where a joint is missing.
    """
    joints = np.array(joints, np.float64)
    reach = np.linalg.norm(joints - joints[:, :1], axis=2)
    # A finger that is folded at its knuckle alone is straight in itself and still lies in the palm.
    out = straightness(joints) >= STRAIGHT
    out[:, 1:] &= reach[:, [8, 12, 16, 20]] >= BEYOND * reach[:, [6, 10, 14, 18]]
    out[:, 0] = _thumb_reach(joints) >= THUMB_OUT
    return out


def degrees_from_up(joints: NDArray[np.floating], start: str, end: str) -> Floats:
    """Angle in the picture between a bone chain and straight up.

    Args:
        joints: (N, 21, D) joints, x right and y DOWN.
        start: joint where the direction begins.
        end: joint where it ends.

    Returns:
        (N,) degrees, 0 up and 180 down.
    """
    way = np.asarray(joints, np.float64)[:, JOINT_INDEX[end], :2] - np.asarray(joints)[:, JOINT_INDEX[start], :2]
    return np.asarray(np.abs(np.degrees(np.arctan2(way[:, 0], -way[:, 1]))))


def name_gestures(joints: NDArray[np.floating], *, upright_index: str = "point") -> list[str]:
    """Name the gesture of each hand.

    Args:
        joints: (N, 21, D) joints, camera frame or pixels (x right, y down); D 2 or 3.
        upright_index: what a lone index finger that points up is called: ``point``, or ``mute`` where it is known
            to be held before a face.

    Returns:
        ``stop, fist, call, like, point`` (or ``mute``), or ``unknown`` where no rule holds; a thumb that points
        down is ``unknown``.
    """
    joints = np.asarray(joints, np.float64)
    out = extended(joints)
    named = np.full(len(joints), UNKNOWN, dtype=object)
    for name, fingers in RULES.items():
        holds = np.ones(len(joints), bool)
        for place, wanted in enumerate(fingers):
            if wanted is not None:
                holds &= out[:, place] == wanted
        named[holds] = name
    named[(named == "like") & (degrees_from_up(joints, "thumb_mcp", "thumb_tip") > 90)] = UNKNOWN
    named[(named == "point") & (degrees_from_up(joints, "index_mcp", "index_tip") < UPRIGHT)] = upright_index
    return [str(name) for name in named]
