"""Making and checking annotations: frames picked and seeded, frames to audit, corrections read back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from handbench import tables
from handbench.datasets import annotations as truth_files
from handbench.draws import mix, name_keys
from handbench.errors import HandbenchError
from handbench.protocols import ReadContext, Source
from handbench.runs.parts import load_source, make_estimator
from handbench.runs.posing import estimate
from handbench.tasks.handpose.arrays import frames_of, true_hands
from handbench.tasks.handpose.boxes import hand_boxes
from handbench.tasks.handpose.matching import match

NO_CLASS: Final = "none"
_MOVED_PX: Final = 0.5
"""A point is corrected when it was moved by more than this."""


def class_of_frames(source: Source) -> pl.DataFrame:
    """The frames of a source with a column ``gesture``: the action of the clip that a frame is in, else ``none``."""
    frames = source.frames.with_columns(pl.col("image").cast(pl.String))
    if source.clips is None or source.clips.is_empty():
        return frames.with_columns(gesture=pl.lit(NO_CLASS))
    told = source.clips.select(pl.col("images").alias("image"), gesture=pl.col("action").cast(pl.String)).explode(
        "image"
    )
    first = told.drop_nulls().unique("image", keep="first", maintain_order=True)
    return frames.join(first, on="image", how="left", maintain_order="left").with_columns(
        pl.col("gesture").fill_null(NO_CLASS)
    )


def pick(frames: pl.DataFrame, rates: dict[str, int]) -> pl.DataFrame:
    """Frames at a rate per gesture class, and the first and last frame of every video.

    Args:
        frames: as :func:`class_of_frames` gives them.
        rates: class → take every so-manieth frame of it within a video; ``*`` stands for all other classes.

    Raises:
        HandbenchError: a rate is below 1, or names a class that the frames do not have.
    """
    known = set(frames["gesture"])
    for name, rate in rates.items():
        if rate < 1:
            raise HandbenchError(f"--rate {name}={rate}: take every N-th frame, N from 1")
        if name != "*" and name not in known:
            raise HandbenchError(f"--rate {name}: no such class; there are {', '.join(sorted(known))}")
    ordered = frames.with_columns(clip=pl.coalesce(pl.col("video").cast(pl.String), pl.col("image"))).sort(
        "clip", "frame", "image"
    )
    every = pl.col("gesture").replace_strict(rates, default=rates.get("*", 10), return_dtype=pl.Int64)
    place, number = pl.int_range(pl.len()).over("clip", "gesture"), pl.int_range(pl.len()).over("clip")
    ends = (number == 0) | (number == pl.len().over("clip") - 1)
    return ordered.filter((place % every == 0) | ends).drop("clip")


@dataclass(frozen=True)
class Sampled:
    """What :func:`sample` wrote."""

    path: Path
    frames: int
    hands: int
    by_class: dict[str, int]


def sample(data: str, estimator: str, rates: dict[str, int], out: Path, context: ReadContext) -> Sampled:
    """Pick frames and seed their annotation from an estimator, which is kept as the initial estimate.

    Args:
        data: the source, e.g. ``ipn:PATH`` or ``images:DIR``.
        estimator: who makes the initial estimates.
        rates: see :func:`pick`.
        out: the JSON file to write.
        context: split, workers, progress.
    """
    if out.exists():
        raise HandbenchError(f"{out}: is there already, and may hold corrections; take another name with -o")
    source = load_source(data, context)
    chosen = pick(class_of_frames(source), rates)
    root = source.root
    if source.images is not None:
        source.images(chosen, context.progress)
    file = out.with_suffix(".poses.parquet")
    poses = estimate(
        estimator, root, chosen["image"].to_list(), file, workers=context.workers, progress=context.progress
    )
    file.unlink()
    hands = _seeded(poses, chosen, make_estimator(estimator).name)
    frames = tables.conform(chosen.with_columns(annotated=pl.lit(True), factor_gesture=pl.col("gesture")), "frames")
    truth_files.write(out, frames, hands, estimator)
    counted = chosen["gesture"].value_counts(sort=True)
    by_class = dict(zip(counted["gesture"].to_list(), counted["count"].to_list(), strict=True))
    return Sampled(out, chosen.height, hands.height, by_class)


def _seeded(poses: pl.DataFrame, frames: pl.DataFrame, name: str) -> pl.DataFrame:
    found = poses.filter(pl.col("hand") >= 0).join(
        frames.select("image", "dataset", "split", "gesture"), on="image", how="inner", maintain_order="left"
    )
    if found.is_empty():
        return tables.empty("hands")
    return tables.conform(
        found.select(
            pl.format("{}/{}", "image", "hand").alias("hand_id"),
            "image",
            "dataset",
            "split",
            pl.col("side").cast(pl.String).fill_null("unknown").alias("side"),
            pl.lit(name).alias("cluster"),
            pl.col("keypoints_px").alias("joints_px"),
            pl.col("keypoints_px").alias("initial_px"),
            pl.lit(False).alias("verified"),
            pl.col("gesture").alias("factor_gesture"),
        ),
        "hands",
    )


def frames_to_audit(frames: pl.DataFrame, hands: pl.DataFrame, count: int, seed: int) -> pl.DataFrame:
    """Frames to check: all rare ones (a left hand alone, two hands or more), the rest drawn by (seed, image).

    Args:
        frames: the ``frames`` table.
        hands: the ``hands`` table.
        count: how many in all; more where the rare ones are more.
        seed: of the draw.
    """
    sides = hands.group_by("image").agg(left=(pl.col("side").cast(pl.String) == "left").sum(), number=pl.len())
    told = frames.join(sides, on="image", how="left", maintain_order="left").with_columns(
        pl.col("left", "number").fill_null(0)
    )
    rare = (pl.col("number") > 1) | ((pl.col("number") == 1) & (pl.col("left") == 1))
    salt = np.uint64((0x9E3779B97F4A7C15 * (seed + 1)) & 0xFFFFFFFFFFFFFFFF)
    told = told.with_columns(key=pl.Series(mix(name_keys(told["image"].to_list()) ^ salt)), rare=rare)
    chosen = told.sort("rare", "key", descending=[True, False]).head(max(count, int(told["rare"].sum())))
    return chosen.sort("image")


@dataclass(frozen=True)
class Corrections:
    """What an audit found, frame by frame.

    Attributes:
        counts: frames checked and corrected, hands added, removed and renamed, points moved, flags changed.
        corrected: images that were corrected.
    """

    counts: dict[str, int]
    corrected: list[str]


def corrections(before: Source, after: Source) -> Corrections:
    """Compare audited frames with what they were.

    Args:
        before: the annotations.
        after: the audited frames, as they are now.

    Raises:
        HandbenchError: an audited frame is not among the annotations.
    """
    known = set(before.frames["image"])
    unknown = [image for image in after.frames["image"] if image not in known]
    if unknown:
        raise HandbenchError(f"{unknown[0]}: audited, but not among the annotations")
    frames = frames_of(after.frames, "all")
    kept = before.hands.filter(pl.col("image").is_in(after.frames["image"].implode()))
    old, new = true_hands(kept, frames)[0], true_hands(after.hands, frames)[0]
    boxes = [hand_boxes(hands.points, hands.valid) for hands in (old, new)]
    paired = match(old, new, boxes[0], boxes[1], 0.1).any_label
    rows = np.flatnonzero(paired >= 0)
    others = paired[rows]
    far = np.linalg.norm(old.points[rows] - new.points[others], axis=2)
    moved = np.nan_to_num(far, nan=0.0) > _MOVED_PX
    flagged = old.valid[rows] != new.valid[others]
    flagged |= _occluded(kept, old.row[rows]) != _occluded(after.hands, new.row[others])
    renamed = old.side[rows] != new.side[others]
    added = np.setdiff1d(np.arange(len(new)), others)
    removed = np.flatnonzero(paired < 0)
    changed = np.zeros(len(frames), bool)
    changed[old.frame[rows[renamed | moved.any(axis=1) | flagged.any(axis=1)]]] = True
    changed[old.frame[removed]] = True
    changed[new.frame[added]] = True
    return Corrections(
        {
            "frames checked": len(frames),
            "frames corrected": int(changed.sum()),
            "hands added": len(added),
            "hands removed": len(removed),
            "sides changed": int(renamed.sum()),
            "points moved": int(moved.sum()),
            "flags changed": int(flagged.sum()),
        },
        frames.images.filter(pl.Series(changed)).to_list(),
    )


def _occluded(table: pl.DataFrame, rows: Any) -> Any:
    flags = table["occluded"].to_numpy() if table.height else np.zeros((0, 21), bool)
    return np.stack([np.asarray(flags[row], bool) for row in rows]) if len(rows) else np.zeros((0, 21), bool)


def merged(before: Source, after: Source) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The annotations with the audited frames put in, their hands marked as verified."""
    audited = after.frames["image"].implode()
    frames = tables.concat([before.frames.filter(~pl.col("image").is_in(audited)), after.frames])
    checked = after.hands.with_columns(verified=pl.lit(True))
    hands = tables.concat([before.hands.filter(~pl.col("image").is_in(audited)), checked])
    return frames.sort("image"), hands.sort("hand_id")
