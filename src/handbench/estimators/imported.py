"""``poses:FILE?name=wilor``: poses that were made elsewhere.

The file is our own ``poses`` Parquet, or JSON: a list (or ``{"poses": list}``) of records, one per hand or per person::

    {"image": "v1/000001.jpg", "keypoints": [[x, y, score?], ...], "side": "right", "score": 0.9}

with as many points as the estimator has (``layout``).  Instead of ``image`` there may be ``video`` and ``frame``.
Reconstructions may give ``keypoints_3d`` (21 × 3, the mesh model's own axes), ``cam_t`` (3), ``focal`` and
``image_size`` instead; a left hand is then mirrored before it is projected, since WiLoR and HaMeR
predict every hand as a right one. They may carry the predicted mesh's ``center`` and ``extent``.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from handbench import tables
from handbench.errors import HandbenchError
from handbench.estimators.keypoint_maps import BY_ESTIMATOR, LAYOUTS, layouts_of
from handbench.protocols import Estimator, estimator
from handbench.specs import Options, Spec

Floats = NDArray[np.float64]

_SIDES: Final = ("file", "wrists", "palm")
_LARGEST: Final = 1_000_000


class ImportedPoses:
    """Poses from a file; it cannot look at an image."""

    def __init__(self, path: Path, name: str, layout: str, sides: str) -> None:
        """Remember where the poses are.

        Args:
            path: the file.
            name: what the estimator is called.
            layout: a key of :data:`~handbench.estimators.keypoint_maps.LAYOUTS`; empty to go by the name and the
                number of points.
            sides: where a hand's side is from: ``file``; ``wrists``, from the body's wrists in the record;
                ``palm``, from the order of the fingers, taking the palm to face the camera.
        """
        self.name = name
        self._path = path
        self._layout = layout or BY_ESTIMATOR.get(name, "")
        self._sides = sides

    def __call__(self, image: NDArray[np.uint8]) -> list[Any]:
        """Refuse: there is nothing to run."""
        raise HandbenchError(f"{self._path}: poses from a file serve frames that they were made for, no other image")

    def poses(self, frames: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, int]]:
        """The ``poses`` table of a set's frames.

        Rows for images that the set does not have are kept and counted where they are scored.

        Raises:
            HandbenchError: the file is no such table, or no record has the number of points that its layout has; where
                only some have not, these are counted and their frames stay without a hand.
        """
        if self._path.suffix == ".parquet" or self._path.is_dir():
            table = tables.read(self._path, "poses").with_columns(estimator=pl.lit(self.name), stage=pl.lit("raw"))
            return tables.conform(table, "poses"), {}
        skipped: Counter[str] = Counter()
        rows: list[dict[str, Any]] = []
        wrong: list[HandbenchError] = []
        for place, record in enumerate(self._records()):
            try:
                rows += self._hands(record, place, skipped)
            except _WrongCountError as error:
                wrong.append(error)
                rows.append(self._origin(record))
        if wrong and not any("keypoints_px" in row for row in rows):
            raise wrong[0]
        if wrong:
            skipped[f"hand with another number of points, the first {wrong[0]}"] = len(wrong)
        columns = {name: column.dtype for name, column in tables.SCHEMAS["poses"].items()}
        words = ("estimator", "stage", "side", "video")
        schema: Any = {name: pl.String if name in words else kind for name, kind in columns.items()}
        schema.pop("hand")
        table = _named(pl.DataFrame(rows, schema=schema), frames, self._path)
        table = table.with_columns(
            hand=pl.when(pl.col("keypoints_px").is_null())
            .then(-1)
            .otherwise(pl.int_range(pl.len()).over("image"))
            .cast(pl.Int16)
        )
        return tables.conform(table, "poses"), dict(skipped)

    def _records(self) -> list[Any]:
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise HandbenchError(f"{self._path}: expected a file of poses, found nothing there") from None
        except (ValueError, UnicodeDecodeError) as error:
            raise HandbenchError(f"{self._path}: expected JSON or Parquet of poses: {error}") from None
        found = found.get("poses") if isinstance(found, dict) else found
        if not isinstance(found, list):
            raise HandbenchError(f"{self._path}: expected a list of records or {{'poses': [...]}}")
        return found

    def _hands(self, record: Any, place: int, skipped: Counter[str]) -> list[dict[str, Any]]:
        where = f"{self._path}: record {place}"
        if not isinstance(record, dict) or not ("image" in record or {"video", "frame"} <= record.keys()):
            raise HandbenchError(f"{where}: expected an object with image, or with video and frame")
        origin = self._origin(record)
        given = record.get("keypoints", record.get("keypoints_3d"))
        if given is None:
            return [origin]  # the frame was looked at and no hand was found
        if "keypoints_3d" in record and "keypoints" not in record:
            points, scores = _projected(record, where), None
        else:
            points, scores = _points(given, where)
        found = []
        for side, rows in self._split(len(points), where).items():
            mine = points[list(rows)]
            sure = None if scores is None else scores[list(rows)]
            if side and (not np.isfinite(mine).all() or (sure is not None and not (sure > 0).any())):
                skipped["hand that its estimator did not see"] += 1
                continue
            if side and (mine == mine[0]).all():
                skipped["hand with all points at one place"] += 1
                continue
            found.append(
                {
                    **origin,
                    "side": side or self._side_of(record, mine, where),
                    "score": record.get("score", None if sure is None else float(sure.mean())),
                    "keypoints_px": mine.tolist(),
                    "keypoint_scores": None if sure is None else sure.tolist(),
                    "center": record.get("center"),
                    "extent": record.get("extent"),
                }
            )
        return found or [origin]

    def _origin(self, record: dict[str, Any]) -> dict[str, Any]:
        """The frame of a record, as one in which no hand was found."""
        places = ("image", "video", "frame", "seconds")
        return {"estimator": self.name, "stage": "raw", **{name: record.get(name) for name in places}}

    def _split(self, points: int, where: str) -> dict[str, tuple[int, ...]]:
        known = [self._layout] if self._layout else layouts_of(points)
        if len(known) != 1:
            choices = ", ".join(known or LAYOUTS)
            raise HandbenchError(f"{where}: {points} points; say which layout they have with ?layout= ({choices})")
        if known[0] not in LAYOUTS:
            raise HandbenchError(f"{where}: no layout {known[0]!r}; there are {', '.join(LAYOUTS)}")
        expected, rows = LAYOUTS[known[0]]
        if points != expected:
            raise _WrongCountError(f"{where}: expected {expected} points ({known[0]}), found {points}")
        return rows

    def _side_of(self, record: dict[str, Any], points: Floats, where: str) -> str | None:
        if self._sides == "palm":
            return side_by_palm(points)
        if self._sides == "wrists":
            wrists = record.get("wrists")
            if not isinstance(wrists, dict) or not {"left", "right"} <= wrists.keys():
                raise HandbenchError(f"{where}: sides=wrists needs wrists: {{'left': [x, y], 'right': [x, y]}}")
            return side_by_wrists(points, np.asarray(wrists["left"], float), np.asarray(wrists["right"], float))
        side = record.get("side")
        if side not in ("left", "right", None):
            raise HandbenchError(f"{where}: side must be left or right, found {side!r}")
        return side


class _WrongCountError(HandbenchError):
    """A record whose points are not as many as its layout has."""


def side_by_wrists(points: Floats, left: Floats, right: Floats) -> str:
    """The side whose body wrist is nearer to the hand's wrist."""
    return "left" if np.linalg.norm(points[0] - left[:2]) < np.linalg.norm(points[0] - right[:2]) else "right"


