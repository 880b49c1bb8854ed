"""DexYCB (hand-data.md, section 2, "DexYCB").

``{subject}/{sequence}/{camera}/color_%06d.jpg`` (640 × 480) and ``labels_%06d.npz`` beside it; ``meta.yml`` in the
sequence tells the side of the hand and the calibrations, which are in ``calibration/``. ``joint_3d`` is 1 × 21 × 3
metres in the OpenCV camera frame, ``joint_2d`` 1 × 21 × 2 pixels, in the order used here. Where there is no hand both
are −1 and ``pose_m`` is 0.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tests.datasets.layouts import Expected, Hand, camera, of_side, write_image, write_text

SIZE = (640, 480)
CAMERAS = ("836212060125", "839512060362")
SEQUENCES = {
    "20200709-subject-01/20200709_141754": "right",
    "20200813-subject-02/20200813_145341": "left",
}


def write(root: Path, hands: list[Hand]) -> list[Expected]:
    """A right and a left sequence before two cameras; the last frame of each has no hand."""
    for name in CAMERAS:
        _intrinsics(root / "calibration" / "intrinsics" / f"{name}_640x480.yml")
    expected = []
    for sequence, side in SEQUENCES.items():
        subject, when = sequence.split("/")
        _meta(root / sequence / "meta.yml", f"{subject}_{side}", when, side)
        _extrinsics(root / "calibration" / f"extrinsics_{when}" / "extrinsics.yml")
        betas = "".join(f"- 0.{digit}\n" for digit in range(10))
        write_text(root / "calibration" / f"mano_{subject}_{side}" / "mano.yml", f"betas:\n{betas}")
        shown = [hand.seen_by(camera(*SIZE), SIZE) for hand in of_side(hands, side)]
        for turn, name in enumerate(CAMERAS):
            for frame, hand in enumerate((shown[2 * turn], shown[2 * turn + 1], None)):
                folder = f"{sequence}/{name}"
                image = f"{folder}/color_{frame:06d}.jpg"
                write_image(root / image, SIZE, shade=frame)
                _labels(root / folder / f"labels_{frame:06d}.npz", hand)
                if hand is not None:
                    expected.append(Expected(image, side, hand.joints_cam, hand.joints_px, "all"))
    return expected


def _labels(path: Path, hand: Hand | None) -> None:
    joints = np.full((21, 3), -1.0) if hand is None else hand.joints_cam
    points = np.full((21, 2), -1.0) if hand is None else hand.joints_px
    pose = np.zeros((1, 51), np.float32)
    if hand is not None:
        pose[0, :3], pose[0, 48:] = 0.1, hand.joints_cam[0]
    np.savez_compressed(
        path,
        seg=np.zeros(SIZE[::-1], np.uint8),
        pose_y=np.tile(np.eye(3, 4, dtype=np.float32), (2, 1, 1)),
        pose_m=pose,
        joint_3d=joints[None].astype(np.float32),
        joint_2d=points[None].astype(np.float32),
    )


def _intrinsics(path: Path) -> None:
    matrix = camera(*SIZE)
    values = {"fx": matrix[0, 0], "fy": matrix[1, 1], "ppx": matrix[0, 2], "ppy": matrix[1, 2]}
    lines = [f"  {name}: {float(value)!r}" for name, value in values.items()]
    write_text(path, "\n".join(["color:", *lines, "depth:", *lines]) + "\n")


def _meta(path: Path, mano: str, when: str, side: str) -> None:
    serials = "".join(f"- '{name}'\n" for name in CAMERAS)
    text = f"serials:\n{serials}num_frames: 3\nextrinsics: '{when}'\nmano_calib:\n- {mano}\nmano_sides:\n- {side}\n"
    write_text(path, f"{text}ycb_ids:\n- 1\n- 2\nycb_grasp_ind: 0\n")


def _extrinsics(path: Path) -> None:
    rows = [f"  '{name}':\n" + "".join(f"  - {value}\n" for value in np.eye(3, 4).ravel()) for name in CAMERAS]
    write_text(path, "extrinsics:\n" + "".join(rows) + f"master: '{CAMERAS[0]}'\n")
