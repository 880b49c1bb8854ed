"""OneHand10K and Panoptic HandDB, the annotations converted to COCO's form (hand-data.md, sections 1 and 2, sentinels).

OneHand10K: ``annotations/onehand10k_{train,test}.json``, pictures ``{Train,Test}/source/{n}.jpg``. Panoptic:
``annotations/panoptic_{train,test}.json``, pictures ``hand_labels/manual_{train,test}/{id}_{l,r}.jpg`` and
``hand143_panopticdb/imgs/%08d.jpg``, with ``head_size`` and ``center``. ``file_name`` is relative to the dataset's
folder. ``keypoints`` are 21 × (x, y, flag) in the order used here; a joint that is not annotated is (0, 0, 0).
OneHand10K does not tell the side, the names of Panoptic's first folder do.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tests.datasets.layouts import Expected, Hand, camera, write_image, write_json

SIZE = (368, 320)


def write(root: Path, hands: list[Hand], dataset: str, sides: bool = False) -> list[Expected]:
    """Two pictures in each split, the second without its wrist; ``sides`` takes those whose name tells the side."""
    expected = []
    for split, pair in (("train", hands[:2]), ("test", (hands[-1], hands[0]))):
        images, annotations = [], []
        for place, hand in enumerate(pair):
            number = 1402 + place
            name, side = _name(dataset, split, number, hand.side if sides else None)
            write_image(root / name, SIZE, shade=place)
            images.append({"id": number, "file_name": name, "width": SIZE[0], "height": SIZE[1]})
            points = hand.seen_by(camera(*SIZE), SIZE).joints_px.copy()
            low, size = points.min(axis=0), np.ptp(points, axis=0)
            keypoints = np.column_stack([points, np.ones(21)])
            if place == 1:
                keypoints[0], points[0] = 0, np.nan
            row = {
                "id": number,
                "image_id": number,
                "category_id": 1,
                "iscrowd": 0,
                "area": float(size.prod()),
                "bbox": [*low.tolist(), *size.tolist()],
                "segmentation": [],
                "keypoints": keypoints.ravel().tolist(),
            }
            if dataset == "panoptic":
                row |= {"head_size": 81.5, "center": (low + size / 2).tolist()}
            annotations.append(row)
            expected.append(Expected(name, side, None, points, split))
        categories = [{"id": 1, "name": "hand", "supercategory": "hand"}]
        content = {"info": {}, "licenses": "", "images": images, "annotations": annotations, "categories": categories}
        write_json(root / "annotations" / f"{dataset}_{split}.json", content)
    return expected


def _name(dataset: str, split: str, number: int, side: str | None) -> tuple[str, str | None]:
    if dataset == "onehand10k":
        return f"{split.title()}/source/{number}.jpg", None
    if side is None:
        return f"hand143_panopticdb/imgs/{number + 1000 * (split == 'test'):08d}.jpg", None
    return f"hand_labels/manual_{split}/{number:09d}_01_{side[0]}.jpg", side
