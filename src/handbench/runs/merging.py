"""Runs that each asked about one shard → the run that asked about all: the same files as if it had been one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from handbench import tables
from handbench.controls.names import control_names
from handbench.errors import HandbenchError
from handbench.runs import controls, released
from handbench.runs.asking import SOURCE_KEYS, once_each, source_table
from handbench.runs.folder import RunFolder
from handbench.runs.parts import find_task
from handbench.specs import Spec


def merge(shards: Sequence[RunFolder], out: Path) -> RunFolder:
    """Lay questions and sources of shards end to end.

    Args:
        shards: runs made with the shards ``1/N`` to ``N/N``, in any order.
        out: the folder of the whole.

    Returns:
        The whole.

    Raises:
        HandbenchError: a shard is missing, comes twice, or is of other questions.
    """
    ordered = _in_order(shards)
    first = ordered[0].manifest()
    wanted = first["asked"]
    task, options = find_task(str(wanted["task"]), str(wanted["protocol"]))
    as_released = Spec.parse(str(wanted["data"])).kind == released.KIND
    kind = "hands" if as_released else source_table(options)
    folder = RunFolder(out)
    with tables.Writer(folder.table("questions"), "questions") as writer:
        for part in ordered:
            for rows in tables.iterate(part.table("questions"), "questions"):
                # Controls stand behind their part of the questions, and parts are other ones in the whole.
                writer.add(rows.filter(control_names(rows["variant"]).is_null()))
    name = kind or "hands"
    # A row may be in two shards where lines of released questions were shared out.
    source = _together(ordered, name).unique(SOURCE_KEYS[name], keep="first").sort(SOURCE_KEYS[name])
    frames = once_each(_together(ordered, "frames"))
    tables.write(source, folder.table(name), name)
    tables.write(frames, folder.table("frames"), "frames")
    varied = {} if as_released else controls.add(folder, str(wanted["task"]), task, options, kind)
    not_asked: Counter[str] = Counter()
    for part in ordered:
        not_asked.update(part.manifest()["not_asked"])
    manifest: dict[str, Any] = {
        **{key: value for key, value in first.items() if key != "controls"},
        "asked": {**wanted, "shard": "1/1"},
        "questions": {
            "count": writer.rows,
            "hands": source.height,
            "images": frames.height,
            "hash": tables.content_hash(folder.table("questions"), "questions"),
        },
        "source": {
            **first["source"],
            **({"root": str(folder.images.resolve())} if first["source"]["rendered"] else {}),
        },
        "not_asked": dict(sorted(not_asked.items())),
        **({"controls": varied} if varied else {}),
        "models": [],
    }
    folder.write_manifest(manifest)
    return folder


def _in_order(shards: Sequence[RunFolder]) -> list[RunFolder]:
    numbered = {str(run.manifest()["asked"]["shard"]): run for run in shards}
    wanted = [f"{number}/{len(shards)}" for number in range(1, len(shards) + 1)]
    if sorted(numbered) != sorted(wanted):
        there = ", ".join(sorted(numbered))
        raise HandbenchError(f"merge: expected the shards {', '.join(wanted)}, found {there}")
    ordered = [numbered[name] for name in wanted]
    first = ordered[0].manifest()["asked"]
    for other in ordered[1:]:
        for key, value in other.manifest()["asked"].items():
            if key != "shard" and value != first.get(key):
                raise HandbenchError(f"{other.root}: {key} is {value!r}, elsewhere {first.get(key)!r}")
    return ordered


def _together(shards: Sequence[RunFolder], name: str) -> pl.DataFrame:
    return tables.concat(shard.read(name) for shard in shards)
