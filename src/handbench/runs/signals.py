"""Sharpness of every true hand, from the images."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from handbench.errors import HandbenchError
from handbench.protocols import Progress
from handbench.runs.posing import load_image
from handbench.tasks.handpose.arrays import frames_of
from handbench.tasks.handpose.strata import boxes_of, sharpness_laplacian


@dataclass(frozen=True)
class Signals:
    """What the images say.

    Attributes:
        table: ``hand_id`` and ``sharpness``.
        notes: one line for each thing that could not be had.
    """

    table: pl.DataFrame
    notes: list[str] = field(default_factory=list)


def hand_signals(frames: pl.DataFrame, hands: pl.DataFrame, root: Path, progress: Progress) -> Signals:
    """Measure the sharpness of every true hand.

    Args:
        frames: the ``frames`` table.
        hands: the ``hands`` table.
        root: folder of the images.
        progress: told how far it is.

    Returns:
        The signals; hands whose image is missing or unreadable are left out and counted in a note.
    """
    boxes = boxes_of(hands, frames_of(frames))
    rows: list[tuple[str, float]] = []
    lost = 0
    placed = hands.select("hand_id", "image").with_row_index("row")
    parts = placed.partition_by("image", maintain_order=True)
    for done, part in enumerate(parts, 1):
        try:
            image = load_image(root / part["image"][0])
        except HandbenchError:
            lost += part.height
            continue
        for row, hand_id in part.select("row", "hand_id").iter_rows():
            if boxes[row, 0] == boxes[row, 0]:
                rows.append((hand_id, sharpness_laplacian(image, boxes[row])))
        if done % 50 == 0 or done == len(parts):
            progress(done, len(parts), "measuring sharpness")
    table = pl.DataFrame(rows, schema={"hand_id": pl.String, "sharpness": pl.Float64}, orient="row")
    notes = [f"{lost} hands without a readable image have no blur class."] if lost else []
    return Signals(table.with_columns(pl.col("sharpness").fill_nan(None)), notes)
