from __future__ import annotations

import numpy as np
import polars as pl

from handbench.tasks.handpose.arrays import Frames, Hands

SHAPE = np.array(
    [
        *(
            [50, 100],
            [35, 92],
            [25, 82],
            [18, 72],
            [12, 62],
            [38, 60],
            [36, 42],
            [35, 30],
            [34, 18],
            [50, 58],
            [50, 36],
        ),
        *([50, 22], [50, 8], [61, 60], [63, 42], [64, 30], [65, 18], [71, 65], [76, 52], [79, 44], [82, 36]),
    ],
    dtype=float,
)
"""(21, 2) an open hand in a box from (12, 8) to (82, 100): 70 wide, 92 high."""


def hands(frame, side=None, points=None, score=None, valid=None) -> Hands:
    frame = np.asarray(frame, np.int64)
    count = len(frame)
    points = np.broadcast_to(SHAPE, (count, 21, 2)).copy() if points is None else np.asarray(points, float)
    return Hands(
        frame=frame,
        side=np.ones(count, np.int8) if side is None else np.asarray(side, np.int8),
        points=points,
        valid=np.isfinite(points).all(axis=2) if valid is None else valid,
        score=np.ones(count) if score is None else np.asarray(score, float),
        row=np.arange(count),
    )


def frames(video, number=None, seconds=None, size=(640, 480)) -> Frames:
    video = np.asarray(video, np.int64)
    number = np.arange(len(video)) if number is None else np.asarray(number, np.int64)
    return Frames(
        images=pl.Series([f"{v}/{n}" for v, n in zip(video, number, strict=True)], dtype=pl.String),
        video=video,
        videos=[str(v) for v in range(int(video.max(initial=-1)) + 1)],
        number=number,
        seconds=np.full(len(video), np.nan) if seconds is None else np.asarray(seconds, float),
        sizes=np.tile(np.asarray(size, float), (len(video), 1)),
        scored=np.ones(len(video), bool),
    )


def moved(x: float, y: float = 0.0) -> np.ndarray:
    """(21, 2) the hand moved."""
    return SHAPE + np.array([x, y])
