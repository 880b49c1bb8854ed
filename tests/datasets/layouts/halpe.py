"""Halpe full body (hand-data.md, section 1: 136 keypoints; numbering of the owner's README).

``annotations/halpe_val_v1.json`` is COCO-like with the pictures of COCO in ``val2017/``; a person's ``keypoints`` are
136 × (x, y, v): 26 of the body, 68 of the face, 21 of the left hand (94–114), 21 of the right hand (115–135), each hand
in the order used here. A point without annotation is all zeros.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tests.datasets.layouts import Expected, Hand, camera, of_side, write_image, write_json

SIZE = (640, 427)
HANDS = {"left": slice(94, 115), "right": slice(115, 136)}


def write(root: Path, hands: list[Hand]) -> list[Expected]:
    """A person with both hands and a person with the right hand, in two pictures."""
    left, right = of_side(hands, "left"), of_side(hands, "right")
    people = [
        {"left": left[0].moved((0.12, 0, 0.4)), "right": right[0].moved((-0.12, 0, 0.4))},
        {"right": right[1]},
    ]
    images, annotations, expected = [], [], []
    for person, shown in enumerate(people):
        number = 785 + person
        name = f"{number:012d}.jpg"
        write_image(root / "val2017" / name, SIZE, shade=person)
        images.append({"id": number, "file_name": name, "width": SIZE[0], "height": SIZE[1]})
        keypoints = np.zeros((136, 3))
        keypoints[:26] = (300, 200, 2)
        for side, hand in shown.items():
            points = hand.seen_by(camera(*SIZE), SIZE).joints_px
            keypoints[HANDS[side]] = np.column_stack([points, np.full(21, 2)])
            expected.append(Expected(f"val2017/{name}", side, None, points, "val"))
        annotations.append(
            {
                "id": person,
                "image_id": number,
                "category_id": 1,
                "iscrowd": 0,
                "area": 100000.0,
                "bbox": [20.0, 20.0, 500.0, 400.0],
                "keypoints": keypoints.ravel().tolist(),
            }
        )
    categories = [{"id": 1, "name": "person", "supercategory": "person"}]
    content = {"images": images, "annotations": annotations, "categories": categories}
    write_json(root / "annotations" / "halpe_val_v1.json", content)
    return expected
