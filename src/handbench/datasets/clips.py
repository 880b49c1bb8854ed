"""Labelled pieces of videos as the ``clips`` table, and the frames that they are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from handbench import tables
from handbench.datasets import files
from handbench.datasets.files import must_exist
from handbench.datasets.selection import Selection
from handbench.errors import HandbenchError
from handbench.protocols import ReadContext, Source


@dataclass(frozen=True)
class Segment:
    """A labelled piece of a video.

    Attributes:
        video: as the dataset names it.
        action: what is done, in the dataset's own words; None where the owner keeps the label back.
        start: number of the first frame.
        end: number of the last frame, itself included.
        cluster: the unit that is drawn again in every interval.
        factors: further columns, without their prefix ``factor_``.
    """

    video: str
    action: str | None
    start: int
    end: int
    cluster: str
    factors: Mapping[str, str] | None = None

    @property
    def span(self) -> str:
        """``000064-000127``: what tells it from the video's other pieces."""
        return f"{self.start:06d}-{self.end:06d}"


def runs(labels: Sequence[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """Pieces of consecutive frames with one label.

    Args:
        labels: (frame, label) of each frame, sorted by frame.

    Returns:
        (label, first frame, last frame) of each piece.  A gap in the numbers ends a piece.
    """
    pieces: list[tuple[int, int, int]] = []
    for frame, label in labels:
        if pieces and pieces[-1][0] == label and pieces[-1][2] == frame - 1:
            pieces[-1] = (label, pieces[-1][1], frame)
        else:
            pieces.append((label, frame, frame))
    return pieces


def read_list(path: Path, what: str, columns: Sequence[str], heading: bool) -> list[dict[str, str]]:
    """Read a table of words divided by spaces.

    Args:
        path: the file.
        what: what it is, for errors.
        columns: names of the columns where there is no heading; else those that the heading must have.
        heading: whether the first line names the columns.

    Raises:
        HandbenchError: a line has another number of words, or the heading lacks a column.
    """
    lines = must_exist(path, what).read_text(errors="replace").splitlines()
    names = list(columns)
    first = 1
    if heading:
        names = lines[0].split() if lines else []
        first = 2
        if missing := [name for name in columns if name not in names]:
            raise HandbenchError(f"{path}, line 1: expected the columns {', '.join(columns)}; {missing[0]} is missing")
        lines = lines[1:]
    rows = []
    for number, line in enumerate(lines, first):
        words = line.split()
        if words and len(words) != len(names):
            raise HandbenchError(f"{path}, line {number}: expected {len(names)} words ({' '.join(names)})")
        if words:
            rows.append(dict(zip(names, words, strict=True)))
    return rows


def whole_number(path: Path, row: Mapping[str, str], name: str) -> int:
    """A value of a row as a whole number from 0.

    Raises:
        HandbenchError: it is none.
    """
    if not row[name].isdigit():
        raise HandbenchError(f"{path}: {' '.join(row.values())[:60]}: {name} must be a whole number")
    return int(row[name])


def clip_rows(name: str, split: str, segments: Sequence[Segment], shots: pl.DataFrame, left: Selection) -> pl.DataFrame:
    """The ``clips`` table of segments whose frames are there.

    Args:
        name: the dataset's.
        split: its name.
        segments: the labelled pieces.
        shots: ``video, frame, image, subject, sequence`` of every frame that is there.
        left: counts what is left out: segments without any frame, frames that a segment lacks.

    Returns:
        A conforming table, sorted by ``clip_id``.
    """
    listed = pl.DataFrame(
        {
            "segment": range(len(segments)),
            "video": [segment.video for segment in segments],
            "start": [segment.start for segment in segments],
            "end": [segment.end for segment in segments],
            "action": [segment.action for segment in segments],
            "span": [segment.span for segment in segments],
            "cluster": [segment.cluster for segment in segments],
        },
        schema_overrides={
            **dict.fromkeys(("segment", "start", "end"), pl.Int64),
            **dict.fromkeys(("video", "action", "span", "cluster"), pl.String),
        },
    )
    factors = sorted({key for segment in segments for key in segment.factors or {}})
    listed = listed.with_columns(
        pl.Series(f"factor_{key}", [(segment.factors or {}).get(key) for segment in segments], dtype=pl.String)
        for key in factors
    )
    inside = listed.join(shots, on="video").filter(pl.col("frame").is_between(pl.col("start"), pl.col("end")))
    grouped = inside.sort("segment", "frame").group_by("segment", maintain_order=True)
    clips = grouped.agg(
        pl.col("image").alias("images"),
        pl.exclude("image", "frame").first(),
        (pl.col("end").first() - pl.col("start").first() + 1 - pl.len()).alias("lacking"),
    )
    left.count("clip without frames", listed.height - clips.height)
    left.count("frame of a clip not there", int(clips["lacking"].sum()))
    clips = clips.with_columns(
        pl.concat_str(pl.lit(f"{name}/{split}"), "video", "span", separator="/").alias("clip_id"),
        dataset=pl.lit(name),
        split=pl.lit(split),
    )
    return tables.conform(clips, "clips", "the clips").sort("clip_id")


def join_clips(source: Source, clips: pl.DataFrame, frames: pl.DataFrame, hashed: bool, context: ReadContext) -> Source:
    """Give a source its clips; frames that no hand is annotated on join the source's frames.

    Args:
        source: as made from its hands.
        clips: the ``clips`` table.
        frames: ``image, dataset, split, width, height`` and more of the ``frames`` table, for every frame
            that a clip shows.
        hashed: whether images are hashed.
        context: workers and progress.
    """
    source.clips = clips
    shown = clips.select(pl.col("images").explode()).to_series().unique()
    new = frames.filter(pl.col("image").is_in(shown.implode())).join(source.frames, on="image", how="anti")
    if hashed:
        hashes = files.hash_images(source.root, new["image"].to_list(), context.workers, context.progress)
        new = new.with_columns(image_hash=pl.Series([hashes[image] for image in new["image"]], dtype=pl.String))
    added = tables.conform(new.with_columns(annotated=pl.lit(False)), "frames", source.root)
    source.frames = pl.concat([source.frames, added], how="diagonal_relaxed").sort("image")
    return source
