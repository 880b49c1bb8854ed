"""``handbench pose``: an estimator over videos and folders, in flat memory, resumable."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from handbench import tables
from handbench.errors import HandbenchError
from handbench.protocols import Estimator, PoseTable, Progress
from handbench.runs.parts import make_estimator
from handbench.runs.posing import follows, pose_row, pose_table
from handbench.runs.videos import LoosePictures, Picture, Stream, streams_of
from handbench.specs import Spec

_ROWS: Final = 2_000
"""Log lines turned into a table at a time."""


@dataclass(frozen=True)
class Posed:
    """What was done.

    Attributes:
        poses: the ``poses`` table's file.
        frames: the ``frames`` table's file, beside it.
        images: how many frames.
        hands: how many hands.
        problems: what was wrong, by input and reason.
    """

    poses: Path
    frames: Path
    images: int
    hands: int
    problems: dict[str, dict[str, int]] = field(default_factory=dict)


def frames_beside(out: Path) -> Path:
    """Where the ``frames`` table of a file of poses is."""
    return out.with_name(f"{out.stem}.frames.parquet")


def pose_videos(paths: list[Path], name: str, out: Path, progress: Progress) -> Posed:
    """Run an estimator over videos and folders of images.

    One line per frame is logged as it is done, so that a run that was broken off goes on where it stopped: hands are
    followed from the last line's keypoints, and the result is the same as if nothing had happened.

    Args:
        paths: videos, folders of images.
        name: the estimator.
        out: the Parquet file to write (a folder of parts where it is long).
        progress: told how far it is.

    Raises:
        HandbenchError: an input cannot be read at all, or the log beside ``out`` is of other inputs.
    """
    if out.exists():
        raise HandbenchError(f"{out}: is there already; remove it or take another name with -o")
    streams = streams_of(paths)
    estimator = make_estimator(name)
    if isinstance(estimator, PoseTable):
        raise HandbenchError(f"{name}: poses from a file; an estimator that looks at pictures is needed")
    log = out.with_suffix(".jsonl")
    log.parent.mkdir(parents=True, exist_ok=True)
    begun = {"estimator": str(Spec.parse(name)), "inputs": [str(path) for path in paths]}
    done, last = _resume(log, begun)
    total = sum(stream.total or 0 for stream in streams) or None
    count = 0
    with open(log, "ab", buffering=0) as file:
        if not done and not last:
            file.write((json.dumps(begun) + "\n").encode())
        for stream in streams:
            there = done.get(stream.name, 0)
            for row in _rows(stream, estimator, there, last.get(stream.name)):
                file.write((json.dumps(row) + "\n").encode())
                count += 1
                if count % 10 == 0:
                    progress(sum(done.values()) + count, total, f"poses by {name}")
    progress(sum(done.values()) + count, total, f"poses by {name}")
    images, hands = _tables(log, name, out)
    log.unlink()
    problems = {stream.name: dict(stream.problems) for stream in streams if stream.problems}
    return Posed(out, frames_beside(out), images, hands, problems)


def _rows(stream: Stream, estimator: Estimator, there: int, last: list[Any] | None) -> Iterator[dict[str, Any]]:
    """Rows of the frames that are not logged yet."""
    look: Any = estimator
    if follows(estimator) and not isinstance(stream, LoosePictures):
        look = estimator.tracker()  # type: ignore[attr-defined]
        look.reset()
        if last:
            look.resume([np.asarray(keypoints, np.float64) for keypoints in last])
    for picture in stream.pictures(skip=there):
        if picture.pixels is not None:
            begun = time.perf_counter()
            hands = look(picture.pixels)
            yield _row(picture, stream.name, hands, time.perf_counter() - begun)


def _row(picture: Picture, stream: str, hands: Any, seconds: float) -> dict[str, Any]:
    row = pose_row(picture.image, hands, seconds, video=picture.video, frame=picture.number)
    return {**row, "stream": stream, "at": picture.seconds, "size": picture.size}


def _lines(log: Path) -> Iterator[dict[str, Any]]:
    with open(log, "rb") as file:
        for line in file:
            yield json.loads(line)


def _resume(log: Path, begun: dict[str, Any]) -> tuple[Counter[str], dict[str, list[Any]]]:
    """How many frames of each input are logged, and the keypoints of the last of them; a torn last line is cut off."""
    done: Counter[str] = Counter()
    last: dict[str, list[Any]] = {}
    if not log.exists():
        return done, last
    _cut(log)
    for place, row in enumerate(_lines(log)):
        if place == 0:
            if row != begun:
                raise HandbenchError(f"{log}: was begun with {row}; repeat that command, or remove the file")
            continue
        done[row["stream"]] += 1
        last[row["stream"]] = [hand["keypoints_px"] for hand in row["hands"] if hand["hand"] >= 0]
    return done, last


def _cut(log: Path) -> None:
    """Cut a line that was not written to its end."""
    with open(log, "rb+") as file:
        size = file.seek(0, 2)
        back = min(size, 1 << 20)
        file.seek(size - back)
        tail = file.read()
        if tail and not tail.endswith(b"\n"):
            file.truncate(size - back + tail.rfind(b"\n") + 1)


def _tables(log: Path, name: str, out: Path) -> tuple[int, int]:
    """The log as tables, chunk by chunk: (frames, hands)."""
    frames = hands = 0
    with tables.Writer(out, "poses") as poses, tables.Writer(frames_beside(out), "frames") as pictures:
        for chunk in _chunks(log):
            listed = [
                {key: value for key, value in row.items() if key not in ("stream", "at", "size")} for row in chunk
            ]
            table = tables.conform(pose_table(name, listed), "poses")
            poses.add(table)
            pictures.add(_frames(chunk))
            frames += len(chunk)
            hands += int((table["hand"] >= 0).sum())
    return frames, hands


def _chunks(log: Path) -> Iterator[list[dict[str, Any]]]:
    chunk: list[dict[str, Any]] = []
    for row in _lines(log):
        if "image" not in row:
            continue
        chunk.append(row)
        if len(chunk) == _ROWS:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _frames(rows: list[dict[str, Any]]) -> pl.DataFrame:
    return tables.conform(
        pl.DataFrame(
            {
                "image": [row["image"] for row in rows],
                "dataset": "videos",
                "split": "all",
                "video": pl.Series([row["video"] for row in rows], dtype=pl.String),
                "frame": pl.Series([row["frame"] for row in rows], dtype=pl.Int64),
                "seconds": pl.Series([row["at"] for row in rows], dtype=pl.Float64),
                "width": [row["size"][0] for row in rows],
                "height": [row["size"][1] for row in rows],
                "annotated": False,
            }
        ),
        "frames",
    )
