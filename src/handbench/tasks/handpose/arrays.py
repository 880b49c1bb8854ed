"""From tables to arrays: the frames of a set, its true hands, an estimator's hands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from handbench.errors import HandbenchError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

LEFT: Final = 0
RIGHT: Final = 1
UNKNOWN: Final = -1
SIDES: Final = ("left", "right")

TIPS: Final = (4, 8, 12, 16, 20)
KNUCKLES: Final = (1, 5, 9, 13, 17)
REGIONS: Final[dict[str, tuple[int, ...]]] = {
    "wrist": (0,),
    "palm": KNUCKLES,
    "fingertips": TIPS,
    "all": tuple(range(21)),
}
"""Rows of each hand region (the paper names the regions, section 3.5; the rows are ours)."""


@dataclass(frozen=True)
class Frames:
    """The frames of a set, sorted by video and frame number.

    Attributes:
        images: (F,) names.
        video: (F,) number of the video, from 0.
        videos: names of the videos.
        number: (F,) frame number within the video.
        seconds: (F,) time, NaN where not known.
        sizes: (F, 2) width and height, pixels.
        scored: (F,) whether the frame's hands are annotated, so that supervised metrics count it.
    """

    images: pl.Series
    video: Ints
    videos: list[str]
    number: Ints
    seconds: Floats
    sizes: Floats
    scored: Bools

    def __len__(self) -> int:
        return len(self.video)

    def rows_of(self, images: pl.Series) -> Ints:
        """(N,) row of each image, -1 where the set has no such frame."""
        place = pl.DataFrame({"image": self.images, "row": np.arange(len(self))})
        found = pl.DataFrame({"image": images.cast(pl.String)}).join(
            place, on="image", how="left", maintain_order="left"
        )
        return np.asarray(found["row"].fill_null(-1).to_numpy(), np.int64)


@dataclass(frozen=True)
class Hands:
    """Hands on frames, sorted by frame.

    Attributes:
        frame: (N,) row of the frame.
        side: (N,) 0 left, 1 right, -1 not known.
        points: (N, 21, 2) pixels.
        valid: (N, 21) whether the point is known and inside the frame.
        score: (N,) confidence; 1 for true hands.
        row: (N,) row in the table that they are from.
    """

    frame: Ints
    side: NDArray[np.int8]
    points: Floats
    valid: Bools
    score: Floats
    row: Ints

    def __len__(self) -> int:
        return len(self.frame)

    def take(self, chosen: Bools | Ints) -> Hands:
        """The hands chosen by a mask or by row numbers in ascending order."""
        return Hands(*(getattr(self, name)[chosen] for name in ("frame", "side", "points", "valid", "score", "row")))


def frames_of(table: pl.DataFrame, which: str = "annotated") -> Frames:
    """Bring a ``frames`` table into arrays.

    A frame without a video is a video of its own; a frame without a number takes its place in the order of the
    image names.

    Args:
        table: the ``frames`` table.
        which: ``annotated`` or ``all`` frames are scored.

    Raises:
        HandbenchError: an image or a frame number of a video comes twice.
    """
    named = table.with_columns(
        video=pl.coalesce(pl.col("video").cast(pl.String), pl.col("image")), image=pl.col("image").cast(pl.String)
    )
    twice = named.filter(pl.col("image").is_duplicated())
    if twice.height:
        raise HandbenchError(f"frames: image {twice['image'][0]} stands in the table more than once")
    named = named.sort("video", "frame", "image", nulls_last=True)
    named = named.with_columns(
        frame=pl.when(pl.col("frame").is_null().any().over("video"))
        .then(pl.int_range(pl.len()).over("video"))
        .otherwise(pl.col("frame"))
    )
    again = named.filter(pl.struct("video", "frame").is_duplicated())
    if again.height:
        raise HandbenchError(f"frames: video {again['video'][0]} has frame {again['frame'][0]} more than once")
    scored = pl.lit(True) if which == "all" else pl.col("annotated")
    videos = named["video"].unique(maintain_order=True)
    codes = named["video"].cast(pl.Enum(videos)).to_physical()
    return Frames(
        images=named["image"],
        video=np.asarray(codes.to_numpy(), np.int64),
        videos=videos.to_list(),
        number=np.asarray(named["frame"].to_numpy(), np.int64),
        seconds=np.asarray(named["seconds"].fill_null(float("nan")).to_numpy(), np.float64)
        if "seconds" in named.columns
        else np.full(named.height, np.nan),
        sizes=np.asarray(named.select("width", "height").to_numpy(), np.float64),
        scored=np.asarray(named.select(scored.alias("scored")).to_series().to_numpy(), bool)
        if which != "all"
        else np.ones(named.height, bool),
    )


def side_codes(column: pl.Series) -> NDArray[np.int8]:
    """(N,) codes of a column of sides."""
    text = column.cast(pl.String)
    return np.where(
        (text == "left").fill_null(False).to_numpy(),
        np.int8(LEFT),
        np.where((text == "right").fill_null(False).to_numpy(), np.int8(RIGHT), np.int8(UNKNOWN)),
    )


def points_of(column: pl.Series) -> Floats:
    """(N, 21, 2) pixels of an array column; a missing hand is NaN."""
    if not column.len():
        return np.zeros((0, 21, 2))
    missing = column.is_null().to_numpy()
    if missing.all():
        return np.full((column.len(), 21, 2), np.nan)
    flat = column.arr.explode().arr.explode() if not missing.any() else None
    if flat is not None:
        return np.asarray(flat.to_numpy(), np.float64).reshape(-1, 21, 2)
    points = np.full((column.len(), 21, 2), np.nan)
    points[~missing] = points_of(column.drop_nulls())
    return points


def flags_of(column: pl.Series, default: bool) -> Bools:
    """(N, 21) flags of an array column; a missing row is ``default``."""
    flags = np.full((column.len(), 21), default)
    missing = column.is_null().to_numpy()
    if not missing.all():
        flags[~missing] = np.asarray(column.drop_nulls().to_numpy(), bool)
    return flags


def inside(points: Floats, sizes: Floats) -> Bools:
    """(N, 21) whether points are finite and inside their image of (N, 2) width and height."""
    with np.errstate(invalid="ignore"):
        return np.asarray(((points >= 0) & (points < sizes[:, None, :])).all(axis=2))


def true_hands(table: pl.DataFrame, frames: Frames, *, occluded: bool = True) -> tuple[Hands, dict[str, int]]:
    """Bring a ``hands`` table into arrays.

    Args:
        table: the ``hands`` table.
        frames: the frames of the set.
        occluded: whether occluded points count as valid.

    Returns:
        The hands on scored frames with at least one valid point, and a count of those left out by reason.
    """
    row = frames.rows_of(table["image"])
    points = points_of(table["joints_px"])
    sizes = frames.sizes[np.maximum(row, 0)]
    valid = inside(points, sizes)
    valid &= flags_of(table["in_frame"], True)
    if not occluded:
        valid &= ~flags_of(table["occluded"], False)
    known = row >= 0
    scored = known & frames.scored[np.maximum(row, 0)]
    usable = valid.any(axis=1)
    skipped = {
        "true hand on a frame that does not exist": int((~known).sum()),
        "true hand without a point inside the frame": int((scored & ~usable).sum()),
    }
    keep = np.flatnonzero(scored & usable)
    hands = Hands(row, side_codes(table["side"]), points, valid, np.ones(len(row)), np.arange(len(row)))
    return hands.take(keep[np.argsort(row[keep], kind="stable")]), _counted(skipped)


def predicted_hands(table: pl.DataFrame, frames: Frames) -> tuple[Hands, dict[str, int]]:
    """Bring one estimator's ``poses`` into arrays, best score first within a frame.

    Returns:
        The hands on the set's frames, and a count by reason of rows left out and of frames without any row.
    """
    row = frames.rows_of(table["image"])
    found = (table["hand"] >= 0).to_numpy() & ~table["keypoints_px"].is_null().to_numpy()
    points = points_of(table["keypoints_px"])
    score = np.asarray(table["score"].fill_null(1.0).to_numpy(), np.float64)
    if table["keypoint_scores"].null_count() < table.height:
        given = table["keypoint_scores"].arr.mean().fill_null(float("nan")).to_numpy()
        score = np.where(np.isfinite(given), given, score)
    known = row >= 0
    sizes = frames.sizes[np.maximum(row, 0)]
    valid = inside(points, sizes)
    seen = np.zeros(len(frames), bool)
    seen[row[known]] = True
    number = np.asarray(table["hand"].to_numpy(), np.int64)
    order = np.lexsort((number, row))
    repeated = np.zeros(len(row), bool)
    repeated[order[1:]] = (row[order[1:]] == row[order[:-1]]) & (number[order[1:]] == number[order[:-1]])
    whole = np.isfinite(points).all(axis=(1, 2))
    usable = valid.any(axis=1)
    keep = np.flatnonzero(found & known & usable & ~repeated)
    skipped = {
        "prediction for a frame that does not exist": int((found & ~known).sum()),
        "duplicate row of a prediction": int((found & known & repeated).sum()),
        "prediction without a point inside the frame": int((found & known & ~repeated & ~usable).sum()),
        "prediction with missing points (kept)": int((found & known & ~repeated & usable & ~whole).sum()),
        "frame without any row (taken as no hand)": int((~seen).sum()),
    }
    hands = Hands(row, side_codes(table["side"]), points, valid, score, np.arange(len(row)))
    return hands.take(keep[np.lexsort((-score[keep], row[keep]))]), _counted(skipped)


def _counted(reasons: dict[str, int]) -> dict[str, int]:
    return {reason: count for reason, count in reasons.items() if count}
