"""HO-3D v2 and v3 (hand-data.md, section 2, "HO-3D v2/v3").

``train/{sequence}/rgb/%04d.png`` (v2) or ``.jpg`` (v3), 640 × 480, and beside it ``meta/%04d.pkl``, a pickle of
Python 2; ``train.txt`` lists ``{sequence}/%04d``. ``handJoints3D`` is 21 × 3 metres with OpenGL axes, in MANO's order
with the five tips behind; ``camMat`` holds the intrinsics. A frame without annotation has None in every field, or no
pickle at all. In ``evaluation`` the joints are the wrist alone. Right hands only.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tests.datasets.layouts import Expected, Hand, camera, of_side, to_owner, write_image, write_text
from tests.datasets.layouts.python2 import write_pickle

SIZE = (640, 480)
ORDER = [0, 13, 14, 15, 16, 1, 2, 3, 17, 4, 5, 6, 18, 10, 11, 12, 19, 7, 8, 9, 20]
OPENGL = np.array([1.0, -1.0, -1.0])
FIELDS = ("handJoints3D", "handPose", "handTrans", "handBeta", "objRot", "objTrans", "objName", "objLabel")
ENDINGS = {"v2": "png", "v3": "jpg"}


def write(root: Path, hands: list[Hand], version: str = "v2") -> list[Expected]:
    """Two training sequences with an empty and a missing annotation, and an evaluation sequence of wrists."""
    right = [hand.seen_by(camera(*SIZE), SIZE) for hand in of_side(hands, "right")]
    frames = [
        *(("ABF10", 0, right[0]), ("ABF10", 1, right[1]), ("ABF10", 2, None)),
        *(("MC1", 10, right[2]), ("MC1", 11, right[3])),
    ]
    expected = []
    for sequence, frame, hand in frames:
        image = _picture(root, "train", sequence, frame, version)
        meta = dict.fromkeys((*FIELDS, "camMat")) if hand is None else _meta(hand)
        write_pickle(root / "train" / sequence / "meta" / f"{frame:04d}.pkl", meta)
        if hand is not None:
            expected.append(Expected(image, "right", hand.joints_cam, hand.joints_px, "train"))
    _picture(root, "train", "MC1", 12, version)
    listed = [f"{sequence}/{frame:04d}" for sequence, frame, _hand in frames] + ["MC1/0012"]
    write_text(root / "train.txt", "\n".join(listed) + "\n")

    _picture(root, "evaluation", "SM1", 0, version)
    wrist = _meta(right[4]) | {"handJoints3D": (right[4].joints_cam[0] * OPENGL).astype(np.float32)}
    write_pickle(root / "evaluation" / "SM1" / "meta" / "0000.pkl", wrist)
    write_text(root / "evaluation.txt", "SM1/0000\n")
    return expected


def _picture(root: Path, split: str, sequence: str, frame: int, version: str) -> str:
    image = f"{split}/{sequence}/rgb/{frame:04d}.{ENDINGS[version]}"
    write_image(root / image, SIZE, shade=frame)
    return image


def _meta(hand: Hand) -> dict[str, object]:
    return {
        "handJoints3D": to_owner(hand.joints_cam * OPENGL, ORDER).astype(np.float32),
        "handPose": np.zeros(48, np.float32),
        "handTrans": (hand.joints_cam[0] * OPENGL).astype(np.float32),
        "handBeta": np.zeros(10, np.float32),
        "camMat": hand.intrinsics,
        "objRot": np.zeros((3, 1), np.float32),
        "objTrans": np.zeros(3, np.float32),
        "objName": "021_bleach_cleanser",
        "objLabel": 12,
    }
