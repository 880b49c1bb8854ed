"""HInt of HaMeR (hand-data.md, section 2, "HInt").

Folders ``{TRAIN,VAL,TEST}_{newdays,epick,ego4d}_{img,seq}`` of pictures, each with a JSON file of the same stem: a list
of instances with ``keypoints`` (21 × 2 pixels, the order used here), ``occlusion`` (21, 1 where hidden) and ``bbox``.
There is no side. Pictures of ego4d are missing until the user fetches them.
"""

from __future__ import annotations

from pathlib import Path

from tests.datasets.layouts import Expected, Hand, camera, write_image, write_json

SIZE = (512, 480)
FOLDERS = {"TRAIN_newdays_img": "train", "VAL_epick_img": "val", "TEST_newdays_img": "test", "TEST_epick_img": "test"}


def write(root: Path, hands: list[Hand], ego4d: bool = False) -> list[Expected]:
    """A hand in each folder; with ``ego4d`` also an annotation whose picture is missing."""
    expected = []
    for turn, (folder, split) in enumerate(FOLDERS.items()):
        hand = hands[turn].seen_by(camera(*SIZE), SIZE)
        stem = f"{folder}/P01_01_frame_{turn:010d}_l"
        write_image(root / f"{stem}.jpg", SIZE, shade=turn)
        write_json(root / f"{stem}.json", [_instance(hand)])
        expected.append(Expected(f"{stem}.jpg", None, None, hand.joints_px, split))
    if ego4d:
        write_json(root / "TEST_ego4d_img" / "16ba692f_4419_pre_15_l.json", [_instance(hands[-1])])
    return expected


def _instance(hand: Hand) -> dict[str, object]:
    points = hand.joints_px
    box = [*points.min(axis=0).tolist(), *points.max(axis=0).tolist()]
    return {"keypoints": points.tolist(), "occlusion": [0] * 16 + [1] * 5, "bbox": [box]}
