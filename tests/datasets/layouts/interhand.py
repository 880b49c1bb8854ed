"""InterHand2.6M v1.0 (hand-data.md, section 2, "InterHand2.6M v1.0", and the real sample's files).

``images/{split}/Capture{c}/{sequence}/cam{camera}/image{frame}.jpg`` (334 × 512 or 512 × 334), and in
``annotations/{split}/`` the files ``InterHand2.6M_{split}_{data,camera,joint_3d}.json``; ``annotations/skeleton.txt``
names the joints. ``data.json`` lists images (``file_name`` relative to ``images/{split}``) and one annotation for each;
``joint_3d.json[capture][frame]`` holds 42 joints in world millimetres; ``camera.json[capture]`` holds ``campos``,
``camrot``, ``focal`` and ``princpt`` by camera, with X_cam = R (X_world − campos). Rows 0–20 are the right hand, 21–41
the left, each finger from the tip inward, the wrist last. A joint without annotation is (1, 1, 1) and not valid.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tests.datasets.layouts import (
    Array,
    Expected,
    Hand,
    camera,
    of_side,
    rotation,
    to_owner,
    write_image,
    write_json,
    write_text,
)

RIGHT = [20, 3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12, 19, 18, 17, 16]
SPLITS = ("train", "val", "test")
CAMERAS = {
    "400053": ((334, 512), (10.0, -35.0, 4.0), (-415.2, 132.25, 59.5)),
    "410028": ((512, 334), (-160.0, 20.0, 75.0), (606.1, -174.9, 163.9)),
}
CAPTURES = {"train": (5, 3), "val": (0, 7), "test": (2, 1)}


def write(root: Path, hands: list[Hand]) -> list[Expected]:
    """In each split a right hand, a left hand and both, each seen by one of two cameras."""
    _skeleton(root / "annotations" / "skeleton.txt")
    right, left = of_side(hands, "right"), of_side(hands, "left")
    expected = []
    for turn, split in enumerate(SPLITS):
        scenes = [
            ("right", 20360, "400053", {"right": right[turn]}),
            ("left", 69148, "410028", {"left": left[turn]}),
            (
                "interacting",
                2017,
                "410028",
                {"right": right[turn + 1].moved((-0.06, 0, 0.1)), "left": left[turn + 1].moved((0.06, 0, 0.1))},
            ),
        ]
        expected += _split(root, split, scenes)
    return expected


def _split(root: Path, split: str, scenes: list[tuple[str, int, str, dict[str, Hand]]]) -> list[Expected]:
    capture, subject = CAPTURES[split]
    images, annotations, joints, expected = [], [], {}, []
    for number, (hand_type, frame, camera_name, shown) in enumerate(scenes, 326750):
        size, degrees, position = CAMERAS[camera_name]
        world, valid = np.ones((42, 3)), np.zeros(42, dtype=int)
        name = f"Capture{capture}/0390_dh_touchROM/cam{camera_name}/image{frame}.jpg"
        write_image(root / "images" / split / name, size, shade=frame)
        for side, hand in shown.items():
            seen = hand.seen_by(camera(*size), size)
            rows = slice(0, 21) if side == "right" else slice(21, 42)
            world[rows] = to_owner(1000 * seen.joints_cam @ rotation(degrees) + np.array(position), RIGHT)
            valid[rows] = 1
            joints_cam, joints_px = seen.joints_cam.copy(), seen.joints_px
            if hand_type == "interacting" and side == "right":
                world[4], valid[4] = 1, 0
                joints_cam[8], joints_px[8] = np.nan, np.nan
            expected.append(Expected(f"images/{split}/{name}", side, joints_cam, joints_px, split))
        images.append(
            {
                "id": number,
                "file_name": name,
                "width": size[0],
                "height": size[1],
                "capture": capture,
                "subject": subject,
                "seq_name": "0390_dh_touchROM",
                "camera": camera_name,
                "frame_idx": frame,
            }
        )
        labels = {"hand_type": hand_type, "hand_type_valid": 1}
        annotations.append(
            {
                "id": number,
                "image_id": number,
                "bbox": _box([item for item in expected if item.image.endswith(name)]),
                "joint_valid": valid.tolist(),
                **labels,
            }
        )
        joints[str(frame)] = {"world_coord": world.tolist(), "joint_valid": valid[:, None].tolist(), **labels}
    prefix = root / "annotations" / split
    write_json(prefix / f"InterHand2.6M_{split}_data.json", {"images": images, "annotations": annotations})
    write_json(prefix / f"InterHand2.6M_{split}_joint_3d.json", {str(capture): joints})
    write_json(prefix / f"InterHand2.6M_{split}_camera.json", {str(capture): _cameras()})
    return expected


def _cameras() -> dict[str, dict[str, list]]:
    told: dict[str, dict[str, list]] = {"campos": {}, "camrot": {}, "focal": {}, "princpt": {}}
    for name, (size, degrees, position) in CAMERAS.items():
        intrinsics = camera(*size)
        told["campos"][name] = list(position)
        told["camrot"][name] = rotation(degrees).tolist()
        told["focal"][name] = intrinsics.diagonal()[:2].tolist()
        told["princpt"][name] = intrinsics[:2, 2].tolist()
    return told


def _box(items: list[Expected]) -> list[float]:
    points: Array = np.concatenate([item.joints_px for item in items if item.joints_px is not None])
    low, high = np.nanmin(points, axis=0) - 10, np.nanmax(points, axis=0) + 10
    return [*low.tolist(), *(high - low).tolist()]


def _skeleton(path: Path) -> None:
    lines = ["# joint_name joint_id joint_parent_id"]
    for first, letter in ((0, "r"), (21, "l")):
        for finger, name in enumerate(("thumb", "index", "middle", "ring", "pinky")):
            for place in range(4):
                row = first + 4 * finger + place
                lines.append(f"{letter}_{name}{4 - place} {row} {first + 20 if place == 3 else row + 1}")
        lines.append(f"{letter}_wrist {first + 20} -1")
    write_text(path, "\n".join(lines) + "\n")
