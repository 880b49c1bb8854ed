"""Synthetic hands with human proportions, and the plain files that the dataset tests write them to."""

from __future__ import annotations

import json

import numpy as np
from PIL import Image
from scipy.io import savemat
from scipy.spatial.transform import Rotation

from handbench.hand.skeleton import JOINTS
from handbench.protocols import ReadContext

# Right hand at rest, metres: fingers along +y, index toward +x, palm toward +z.
KNUCKLES = {5: (0.026, 0.086), 9: (0.004, 0.085), 13: (-0.016, 0.079), 17: (-0.034, 0.070)}
BONES = {
    5: (0.042, 0.0245, 0.024),
    9: (0.049, 0.029, 0.024),
    13: (0.045, 0.028, 0.022),
    17: (0.031, 0.021, 0.019),
}
THUMB_BONES = ((0.024, 0.020, 0.010), 0.038, 0.034, 0.027)


def hands(count: int, side: str = "right", seed: int = 0, distance: float = 0.6) -> np.ndarray:
    """(count, 21, 3) flexed hands, metres, OpenCV camera frame, turned at random."""
    draw = np.random.default_rng(seed)
    joints = np.zeros((count, 21, 3))
    for start, (x, y) in KNUCKLES.items():
        joints[:, start, :2] = x, y
        flexion = np.cumsum(
            np.stack([draw.uniform(0.1, 1.2, count), draw.uniform(0.2, 1.4, count), draw.uniform(0.1, 0.8, count)]),
            axis=0,
        )
        for step, (angle, length) in enumerate(zip(flexion, BONES[start], strict=True)):
            move = np.stack([np.zeros(count), np.cos(angle), np.sin(angle)], axis=1) * length
            joints[:, start + step + 1] = joints[:, start + step] + move
    base, *lengths = THUMB_BONES
    joints[:, 1] = base
    angle = draw.uniform(0.2, 0.6, count)
    for step, length in enumerate(lengths):
        angle = angle + draw.uniform(0.05, 0.5, count)
        direction = np.stack([np.cos(angle) * 0.7, np.full(count, 0.6), 0.2 + np.sin(angle) * 0.5], axis=1)
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        joints[:, step + 2] = joints[:, step + 1] + direction * length
    joints *= draw.uniform(0.9, 1.1, (count, 1, 1))
    if side == "left":
        joints = joints * np.array([-1, 1, 1])
    joints -= joints.mean(axis=1, keepdims=True)
    turns = Rotation.random(count, rng=draw).as_matrix()
    place = np.stack(
        [draw.uniform(-0.03, 0.03, count), draw.uniform(-0.03, 0.03, count), np.full(count, distance)], axis=1
    )
    return np.einsum("nij,npj->npi", turns, joints) + place[:, None]


def camera(width: int = 224, height: int = 224, focal: float = 400.0) -> np.ndarray:
    """A (3, 3) pinhole camera that looks at the middle of the image."""
    return np.array([[focal, 0, width / 2], [0, focal, height / 2], [0, 0, 1]])


def pixels(joints: np.ndarray, intrinsics: np.ndarray) -> np.ndarray:
    """Project by the formula, point by point."""
    x, y, z = np.moveaxis(joints, -1, 0)
    k = intrinsics
    return np.stack([k[0, 0] * x / z + k[0, 2], k[1, 1] * y / z + k[1, 2]], axis=-1)


def picture(path, width: int = 224, height: int = 224, shade: int = 0) -> None:
    """Write a plain image."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (width, height), (shade % 256, 90, 120)).save(path)


def dump(path, content) -> None:
    """Write JSON, arrays as lists."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, default=lambda value: np.asarray(value).tolist()))


def context(**settings) -> ReadContext:
    """How to read."""
    return ReadContext(**settings)


def joints_of(source) -> dict[str, np.ndarray]:
    """Joints in the camera by hand id."""
    return dict(zip(source.hands["hand_id"].to_list(), source.hands["joints_cam"].to_numpy(), strict=True))


BOX = np.array([100, 50, 128, 128])


def write_ge(folder, joints, present):
    """The layout of Ge et al., seen by a camera of 640 x 480 and cropped by BOX."""
    savemat(folder / "pose_gt.mat", {"pose_gt": (joints * 100).astype(np.float32)})
    count = len(joints)
    params = {
        "cam_param": np.tile([300.0, 310.0, 164.0, 114.0], (count, 1)),
        "bbox": np.tile(BOX, (count, 1)),
    }
    savemat(folder / "params.mat", params)
    for row in present:
        picture(folder / "images" / f"{row:05d}.jpg", 256, 256, row)
    return folder


class Evil:
    """Pickles as a call."""

    def __init__(self, call, *arguments):
        self.call, self.arguments = call, arguments

    def __reduce__(self):
        return self.call, self.arguments


# The 21 names of the owner's skeleton.txt for one hand, and ours for them.
THEIR_NAMES = [f"{finger}{n}" for finger in ("thumb", "index", "middle", "ring", "pinky") for n in (4, 3, 2, 1)]
THEIR_NAMES.append("wrist")
THUMB = {"thumb1": "thumb_cmc", "thumb2": "thumb_mcp", "thumb3": "thumb_ip", "thumb4": "thumb_tip"}
SEGMENT = {"1": "mcp", "2": "pip", "3": "dip", "4": "tip"}


def our_name(name):
    if name in THUMB or name == "wrist":
        return THUMB.get(name, name)
    return f"{name[:-1].replace('pinky', 'little')}_{SEGMENT[name[-1]]}"


INTERHAND_ROWS = np.array([JOINTS.index(our_name(name)) for name in THEIR_NAMES])


# MANO's sixteen joints, then the tips in the order that HO-3D gives them.
MANO_ROWS = [
    JOINTS.index(name)
    for name in (
        "wrist",
        *(f"{finger}_{n}" for finger in ("index", "middle", "little", "ring") for n in ("mcp", "pip", "dip")),
        *("thumb_cmc", "thumb_mcp", "thumb_ip"),
        *(f"{finger}_tip" for finger in ("thumb", "index", "middle", "ring", "little")),
    )
]
