"""From absolute joint angles to joints and skin.

Angles are absolute and anatomical: what is commanded is what :func:`measure` finds in the posed joints, whatever the
shape and the rest pose of the mesh. Each digit bends in one plane; degrees:

- ``<finger>_mcp``: elevation of the proximal phalanx out of the palm plane, positive toward the palm (flexion);
- ``<finger>_spread``: its direction in the palm plane from the wrist-to-middle-MCP line, positive toward the thumb;
- ``<finger>_pip``, ``<finger>_dip``: bend between neighbouring bones, positive toward the palm;
- ``thumb_palmar``, ``thumb_radial``: the same two directions for the thumb metacarpal (palmar and radial abduction);
- ``thumb_twist``: turn of the thumb's bending axis about the metacarpal, 0 where a finger's would be; more negative is
  more opposed;
- ``thumb_mcp``, ``thumb_ip``: its bends;
- ``wrist_flexion``, ``wrist_deviation``: of the hand against the forearm, positive toward palm and thumb.

Left hands are mirror images: :func:`mirrored` and :func:`mirrored_faces`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from handbench.hand.skeleton import FINGERS
from handbench.synth.mesh import DIGITS, FOREARM, RestHand, palm_frame, unit

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_THUMB = ("thumb_palmar", "thumb_radial", "thumb_twist", "thumb_mcp", "thumb_ip")
ANGLES = (
    *_THUMB,
    *(f"{finger}_{name}" for finger in FINGERS[1:] for name in ("mcp", "spread", "pip", "dip")),
    "wrist_flexion",
    "wrist_deviation",
)
"""Names of the 23 angles, in the order of every angle array."""

ANGLE_INDEX = {name: index for index, name in enumerate(ANGLES)}

_FINGER_LIMITS = ((-25.0, 90.0), (-25.0, 25.0), (-3.0, 110.0), (-5.0, 80.0))
LIMITS: Floats = np.array(
    [(-5.0, 75.0), (-35.0, 75.0), (-110.0, -25.0), (-10.0, 60.0), (-20.0, 85.0)]
    + [limit for _ in FINGERS[1:] for limit in _FINGER_LIMITS]
    + [(-65.0, 70.0), (-20.0, 30.0)]
)
"""(23, 2) lowest and highest angle, degrees."""

FINGER_TWIST = np.array([-8.0, -3.0, 1.0, 5.0])
"""Turn of the fingers' bending axes about the bone, degrees: bent fingers converge on the base of the thumb."""


@dataclass(frozen=True)
class Posed:
    """Bones of a posed right hand, palm frame.

    Attributes:
        joints: (..., 22, 3) the 21 joints and the elbow, metres.
        frames: (..., 22, 3, 3) orientation of the bone that begins at each joint (columns as in ``RestHand``).
    """

    joints: Floats
    frames: Floats


def angle_array(named: Mapping[str, float]) -> Floats:
    """(23,) angles from names; those left out are 0.

    Raises:
        KeyError: a name is not one of :data:`ANGLES`.
    """
    angles = np.zeros(len(ANGLES))
    for name, value in named.items():
        angles[ANGLE_INDEX[name]] = value
    return angles


def _about_x(degrees: Floats) -> Floats:
    return _rotation(degrees, 1, 2)


def _about_y(degrees: Floats) -> Floats:
    return _rotation(degrees, 2, 0)


def _about_z(degrees: Floats) -> Floats:
    return _rotation(degrees, 0, 1)


def _rotation(degrees: Floats, one: int, two: int) -> Floats:
    """(..., 3, 3) rotations that turn axis ``one`` toward axis ``two``."""
    radians = np.radians(degrees)
    matrix = np.zeros((*radians.shape, 3, 3))
    matrix[...] = np.eye(3)
    matrix[..., one, one] = matrix[..., two, two] = np.cos(radians)
    matrix[..., two, one] = np.sin(radians)
    matrix[..., one, two] = -matrix[..., two, one]
    return matrix


