"""RHD, the rendered hands (hand-data.md, section 2, "RHD").

``training/anno_training.pickle`` and ``evaluation/anno_evaluation.pickle``: number → ``uv_vis`` (42 × 3 pixels and
visibility), ``xyz`` (42 × 3 metres in the camera frame) and ``K``. Pictures are ``color/%05d.png`` (320 × 320), masks
``mask/%05d.png`` with 2–17 for the left and 18–33 for the right hand. Rows 0–20 are the left hand, 21–41 the right:
wrist first, then each finger from the tip inward.
"""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
from PIL import Image
from tests.datasets.layouts import Expected, Hand, camera, of_side, to_owner, write_image

SIZE = (320, 320)
ORDER = [0, 4, 3, 2, 1, 8, 7, 6, 5, 12, 11, 10, 9, 16, 15, 14, 13, 20, 19, 18, 17]


def write(root: Path, hands: list[Hand]) -> list[Expected]:
    """Pictures of two hands each, all joints visible: three for training, two for evaluation."""
    pairs = list(zip(of_side(hands, "left"), of_side(hands, "right"), strict=True))
    return _part(root, "training", pairs[:3]) + _part(root, "evaluation", pairs[3:5])


def _part(root: Path, split: str, pairs: list[tuple[Hand, Hand]]) -> list[Expected]:
    rows, expected = {}, []
    for number, pair in enumerate(pairs):
        image = f"{split}/color/{number:05d}.png"
        write_image(root / image, SIZE, shade=number)
        placed = [
            hand.seen_by(camera(*SIZE), SIZE).moved((shift, 0, 0.4))
            for hand, shift in zip(pair, (-0.12, 0.12), strict=True)
        ]
        xyz = np.concatenate([to_owner(hand.joints_cam, ORDER) for hand in placed])
        uv = np.concatenate([to_owner(hand.joints_px, ORDER) for hand in placed])
        rows[number] = {"xyz": xyz, "uv_vis": np.column_stack([uv, np.ones(42)]), "K": camera(*SIZE)}
        _mask(root / split / "mask" / f"{number:05d}.png")
        expected += [Expected(image, hand.side, hand.joints_cam, hand.joints_px, split) for hand in placed]
    (root / split / f"anno_{split}.pickle").write_bytes(
        pickle.dumps(rows, protocol=2).replace(b"cnumpy._core.", b"cnumpy.core.")
    )
    return expected


def _mask(path: Path) -> None:
    classes = np.zeros(SIZE[::-1], np.uint8)
    classes[100:220, 40:150], classes[100:220, 170:280] = 17, 33
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(classes).save(path)
