"""COCO-WholeBody (hand-data.md, section 2, "COCO-WholeBody", and the official example file).

``annotations/coco_wholebody_{train,val}_v1.0.json`` and the pictures of COCO in ``{train,val}2017/%012d.jpg``. A
person's ``lefthand_kpts`` and ``righthand_kpts`` are 21 × (x, y, v), boxes are x, y, w, h; ``lefthand_valid`` says
whether there is a hand, all zeros where not. v is a number of 0 to 1 in steps of 0.01 or 0, 1, 2; above 0 is usable.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tests.datasets.layouts import Array, Expected, Hand, camera, of_side, write_image, write_json

SIZE = (640, 427)
IMAGES = {"train": (9, 25), "val": (785, 40083)}


def write(root: Path, hands: list[Hand]) -> list[Expected]:
    """In each split a person with both hands beside one with a right hand, and a person whose hand lacks a joint."""
    left, right = of_side(hands, "left"), of_side(hands, "right")
    expected = []
    for turn, (split, numbers) in enumerate(IMAGES.items()):
        people = [
            (0, {"left": left[turn].moved((0.1, -0.1, 0.6)), "right": right[turn].moved((-0.1, 0.1, 0.6))}),
            (0, {"right": right[turn + 1].moved((0.3, 0, 0.7))}),
            (1, {"left": left[turn + 1]}),
            (1, {}),
        ]
        images, annotations = [], []
        for number in numbers:
            name = f"{number:012d}.jpg"
            write_image(root / f"{split}2017" / name, SIZE, shade=number)
            images.append({"id": number, "file_name": name, "width": SIZE[0], "height": SIZE[1], "license": 4})
        for person, (place, shown) in enumerate(people):
            row = {
                "id": 442619 + person,
                "image_id": numbers[place],
                "category_id": 1,
                "iscrowd": 0,
                "num_keypoints": 17,
                "bbox": [10.0, 10.0, 400.0, 300.0],
                "area": 120000.0,
                "keypoints": [100, 100, 2] * 17,
                "foot_kpts": [0.0] * 18,
                "face_kpts": [0.0] * 204,
                "face_box": [0.0] * 4,
                "face_valid": False,
                "foot_valid": False,
            }
            for side in ("left", "right"):
                points, seen = _points(shown.get(side), place)
                row[f"{side}hand_valid"] = side in shown
                row[f"{side}hand_kpts"] = np.column_stack([points, seen]).ravel().tolist()
                row[f"{side}hand_box"] = _box(points, seen)
                if side in shown:
                    wanted = np.where(seen[:, None] > 0, points, np.nan)
                    expected.append(Expected(f"{split}2017/{numbers[place]:012d}.jpg", side, None, wanted, split))
            annotations.append(row)
        categories = [{"id": 1, "name": "person", "supercategory": "person", "keypoints": [], "skeleton": []}]
        content = {"info": {}, "licenses": [], "images": images, "annotations": annotations, "categories": categories}
        write_json(root / "annotations" / f"coco_wholebody_{split}_v1.0.json", content)
    return expected


def _points(hand: Hand | None, place: int) -> tuple[Array, Array]:
    """(21, 2) pixels and (21,) v: fractions in the first picture; in the second a joint is missing."""
    if hand is None:
        return np.zeros((21, 2)), np.zeros(21)
    points = hand.seen_by(camera(*SIZE), SIZE).joints_px.copy()
    seen = 0.4 + 0.01 * np.arange(21)
    if place == 1:
        seen[:] = 1
        points[12], seen[12] = 0, 0
    return points, seen


def _box(points: Array, seen: Array) -> list[float]:
    if not seen.any():
        return [0.0, 0.0, 0.0, 0.0]
    low, high = points[seen > 0].min(axis=0), points[seen > 0].max(axis=0)
    return [*low.tolist(), *(high - low).tolist()]
