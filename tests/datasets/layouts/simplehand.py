"""FreiHAND repackaged with a JSON file per image (hand-data.md, section 2, "FreiHAND", last point but one).

``training/rgb/%08d.jpg`` and ``evaluation/rgb/%08d.jpg`` (224 × 224), and beside each picture ``%08d.json`` with the
keys ``xyz`` (21 × 3) and ``vertices`` (778 × 3), metres in the camera frame: what HandVQA's released pipeline reads.
Neither intrinsics nor 2D points are in these files. A training picture is numbered frame + 32560 × version.
"""

from __future__ import annotations

from pathlib import Path

from tests.datasets.layouts import Expected, Hand, camera, of_side, verts, write_image, write_json

SIZE = (224, 224)


def write(root: Path, hands: list[Hand]) -> list[Expected]:
    """Three training pictures, two of them of one frame, and two evaluation pictures."""
    right = [hand.seen_by(camera(*SIZE), SIZE) for hand in of_side(hands, "right")]
    pictures = [
        *(("training", 4, right[0]), ("training", 4 + 32560 * 3, right[0]), ("training", 7 + 32560 * 3, right[1])),
        *(("evaluation", 0, right[2]), ("evaluation", 1, right[3])),
    ]
    expected = []
    for split, number, hand in pictures:
        stem = f"{split}/rgb/{number:08d}"
        write_image(root / f"{stem}.jpg", SIZE, shade=number)
        content = {"xyz": hand.joints_cam.tolist(), "vertices": verts(hand.joints_cam).tolist()}
        write_json(root / f"{stem}.json", content)
        expected.append(Expected(f"{stem}.jpg", "right", hand.joints_cam, None, split))
    return expected
