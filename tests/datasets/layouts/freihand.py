"""FreiHAND v2 as its authors publish it (hand-data.md, section 2, "FreiHAND").

``training_K.json``, ``training_xyz.json``, ``training_mano.json`` and ``training_scale.json`` are lists with a row per
frame; ``training/rgb/%08d.jpg`` (224 × 224) holds every frame four times, numbered frame + 32560 × version, the
versions being green screen, hom, sample, auto. The lists have 32560 rows (3960 in the evaluation part): here nearly
all of them stand for pictures left out. ``training/mask/%08d.jpg`` exists for the first version only. The evaluation
part has the same files and one version. Joints are metres in an OpenCV camera frame, in the order used here; all hands
are right.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from tests.datasets.layouts import Expected, Hand, camera, of_side, write_image, write_text

SIZE = (224, 224)
FRAMES = {"training": 32560, "evaluation": 3960}
VERSIONS = {"training": 4, "evaluation": 1}


def write(root: Path, hands: list[Hand]) -> list[Expected]:
    """Three training frames in four versions, and two evaluation frames."""
    right = [hand.seen_by(camera(*SIZE), SIZE) for hand in of_side(hands, "right")]
    return _part(root, "training", right[:3]) + _part(root, "evaluation", right[3:5])


def _part(root: Path, split: str, hands: list[Hand]) -> list[Expected]:
    left_out = FRAMES[split] - len(hands)
    filler = Hand(hands[0].joints_cam.round(2), "right", hands[0].intrinsics, SIZE)
    lists = {"K": _intrinsics, "xyz": _joints, "mano": _mano, "scale": _phalanx}
    for name, row in lists.items():
        texts = [json.dumps(row(hand)) for hand in hands] + [json.dumps(row(filler))] * left_out
        write_text(root / f"{split}_{name}.json", f"[{', '.join(texts)}]")
    expected = []
    for version in range(VERSIONS[split]):
        for number, hand in enumerate(hands):
            name = f"{number + FRAMES[split] * version:08d}.jpg"
            write_image(root / split / "rgb" / name, SIZE, shade=40 * version + number)
            if version == 0:
                write_image(root / split / "mask" / name, SIZE, shade=255)
            expected.append(Expected(f"{split}/rgb/{name}", "right", hand.joints_cam, hand.joints_px, split))
    return expected


def _intrinsics(hand: Hand) -> list[list[float]]:
    return hand.intrinsics.tolist()


def _joints(hand: Hand) -> list[list[float]]:
    return hand.joints_cam.tolist()


def _phalanx(hand: Hand) -> float:
    """Length of the middle finger's first phalanx, metres."""
    return float(np.linalg.norm(hand.joints_cam[10] - hand.joints_cam[9]))


def _mano(hand: Hand) -> list[list[float]]:
    """48 pose, 10 shape, 2 pixels of the root (joint 9) and focal length over its depth."""
    focal = (hand.intrinsics[0, 0] + hand.intrinsics[1, 1]) / 2
    scale = focal / hand.joints_cam[9, 2]
    root_px = hand.joints_cam[9, :2] * scale + hand.intrinsics[:2, 2]
    return [[0.0] * 58 + root_px.tolist() + [float(scale)]]
