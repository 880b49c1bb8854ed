"""A dataset read once: its tables kept as Parquet, and read again only where something has changed.

What is kept is good for one reading (dataset, split, protocol, options) of one state of the folder: names,
sizes and times of all its files, the bytes of its annotation files, and the code of the readers.
"""

from __future__ import annotations

import inspect
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import fields
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import polars as pl

from handbench import tables
from handbench.errors import HandbenchError
from handbench.protocols import DatasetReader, ReadContext, Source
from handbench.specs import Spec

ANNOTATIONS: Final = frozenset(
    (".json", ".jsonl", ".txt", ".csv", ".pkl", ".pickle", ".npy", ".npz", ".mat", ".yml", ".yaml", ".parquet")
)
"""Endings of files whose bytes count; of all others, images above all, name, size and time do."""

NOT_KEPT: Final = frozenset(("synth", "table"))
"""Sources that are rendered, or tables already."""

_TABLES: Final = ("frames", "hands", "gestures", "clips", "scenes")
_META: Final = "source.json"
_CHUNK: Final = 1 << 20


def user_folder() -> Path:
    """Where tables are kept unless told: ``$HANDBENCH_CACHE``, else ``handbench`` in the user's cache folder."""
    if own := os.environ.get("HANDBENCH_CACHE"):
        return Path(own).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "handbench"


def load(spec: Spec, context: ReadContext, read: DatasetReader) -> Source:
    """Read a source, or take what an earlier reading kept.

    Args:
        spec: the source.
        context: how to read; nothing is kept where its ``store`` is None.
        read: the dataset's reader.

    Raises:
        HandbenchError: as the reader does.
    """
    folder = Path(spec.name).expanduser()
    if context.store is None or spec.kind in NOT_KEPT or not spec.name or not folder.is_dir():
        return read(spec, context)
    context.progress(0, None, "looking for changes in the folder")
    asked = _asked(spec, context, folder)
    place = context.store / f"{spec.kind}-{blake2b(asked.encode(), digest_size=8).hexdigest()}"
    mark = _mark(asked, folder, context, read)
    source, trouble = _take(place, mark)
    if source is not None:
        return source
    source = read(spec, context)
    if source.images is None:
        trouble = " ".join(filter(None, (trouble, _keep(place, mark, source))))
    if trouble:
        source.notes.append(trouble)
    return source


def _settings(context: ReadContext) -> Iterator[tuple[str, Any]]:
    """What of a context can change the tables."""
    for one in fields(context):
        if one.name not in ("cache", "store", "workers"):
            yield one.name, getattr(context, one.name)


def _asked(spec: Spec, context: ReadContext, folder: Path) -> str:
    """What is read and how, as text."""
    said: dict[str, Any] = {"spec": str(spec), "folder": str(folder.resolve())}
    for name, value in _settings(context):
        if isinstance(value, str | bool | int | float | None):
            said[name] = value
        elif isinstance(value, Path):
            said[name] = str(value.resolve())
    said["keep_going"] = context.faults.keep_going
    return json.dumps(said, sort_keys=True)


def _mark(asked: str, folder: Path, context: ReadContext, read: DatasetReader) -> str:
    """A fingerprint of what is read, of the folder's state and of the code that reads."""
    digest = blake2b(asked.encode(), digest_size=20)
    digest.update(_code(inspect.getsourcefile(inspect.unwrap(read))).encode())
    for place in (folder, *(value for _, value in _settings(context) if isinstance(value, Path))):
        for path in _files(place):
            stat = path.stat()
            digest.update(f"{path.relative_to(place)}\0{stat.st_size}\0{stat.st_mtime_ns}\n".encode())
            if path.suffix.lower() in ANNOTATIONS:
                digest.update(_bytes(path))
    return digest.hexdigest()


def _files(place: Path) -> Iterator[Path]:
    """All files of a folder in a fixed order, links followed and no folder twice."""
    if place.is_file():
        yield place
        return
    seen: set[tuple[int, int]] = set()
    for directory, folders, names in os.walk(place, followlinks=True):
        state = os.stat(directory)
        if (state.st_dev, state.st_ino) in seen:
            folders.clear()
            continue
        seen.add((state.st_dev, state.st_ino))
        folders.sort()
        paths = (Path(directory, name) for name in sorted(names))
        yield from (path for path in paths if path.is_file())


def _bytes(path: Path) -> bytes:
    digest = blake2b(digest_size=16)
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    except OSError as error:  # the reader says what is wrong with it, if it needs it
        return str(error.errno).encode()
    return digest.digest()


@lru_cache(maxsize=8)
def _code(own: str | None) -> str:
    """A fingerprint of the code between a dataset's files and its tables."""
    package = Path(tables.__file__).parent
    sources = sorted(path for room in ("datasets", "hand") for path in (package / room).glob("*.py"))
    sources += [package / "schemas.py", package / "protocols" / "reading.py", package / "faults.py"]
    if own is not None and not Path(own).is_relative_to(package):
        sources.append(Path(own))
    digest = blake2b(digest_size=16)
    for path in sources:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _take(place: Path, mark: str) -> tuple[Source | None, str]:
    """What is kept in a place, None where it is not of this mark; and what to say where it is damaged."""
    if not (place / _META).is_file():
        return None, ""
    try:
        meta = json.loads((place / _META).read_text(encoding="utf-8"))
        if meta["mark"] != mark:
            return None, ""
        found = {}
        for name, wanted in meta["tables"].items():
            if tables.content_hash(place / f"{name}.parquet", name) != wanted:
                raise HandbenchError(f"{place / name}.parquet: changed since it was kept")
            found[name] = tables.read(place / f"{name}.parquet", name)
        return Source(**{**meta["facts"], **found, "root": Path(meta["root"])}), ""
    except (OSError, ValueError, KeyError, TypeError, AttributeError, HandbenchError, pl.exceptions.PolarsError):
        shutil.rmtree(place, ignore_errors=True)
        return None, f"the kept tables in {place} were damaged; the dataset was read anew"


def _keep(place: Path, mark: str, source: Source) -> str:
    """Keep a source, whole or not at all; what to say where that is not possible."""
    draft = place.with_name(f"{place.name}.{os.getpid()}.part")
    given = {name: table for name in _TABLES if (table := getattr(source, name)) is not None}
    facts = {one.name: getattr(source, one.name) for one in fields(source) if one.name not in _TABLES}
    facts = {name: value for name, value in facts.items() if name not in ("root", "images")}
    try:
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        hashes = {}
        for name, table in given.items():
            tables.write(table, draft / f"{name}.parquet", name)
            hashes[name] = tables.content_hash(draft / f"{name}.parquet", name)
        meta = {"mark": mark, "root": str(source.root), "facts": facts, "tables": hashes}
        (draft / _META).write_text(json.dumps(meta), encoding="utf-8")
        shutil.rmtree(place, ignore_errors=True)
        draft.replace(place)
    except OSError as error:
        shutil.rmtree(draft, ignore_errors=True)
        if (place / _META).is_file():  # another process kept it in the meantime
            return ""
        return f"the tables could not be kept in {place.parent}: {error.strerror or error}"
    return ""
