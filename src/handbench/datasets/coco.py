"""Hands in COCO-like JSON: COCO-WholeBody, Halpe, and one-hand files such as mmpose's OneHand10K.

2D alone.  A record has the fields ``lefthand_kpts`` and ``righthand_kpts`` (COCO-WholeBody), or ``keypoints``
of 133 points (the same merged), 136 (Halpe) or 21 (one hand, our order).  A point is x, y, v; v above 0 means
that it is annotated (COCO-WholeBody also writes confidences there).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from handbench.datasets import files, json_files
from handbench.datasets.build import Hands, Setting, finish
from handbench.datasets.guards import is_placeholder, stop_or_note
from handbench.datasets.selection import Selection
from handbench.errors import HandbenchError
from handbench.hand.geometry import Floats
from handbench.protocols import ReadContext, Source, dataset
from handbench.specs import Options, Spec

NAME: Final = "coco"
FIRST_HAND_POINT: Final = {133: 91, 136: 94}
"""Where the left hand begins among all points of a person; the right hand follows it."""

_POINTS = pl.List(pl.List(pl.Float64))
_IMAGES: Final[json_files.Fields] = {
    "id": pl.Int64,
    "file_name": pl.String,
    "width": pl.Int64,
    "height": pl.Int64,
}
_ANNOTATIONS: Final[json_files.Fields] = {
    "id": pl.Int64,
    "image_id": pl.Int64,
    "keypoints": _POINTS,
    "lefthand_kpts": _POINTS,
    "righthand_kpts": _POINTS,
    "lefthand_valid": pl.Float64,
    "righthand_valid": pl.Float64,
    "hand_type": pl.String,
    "iscrowd": pl.Float64,
}
_OPTIONAL = tuple(field for field in _ANNOTATIONS if field not in ("id", "image_id"))


@dataset(NAME)
def read(spec: Spec, context: ReadContext) -> Source:
    """Read ``coco:FILE?images=DIR&side=right&pixels=0&hash=yes``.

    Options: ``images``, the folder of the images (that of the file by default); ``side`` (left, right) of
    all hands, where the file does not tell (else it is ``unknown``); ``pixels``, the least size of a hand;
    ``hash``.

    Args:
        spec: the JSON file.
        context: the only split is named like the file, without its suffix.

    Raises:
        HandbenchError: the file or an image is damaged, nothing is left, or points are placeholders.
    """
    options = Options(spec)
    path = files.file(spec, "the JSON file")
    root = path.parent / options.text("images", ".")
    side = options.choice("side", "unknown", ("left", "right", "unknown"))
    least = options.number("pixels", 0)
    hashed = options.flag("hash", default=True)
    options.done()
    split = path.stem
    if context.split not in (None, split):
        raise HandbenchError(f"{spec}: the only split is {split}, not {context.split!r}")
    return read_file(path, Setting(NAME, split, root, path, context, hashed), side, least)


def read_file(
    path: Path, setting: Setting, side: str = "unknown", least: float = 0, *, side_in_name: bool = False
) -> Source:
    """Read one COCO-like file.

    Args:
        path: the file.
        setting: whose hands they are, with the folder that images are relative to.
        side: of all hands, where the file does not tell.
        least: the least size of a hand, pixels.
        side_in_name: whether an image's name that ends in ``_l`` or ``_r`` tells the side of its hand.

    Raises:
        HandbenchError: the file or an image is damaged, nothing is left, or points are placeholders.
    """
    context, root = setting.context, setting.root
    context.progress(0, None, "reading annotations")
    lists = {"images": _IMAGES, "annotations": _ANNOTATIONS}
    images, annotations = json_files.read_json_records(path, "images and annotations", lists, _OPTIONAL, context.faults)
    annotations = annotations.filter(_whole(annotations, path, context))
    left = Selection(annotations.rename({"id": "annotation"}))
    left.match("annotation without image", images.rename({"id": "image_id"}), ("image_id",))
    crowd = pl.col("iscrowd").fill_null(0) != 0
    left.rows = left.rows.with_columns(crowded=crowd.any().over("image_id"))
    left.keep("crowd", ~crowd)
    if side_in_name:
        told = (
            pl.col("file_name").str.extract(r"_([lr])\.\w+$").replace_strict({"l": "left", "r": "right"}, default=None)
        )
        left.rows = left.rows.with_columns(hand_type=pl.coalesce("hand_type", told))
    left.rows, points = _hands(left.rows, side, path)
    given = points[..., 2] > 0
    enough = given.any(axis=1) & left.rows["valid"].to_numpy()
    whole = pl.Series(enough, dtype=pl.Boolean) & ~left.rows["crowded"] & (left.rows["side"] != "unknown")
    annotated = left.rows.select("file_name", whole=whole).group_by("file_name").agg(pl.col("whole").all())
    left.keep("hand not annotated", pl.Series(enough, dtype=pl.Boolean))
    placed = np.where(given[..., None], points[..., :2], np.nan)
    size = np.nan_to_num(np.nanmax(placed[enough], axis=1) - np.nanmin(placed[enough], axis=1)).max(axis=1)
    left.keep(f"hand smaller than {least:g} pixels", pl.Series(size >= least, dtype=pl.Boolean))
    there = files.existing(root, left.rows["file_name"].to_list())
    left.keep("no image", pl.Series(there, dtype=pl.Boolean))
    left.refuse_empty(path, "its hands")

    rows = left.rows.join(annotated, on="file_name", maintain_order="left")
    points, placed = points[rows["row"].to_numpy()], placed[rows["row"].to_numpy()]
    notes = _placeholders(placed, path, context)
    if (rows["side"] == "unknown").any():
        notes.append(f"{path.name} does not say which hand is left or right (?side=)")
    names = [files.stem(name) for name in rows["file_name"]]
    hands = Hands(
        images=rows["file_name"].to_list(),
        keys=[f"{name}/{number}" for name, number in zip(names, rows["annotation"], strict=True)],
        sides=rows["side"].to_list(),
        clusters=names,
        sizes=rows.select("width", "height").to_numpy(),
        joints_px=placed,
        visible=points[..., 2] > 0,
        # Where any point has the 2 of COCO, 1 means annotated and hidden; elsewhere it means annotated.
        occluded=points[..., 2] == 1 if (points[..., 2] == 2).any() else None,
        annotated=rows["whole"].to_numpy(),
    )
    return finish(hands, replace(setting, skipped=left.skipped, notes=notes))


def _hands(rows: pl.DataFrame, side: str, path: Path) -> tuple[pl.DataFrame, Floats]:
    """A row for each hand with ``side``, ``valid`` and ``row``, and its points (N, 21, 3)."""
    if rows["lefthand_kpts"].null_count() < rows.height:
        sides = [
            (name, _points(rows[f"{name}hand_kpts"], 21, path), rows[f"{name}hand_valid"].fill_null(1) != 0)
            for name in ("left", "right")
        ]
    else:
        counts = rows["keypoints"].list.eval(pl.element().list.len()).list.sum() // 3
        count = int(counts.max() or 0)  # type: ignore[arg-type]
        valid = pl.repeat(True, rows.height, eager=True)
        if count == 21:
            points = _points(rows["keypoints"], 21, path)
            named = rows["hand_type"].fill_null(side)
            wrong = ~named.is_in(["left", "right", "unknown"])
            if wrong.any():
                found = named.filter(wrong)[0]
                raise HandbenchError(f"{path}: hand_type must be left or right, found {found!r}")
            table = rows.with_columns(side=named, valid=valid).with_row_index("row")
            return table, points
        if count not in FIRST_HAND_POINT:
            raise HandbenchError(
                f"{path}: no hand keypoints; expected lefthand_kpts, or keypoints of 21, 133 or 136 points, "
                f"found {count}"
            )
        body, start = _points(rows["keypoints"], count, path), FIRST_HAND_POINT[count]
        sides = [
            ("left", body[:, start : start + 21], valid),
            ("right", body[:, start + 21 : start + 42], valid),
        ]
    table = pl.concat([rows.with_columns(side=pl.lit(name), valid=good) for name, _, good in sides])
    return table.with_row_index("row"), np.concatenate([points for _, points, _ in sides])


def _whole(annotations: pl.DataFrame, path: Path, context: ReadContext) -> pl.Series:
    """Which records have finite numbers for points; where none may be left out, reading them says more."""
    good = pl.repeat(True, annotations.height, eager=True)
    if not context.faults.keep_going:
        return good
    for name in ("keypoints", "lefthand_kpts", "righthand_kpts"):
        flat = annotations[name].list.eval(pl.element().explode())
        good &= flat.list.eval(pl.element().is_finite()).list.all().fill_null(True)
        good &= (flat.list.len() % 3 == 0).fill_null(True)
    context.faults.good(
        good.to_numpy(), "joints not finite", lambda row: f"{path}: record {row}: a point is not of finite numbers"
    )
    return good


def _points(column: pl.Series, count: int, path: Path) -> Floats:
    """(N, count, 3) numbers of a column of lists, nested or flat."""
    sizes = column.list.eval(pl.element().list.len()).list.sum()
    wrong = sizes.ne_missing(3 * count)
    if wrong.any():
        raise HandbenchError(
            f"{path}: {column.name}, record {int(wrong.arg_true()[0])}: expected {count} points x, y, v"
        )
    values = np.asarray(column.explode().explode().to_numpy(), np.float64)
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0]) // (3 * count)
        raise HandbenchError(f"{path}: {column.name}, record {row}: not a finite number")
    return values.reshape(-1, count, 3)


def _placeholders(placed: Floats, path: Path, context: ReadContext) -> list[str]:
    found = is_placeholder(placed)
    if not found.any():
        return []
    value = ", ".join(f"{number:g}" for number in placed[found][0])
    cause = f"{int(found.sum())} points count as annotated and lie at ({value}), as placeholders do"
    return [stop_or_note(path, cause, context)]
