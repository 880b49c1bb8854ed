"""FPHA, the First-Person Hand Action benchmark (hand-data.md, section 2, "FPHA").

``Video_files/Subject_{s}/{action}/{take}/color/color_%04d.jpeg`` (1920 × 1080) and
``Hand_pose_annotation_v1_1/Subject_{s}/{action}/{take}/skeleton.txt`` (``Hand_pose_annotation_v1`` in the older
release). A line is the frame's number and 63 millimetres in the frame of the depth sensor: wrist, the five knuckles
from the thumb, then PIP, DIP and tip of each finger. The colour camera sees X_c = E X. Right hands only. Rows belong to
frames by their first column: here one take leaves a frame out and one begins late.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tests.datasets.layouts import Expected, Hand, of_side, to_owner, write_image, write_text

SIZE = (1920, 1080)
ORDER = [0, 1, 6, 7, 8, 2, 9, 10, 11, 3, 12, 13, 14, 4, 15, 16, 17, 5, 18, 19, 20]
COLOUR = np.array([[1395.749023, 0, 935.732544], [0, 1395.749268, 540.681030], [0, 0, 1]])
EXTRINSICS = np.array(
    [
        [0.999988496304, -0.00468848412856, 0.000982563360594, 25.7],
        [0.00469115935266, 0.999985218048, -0.00273845880292, 1.22],
        [-0.000969709653873, 0.00274303671904, 0.99999576807, 3.902],
        [0, 0, 0, 1],
    ]
)
TAKES = {
    "Subject_1/open_juice_bottle/1": ("train", 0, (0, 1, 2), (0, 1, 2)),
    "Subject_2/charge_cell_phone/3": ("train", 5, (0, 1, 3), (0, 1, 2, 3)),
    "Subject_5/wash_sponge/1": ("test", 37, (2, 3), (0, 1, 2, 3)),
}
"""Take: its part in the action split, its class, the frames with a row, the frames with a picture."""


def write(root: Path, hands: list[Hand], annotation: str = "Hand_pose_annotation_v1_1") -> list[Expected]:
    """Three takes of three subjects, and the owner's list of the action split."""
    right = [hand.seen_by(COLOUR, SIZE) for hand in of_side(hands, "right")]
    back = np.linalg.inv(EXTRINSICS)
    expected, turn = [], 0
    for take, (part, _label, rows, pictures) in TAKES.items():
        for frame in pictures:
            write_image(
                root / "Video_files" / take / "color" / f"color_{frame:04d}.jpeg", SIZE, shade=20 * turn + frame
            )
        lines = []
        for frame in rows:
            hand = right[turn % len(right)]
            turn += 1
            world = 1000 * hand.joints_cam @ back[:3, :3].T + back[:3, 3]
            lines.append(" ".join([str(frame), *(f"{value:.6f}" for value in to_owner(world, ORDER).ravel())]))
            image = f"Video_files/{take}/color/color_{frame:04d}.jpeg"
            expected.append(Expected(image, "right", hand.joints_cam, hand.joints_px, part))
        write_text(root / annotation / take / "skeleton.txt", "\n".join(lines) + "\n")
    write_text(root / "data_split_action_recognition.txt", _action_split())
    return expected


def _action_split() -> str:
    lines = []
    for part, title in (("train", "Training"), ("test", "Test")):
        takes = [f"{take} {label}" for take, (of, label, _rows, _pictures) in TAKES.items() if of == part]
        lines += [f"{title} {len(takes)}", *takes]
    return "\n".join(lines) + "\n"
