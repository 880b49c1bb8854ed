"""The three datasets of HandVQA at once, by the paper's own splits (section 7.1).

``paper:DIR`` reads the folders ``freihand``, ``interhand`` and ``fpha`` in a folder, each as its owner ships it: the
six splits that the paper's 1,658,033 questions are made of.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Final

import polars as pl

from handbench.datasets import files
from handbench.errors import HandbenchError
from handbench.protocols import ReadContext, Source, dataset, find
from handbench.specs import Options, Spec

NAME: Final = "paper"
SETS: Final = ("freihand", "interhand", "fpha")
SPLITS: Final = ("paper-train", "paper-test")


@dataset(NAME)
def read(spec: Spec, context: ReadContext) -> Source:
    """Read ``paper:DIR?freihand=FOLDER&interhand=FOLDER&fpha=FOLDER&sets=freihand,interhand,fpha&hash=yes``.

    Options: the folder of each set, in ``DIR`` or anywhere (named like the set by default, capitals or not);
    ``sets``, which of the three; ``hash``.

    Args:
        spec: the folder that the sets' folders lie in.
        context: split ``paper-train`` or ``paper-test``; both where None.

    Raises:
        HandbenchError: a set is missing, or its reader refuses it.
    """
    options = Options(spec)
    root = files.folder(spec)
    places = {name: root / options.text(name, _named(root, name)) for name in SETS}
    wanted = options.text("sets", ",".join(SETS)).split(",")
    hashed = options.flag("hash", default=True)
    options.done()
    if unknown := set(wanted) - set(SETS):
        raise HandbenchError(f"{spec}: no set {sorted(unknown)[0]!r}; there are {', '.join(SETS)}")
    if context.split not in (None, *SPLITS):
        raise HandbenchError(f"{spec}: no split {context.split!r}; there are {', '.join(SPLITS)}, and both by default")
    splits = SPLITS if context.split is None else (context.split,)
    parts = []
    for name in wanted:
        for split in splits:
            own = Spec(name, str(places[name]), {"hash": "yes" if hashed else "no"})
            parts.append((f"{name} {split}", find("datasets", name)(own, replace(context, split=split))))
    common = Path(os.path.commonpath([part.root.resolve() for _, part in parts]))
    return Source(
        name=NAME,
        frames=_joined([_moved(part.frames, part.root, common) for _, part in parts]).sort("image"),
        hands=_joined([_moved(part.hands, part.root, common) for _, part in parts]).sort("hand_id"),
        root=common,
        skipped={f"{of}: {reason}": count for of, part in parts for reason, count in part.skipped.items()},
        notes=list(dict.fromkeys(note for _, part in parts for note in part.notes)),
        incomplete=[line for _, part in parts for line in part.incomplete],
    )


def _named(root: Path, name: str) -> str:
    """The folder of a set, whatever the case of its letters."""
    found = sorted(path.name for path in root.iterdir() if path.is_dir() and path.name.lower().startswith(name))
    return found[0] if found else name


def _moved(table: pl.DataFrame, root: Path, common: Path) -> pl.DataFrame:
    """A table whose image paths are relative to another folder."""
    inside = root.resolve().relative_to(common).as_posix()
    return table if inside == "." else table.with_columns(image=pl.lit(f"{inside}/") + pl.col("image"))


def _joined(parts: list[pl.DataFrame]) -> pl.DataFrame:
    """The rows of all parts; an image that two splits share is one frame."""
    whole = pl.concat(parts, how="diagonal_relaxed")
    return whole if "hand_id" in whole.columns else whole.unique("image", keep="first", maintain_order=True)
