"""The 21-joint hand: names, fingers, bones, and how the datasets order them.

Order everywhere in handbench (the OpenPose / MediaPipe order): wrist; thumb CMC, MCP, IP, tip;
index, middle, ring, little each MCP, PIP, DIP, tip.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

FINGERS: Final = ("thumb", "index", "middle", "ring", "little")
"""The fingers, in joint order."""

_SEGMENTS = {"thumb": ("cmc", "mcp", "ip", "tip")} | {finger: ("mcp", "pip", "dip", "tip") for finger in FINGERS[1:]}

JOINTS: Final = ("wrist", *(f"{finger}_{segment}" for finger in FINGERS for segment in _SEGMENTS[finger]))
"""The 21 joint names, ``wrist`` first, then ``thumb_cmc`` to ``little_tip``."""

JOINT_INDEX: Final = {name: index for index, name in enumerate(JOINTS)}
"""Joint name to its row in a (21, ...) array."""

PARENTS: Final = (-1, 0, 1, 2, 3, 0, 5, 6, 7, 0, 9, 10, 11, 0, 13, 14, 15, 0, 17, 18, 19)
"""Parent of each joint in the kinematic tree; the wrist has none (-1)."""

BONES: Final = tuple((PARENTS[joint], joint) for joint in range(1, 21))
"""The 20 bones as (parent, child) joint indices."""

FINGERTIPS: Final = (4, 8, 12, 16, 20)
"""Rows of the five fingertips."""

PALM: Final = (0, 5, 9, 13, 17)
"""Rows of the wrist and the four finger MCPs: the rigid part of the hand."""

ANGLE_JOINTS: Final = (
    *("thumb_mcp", "index_pip", "middle_pip", "ring_pip", "little_pip"),
    *("thumb_ip", "index_dip", "middle_dip", "ring_dip", "little_dip"),
    *("little_mcp", "ring_mcp", "middle_mcp", "index_mcp", "thumb_cmc"),
)
"""The 15 joints whose bend angle is asked for, in the order of Table 5 (HandVQA, section 6)."""

JOINT_PAIRS: Final = (
    ("thumb_mcp", "index_pip"),
    ("index_pip", "middle_pip"),
    ("middle_pip", "ring_pip"),
    ("ring_pip", "little_pip"),
    ("thumb_tip", "index_tip"),
    ("index_tip", "middle_tip"),
    ("middle_tip", "ring_tip"),
    ("ring_tip", "little_tip"),
    ("thumb_tip", "index_dip"),
    ("thumb_tip", "middle_dip"),
    ("thumb_tip", "ring_dip"),
    ("thumb_tip", "little_dip"),
    ("thumb_tip", "index_mcp"),
    ("thumb_tip", "middle_mcp"),
    ("thumb_tip", "ring_mcp"),
    ("thumb_tip", "little_mcp"),
    ("index_mcp", "index_dip"),
    ("index_dip", "middle_dip"),
    ("middle_dip", "ring_dip"),
    ("ring_dip", "little_dip"),
    ("thumb_tip", "middle_tip"),
    ("middle_tip", "little_tip"),
    ("index_tip", "ring_tip"),
)
"""The 23 joint pairs compared, first named first, in the order of Table 5 (HandVQA, section 6)."""


def _tip_first(start: int, wrist: int) -> tuple[int, ...]:
    return (wrist, *(start + 4 * finger + 3 - step for finger in range(5) for step in range(4)))


ORDERS: Final[dict[str, tuple[int, ...]]] = {
    "openpose": tuple(range(21)),
    # InterHand2.6M and AssemblyHands: tip first, wrist last, right hand before left.
    "interhand-right": _tip_first(0, 20),
    "interhand-left": _tip_first(21, 41),
    # RHD: wrist first, then tip first, left hand before right.
    "rhd-left": _tip_first(1, 0),
    "rhd-right": _tip_first(22, 21),
    # MANO joints followed by the five tips (HO-3D, ARCTIC): index, middle, little, ring, thumb.
    "mano": (0, 13, 14, 15, 16, 1, 2, 3, 17, 4, 5, 6, 18, 10, 11, 12, 19, 7, 8, 9, 20),
    # FPHA: wrist, the five knuckles, then PIP, DIP, tip of each finger.
    "fpha": (0, 1, 6, 7, 8, 2, 9, 10, 11, 3, 12, 13, 14, 4, 15, 16, 17, 5, 18, 19, 20),
}
"""Source rows per dataset order: ``ours = theirs[..., ORDERS[name], :]``."""


def reorder(points: NDArray[np.floating], order: str) -> NDArray[np.floating]:
    """Take points from a dataset's joint order into ours.

    Args:
        points: (..., J, D) array in the order named, J being 21 or 42.
        order: a key of :data:`ORDERS`.

    Returns:
        (..., 21, D) array in the order of :data:`JOINTS`.
    """
    return points[..., list(ORDERS[order]), :]
