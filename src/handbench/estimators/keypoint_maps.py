"""Where the 21 hand keypoints lie among the points of other estimators.

Sources: COCO-WholeBody (Jin et al. 2020) for 133 points; Halpe (Fang et al. 2022) for 136; the Goliath set of Sapiens
(Khirodkar et al. 2024) for 308, tip first and wrist last; MediaPipe Holistic for 543, of which two layouts are about.
"""

from __future__ import annotations

from typing import Final

Rows = tuple[int, ...]

_SAME: Final = tuple(range(21))


def _from(start: int) -> Rows:
    return tuple(range(start, start + 21))


def _tip_first(start: int, wrist: int) -> Rows:
    return (wrist, *(start + 4 * finger + 3 - step for finger in range(5) for step in range(4)))


LAYOUTS: Final[dict[str, tuple[int, dict[str, Rows]]]] = {
    "hand-21": (21, {"": _SAME}),
    "left-right-42": (42, {"left": _from(0), "right": _from(21)}),
    "wholebody-133": (133, {"left": _from(91), "right": _from(112)}),
    "halpe-136": (136, {"left": _from(94), "right": _from(115)}),
    "goliath-308": (308, {"left": _tip_first(42, 62), "right": _tip_first(21, 41)}),
    "holistic-pose-face-left-right": (543, {"left": _from(501), "right": _from(522)}),
    "holistic-face-left-pose-right": (543, {"left": _from(468), "right": _from(522)}),
}
"""Number of points, and rows of each hand, by layout; ``""`` stands for a hand that tells its side itself."""

BY_ESTIMATOR: Final = {
    "wilor": "hand-21",
    "hamer": "hand-21",
    "rtmpose-hand": "hand-21",
    "rtmw": "wholebody-133",
    "sapiens-133": "wholebody-133",
    "sapiens": "goliath-308",
    "sapiens2": "goliath-308",
}
"""The layout that each estimator's released code puts out."""


def layouts_of(points: int) -> list[str]:
    """The layouts that have so many points."""
    return [name for name, (count, _) in LAYOUTS.items() if count == points]
