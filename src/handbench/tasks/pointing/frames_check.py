"""Which frame would have fitted best, from what was written: a diagnosis for the report, never used for a score."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import polars as pl

from handbench.replies.frames import Frame, Placement, to_pixels
from handbench.stats.boxes import iou

FRAMES: Final = (Frame.PIXEL, Frame.NORM_1, Frame.NORM_999, Frame.NORM_1000)
"""What replies are tried in; location tokens are told by their form, and pixels as sent need a size of their own."""

LEAST: Final = 5
"""With fewer boxes written nothing is said."""


def diagnose(part: pl.DataFrame) -> Iterator[tuple[str, float, int]]:
    """Mean IoU that the written boxes would have in each frame.

    Args:
        part: readings with ``written``, ``truth_box`` and ``image_size``, of one model and sub-task.

    Yields:
        Frame, mean IoU over positives with a written box, and their number.
    """
    known = part.filter(pl.col("written").is_not_null() & pl.col("truth_box").is_not_null())
    if known.height < LEAST:
        return
    written, truth = (known[name].to_numpy() for name in ("written", "truth_box"))
    written = np.concatenate(
        [np.minimum(written[:, :2], written[:, 2:]), np.maximum(written[:, :2], written[:, 2:])], 1
    )
    sizes = known["image_size"].to_numpy()
    for frame in FRAMES:
        total = 0.0
        for size in np.unique(sizes, axis=0):
            mine = (sizes == size).all(axis=1)
            width, height = int(size[0]), int(size[1])
            boxes = np.clip(to_pixels(written[mine], frame, Placement((width, height))), 0, [width, height] * 2)
            total += float(iou(boxes, truth[mine]).sum())
        yield str(frame), total / known.height, known.height


def likelier(scores: pl.DataFrame, declared: Frame) -> tuple[str, float, float] | None:
    """The frame that would have fitted clearly better than the declared one.

    Args:
        scores: ``frame_diagnosis`` rows of one model and sub-task.
        declared: the frame that was read.

    Returns:
        The frame, its mean IoU and the declared frame's; None where the declared one is about as good.
    """
    values = {str(frame): float(value) for frame, value in scores.select("slice_value", "value").iter_rows()}
    if not values:
        return None
    # Pixels as sent are near pixels of the original; 999ths and 1000ths cannot be told apart.
    alike = {Frame.PIXEL_SENT: "pixel", Frame.LOC_1000: "norm_1000"}
    own = values.get(alike.get(declared, str(declared)), 0.0)
    best = max(values, key=lambda name: values[name])
    near = {best, alike.get(declared, str(declared))} <= {"norm_999", "norm_1000"}
    return None if near or values[best] < own + 0.1 or values[best] < 2 * own else (best, values[best], own)
