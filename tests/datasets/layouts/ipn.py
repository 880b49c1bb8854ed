"""IPN Hand (hand-data.md, section 2, "IPN Hand", and the real lists of segments).

``frames/{video}/{video}_%06d.jpg`` (640 × 480, counted from 1) and beside ``frames`` the lists ``classIndAll.txt``,
``trainlistall.txt`` and ``vallistall.txt``, whose lines are ``./frames/{video} {class 1–14} {first} {last}``, both ends
included and without gaps; ``Annot_List.txt`` has a head and is separated by commas. Class 1 is no gesture. The names of
the videos contain ``#``. There are no joints.
"""

from __future__ import annotations

from pathlib import Path

from tests.datasets.layouts import Hand, write_image, write_text

SIZE = (640, 480)
CLASSES = ("D0X", "B0A", "B0B", *(f"G{number:02d}" for number in range(1, 12)))
LISTS = {"train": "trainlistall.txt", "test": "vallistall.txt"}
SEGMENTS = {
    "train": {"1CM1_4_R_#229": [(1, 1, 4), (14, 5, 9), (3, 10, 12)], "4CM11_2_R_#37": [(1, 1, 3), (2, 4, 8)]},
    "test": {"1CM1_1_R_#217": [(1, 1, 5), (13, 6, 11), (2, 12, 12)]},
}


def write(root: Path, hands: list[Hand]) -> list[tuple[str, str, int, int, str]]:
    """Three short videos, two for training.

    Returns:
        Of each segment its video, its class, its first and last frame, and its list.
    """
    del hands
    written = []
    rows = ["video,label,id,t_start,t_end,frames"]
    for part, videos in SEGMENTS.items():
        lines = []
        for video, segments in videos.items():
            for label, first, last in segments:
                lines.append(f"./frames/{video} {label} {first} {last}")
                rows.append(f"{video},{CLASSES[label - 1]},{label},{first},{last},{last - first + 1}")
                written.append((video, CLASSES[label - 1], first, last, part))
            for frame in range(1, segments[-1][2] + 1):
                write_image(root / "frames" / video / f"{video}_{frame:06d}.jpg", SIZE, shade=frame)
        write_text(root / LISTS[part], "\n".join(lines) + "\n")
    write_text(root / "Annot_List.txt", "\n".join(rows) + "\n")
    write_text(root / "classIndAll.txt", "\n".join(f"{n} {name}" for n, name in enumerate(CLASSES, 1)))
    return written
