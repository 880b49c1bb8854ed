"""Writes hand datasets in their owners' layouts, of any size, with made-up hands and plain images.

The joints are those of posed synthetic hands, so the readers' guards pass; the images are one grey picture of
the right size under many names (hard links), as reading never looks at more than their bytes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.spatial.transform import Rotation

from handbench.datasets import fpha
from handbench.hand.skeleton import ORDERS
from handbench.synth.kinematics import LIMITS, pose, skin
from handbench.synth.mesh import rest_hand

Floats = NDArray[np.float64]

_LINKS = 10_000  # file systems allow some 65,000 names of one file
_BLOCK = 2_000


def posed_hands(count: int, seed: int, distance: float, mesh: bool = False) -> tuple[Floats, Floats | None]:
    """Right hands in random poses, turned at random, before a camera.

    Returns:
        (N, 21, 3) joints and, if asked for, (N, 778, 3) points of the skin; metres, camera frame.
    """
    draw = np.random.default_rng(seed)
    hand = rest_hand({})
    middle, half = LIMITS.mean(axis=1), (LIMITS[:, 1] - LIMITS[:, 0]) / 2
    angles = middle + half * np.clip(draw.normal(0, 0.45, (count, len(LIMITS))), -1, 1)
    posed = pose(hand, angles)
    joints = posed.joints[:, :21]
    centre = joints.mean(axis=1, keepdims=True)
    turn = Rotation.random(count, rng=draw).as_matrix()
    place = np.column_stack([draw.uniform(-0.03, 0.03, (count, 2)), np.full(count, distance)])[:, None]
    turned = np.einsum("nij,npj->npi", turn, joints - centre) + place
    if not mesh:
        return turned, None
    of_hand = np.flatnonzero(hand.vertices[:, 1] > -0.02)
    taken = np.sort(np.random.default_rng(0).choice(of_hand, 778, replace=len(of_hand) < 778))
    skins = np.stack([skin(hand, type(posed)(posed.joints[n], posed.frames[n]))[taken] for n in range(count)])
    return turned, np.einsum("nij,npj->npi", turn, skins - centre) + place


def camera(width: int, height: int, focal: float) -> list[list[float]]:
    """A pinhole camera that looks at the middle of the image."""
    return [[focal, 0.0, width / 2], [0.0, focal, height / 2], [0.0, 0.0, 1.0]]


class Pictures:
    """Names of one grey picture."""

    def __init__(self, root: Path, width: int, height: int) -> None:
        self._place = root / ".one" / f"{width}x{height}"
        self._place.mkdir(parents=True, exist_ok=True)
        self._size = (width, height)
        self._made = 0

    def add(self, path: Path) -> None:
        """Give the picture one more name."""
        first = self._place / f"{self._made // _LINKS}.jpg"
        if self._made % _LINKS == 0:
            Image.new("L", self._size, 128).save(first, quality=30)
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            os.link(first, path)
        self._made += 1


def _blocks(count: int) -> Iterator[range]:
    return (range(start, min(start + _BLOCK, count)) for start in range(0, count, _BLOCK))


def write_freihand_files(root: Path, folder: str, first: int, count: int, seed: int = 0) -> None:
    """FreiHAND in the layout of HandVQA's released code: a JSON file with joints, skin and camera for each image."""
    place = root / folder / "rgb"
    place.mkdir(parents=True, exist_ok=True)
    pictures = Pictures(root, 224, 224)
    lens = camera(224, 224, 480.0)
    for block in _blocks(count):
        joints, skins = posed_hands(len(block), seed + block.start, 0.7, mesh=True)
        assert skins is not None
        for row, number in enumerate(block):
            name = place / f"{first + number:08d}"
            content = {"xyz": joints[row].tolist(), "vertices": skins[row].tolist(), "K": lens}
            name.with_suffix(".json").write_text(json.dumps(content))
            pictures.add(name.with_suffix(".jpg"))


def write_freihand_lists(root: Path, folder: str, poses: int, images: range, seed: int = 0) -> None:
    """FreiHAND in its owner's layout, without the skins: one list of each kind; and the images given."""
    pictures = Pictures(root, 224, 224)
    joints = np.concatenate([posed_hands(len(block), seed + block.start, 0.7)[0] for block in _blocks(poses)])
    (root / f"{folder}_xyz.json").write_text(json.dumps(joints.tolist()))
    (root / f"{folder}_K.json").write_text(json.dumps([camera(224, 224, 480.0)] * poses))
    for number in images:
        pictures.add(root / folder / "rgb" / f"{number:08d}.jpg")


