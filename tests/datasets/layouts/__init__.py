"""Tiny synthetic copies of hand datasets, each in its owner's own folder layout.

A module ``NAME.py`` holds ``write(root, hands)``: it lays rendered hands out as the owner of the dataset ships them and
returns what a reader has to find there. Joint orders, units, axes and file names are written down anew in each module,
from the owner's description alone.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Hand:
    """One rendered hand.

    Attributes:
        joints_cam: (21, 3) metres, camera frame with x right, y down, z away; wrist first, base to tip, thumb first.
        side: ``left`` or ``right``.
        intrinsics: (3, 3) pixels.
        size: width and height of its image, pixels.
    """

    joints_cam: Array
    side: str
    intrinsics: Array
    size: tuple[int, int]

    @property
    def joints_px(self) -> Array:
        """(21, 2) the joints projected into the image."""
        homogeneous = self.joints_cam @ self.intrinsics.T
        return homogeneous[:, :2] / homogeneous[:, 2:]

    def seen_by(self, intrinsics: Array, size: tuple[int, int]) -> Hand:
        """The same hand before another camera."""
        return replace(self, intrinsics=intrinsics, size=size)

    def moved(self, by: Sequence[float]) -> Hand:
        """The hand shifted by metres along the camera's axes."""
        return replace(self, joints_cam=self.joints_cam + np.asarray(by, dtype=float))


@dataclass(frozen=True)
class Expected:
    """What a reader has to find of one hand.

    Attributes:
        image: path of the image, relative to the dataset's folder.
        side: ``left``, ``right``, or None where the dataset does not say.
        joints_cam: (21, 3) metres, or None where the dataset has no 3D joints.
        joints_px: (21, 2) pixels of the stored image, or None; NaN where a joint is marked as not annotated.
        split: the owner's name of the split, or None where the folder has none.
    """

    image: str
    side: str | None
    joints_cam: Array | None
    joints_px: Array | None
    split: str | None


def camera(width: int, height: int) -> Array:
    """(3, 3) intrinsics under which a rendered hand at half a metre fills most of a width × height image."""
    focal = 1.6 * min(width, height)
    return np.array([[focal, 0, width / 2 + 1.25], [0, focal * 1.01, height / 2 - 2.5], [0, 0, 1]], dtype=float)


def of_side(hands: Sequence[Hand], side: str) -> list[Hand]:
    """The hands of one side, in order."""
    return [hand for hand in hands if hand.side == side]


def to_owner(joints: Array, perm: Sequence[int]) -> Array:
    """Rows in the owner's order, where ``perm[i]`` is the owner's row of joint i of the order used here."""
    rows = np.empty_like(joints)
    rows[list(perm)] = joints
    return rows


def rotation(degrees: tuple[float, float, float]) -> Array:
    """(3, 3) rotation about x, then y, then z."""
    (sx, sy, sz), (cx, cy, cz) = np.sin(np.deg2rad(degrees)), np.cos(np.deg2rad(degrees))
    about_x = np.array([[1, 0, 0], [0, cx, -sx], [0, sx, cx]])
    about_y = np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])
    about_z = np.array([[cz, -sz, 0], [sz, cz, 0], [0, 0, 1]])
    return about_z @ about_y @ about_x


def write_image(path: Path, size: tuple[int, int], shade: int = 120) -> None:
    """A picture of one colour; the ending of its name gives the format."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, (shade % 256, 80, 160)).save(path)


def write_json(path: Path, content: object) -> None:
    """JSON with full precision."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")


def write_text(path: Path, text: str) -> None:
    """Plain text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def verts(joints: Array) -> Array:
    """(778, 3) points along the bones, standing for a mesh of that many vertices."""
    parents = np.array([0, 1, 2, 3, 0, 5, 6, 7, 0, 9, 10, 11, 0, 13, 14, 15, 0, 17, 18, 19])
    at = np.linspace(0, 20, 778, endpoint=False)
    bone, along = at.astype(int), (at % 1)[:, None]
    return joints[parents[bone]] * (1 - along) + joints[bone + 1] * along
