"""Views of a hand: how it is turned to the camera, how far away it is, where in the picture.

The camera is a pinhole at the origin, OpenCV axes (x right, y down, z away). A right hand in the palm frame comes into
the camera frame by ``point @ rotation.T + translation``; a left hand is the mirror image of the result in x.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

VIEWS: Final = ("palm", "back", "thumb_side", "little_side", "first_person", "front", "free")
"""What the camera sees: the palm, the back, a side; the wearer's own view (the forearm comes from below, near the
camera); the fingers coming toward the camera; any rotation."""

VIEW_SHARES: Final = (0.30, 0.24, 0.08, 0.08, 0.14, 0.08, 0.08)

MARGIN: Final = 0.04
"""Joints keep this part of the picture's side away from its border."""

_ELBOW: Final = 0.045
"""About the radius of the forearm near the elbow, and of the palm; metres."""


def rotation(azimuth: float, elevation: float, roll: float) -> Floats:
    """(3, 3) rotation from the palm frame to the camera frame.

    Args:
        azimuth: degrees about the hand's long axis; 0 shows the palm, 180 the back, 90 the thumb's side.
        elevation: degrees by which the fingers lean away from the camera; negative leans them toward it.
        roll: degrees in the picture, clockwise as seen; at 0 the fingers point up.
    """
    a, e, r = np.radians([azimuth, elevation, roll])
    facing = np.diag([1.0, -1.0, -1.0])
    about_y = np.array([[np.cos(a), 0, np.sin(a)], [0, 1, 0], [-np.sin(a), 0, np.cos(a)]])
    about_x = np.array([[1, 0, 0], [0, np.cos(e), np.sin(e)], [0, -np.sin(e), np.cos(e)]])
    about_z = np.array([[np.cos(r), -np.sin(r), 0], [np.sin(r), np.cos(r), 0], [0, 0, 1]])
    return np.asarray(about_z @ about_x @ about_y @ facing)


def draw_view(rng: np.random.Generator, view: str) -> tuple[float, float, float]:
    """Azimuth, elevation and roll (degrees) of one picture of a view."""
    tilt, lean, turn = rng.normal(0, [15, 14, 18])
    if view == "palm":
        return tilt, lean, turn
    if view == "back":
        return 180 + tilt, lean, turn
    if view in ("thumb_side", "little_side"):
        return (90 if view == "thumb_side" else -90) + tilt, lean, turn
    if view == "first_person":
        # Palm down shows the back; else the own palm, or the thumb's side as when holding a cup.
        azimuth = rng.choice([180.0, 0.0, 90.0], p=[0.55, 0.3, 0.15])
        # A right hand comes in from the lower right.
        return azimuth + tilt, rng.uniform(15, 50), -20 + turn
    if view == "front":
        return rng.choice([0.0, 180.0, 90.0]) + tilt, rng.uniform(-62, -25), turn
    # Uniform over all rotations: azimuth and roll uniform, elevation by its sine.
    return rng.uniform(0, 360), float(np.degrees(np.arcsin(rng.uniform(-1, 1)))), rng.uniform(-180, 180)


def thumb_roll(turned: Floats, direction: float) -> float:
    """The roll (degrees) that points the thumb up or down in the picture.

    Args:
        turned: (21, 3) joints in camera axes, before any roll.
        direction: where the thumb shall point, degrees clockwise from up.
    """
    x, y, _ = turned[4] - turned[2]
    return float(direction - np.degrees(np.arctan2(x, -y)))


def draw_focal(rng: np.random.Generator, view: str) -> float:
    """Focal length in picture widths: wide on the head, else from a laptop's to a portrait lens."""
    return float(rng.uniform(0.8, 1.3) if view == "first_person" else rng.uniform(1.0, 2.4))


def intrinsics(focal: float, size: int) -> Floats:
    """(3, 3) pinhole matrix of a square picture; the principal point is its centre."""
    return np.array([[focal * size, 0, size / 2], [0, focal * size, size / 2], [0, 0, 1.0]])


def place(turned: Floats, focal: float, fill: float, offset: tuple[float, float]) -> Floats:
    """Where to put the hand so that it fills the picture as wished.

    Args:
        turned: (21, 3) joints about the wrist, already in camera axes.
        focal: focal length in picture widths.
        fill: the longer side of the joints' bounding box, in picture widths.
        offset: (2,) middle of that box from the middle of the picture, in picture widths; drawn in where the box would
            come nearer to the border than :data:`MARGIN`.

    Returns:
        (3,) translation, metres.
    """
    room = max(0.5 - MARGIN - fill / 2, 0.0)
    wish = np.clip(offset, -room, room)
    middle = (turned.max(axis=0) + turned.min(axis=0)) / 2
    translation = np.array([0, 0, focal * np.ptp(turned[:, :2], axis=0).max() / fill]) - middle
    for _ in range(8):
        points = turned + translation
        screen = focal * points[:, :2] / points[:, 2:]
        low, high = screen.min(axis=0), screen.max(axis=0)
        depth = points[:, 2].mean()
        translation[:2] += (wish - (low + high) / 2) * depth / focal
        # Move the nearest joint no nearer than 8 cm.
        translation[2] = max(translation[2] + depth * ((high - low).max() / fill - 1), 0.08 - turned[:, 2].min())
    return np.asarray(translation)


def shows_no_elbow(points: Floats, focal: float) -> bool:
    """Whether the forearm leaves the picture before it ends, or ends hidden behind the palm.

    Args:
        points: (22, 3) joints and elbow, camera axes.
        focal: focal length in picture widths.
    """
    wrist, elbow = points[0], points[21]
    arm = elbow - wrist
    if arm[2] < -0.75 * np.linalg.norm(arm):
        return False  # the arm comes at the camera and would hide the hand
    # Follow the forearm to the elbow, or to where it passes the camera.
    part = min(1.0, (wrist[2] - 0.05) / -arm[2]) if arm[2] < 0 else 1.0
    end = wrist + part * arm
    at = focal * end[:2] / end[2]
    if (np.abs(at) > 0.5 + focal * _ELBOW / end[2]).any():
        return True
    palm = points[[0, 5, 17]].mean(axis=0)
    beside = np.linalg.norm(at - focal * palm[:2] / palm[2])
    return bool(end[2] > palm[2] and beside + focal * _ELBOW / end[2] < 1.2 * focal * _ELBOW / palm[2])
