"""JSON of outside origin: small files whole, long lists in pieces, and errors that name the place."""

from __future__ import annotations

import itertools
import json
import mmap
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from handbench.datasets import files
from handbench.datasets.files import must_exist
from handbench.errors import HandbenchError
from handbench.faults import Faults
from handbench.hand.geometry import Floats

Fields = Mapping[str, pl.DataType | type[pl.DataType]]
"""Fields of a record and their types."""

_MATRICES: Final = 2000
_RECORDS: Final = 1000


def read_json(path: Path, what: str) -> Any:
    """Read a JSON file.

    Raises:
        HandbenchError: it is absent, empty or no JSON; line and column are named.
    """
    raw = must_exist(path, what).read_bytes()
    try:
        return json.loads(raw)
    except UnicodeDecodeError as error:
        raise HandbenchError(
            f"{path}: expected {what} in JSON, found bytes that are no text (at {error.start})"
        ) from None
    except RecursionError:
        raise HandbenchError(f"{path}: expected {what}, found JSON that is nested too deep") from None
    except json.JSONDecodeError as error:
        ends = error.pos >= len(error.doc.rstrip()) - 1 or error.msg.startswith("Unterminated string")
        cut = " (the file looks cut off)" if ends else ""
        raise HandbenchError(
            f"{path}: expected {what} in JSON: {error.msg} at line {error.lineno}, column {error.colno}{cut}"
        ) from None


def read_json_records(
    path: Path,
    what: str,
    lists: Mapping[str, Fields],
    optional: Collection[str] = (),
    faults: Faults | None = None,
) -> list[pl.DataFrame]:
    """Read the lists of records of a COCO-like JSON file as frames, without an object for every value.

    Args:
        path: a file that holds one object with a list of records under each key.
        what: what the file is, for errors.
        lists: the fields wanted of each list and their types; other fields may hold anything.
        optional: fields that may be absent or null; they are null then.
        faults: what is done about a record that lacks a field; it stops the reading by default.

    Returns:
        A frame of each list.

    Raises:
        HandbenchError: it is no such file, or a field is missing or of another type.
    """
    must_exist(path, what)
    frames = []
    for key, fields in lists.items():
        frame = _records_in_chunks(path, key, fields)
        frame = _records_at_once(path, what, key, fields) if frame is None else frame
        for field in fields:
            missing = frame[field].is_null()
            if field not in optional and missing.any():
                row = "every record" if missing.all() else f"record {int(missing.arg_true()[0])}"
                error = HandbenchError(f"{path}: {key}: {row} lacks the field {field!r}", "record without a field")
                if missing.all() or faults is None:
                    raise error
                faults.bad(error, int(missing.sum()))
                frame = frame.filter(~missing)
        frames.append(frame)
    return frames


def _records_in_chunks(path: Path, key: str, fields: Fields) -> pl.DataFrame | None:
    """The records under a key, a thousand at a time: several times as fast as at once, and in less memory.

    Cuts the text between records.  Where that guess is wrong (a record that holds records, say), a piece is
    no JSON, and None is given back.
    """
    schema = {"records": pl.List(pl.Struct(dict(fields)))}
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        begins = list(re.finditer(rb'"%s"\s*:\s*\[' % re.escape(key.encode()), text))
        if len(begins) != 1:
            return None
        first = begins[0].end()
        end = re.compile(rb'\}\s*(\])\s*(?:,\s*"|\}\s*\Z)').search(text, first)
        if not end:
            return None
        last = end.start(1)
        cuts = [match.start(1) for match in re.compile(rb"\}\s*(,)\s*\{").finditer(text, first, last)]
        bounds = [first - 1, *cuts[_RECORDS - 1 :: _RECORDS], last]
        frames: list[pl.DataFrame] = []
        for start, stop in itertools.pairwise(bounds):
            try:
                chunk = pl.read_json(b'{"records":[' + text[start + 1 : stop] + b"]}", schema=schema)
            except (pl.exceptions.PolarsError, UnicodeDecodeError):
                return None
            frames.append(chunk["records"][0].struct.unnest())
    return pl.concat(frames)


