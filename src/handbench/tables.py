"""The tables that stand between the rooms: how they are checked, read and written.

Their columns are in :mod:`handbench.schemas`.  A table is a polars frame in memory and, on disk, one Parquet
file or a folder of parts (``part-00000.parquet`` ...).  Name and version of the table are kept in the file's
metadata.  A file made elsewhere without them is welcome as long as its columns are right.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import polars as pl

from handbench.errors import HandbenchError
from handbench.schemas import BOX, FLAGS, JOINTS_2D, JOINTS_3D, MATRIX, SCHEMAS, VECTOR, VERSION, WORD, Column

ROWS_PER_PART: Final = 100_000
"""Rows in each Parquet part of a long table."""


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


__all__ = [
    "BOX",
    "FLAGS",
    "JOINTS_2D",
    "JOINTS_3D",
    "MATRIX",
    "ROWS_PER_PART",
    "SCHEMAS",
    "VECTOR",
    "VERSION",
    "WORD",
    "Column",
    "Writer",
    "concat",
    "conform",
    "content_hash",
    "empty",
    "iterate",
    "parts",
    "read",
    "write",
]
