"""What every human hand has in common: bone lengths, and the way its fingers bend."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from handbench.hand.geometry import Floats
from handbench.hand.skeleton import BONES, ORDERS

BONE_LENGTHS: Final = (
    np.array(
        [
            *(35, 38, 33, 27),
            *(87, 41, 25, 23),
            *(85, 46, 29, 24),
            *(80, 42, 28, 23),
            *(79, 31, 20, 20),
        ],
        np.float64,
    )
    / 1000
)
"""(20,) metres, typical of adults, in the order of ``skeleton.BONES``: rounded medians of 583 hands of Ge et
al. (2019), 6 of InterHand2.6M and 3 of RHD.  Only their proportions are relied on."""

EXCHANGED: Final = "openpose with ring and little finger exchanged"
"""The name of one of :data:`OTHER_ORDERS`."""

OTHER_ORDERS: Final[dict[str, tuple[int, ...]]] = {
    "openpose": ORDERS["openpose"],
    "interhand (each finger from its tip, wrist last)": ORDERS["interhand-right"],
    "rhd (each finger from its tip, wrist first)": ORDERS["rhd-left"],
    "mano (index, middle, little, ring, thumb, then the tips)": ORDERS["mano"],
    "fpha (wrist, the knuckles, then finger by finger)": ORDERS["fpha"],
    EXCHANGED: (*range(13), *range(17, 21), *range(13, 17)),
    "openpose from little finger to thumb": (
        0,
        *(start + step for start in (17, 13, 9, 5, 1) for step in range(4)),
    ),
}
"""Joint orders met in the wild: ``ours = theirs[..., order, :]``."""

_FINGERS: Final = np.array([(0, start, start + 1, start + 2, start + 3) for start in (5, 9, 13, 17)])


def palm_lengths(joints: NDArray[np.floating]) -> Floats:
    """Wrist to middle MCP of each hand, (N,), in the unit of the joints (N, 21, 3)."""
    return np.asarray(np.linalg.norm(joints[:, 9] - joints[:, 0], axis=-1), np.float64)


def bone_lengths(joints: NDArray[np.floating]) -> Floats:
    """(N, 20) bone lengths of (N, 21, 3) joints, in the order of ``skeleton.BONES``."""
    bones = np.array(BONES)
    return np.asarray(np.linalg.norm(joints[:, bones[:, 1]] - joints[:, bones[:, 0]], axis=-1), np.float64)


def misproportion(joints: NDArray[np.floating]) -> Floats:
    """How far the bones are from human proportions, whatever the hand's size.

    Args:
        joints: (N, 21, 3), any unit.

    Returns:
        (N,) mean absolute log ratio of bone lengths to :data:`BONE_LENGTHS`; real hands have 0.05 to 0.1,
        hands read in another joint order 0.13 and more.
    """
    ratio = np.log(np.maximum(bone_lengths(joints), 1e-12) / BONE_LENGTHS)
    return np.asarray(np.abs(ratio - np.median(ratio, axis=1, keepdims=True)).mean(axis=1), np.float64)


def bending(joints_cam: NDArray[np.floating]) -> Floats:
    """Which way the hand closes: positive for a right hand, negative for a left hand.

    Fingers bend toward the palm and the thumb stands on the palm's side.  Which side that is, seen from the
    order of the fingers, is what makes a hand left or right.

    Args:
        joints_cam: (N, 21, 3), a frame without reflection, any unit.

    Returns:
        (N,) sum over four fingers of the sines of three bends each, plus the thumb's height over the palm in
        palm lengths.  Near 0 it says nothing; overstretched fingers can turn its sign.  NaN where two joints
        that it needs coincide.
    """
    joints = np.asarray(joints_cam, np.float64)
    across = _unit(joints[:, 17] - joints[:, 5])
    bones = _unit(np.diff(joints[:, _FINGERS], axis=2))
    bends = np.einsum("nfsk,nk->n", np.cross(bones[:, :, :-1], bones[:, :, 1:]), across)
    normal = _unit(np.cross(joints[:, 5] - joints[:, 0], joints[:, 17] - joints[:, 0]))
    thumb = np.einsum("nk,nk->n", joints[:, 3] + joints[:, 4] - 2 * joints[:, 0], normal)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(thumb / palm_lengths(joints) - bends, np.float64)


def _unit(vectors: Floats) -> Floats:
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    unit: Floats = np.divide(vectors, lengths, out=np.full_like(vectors, np.nan), where=lengths > 0)
    return unit
