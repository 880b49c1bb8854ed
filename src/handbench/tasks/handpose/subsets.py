"""Parts of a set: hands whose annotation does not lean on its initial estimate, and nested subsets of frames.

VERA-Hand, sections 3.2, C.4 and C.5.  Equal spacing and nesting cannot both be had exactly: here each video has one
order of its frames (first, last, then the frame farthest from those taken), and a subset is a beginning of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import polars as pl

from handbench.tasks.handpose.arrays import Bools, Floats, Frames, Hands, Ints, points_of
from handbench.tasks.handpose.boxes import hand_boxes, longer_side

MOVED: Final = 0.02
"""Displacement, in longer box sides, beyond which a keypoint was moved by the annotator (paper)."""

FRACTIONS: Final = (0.1, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class Bias:
    """How far true hands lie from the estimate that their annotator began with.

    Attributes:
        displacement: (T, 21) in longer box sides; NaN where there is no initial estimate.
        added: (T,) hands without an initial estimate, though the set has such estimates: added by hand.
        free: (T,) hands that were added, or whose median displacement is above :data:`MOVED`.
    """

    displacement: Floats
    added: Bools
    free: Bools

    @property
    def has_estimates(self) -> bool:
        """Whether the set says anything of bias."""
        return bool(np.isfinite(self.displacement).any())


def bias_of(hands: Hands, table: pl.DataFrame) -> Bias:
    """Hold true hands against their initial estimates.

    Args:
        hands: true hands, whose ``row`` points into the table.
        table: the ``hands`` table.
    """
    initial = points_of(table["initial_px"])[hands.row] if table.height else np.zeros((0, 21, 2))
    size = longer_side(hand_boxes(hands.points, hands.valid))
    with np.errstate(divide="ignore", invalid="ignore"):
        displacement = np.linalg.norm(hands.points - initial, axis=2) / size[:, None]
    displacement = np.where(hands.valid & np.isfinite(displacement), displacement, np.nan)
    told = np.isfinite(displacement).any(axis=1)
    added = ~told if told.any() else np.zeros(len(hands), bool)
    median = np.full(len(hands), np.nan)
    if told.any():
        median[told] = np.nanmedian(displacement[told], axis=1)
    added = np.asarray(added, bool)
    return Bias(displacement, added, np.asarray(added | (np.nan_to_num(median) > MOVED)))


def nested_order(count: int) -> Ints:
    """An order of ``count`` frames whose beginnings are near to equally spaced: first, last, then the farthest one.

    Ties go to the earlier frame.
    """
    if count < 3:
        return np.arange(count)
    order = [0, count - 1]
    distance = np.minimum(np.arange(count), count - 1 - np.arange(count))
    while len(order) < count:
        taken = int(distance.argmax())
        order.append(taken)
        distance = np.minimum(distance, np.abs(np.arange(count) - taken))
    return np.array(order)


def subset_of_frames(frames: Frames, fraction: float) -> Bools:
    """(F,) scored frames of a nested subset: in each video max(2, round(fraction · N)) of its N scored frames."""
    chosen = np.zeros(len(frames), bool)
    scored = np.flatnonzero(frames.scored)
    if not len(scored):
        return chosen
    for rows in np.split(scored, np.flatnonzero(np.diff(frames.video[scored])) + 1):
        count = min(len(rows), max(2, round(fraction * len(rows))))
        chosen[rows[nested_order(len(rows))[:count]]] = True
    return chosen


def on_subset(frames: Frames, fraction: float) -> Frames:
    """The same frames with only a nested subset scored."""
    return replace(frames, scored=subset_of_frames(frames, fraction))
