"""Images → poses: an estimator over every image of a run, in several processes, resumable."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from PIL import Image, UnidentifiedImageError

from handbench import tables
from handbench.errors import HandbenchError
from handbench.processes import process_pool
from handbench.protocols import DetectedHand, Estimator, PoseTable, Progress, TellsExtent, Tracks
from handbench.runs.parts import make_estimator

_BATCH = 16

Row = dict[str, Any]


def load_image(path: Path) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Decode an image to (H, W, 3) uint8 RGB.

    Raises:
        HandbenchError: the file is missing or no image.
    """
    try:
        with Image.open(path) as image:
            return np.asarray(image.convert("RGB"))
    except FileNotFoundError:
        raise HandbenchError(f"{path}: the image is missing; was the dataset's folder moved?") from None
    except (UnidentifiedImageError, OSError) as error:
        raise HandbenchError(f"{path}: not a readable image ({error})") from None


def _hand_row(hand: DetectedHand, number: int) -> Row:
    scores, joints = hand.keypoint_scores, hand.keypoints_cam
    return {
        "hand": number,
        "side": hand.side,
        "score": float(hand.score),
        "keypoints_px": np.asarray(hand.keypoints_px, float).tolist(),
        "keypoint_scores": None if scores is None else np.asarray(scores, float).tolist(),
        "keypoints_cam": None if joints is None else np.asarray(joints, float).tolist(),
        "center": np.asarray(hand.center, float).tolist() if isinstance(hand, TellsExtent) else None,
        "extent": np.asarray(hand.extent, float).tolist() if isinstance(hand, TellsExtent) else None,
    }


_worker: Estimator | None = None  # one estimator in each worker process, made when the process starts


def _start_worker(name: str) -> None:
    global _worker
    _worker = make_estimator(name)


def _estimate(root: str, images: list[str], estimator: Estimator | None = None) -> list[Row]:
    """Rows of images that are looked at one by one."""
    estimator = estimator or _worker
    assert estimator is not None, "the worker was not started"
    return [_look(estimator, root, image) for image in images]


def _look(look: Any, root: str, image: str) -> Row:
    pixels = load_image(Path(root) / image)
    begun = time.perf_counter()
    hands = look(pixels)
    return pose_row(image, hands, time.perf_counter() - begun)


def pose_row(image: str, hands: Sequence[DetectedHand], seconds: float, **place: Any) -> Row:
    """What the log keeps of one image: its hands, and the time spent on it."""
    found = [_hand_row(hand, number) for number, hand in enumerate(hands)] or [{"hand": -1}]
    return {"image": image, "seconds": seconds, **place, "hands": found}


def _follow(root: str, images: list[str], estimator: Estimator | None = None) -> list[Row]:
    """Rows of the frames of one video, in order, hands followed from frame to frame."""
    estimator = estimator or _worker
    assert isinstance(estimator, Tracks), "the worker was not started"
    tracker = estimator.tracker()
    assert tracker is not None, "an estimator that does not track was asked to"
    tracker.reset()
    return [_look(tracker, root, image) for image in images]


def _batches(images: list[str]) -> list[list[str]]:
    return [images[start : start + _BATCH] for start in range(0, len(images), _BATCH)]


def _all(
    estimator: Estimator, name: str, root: str, batches: list[list[str]], workers: int, *, follow: bool
) -> Iterator[list[Row]]:
    work = _follow if follow else _estimate
    if workers < 2 or len(batches) < 4:
        yield from (work(root, batch, estimator) for batch in batches)
        return
    with process_pool(workers, _start_worker, (name,)) as pool:
        yield from pool.map(work, [root] * len(batches), batches)


def follows(estimator: Estimator) -> bool:
    """Whether an estimator follows hands through videos."""
    return isinstance(estimator, Tracks) and estimator.tracker() is not None


def estimate(
    name: str,
    root: Path,
    images: list[str],
    out: Path,
    *,
    workers: int,
    progress: Progress,
    videos: list[list[str]] | None = None,
) -> pl.DataFrame:
    """Run an estimator over images and keep the poses.

    Args:
        name: the estimator, e.g. ``blaze-full``.
        root: folder that the image paths are relative to.
        images: the images, each once.
        out: the Parquet file to write; a log beside it makes the work resumable.
        workers: processes.
        progress: told how far it is.
        videos: the same images video by video, in order; an estimator that can follow hands then does.

    Returns:
        The ``poses`` table: a row per hand found, and one with ``hand`` -1 where an image has none.
    """
    if out.exists():
        return tables.read(out, "poses")
    log = out.with_suffix(".jsonl")
    log.parent.mkdir(parents=True, exist_ok=True)
    rows = _recover(log)
    done = {row["image"] for row in rows}
    left = [image for image in images if image not in done]
    if left:
        made = make_estimator(name)
        follow = bool(videos) and follows(made)
        if follow:  # a video that was broken off is followed from its beginning
            batches = [video for video in videos or [] if not done.issuperset(video)]
            again = {image for video in batches for image in video}
            rows = [row for row in rows if row["image"] not in again]
            batches += [[image] for image in left if image not in again]
        else:
            batches = _batches(left)
        with open(log, "ab", buffering=0) as file:
            for batch in _all(made, name, str(root), batches, workers, follow=follow):
                file.write("".join(json.dumps(row) + "\n" for row in batch).encode())
                rows += batch
                progress(len(rows), len(images), f"poses by {name}")
    place = {image: number for number, image in enumerate(images)}
    rows = sorted({row["image"]: row for row in rows}.values(), key=lambda row: place.get(row["image"], -1))
    tables.write(pose_table(name, rows), out, "poses")
    log.unlink()
    return tables.read(out, "poses")


def imported(name: str, frames: pl.DataFrame, out: Path) -> tuple[pl.DataFrame, dict[str, int]]:
    """Poses that were made elsewhere, for the frames of a set, and a count of rows left out.

    Args:
        name: the estimator, e.g. ``poses:preds.parquet?name=wilor``.
        frames: the ``frames`` table.
        out: the Parquet file to write.
    """
    source = make_estimator(name)
    assert isinstance(source, PoseTable), f"{name} is no table of poses"
    poses, skipped = source.poses(frames)
    tables.write(poses, out, "poses")
    return tables.read(out, "poses"), skipped


def _recover(log: Path) -> list[Row]:
    if not log.exists():
        return []
    data = log.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    if len(whole) < len(data):
        log.write_bytes(whole)
    return [json.loads(line) for line in io.BytesIO(whole)]


def pose_table(name: str, rows: list[Row]) -> pl.DataFrame:
    """The ``poses`` table of rows that :func:`pose_row` made."""
    flat = [
        {"estimator": name, "stage": "raw", **{key: value for key, value in row.items() if key != "hands"}, **hand}
        for row in rows
        for hand in row["hands"]
    ]
    columns = {name: column.dtype for name, column in tables.SCHEMAS["poses"].items()}
    words = ("estimator", "stage", "video", "side")  # text here; conform() turns them into categories
    schema: Any = {name: pl.String if name in words else kind for name, kind in columns.items()}
    return pl.DataFrame(flat, schema=schema)
