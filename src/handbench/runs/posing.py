"""Images → poses: an estimator over every image of a run, in several processes, resumable."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from PIL import Image, UnidentifiedImageError

from handbench import tables
from handbench.errors import HandbenchError
from handbench.processes import process_pool
from handbench.protocols import DetectedHand, Estimator, Progress
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
    }


_worker: Estimator | None = None  # one estimator in each worker process, made when the process starts


def _start_worker(name: str) -> None:
    global _worker
    _worker = make_estimator(name)


def _estimate(root: str, images: list[str], estimator: Estimator | None = None) -> list[Row]:
    estimator = estimator or _worker
    assert estimator is not None, "the worker was not started"
    rows = []
    for image in images:
        pixels = load_image(Path(root) / image)
        begun = time.perf_counter()
        hands = estimator(pixels)
        seconds = time.perf_counter() - begun
        found = [_hand_row(hand, number) for number, hand in enumerate(hands)] or [{"hand": -1}]
        rows.append({"image": image, "seconds": seconds, "hands": found})
    return rows


def _all(name: str, root: str, images: list[str], workers: int) -> Iterator[list[Row]]:
    batches = [images[start : start + _BATCH] for start in range(0, len(images), _BATCH)]
    if workers < 2 or len(batches) < 4:
        estimator = make_estimator(name)
        yield from (_estimate(root, batch, estimator) for batch in batches)
        return
    with process_pool(workers, _start_worker, (name,)) as pool:
        yield from pool.map(_estimate, [root] * len(batches), batches)


def estimate(name: str, root: Path, images: list[str], out: Path, *, workers: int, progress: Progress) -> pl.DataFrame:
    """Run an estimator over images and keep the poses.

    Args:
        name: the estimator, e.g. ``blaze-full``.
        root: folder that the image paths are relative to.
        images: the images, each once.
        out: the Parquet file to write; a log beside it makes the work resumable.
        workers: processes.
        progress: told how far it is.

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
    with open(log, "ab", buffering=0) as file:
        for batch in _all(name, str(root), left, workers) if left else ():
            file.write("".join(json.dumps(row) + "\n" for row in batch).encode())
            rows += batch
            progress(len(rows), len(images), f"poses by {name}")
    place = {image: number for number, image in enumerate(images)}
    rows.sort(key=lambda row: place.get(row["image"], -1))
    tables.write(_table(name, rows), out, "poses")
    log.unlink()
    return tables.read(out, "poses")


def _recover(log: Path) -> list[Row]:
    if not log.exists():
        return []
    data = log.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    if len(whole) < len(data):
        log.write_bytes(whole)
    return [json.loads(line) for line in io.BytesIO(whole)]


def _table(name: str, rows: list[Row]) -> pl.DataFrame:
    flat = [
        {"estimator": name, "stage": "raw", "image": row["image"], "seconds": row["seconds"], **hand}
        for row in rows
        for hand in row["hands"]
    ]
    columns = {name: column.dtype for name, column in tables.SCHEMAS["poses"].items()}
    words = ("estimator", "stage", "side")  # text here; conform() turns them into categories
    schema: Any = {name: pl.String if name in words else kind for name, kind in columns.items()}
    return pl.DataFrame(flat, schema=schema)