def write_fpha(root: Path, sequences: dict[str, int], seed: int = 0) -> None:
    """FPHA: a text file for each sequence, given with its number of frames, and its images."""
    pictures = Pictures(root, 1920, 1080)
    order = np.argsort(ORDERS["fpha"])
    for number, (name, frames) in enumerate(sequences.items()):
        joints, _ = posed_hands(frames, seed + number, 0.5)
        raw = (joints * 1000 - fpha.TRANSLATION) @ fpha.ROTATION
        path = root / "Hand_pose_annotation_v1" / name / "skeleton.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = np.column_stack([np.arange(frames), raw[:, order].reshape(frames, 63)])
        np.savetxt(path, rows, fmt=["%d"] + ["%.4f"] * 63)
        for frame in range(frames):
            pictures.add(root / "Video_files" / name / "color" / f"color_{frame:04d}.jpeg")


def write_interhand(root: Path, frames: dict[int, int], seed: int = 0) -> None:
    """InterHand2.6M's training part: right hands of some frames of each subject, seen by the paper's two cameras."""
    width, height = 334, 512
    pictures = Pictures(root, width, height)
    order = np.argsort(ORDERS["interhand-right"])
    images, annotations = [], []
    joints: dict[str, dict[str, object]] = {}
    cameras: dict[str, dict[str, dict[str, object]]] = {}
    for subject, count in frames.items():
        capture = str(subject)
        seen, _ = posed_hands(count, seed + subject, 1.0)
        # The second camera looks at the hands from another side; the first one's axes are the world's.
        turn = Rotation.from_euler("y", 60, degrees=True).as_matrix()
        views = {
            "400053": (np.eye(3), np.zeros(3)),
            "400064": (turn, np.array([0, 0, 1000.0]) - turn.T @ np.array([0, 0, 1000.0])),
        }
        cameras[capture] = {
            "campos": {name: place.tolist() for name, (_, place) in views.items()},
            "camrot": {name: rotation.tolist() for name, (rotation, _) in views.items()},
            "focal": {name: [1250.0, 1250.0] for name in views},
            "princpt": {name: [width / 2, height / 2] for name in views},
        }
        joints[capture] = {}
        world = np.ones((count, 42, 3))
        world[:, :21] = seen[:, order] * 1000
        valid = [[1]] * 21 + [[0]] * 21
        for row in range(count):
            frame = 100 + 6 * row
            joints[capture][str(frame)] = {
                "world_coord": world[row].tolist(),
                "joint_valid": valid,
                "hand_type": "right",
                "hand_type_valid": True,
            }
            for name, (rotation, place) in views.items():
                inside = (world[row, :21] - place) @ rotation.T
                points = inside[:, :2] / inside[:, 2:] * 1250 + [width / 2, height / 2]
                low, high = points.min(axis=0) - 5, points.max(axis=0) + 5
                file = f"Capture{capture}/0000_neutral_relaxed/cam{name}/image{frame}.jpg"
                number = len(images) + 1
                images.append(
                    {
                        "id": number,
                        "file_name": file,
                        "width": width,
                        "height": height,
                        "capture": subject,
                        "subject": subject,
                        "seq_name": "0000_neutral_relaxed",
                        "camera": name,
                        "frame_idx": frame,
                    }
                )
                annotations.append(
                    {
                        "id": number,
                        "image_id": number,
                        "bbox": [*low.tolist(), *(high - low).tolist()],
                        "joint_valid": [flag for (flag,) in valid],
                        "hand_type": "right",
                        "hand_type_valid": 1,
                    }
                )
                pictures.add(root / "images" / "train" / file)
    place = root / "annotations" / "train"
    place.mkdir(parents=True, exist_ok=True)
    for kind, content in (
        ("data", {"images": images, "annotations": annotations}),
        ("camera", cameras),
        ("joint_3d", joints),
    ):
        (place / f"InterHand2.6M_train_{kind}.json").write_text(json.dumps(content))
