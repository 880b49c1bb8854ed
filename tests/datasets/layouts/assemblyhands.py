"""AssemblyHands, egocentric (hand-data.md, section 2, "AssemblyHands"; nesting as in the owner's own loader).

``images/{file_name}`` and in ``annotations/{split}/`` the files ``assemblyhands_{split}_ego_data_v1-1.json`` (images
and annotations as in InterHand2.6M, ``bbox`` a dict of x1, y1, x2, y2 or null per hand, ``joint_valid`` of that view),
``assemblyhands_{split}_ego_calib_v1-1.json`` (under ``calibration``, by sequence: ``intrinsics`` of a camera and
``extrinsics`` of a frame and camera) and ``assemblyhands_{split}_joint_3d_v1-1.json`` (under ``annotations``, by
sequence and frame). Joints are 42 rows of world millimetres, the right hand first, from the tips inward, the wrist
last; X_cam = R X + t.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tests.datasets.layouts import Expected, Hand, camera, of_side, rotation, to_owner, write_image, write_json

SIZE = (636, 480)
ORDER = [20, 3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12, 19, 18, 17, 16]
CAMERA = "HMC_21179183"
SEQUENCES = {
    "train": "nusar-2021_action_both_9012-c07c_9012_user_id_2021-02-01_164345",
    "val": "nusar-2021_action_both_9081-c11b_9081_user_id_2021-02-12_161433",
}


def write(root: Path, hands: list[Hand]) -> list[Expected]:
    """In each split a frame with both hands and one with the right hand only."""
    left, right = of_side(hands, "left"), of_side(hands, "right")
    expected = []
    for turn, split in enumerate(SEQUENCES):
        both = {"right": right[turn].moved((0.12, 0, 0.1)), "left": left[turn].moved((-0.12, 0, 0.1))}
        expected += _split(root, split, [(6667, both), (6669, {"right": right[turn + 1]})])
    return expected


def _split(root: Path, split: str, scenes: list[tuple[int, dict[str, Hand]]]) -> list[Expected]:
    sequence, name = SEQUENCES[split], f"{CAMERA}_mono10bit"
    images, annotations, joints, extrinsics, expected = [], [], {}, {}, []
    for number, (frame, shown) in enumerate(scenes):
        file_name = f"ego_images_rectified/{split}/{sequence}/{name}/{frame:06d}.jpg"
        write_image(root / "images" / file_name, SIZE, shade=frame)
        turned, shift = rotation((10.0 * number, 35, -80)), np.array([30.0, -250, 410 + frame / 7])
        world, valid, boxes = np.zeros((42, 3)), np.zeros(42, dtype=int), {"right": None, "left": None}
        for side, hand in shown.items():
            seen = hand.seen_by(camera(*SIZE), SIZE)
            rows = slice(0, 21) if side == "right" else slice(21, 42)
            world[rows] = to_owner((1000 * seen.joints_cam - shift) @ turned, ORDER)
            valid[rows] = 1
            boxes[side] = [*seen.joints_px.min(axis=0).tolist(), *seen.joints_px.max(axis=0).tolist()]
            expected.append(Expected(f"images/{file_name}", side, seen.joints_cam, seen.joints_px, split))
        images.append(
            {
                "id": number,
                "file_name": file_name,
                "width": SIZE[0],
                "height": SIZE[1],
                "seq_name": sequence,
                "camera": CAMERA,
                "frame_idx": frame,
            }
        )
        annotations.append({"id": number, "image_id": number, "bbox": boxes, "joint_valid": valid[:, None].tolist()})
        joints[f"{frame:06d}"] = {"world_coord": world.tolist(), "joint_valid": valid[:, None].tolist()}
        extrinsics[f"{frame:06d}"] = {name: np.column_stack([turned, shift]).tolist()}
    calibration = {"intrinsics": {name: camera(*SIZE).tolist()}, "extrinsics": extrinsics}
    prefix = root / "annotations" / split / f"assemblyhands_{split}"
    write_json(Path(f"{prefix}_ego_data_v1-1.json"), {"images": images, "annotations": annotations})
    write_json(Path(f"{prefix}_ego_calib_v1-1.json"), {"calibration": {sequence: calibration}})
    write_json(Path(f"{prefix}_joint_3d_v1-1.json"), {"annotations": {sequence: joints}})
    return expected
