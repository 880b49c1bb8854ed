"""ARCTIC's processed splits (hand-data.md, section 2, "ARCTIC"; nesting as in the owner's own loader).

``splits/{p1,p2}_{train,val}.npy`` is a pickled dict: ``imgnames`` (``./arctic_data/data/images/``, then
``{subject}/{sequence}/{view}/%05d.jpg``) and ``data_dict`` by ``{subject}/{sequence}`` with ``cam_coord`` (joints of
each side, frames × 9 views × 21 × 3 metres, and validity), ``2d`` (pixels), ``bbox`` and ``params``. View 0 is
egocentric (p2), 1 to 8 are not (p1). The pixels are those of a lens without distortion; here there is none.
``meta/misc.json`` has, by subject, the intrinsics of the eight views, the image sizes and ``ioi_offset``, the number
of the picture of frame 0. Joints are in MANO's order with the five tips behind.
"""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
from tests.datasets.layouts import Array, Expected, Hand, camera, of_side, to_owner, write_image, write_json

SIZE = (2800, 2000)
ORDER = [0, 13, 14, 15, 16, 1, 2, 3, 17, 4, 5, 6, 18, 10, 11, 12, 19, 7, 8, 9, 20]
OFFSET = 3
TAKES = {
    "p1_train": ("s01", "box_grab_01", (1, 4)),
    "p1_val": ("s05", "phone_use_02", (8,)),
    "p2_val": ("s05", "phone_use_02", (0,)),
}


def write(root: Path, hands: list[Hand], setup: str = "p1") -> list[Expected]:
    """Two frames of a take in each split of a setup: both hands, then the right one alone."""
    matrix = camera(*SIZE)
    subject = {
        "gender": "female",
        "intris_mat": [matrix.tolist()] * 8,
        "world2cam": [np.eye(4).tolist()] * 8,
        "image_size": [list(SIZE)] * 9,
        "ioi_offset": OFFSET,
    }
    write_json(root / "meta" / "misc.json", {"s01": subject, "s05": subject})
    expected = []
    for turn, (split, (person, sequence, views)) in enumerate(TAKES.items()):
        if not split.startswith(setup):
            continue
        shown = {side: of_side(hands, side)[turn : turn + 2] for side in ("left", "right")}
        joints, points, valid = _take(shown)
        names = []
        for view in views:
            for frame in range(2):
                image = f"images/{person}/{sequence}/{view}/{frame + OFFSET:05d}.jpg"
                write_image(root / image, SIZE, shade=frame)
                names.append(f"./arctic_data/data/{image}")
                expected += [
                    Expected(
                        image,
                        side,
                        _canonical(joints[side][frame, view]),
                        _canonical(points[side][frame, view]),
                        split,
                    )
                    for side in ("left", "right")
                    if valid[side][frame, view]
                ]
        content = {
            "cam_coord": {f"joints.{side}": joints[side] for side in joints}
            | {f"{side}_valid": valid[side] for side in valid}
            | {"is_valid": np.ones((2, 9))},
            "2d": {f"joints.{side}": points[side] for side in points},
            "bbox": np.tile(np.array([1400.0, 1000, 10]), (2, 9, 1)),
            "params": {"K_ego": np.tile(matrix, (2, 1, 1)), "dist": np.zeros((2, 8))},
        }
        _save(root / "splits" / f"{split}.npy", {"data_dict": {f"{person}/{sequence}": content}, "imgnames": names})
    return expected


def _take(shown: dict[str, list[Hand]]) -> tuple[dict[str, Array], dict[str, Array], dict[str, Array]]:
    joints, points, valid = {}, {}, {}
    for side, pair in shown.items():
        places = [
            [
                hand.seen_by(camera(*SIZE), SIZE).moved((0.1 if side == "right" else -0.1, 0, 0.1 + 0.02 * view))
                for view in range(9)
            ]
            for hand in pair
        ]
        joints[side] = np.array([[to_owner(hand.joints_cam, ORDER) for hand in row] for row in places])
        points[side] = np.array([[to_owner(hand.joints_px, ORDER) for hand in row] for row in places])
        valid[side] = np.ones((2, 9))
    valid["left"][1] = 0
    return joints, points, valid


def _canonical(rows: Array) -> Array:
    return rows[ORDER]


def _save(path: Path, content: dict) -> None:
    """An object array as numpy 1 saved it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    held = np.empty((), dtype=object)
    held[()] = content
    with path.open("wb") as file:
        header = {"descr": "|O", "fortran_order": False, "shape": ()}
        np.lib.format.write_array_header_1_0(file, header)
        file.write(pickle.dumps(held, protocol=3).replace(b"cnumpy._core.", b"cnumpy.core."))