def pose(hand: RestHand, angles: Floats) -> Posed:
    """Forward kinematics.

    Args:
        hand: the shape.
        angles: (..., 23) degrees, as :data:`ANGLES`; not clipped to :data:`LIMITS`.

    Returns:
        The bones, with the same leading axes.
    """
    angles = np.asarray(angles, np.float64)
    lead = angles.shape[:-1]
    fingers = angles[..., 5:21].reshape(*lead, 4, 4)
    # One row per digit: elevation, azimuth, twist, first bend, second bend.
    thumb = angles[..., None, :5]
    twist = np.broadcast_to(FINGER_TWIST, fingers.shape[:-1])
    digits = np.stack([fingers[..., 0], fingers[..., 1], twist, fingers[..., 2], fingers[..., 3]], axis=-1)
    digits = np.concatenate([thumb, digits], axis=-2)
    first = _about_z(-digits[..., 1]) @ _about_x(digits[..., 0]) @ _about_y(digits[..., 2])
    second = first @ _about_x(digits[..., 3])
    third = second @ _about_x(digits[..., 4])

    joints = np.broadcast_to(hand.joints, (*lead, 22, 3)).copy()
    frames = np.broadcast_to(np.eye(3), (*lead, 22, 3, 3)).copy()
    bases = np.array(DIGITS)
    for step, frame in enumerate((first, second, third)):
        frames[..., bases + step, :, :] = frame
        bone = frame[..., 1] * hand.lengths[bases + step, None]
        joints[..., bases + step + 1, :] = joints[..., bases + step, :] + bone
    forearm = _about_x(-angles[..., 21]) @ _about_z(angles[..., 22])
    frames[..., FOREARM, :, :] = forearm
    joints[..., FOREARM, :] = -forearm[..., 1] * hand.lengths[FOREARM]
    return Posed(joints, frames)


def skin(hand: RestHand, posed: Posed) -> Floats:
    """Linear blend skinning of one pose: (V, 3) vertices, palm frame, metres."""
    turn = posed.frames @ hand.frames.transpose(0, 2, 1)
    # The forearm turns about the wrist, its far end: any point of a bone serves as pivot.
    shift = posed.joints - np.einsum("kab,kb->ka", turn, hand.joints)
    blended = hand.weights @ np.concatenate([turn.reshape(22, 9), shift], axis=1)
    matrices = blended[:, :9].reshape(-1, 3, 3)
    return np.asarray((matrices * hand.vertices[:, None, :]).sum(axis=2) + blended[:, 9:])


def measure(joints: Floats) -> Floats:
    """The 23 angles of a right hand, from its joints alone.

    ``thumb_twist`` is seen only through the thumb's MCP bend and is not a number (NaN) where that is straight; finger
    twists are not measured. The signs of the bends come from the same plane.

    Args:
        joints: (22, 3) the 21 joints and the elbow, any frame of a right hand.

    Returns:
        (23,) degrees.
    """
    frame = palm_frame(joints)
    local = (joints - joints[0]) @ frame.T
    values = []
    for row, base in enumerate(DIGITS):
        bones = unit(np.diff(local[base : base + 4], axis=0))
        elevation = np.degrees(np.arcsin(np.clip(bones[0, 2], -1, 1)))
        azimuth = np.degrees(np.arctan2(bones[0, 0], bones[0, 1]))
        swing = _about_z(np.array(-azimuth)) @ _about_x(np.array(elevation))
        twist = FINGER_TWIST[row - 1]
        if row == 0:
            across = np.cross(bones[0], bones[1])
            if np.linalg.norm(across) < 1e-6:
                twist = np.nan
            else:
                x, _, z = swing.T @ across
                twist = np.degrees(np.arctan2(-z, x))
                # The bend axis has no sign of its own: take the twist that is within the limits.
                low, high = LIMITS[2]
                if not low - 20 <= twist <= high + 20:
                    twist = (twist + 360) % 360 - 180
        axis = (swing @ _about_y(np.array(0.0 if np.isnan(twist) else twist)))[:, 0]
        bends = [
            np.degrees(np.arctan2(np.cross(one, two) @ axis, one @ two))
            for one, two in ((bones[0], bones[1]), (bones[1], bones[2]))
        ]
        values += [elevation, azimuth, *([twist] if row == 0 else []), *bends]
    x, y, z = unit(local[0] - local[FOREARM])
    deviation = np.degrees(np.arcsin(np.clip(-x, -1, 1)))
    return np.array([*values, np.degrees(np.arctan2(-z, y)), deviation])


def mirrored(points: NDArray[np.floating]) -> Floats:
    """The mirror image of (..., 3) points in the plane x = 0: a right hand's points become a left hand's."""
    return np.asarray(points * np.array([-1.0, 1.0, 1.0]))


def mirrored_faces(faces: Ints) -> Ints:
    """The triangles (T, 3) of a mirrored mesh, turned so that they still face outward."""
    return np.asarray(faces[:, ::-1])