def side_by_palm(points: Floats) -> str:
    """The side by the turn from index to little knuckle about the wrist, if the palm faces the camera.

    On an upright left hand that shows its palm the index finger is to the viewer's left of the little finger; a hand
    that shows its back is named wrongly.
    """
    index, little = points[5] - points[0], points[17] - points[0]
    return "left" if index[0] * little[1] - index[1] * little[0] > 0 else "right"


def _points(given: Any, where: str) -> tuple[Floats, Floats | None]:
    """(N, 2) points and (N,) scores, NaN for a point that is null."""
    try:
        values = np.asarray(
            [[np.nan] * 2 if point is None else [np.nan if v is None else v for v in point] for point in given], float
        )
    except (TypeError, ValueError):
        values = np.zeros((0,))
    if values.ndim != 2 or values.shape[1] not in (2, 3) or len(values) > _LARGEST:
        raise HandbenchError(f"{where}: keypoints must be a list of [x, y] or [x, y, score], all alike")
    return values[:, :2], values[:, 2] if values.shape[1] == 3 else None


def _projected(record: dict[str, Any], where: str) -> Floats:
    """(21, 2) pixels of a reconstruction: mirrored if left, moved by the camera's translation, seen by a pinhole."""
    try:
        joints = np.asarray(record["keypoints_3d"], float).reshape(21, 3)
        shift = np.asarray(record["cam_t"], float).reshape(3)
        focal, (width, height) = float(record["focal"]), record["image_size"]
    except (KeyError, TypeError, ValueError):
        raise HandbenchError(
            f"{where}: a reconstruction needs keypoints_3d (21 × 3), cam_t (3), focal and image_size (width, height)"
        ) from None
    if record.get("side") == "left":
        joints = joints * [-1, 1, 1]
    placed = joints + shift
    if (placed[:, 2] <= 0).any():
        raise HandbenchError(f"{where}: a joint lies behind the camera; cam_t must be the full image's translation")
    return np.asarray(placed[:, :2] / placed[:, 2:] * focal + np.array([width, height], float) / 2)


def _named(table: pl.DataFrame, frames: pl.DataFrame, path: Path) -> pl.DataFrame:
    """Fill in the image of rows that name their video and frame."""
    known = frames.select(pl.col("video").cast(pl.String), pl.col("frame"), pl.col("image").alias("known")).drop_nulls()
    table = table.join(known, on=["video", "frame"], how="left", maintain_order="left")
    table = table.with_columns(
        image=pl.coalesce("image", "known", pl.format("{}#{}", pl.col("video"), pl.col("frame")))
    ).drop("known")
    if table["image"].null_count():
        raise HandbenchError(f"{path}: record {int(table['image'].is_null().arg_true()[0])} names no image")
    return table


@estimator("poses")
def poses(spec: Spec, options: Options) -> Estimator:
    """``poses:FILE?name=wilor&layout=&sides=file``."""
    if not spec.name:
        raise HandbenchError(f"{spec}: expected a file of poses after the colon, e.g. poses:preds.parquet?name=wilor")
    path = Path(spec.name).expanduser()
    layout = options.text("layout", "")
    return ImportedPoses(path, options.text("name", path.stem), layout, options.choice("sides", "file", _SIDES))
