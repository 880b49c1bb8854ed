"""H2O of ETH (hand-data.md, section 2, "H2O").

``subject{n}/{h1,h2,k1,k2,o1,o2}/{take}/cam{0..4}/`` with ``rgb/%06d.png`` (1280 × 720), ``hand_pose/%06d.txt`` and
``cam_pose/%06d.txt`` (16 numbers, camera to world), one ``cam_intrinsics.txt`` (fx fy cx cy w h); ``action_label`` and
``verb_label`` only for the egocentric cam4. A line of ``hand_pose`` is 128 numbers, the left hand and then the right:
a flag and 63 metres in the camera frame, in the order used here. Behind a flag of 0 the values mean nothing.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tests.datasets.layouts import Array, Expected, Hand, camera, of_side, write_image, write_text

SIZE = (1280, 720)
TAKES = ("subject1/h1/0", "subject4/k2/1")


def write(root: Path, hands: list[Hand]) -> list[Expected]:
    """Two takes before cam0 and cam4: both hands, the left alone, the right alone, none."""
    matrix = camera(*SIZE)
    numbers = [matrix[0, 0], matrix[1, 1], matrix[0, 2], matrix[1, 2], *SIZE]
    left, right = of_side(hands, "left"), of_side(hands, "right")
    expected = []
    for turn, take in enumerate(TAKES):
        scenes = [
            {"left": left[turn], "right": right[turn]},
            {"left": left[turn + 1]},
            {"right": right[turn + 2]},
            {},
        ]
        for name in ("cam0", "cam4"):
            folder = root / take / name
            write_text(folder / "cam_intrinsics.txt", " ".join(f"{value:.8f}" for value in numbers) + "\n")
            for frame, shown in enumerate(scenes):
                placed = {
                    side: hand.seen_by(matrix, SIZE).moved((0.12 if side == "right" else -0.12, 0, 0.01 * turn))
                    for side, hand in shown.items()
                }
                image = f"{take}/{name}/rgb/{frame:06d}.png"
                write_image(root / image, SIZE, shade=frame)
                _frame(folder, f"{frame:06d}.txt", placed, name == "cam4")
                expected += [
                    Expected(image, side, hand.joints_cam, hand.joints_px, "all") for side, hand in placed.items()
                ]
    return expected


def _frame(folder: Path, name: str, shown: dict[str, Hand], egocentric: bool) -> None:
    pose = [_pose(shown.get(side)) for side in ("left", "right")]
    write_text(folder / "hand_pose" / name, " ".join(f"{value:.9f}" for value in np.concatenate(pose)) + "\n")
    write_text(folder / "cam_pose" / name, " ".join(f"{value:.6f}" for value in np.eye(4).ravel()) + "\n")
    if egocentric:
        write_text(folder / "action_label" / name, "1\n")
        write_text(folder / "verb_label" / name, "1\n")


def _pose(hand: Hand | None) -> Array:
    if hand is None:
        return np.concatenate([[0.0], np.full(63, 0.25)])
    return np.concatenate([[1.0], hand.joints_cam.ravel()])
