"""The tables that stand between the rooms: their schemas, and how they are checked, read and written.

A table is a polars frame in memory and, on disk, one Parquet file or a folder of parts
(``part-00000.parquet`` ...).  Name and version of the table are kept in the file's metadata.  A file made
elsewhere without them is welcome as long as its columns are right.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import polars as pl

from handbench.errors import HandbenchError

VERSION: Final = "1"
"""Version of all schemas; a file of another version is refused."""

ROWS_PER_PART: Final = 100_000
"""Rows in each Parquet part of a long table."""

JOINTS_3D: Final = pl.Array(pl.Float64, (21, 3))
JOINTS_2D: Final = pl.Array(pl.Float64, (21, 2))
FLAGS: Final = pl.Array(pl.Boolean, 21)
VECTOR: Final = pl.Array(pl.Float64, 3)
MATRIX: Final = pl.Array(pl.Float64, (3, 3))
WORD: Final = pl.Categorical()
"""Text that repeats much (a prompt template, a dataset): kept once, pointed at by number."""


@dataclass(frozen=True)
class Column:
    """What a column must be.

    Attributes:
        dtype: polars type; a column that casts to it without loss is taken.
        null: whether a row may lack the value.  A nullable column may be absent altogether.
        nan: whether NaN may stand in it.
        meaning: one line for people.
    """

    dtype: pl.DataType | type[pl.DataType]
    null: bool = False
    nan: bool = False
    meaning: str = ""


def _optional(dtype: pl.DataType | type[pl.DataType], meaning: str = "", *, nan: bool = False) -> Column:
    return Column(dtype, null=True, nan=nan, meaning=meaning)


_ORIGIN: dict[str, Column] = {
    "dataset": Column(WORD, meaning="name of the dataset"),
    "split": Column(WORD, meaning="the owner's name of the split, or paper-train, paper-test"),
    "subject": _optional(WORD, "the person, where the dataset tells"),
    "sequence": _optional(WORD, "the recording, where the dataset tells"),
}

_QUESTION_KEY: dict[str, Column] = {
    "question_id": Column(pl.String, meaning="derived and stable: task/dataset/split/image/side/..."),
    "variant": Column(WORD, meaning="scale rule, extent, wording, order, answer style"),
}

_ANSWER_KEY: dict[str, Column] = {
    **_QUESTION_KEY,
    "model": Column(WORD, meaning="who answered, as named on the command line"),
    "repeat": Column(pl.Int16, meaning="0 for the first time of asking"),
}

SCHEMAS: Final[dict[str, dict[str, Column]]] = {
    "frames": {
        "image": Column(pl.String, meaning="path of the image, relative to the dataset's folder or absolute"),
        "image_hash": _optional(pl.String, "of the image's bytes, or of its recipe where it is rendered"),
        **_ORIGIN,
        "video": _optional(WORD),
        "frame": _optional(pl.Int64, "number of the frame in its video"),
        "seconds": _optional(pl.Float64),
        "width": Column(pl.Int32, meaning="pixels"),
        "height": Column(pl.Int32, meaning="pixels"),
        "annotated": Column(pl.Boolean, meaning="whether all hands of the frame are annotated"),
    },
    "hands": {
        "hand_id": Column(pl.String, meaning="dataset/split/image/side"),
        "image": Column(pl.String),
        "image_hash": _optional(pl.String),
        **_ORIGIN,
        "side": Column(WORD, meaning="left or right, the person's own; unknown where the dataset does not tell"),
        "cluster": Column(pl.String, meaning="the unit that is drawn again in every interval"),
        "joints_cam": _optional(JOINTS_3D, "metres, camera frame (x right, y down, z away)", nan=True),
        "joints_px": _optional(JOINTS_2D, "pixels of the original image", nan=True),
        "visible": _optional(FLAGS),
        "occluded": _optional(FLAGS),
        "in_frame": _optional(FLAGS),
        "intrinsics": _optional(MATRIX, "pinhole camera, pixels"),
        "center": _optional(VECTOR, "centroid of mesh or joints, metres, camera frame", nan=True),
        "extent": _optional(VECTOR, "axis-aligned size of mesh or joints, metres", nan=True),
        "extent_source": _optional(WORD, "mesh or joints"),
        "initial_px": _optional(JOINTS_2D, "the estimate an annotator began with", nan=True),
        "verified": _optional(pl.Boolean),
    },
    "questions": {
        **_QUESTION_KEY,
        "task": Column(WORD),
        "kind": Column(WORD, meaning="choice, fields, box or text"),
        "images": Column(pl.List(pl.String), meaning="paths, none for text alone"),
        "image_hash": _optional(pl.String),
        "system": Column(WORD),
        "prompt": Column(WORD),
        "options": _optional(pl.List(WORD), "without their letters, in the order shown"),
        "option_labels": _optional(pl.List(WORD), "the category that each option stands for"),
        "truth_index": _optional(pl.Int8, "the right option, from 0"),
        "truth_category": _optional(WORD),
        "truth_rank": _optional(pl.Int8, "place of the category among those that are asked"),
        "truth_value": _optional(pl.Float32, "degrees, or share of the hand's size"),
        "truth_margin": _optional(pl.Float32, "distance of the value to its nearest threshold"),
        "about_descriptor": _optional(WORD, "what is asked about; labels are shared within it"),
        "about_joint_a": _optional(WORD),
        "about_joint_b": _optional(WORD),
        "about_side": _optional(WORD),
        "hand_id": _optional(pl.String),
        **_ORIGIN,
        "cluster": Column(pl.String),
    },
    "answers": {
        **_ANSWER_KEY,
        "turn": Column(pl.Int16),
        "respondent": _optional(WORD),
        "reply": _optional(pl.String, "null where nothing came back"),
        "finish": Column(WORD, meaning="stop, length, error, none (nothing was said)"),
        "error": _optional(pl.String),
        "option_logprobs": _optional(pl.List(pl.Float32), "in the order of the options"),
        "seconds": _optional(pl.Float64),
        "tokens_in": _optional(pl.Int32),
        "tokens_out": _optional(pl.Int32),
        "sent_sizes": _optional(pl.List(pl.Array(pl.Int32, 2)), "width and height of each image as sent"),
    },
    "readings": {
        **_ANSWER_KEY,
        "status": Column(WORD, meaning="ok, or why the reply has no reading"),
        "rule": Column(WORD, meaning="the rule that decided"),
        "span_start": _optional(pl.Int32),
        "span_end": _optional(pl.Int32),
        "choice": _optional(pl.Int8),
        "chosen_rank": _optional(pl.Int8),
        "correct": Column(pl.Boolean),
        "distance": _optional(pl.Float32, "ranks between the chosen and the true category"),
    },
    "poses": {
        "estimator": Column(WORD),
        "stage": Column(WORD, meaning="raw, spatial, temporal or both"),
        "image": Column(pl.String),
        "hand": Column(pl.Int16, meaning="0, 1, ... within the image; -1 says that none was found"),
        "video": _optional(WORD),
        "frame": _optional(pl.Int64),
        "side": _optional(WORD),
        "score": _optional(pl.Float32),
        "keypoints_px": _optional(JOINTS_2D, nan=True),
        "keypoint_scores": _optional(pl.Array(pl.Float32, 21), nan=True),
        "keypoints_cam": _optional(JOINTS_3D, "metres, OpenCV axes, the estimator's own origin", nan=True),
        "center": _optional(VECTOR, nan=True),
        "extent": _optional(VECTOR, nan=True),
        "seconds": _optional(pl.Float64, "time spent on the image"),
    },
    "scores": {
        "task": Column(WORD),
        "model": Column(WORD),
        "metric": Column(WORD),
        "descriptor": Column(WORD, meaning="the descriptor, or all"),
        "slice": Column(WORD, meaning="all, or the column that divides: joint, pair, side, factor_..."),
        "slice_value": Column(pl.String, meaning="all, or the value in that column"),
        "value": _optional(pl.Float64, "a fraction, or ranks for the errors"),
        "low": _optional(pl.Float64, "lower end of the 95 % interval"),
        "high": _optional(pl.Float64, "upper end of the 95 % interval"),
        "n": Column(pl.Int64, meaning="answers counted"),
        "clusters": Column(pl.Int64),
        "protocol": Column(WORD),
    },
}
"""Every table by name.  ``frames``, ``hands`` and ``questions`` may have ``factor_*`` columns besides."""


def _bad_row(mask: pl.Series) -> int:
    return int(mask.arg_true()[0])


def conform(
    frame: pl.DataFrame, table: str, source: str | Path = "a frame", only: Sequence[str] | None = None
) -> pl.DataFrame:
    """Check a frame against a schema and bring its columns into the schema's types and order.

    Args:
        frame: what is to be checked.
        table: a key of :data:`SCHEMAS`.
        source: what to call the frame in an error, usually its file.
        only: look at these of the schema's columns alone; all by default.

    Returns:
        The frame with exactly the schema's columns, followed by its ``factor_*`` columns, if any.

    Raises:
        HandbenchError: a column is missing or of the wrong type, or a value is null or NaN where none may be.
    """
    schema = SCHEMAS[table]
    columns = []
    for name, column in schema.items():
        if only is not None and name not in only:
            continue
        if name not in frame.columns:
            if not column.null:
                have = ", ".join(frame.columns[:8]) or "no columns"
                raise HandbenchError(f"{source}: no {table} table: column {name!r} is missing (it has {have} ...)")
            columns.append(pl.Series(name, [None], dtype=column.dtype).new_from_index(0, frame.height))
            continue
        columns.append(_checked(frame[name], column, table, source))
    extra = [frame[name] for name in frame.columns if name.startswith("factor_")]
    return pl.DataFrame([*columns, *extra])


def _checked(series: pl.Series, column: Column, table: str, source: str | Path) -> pl.Series:
    if series.dtype != column.dtype:
        try:
            series = series.cast(column.dtype)
        except pl.exceptions.PolarsError:
            misfit = _first_misfit(series, column)
            raise HandbenchError(
                f"{source}: {table}.{series.name} must be {column.dtype}, found {series.dtype}: {misfit}"
            ) from None
    if not column.null and series.null_count():
        row = _bad_row(series.is_null())
        raise HandbenchError(f"{source}: {table}.{series.name}, row {row}: the value is missing and must be given")
    if not column.nan:
        flat = series
        while isinstance(flat.dtype, pl.Array | pl.List):
            flat = flat.explode() if isinstance(flat.dtype, pl.List) else flat.arr.explode()
        if flat.dtype.is_float() and flat.is_nan().any():
            row = _bad_row(flat.is_nan()) * series.len() // max(flat.len(), 1)
            raise HandbenchError(f"{source}: {table}.{series.name}, row {row}: NaN is not allowed here")
    return series


def _first_misfit(series: pl.Series, column: Column) -> str:
    for row in range(min(series.len(), 100_000)):
        try:
            series[row : row + 1].cast(column.dtype)
        except pl.exceptions.PolarsError:
            return f"row {row} holds {str(series[row])[:60]}"
    return "the values do not convert"


def _metadata(table: str) -> dict[str, str]:
    return {"handbench.table": table, "handbench.version": VERSION}


def write(frame: pl.DataFrame, path: str | Path, table: str) -> Path:
    """Check a frame and write it as one Parquet file (zstd), whole or not at all.

    Args:
        frame: the table.
        path: the file to write; a table that stands there is replaced.
        table: a key of :data:`SCHEMAS`.

    Returns:
        The path.

    Raises:
        HandbenchError: the frame does not conform.
    """
    path = Path(path)
    frame = conform(frame, table, path)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".part")
    _write_part(frame, draft, table)
    _replace(draft, path)
    return path


def _write_part(frame: pl.DataFrame, path: Path, table: str) -> None:
    frame.write_parquet(path, compression="zstd", compression_level=3, statistics=False, metadata=_metadata(table))


def _replace(draft: Path, path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    elif path.exists() and draft.is_dir():
        path.unlink()
    os.replace(draft, path)


class Writer:
    """Writes a table in bounded memory: one file where it fits into one part, else a folder of parts.

    Parts have the same number of rows whatever the sizes of the frames added, so equal rows make equal
    files.  Use as a context manager; the table appears under its name only when the block ends well.
    """

    def __init__(self, path: str | Path, table: str, rows_per_part: int = ROWS_PER_PART) -> None:
        self.path = Path(path)
        self.table = table
        self.rows = 0
        self._rows_per_part = rows_per_part
        self._waiting: list[pl.DataFrame] = []
        self._waiting_rows = 0
        self._parts = 0
        self._draft = self.path.with_name(self.path.name + ".parts")

    def __enter__(self) -> Self:
        if self._draft.exists():
            shutil.rmtree(self._draft)
        self._draft.mkdir(parents=True)
        return self

    def add(self, frame: pl.DataFrame) -> None:
        """Take rows; full parts are written at once."""
        self._waiting.append(conform(frame, self.table, self.path))
        self._waiting_rows += frame.height
        self.rows += frame.height
        while self._waiting_rows >= self._rows_per_part:
            together = concat(self._waiting)
            self._write(together[: self._rows_per_part])
            self._waiting = [together[self._rows_per_part :]]
            self._waiting_rows = self._waiting[0].height

    def _write(self, frame: pl.DataFrame) -> None:
        _write_part(frame, self._draft / f"part-{self._parts:05d}.parquet", self.table)
        self._parts += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            shutil.rmtree(self._draft)
            return
        if self._waiting_rows or not self._parts:
            self._write(concat(self._waiting) if self._waiting else empty(self.table))
        if self._parts == 1:
            _replace(self._draft / "part-00000.parquet", self.path)
            self._draft.rmdir()
        else:
            _replace(self._draft, self.path)


def empty(table: str) -> pl.DataFrame:
    """A table without rows."""
    return pl.DataFrame(schema={name: column.dtype for name, column in SCHEMAS[table].items()})


def parts(path: str | Path, table: str) -> list[Path]:
    """The Parquet files of a table, in order, after a look at their metadata.

    Raises:
        HandbenchError: nothing is there, it is no Parquet, or it is another table or version.
    """
    path = Path(path)
    if path.is_dir():
        files = sorted(path.glob("*.parquet"))
        if not files:
            raise HandbenchError(f"{path}: expected the {table} table, found a folder without Parquet files")
    elif path.is_file():
        files = [path]
    else:
        raise HandbenchError(f"{path}: expected the {table} table, found nothing there")
    for file in files:
        try:
            metadata = pl.read_parquet_metadata(file)
        except (pl.exceptions.PolarsError, OSError) as error:
            raise HandbenchError(f"{file}: expected the {table} table in Parquet: {_line(error)}") from None
        name, version = metadata.get("handbench.table", table), metadata.get("handbench.version", VERSION)
        if name != table:
            raise HandbenchError(f"{file}: expected the {table} table, found the {name} table")
        if version != VERSION:
            raise HandbenchError(f"{file}: {table} table of version {version}; this handbench reads {VERSION}")
    return files


def iterate(path: str | Path, table: str, only: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
    """Read a table part by part, each checked; ``only`` names the columns to read (``factor_*`` come along)."""
    for file in parts(path, table):
        try:
            frame = pl.read_parquet(file, columns=None if only is None else _wanted(file, only))
        except (pl.exceptions.PolarsError, OSError) as error:
            raise HandbenchError(f"{file}: damaged Parquet file: {_line(error)}") from None
        yield conform(frame, table, file, only)


def _wanted(file: Path, only: Sequence[str]) -> list[str]:
    return [name for name in pl.read_parquet_schema(file) if name in only or name.startswith("factor_")]


def read(path: str | Path, table: str, only: Sequence[str] | None = None) -> pl.DataFrame:
    """Read a whole table, checked.

    Args:
        path: a Parquet file or a folder of parts.
        table: a key of :data:`SCHEMAS`.
        only: the columns to read, all by default; ``factor_*`` columns come along.

    Raises:
        HandbenchError: it is no such table, or a value is not as it must be; file, column and row are named.
    """
    return concat(iterate(path, table, only))


def concat(frames: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Stack frames of one table; ``factor_*`` columns that some lack are filled with null."""
    return pl.concat(list(frames), how="diagonal")


def content_hash(path: str | Path, table: str) -> str:
    """Fingerprint of a table's files: equal tables written by this version have equal ones."""
    digest = sha256()
    for file in parts(path, table):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:32]


def _line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0][:160] if str(error).strip() else type(error).__name__
