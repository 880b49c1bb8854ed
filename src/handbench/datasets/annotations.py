"""``annotations:FILE``: frame-level 2D annotations, hands or none, in one JSON file.

The format (every field but those marked is needed)::

    {"format": "handbench-annotations", "version": 1, "dataset": "my-videos", "split": "test",
     "frames": [
       {"image": "v1/000001.jpg", "width": 640, "height": 480,
        "video": "v1", "frame": 1, "seconds": 0.033,            optional; video and frame go together
        "annotated": true,                                      optional; all hands of the frame are in the list
        "gesture": "G05",                                       optional; becomes factor_gesture
        "hands": [
          {"side": "right",                                     left, right or unknown
           "points": [[x, y] × 21],                             pixels; null for a point that nobody placed
           "occluded": [3, 4], "out_of_frame": [20],            optional; numbers of points
           "initial": [[x, y] × 21], "initial_by": "blaze-full",  optional; the estimate that the annotator began with
           "verified": true}]}]}                                optional

A frame without hands has an empty list: without such frames nothing can be said of hands seen where none is.  Points
that are occluded are given as well as they can be told; points outside the picture may lie outside it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from handbench import tables
from handbench.datasets import files
from handbench.errors import HandbenchError
from handbench.faults import Faults
from handbench.protocols import ReadContext, Source, dataset
from handbench.specs import Options, Spec

NAME: Final = "annotations"
FORMAT: Final = "handbench-annotations"
VERSION: Final = 1
_SIDES: Final = ("left", "right", "unknown")


@dataset(NAME)
def read(spec: Spec, context: ReadContext) -> Source:
    """Read ``annotations:FILE?images=DIR``; images need not be there to score poses that were made elsewhere.

    Args:
        spec: the JSON file; ``images``, the folder of the images (that of the file by default).
        context: the split must be the file's own.

    Raises:
        HandbenchError: the file is damaged; the frame, the hand and the field are named.
    """
    options = Options(spec)
    path = files.file(spec, "a JSON file of annotations")
    root = path.parent / options.text("images", ".")
    options.done()
    content = load(path)
    dataset_name, split = str(content.get("dataset", NAME)), str(content.get("split", path.stem))
    if context.split not in (None, split):
        raise HandbenchError(f"{spec}: the only split is {split}, not {context.split!r}")
    frames, hands = tables_of(content, path, dataset_name, split, context.faults)
    left_out, notes = context.faults.take()
    unknown = int((hands["side"].cast(pl.String) == "unknown").sum())
    if unknown:
        notes.append(f"{unknown} hands have no side: they accept any label and say nothing of label swaps.")
    if frames["video"].null_count():
        notes.append("Some frames do not tell their video: each of them is a video by itself.")
    return Source(name=dataset_name, frames=frames, hands=hands, root=root, skipped=left_out, notes=notes)


def load(path: Path) -> dict[str, Any]:
    """The content of a file of annotations.

    Raises:
        HandbenchError: it is no such file.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, UnicodeDecodeError) as error:
        raise HandbenchError(f"{path}: expected JSON of annotations: {error}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise HandbenchError(f"{path}: expected format {FORMAT!r} at its top")
    if content.get("version") != VERSION:
        raise HandbenchError(f"{path}: version {content.get('version')!r}; this handbench reads {VERSION}")
    if not isinstance(content.get("frames"), list):
        raise HandbenchError(f"{path}: expected a list of frames")
    return content


def tables_of(
    content: dict[str, Any], path: Path, dataset_name: str, split: str, faults: Faults | None = None
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The ``frames`` and ``hands`` tables of a file's content.

    A frame with a bad hand that is left out counts as annotated in part.
    """
    faults = faults or Faults()
    frames: list[dict[str, Any]] = []
    hands: list[dict[str, Any]] = []
    seen: set[str] = set()
    for place, frame in enumerate(content["frames"]):
        where = f"{path}: frame {place}"
        if not isinstance(frame, dict) or not isinstance(frame.get("image"), str):
            raise HandbenchError(f"{where}: expected an object with an image")
        image = frame["image"]
        where = f"{path}: {image}"
        if image in seen:
            raise HandbenchError(f"{where}: the frame comes twice")
        seen.add(image)
        for name in ("width", "height"):
            if not isinstance(frame.get(name), int) or frame[name] < 1:
                raise HandbenchError(f"{where}: {name} must be a whole number of pixels, found {frame.get(name)!r}")
        if ("video" in frame) != ("frame" in frame):
            raise HandbenchError(f"{where}: video and frame go together")
        if not isinstance(frame.get("hands"), list):
            raise HandbenchError(f"{where}: expected a list of hands, empty where there is none")
        shared = {"image": image, "dataset": dataset_name, "split": split}
        frames.append(
            {
                **shared,
                "video": frame.get("video"),
                "frame": frame.get("frame"),
                "seconds": frame.get("seconds"),
                "width": frame["width"],
                "height": frame["height"],
                "annotated": frame.get("annotated", True),
                "sequence": frame.get("video"),
            }
        )
        for number, hand in enumerate(frame["hands"]):
            try:
                row = _hand(hand, f"{where}, hand {number}")
            except HandbenchError as error:
                faults.bad(error)
                frames[-1]["annotated"] = False
                continue
            hand_id = f"{dataset_name}/{split}/{image}/{number}-{row['side']}"
            row |= {**shared, "hand_id": hand_id, "cluster": str(frame.get("video", image))}
            row["sequence"] = frame.get("video")
            row["factor_gesture"] = frame.get("gesture")
            hands.append(row)
    return _table(frames, "frames", path), _table(hands, "hands", path)


def _hand(hand: Any, where: str) -> dict[str, Any]:
    if not isinstance(hand, dict):
        raise HandbenchError(f"{where}: expected an object")
    side = hand.get("side")
    if side not in _SIDES:
        raise HandbenchError(f"{where}: side must be left, right or unknown, found {side!r}")
    points = _points(hand.get("points"), f"{where}: points")
    placed = np.isfinite(points).all(axis=1)
    outside = _flags(hand.get("out_of_frame", []), f"{where}: out_of_frame")
    occluded = _flags(hand.get("occluded", []), f"{where}: occluded")
    initial = hand.get("initial")
    return {
        "side": side,
        "joints_px": points,
        "in_frame": placed & ~outside,
        "occluded": occluded & placed & ~outside,
        "visible": placed & ~outside & ~occluded,
        "initial_px": None if initial is None else _points(initial, f"{where}: initial"),
        "verified": hand.get("verified"),
    }


def _points(given: Any, where: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    if not isinstance(given, list) or len(given) != 21:
        found = f"{len(given)} points" if isinstance(given, list) else type(given).__name__
        raise HandbenchError(f"{where}: expected 21 points [x, y], found {found}")
    try:
        return np.array([[np.nan, np.nan] if point is None else point for point in given], float).reshape(21, 2)
    except (TypeError, ValueError):
        raise HandbenchError(f"{where}: a point must be [x, y] in pixels, or null") from None


def _flags(given: Any, where: str) -> np.ndarray[Any, np.dtype[np.bool_]]:
    flags = np.zeros(21, bool)
    if not isinstance(given, list) or not all(isinstance(number, int) and 0 <= number < 21 for number in given):
        raise HandbenchError(f"{where}: expected numbers of points from 0 to 20, found {given!r}")
    flags[given] = True
    return flags


def _table(rows: list[dict[str, Any]], table: str, path: Path) -> pl.DataFrame:
    if not rows:
        return tables.empty(table)
    schema = tables.SCHEMAS[table]
    data = {}
    for name in rows[0]:
        values = [row[name] for row in rows]
        kind = schema[name].dtype if name in schema else pl.String()
        words = kind == tables.WORD
        listed = [None if value is None else np.asarray(value).tolist() for value in values]
        try:
            data[name] = pl.Series(name, listed, dtype=pl.String if words else kind)
        except (TypeError, pl.exceptions.PolarsError):
            bad = next((value for value in values if isinstance(value, list | dict)), values[0])
            raise HandbenchError(f"{path}: {name} must be {kind}, found {bad!r}") from None
    frame = pl.DataFrame(data)
    empty = [name for name in frame.columns if name.startswith("factor_") and frame[name].null_count() == frame.height]
    return tables.conform(frame.drop(empty), table, path)


def write(path: Path, frames: pl.DataFrame, hands: pl.DataFrame, initial_by: str | None = None) -> Path:
    """Write frames and hands in this format.

    Args:
        path: the file to write.
        frames: a ``frames`` table.
        hands: a ``hands`` table.
        initial_by: who made the initial estimates, where there are any.
    """
    by_image: dict[str, list[dict[str, Any]]] = {}
    gesture: dict[str, Any] = {}
    for row in hands.iter_rows(named=True):
        points = np.asarray(row["joints_px"], float)
        hand: dict[str, Any] = {"side": row["side"], "points": _listed(points)}
        for name, key, wanted in (("occluded", "occluded", True), ("in_frame", "out_of_frame", False)):
            if row[name] is not None:
                hand[key] = [number for number, flag in enumerate(row[name]) if flag is wanted]
        if row["initial_px"] is not None:
            hand["initial"] = _listed(np.asarray(row["initial_px"], float))
            if initial_by is not None:
                hand["initial_by"] = initial_by
        if row["verified"] is not None:
            hand["verified"] = row["verified"]
        by_image.setdefault(row["image"], []).append(hand)
        gesture[row["image"]] = row.get("factor_gesture")
    listed = []
    for row in frames.iter_rows(named=True):
        frame = {"image": row["image"], "width": row["width"], "height": row["height"]}
        if row["video"] is not None and row["frame"] is not None:
            frame |= {"video": row["video"], "frame": row["frame"]}
        if row["seconds"] is not None:
            frame["seconds"] = row["seconds"]
        told = gesture.get(row["image"]) or row.get("factor_gesture")
        if told is not None:
            frame["gesture"] = told
        listed.append({**frame, "annotated": row["annotated"], "hands": by_image.get(row["image"], [])})
    first = frames.row(0, named=True) if frames.height else {"dataset": NAME, "split": path.stem}
    content = {
        "format": FORMAT,
        "version": VERSION,
        "dataset": first["dataset"],
        "split": first["split"],
        "frames": listed,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".part")
    draft.write_text(json.dumps(content), encoding="utf-8")
    draft.replace(path)
    return path


def _listed(points: np.ndarray[Any, np.dtype[np.float64]]) -> list[Any]:
    return [[round(float(x), 3), round(float(y), 3)] if np.isfinite([x, y]).all() else None for x, y in points]