def _records_at_once(path: Path, what: str, key: str, fields: Fields) -> pl.DataFrame:
    schema = {key: pl.List(pl.Struct(dict(fields)))}
    try:
        document = pl.read_json(path.read_bytes(), schema=schema)
    except (pl.exceptions.PolarsError, UnicodeDecodeError) as error:
        read_json(path, what)
        raise HandbenchError(f"{path}: expected {what}: {str(error).splitlines()[0][:160]}") from None
    if document.height != 1 or document[key].is_null().all():
        raise HandbenchError(f"{path}: expected {what} with a list of records {key!r}, found none")
    frame: pl.DataFrame = document[key][0].struct.unnest()
    return frame


def read_json_stack(path: Path, shape: tuple[int, int], what: str, faults: Faults | None = None) -> Iterator[Floats]:
    """Read a JSON list of equal matrices in bounded memory, however long it is.

    Args:
        path: a file that holds ``[[[x, ...], ...], ...]`` and nothing else.
        shape: rows and columns of each matrix.
        what: what the file is, for errors.
        faults: where it keeps going, a row that is no such matrix is all NaN.

    Yields:
        (n, *shape) float64, some thousand matrices at a time.

    Raises:
        HandbenchError: it is no such list; where it is no JSON at all, line and column are named.
    """
    must_exist(path, what)
    matrices = pl.List(pl.List(pl.List(pl.Float64)))
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        first, last = text.find(b"["), text.rfind(b"]")
        if text[: max(first, 0)].strip() or text[last + 1 :].strip() or first < 0:
            read_json(path, what)
            raise HandbenchError(f"{path}: expected {what}: a list of matrices, found something else")
        edges = [match.start(1) + 1 for match in re.finditer(rb"\]\s*(\])\s*,\s*\[\s*\[", text)]
        bounds = [first + 1, *edges[_MATRICES - 1 :: _MATRICES], last]
        done = 0
        for start, stop in itertools.pairwise(bounds):
            chunk = b'{"rows":[' + text[start:stop].lstrip(b" \t\r\n,") + b"]}"
            try:
                rows = pl.read_json(chunk, schema={"rows": matrices})["rows"][0]
            except (pl.exceptions.PolarsError, UnicodeDecodeError):
                if faults is not None and faults.keep_going and (lone := _one_by_one(chunk, shape)) is not None:
                    done += len(lone)
                    yield lone
                    continue
                read_json(path, what)
                raise HandbenchError(f"{path}: expected {what}: a list of matrices of numbers") from None
            if rows is None or rows.len() == 0:
                raise HandbenchError(f"{path}: expected {what}: a list of matrices, found none")
            inner = rows.explode()
            same = rows.list.len().eq_missing(shape[0]).all() and inner.list.len().eq_missing(shape[1]).all()
            values = inner.explode().to_numpy() if same else np.full(1, np.nan)
            if not np.isfinite(values).all():
                if faults is not None and faults.keep_going and (lone := _one_by_one(chunk, shape)) is not None:
                    done += len(lone)
                    yield lone
                    continue
                raise HandbenchError(
                    f"{path}: expected {what}: {shape[0]} x {shape[1]} finite numbers in each row; at least "
                    f"one of rows {done} to {done + rows.len() - 1} is not so"
                )
            done += rows.len()
            yield values.reshape(-1, *shape)


def _one_by_one(chunk: bytes, shape: tuple[int, int]) -> Floats | None:
    """The matrices of a piece of JSON, NaN where one is bad; None where the piece is no JSON at all."""
    try:
        rows = json.loads(chunk)["rows"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    values = np.full((len(rows), *shape), np.nan)
    for number, row in enumerate(rows):
        try:
            matrix = files.numbers(row)
        except ValueError:
            continue
        if matrix.shape == shape and np.isfinite(matrix).all():
            values[number] = matrix
    return values
