"""What a dataset offers: how it is read, and what it is when read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import polars as pl

from handbench.faults import Faults
from handbench.specs import Spec

Progress = Callable[[int, int | None, str], None]
"""Called with (done, total or None, what is being done)."""


def no_progress(done: int, total: int | None, what: str) -> None:
    """Show nothing."""


@dataclass(frozen=True)
class ReadContext:
    """How a source is to be read.

    Attributes:
        split: the split asked for, None for the source's own default.
        protocol: ``paper`` or ``released``.
        cache: a folder for what is made once (rendered images).
        workers: processes that may be used.
        force: go on where a guard would stop.
        progress: told how far it is.
        faults: what is done about bad rows: stop at the first, or leave them out and count them.
        store: a folder where the tables of a dataset are kept once they are read; None reads anew.
        mano: the user's own folder of ``MANO_RIGHT.pkl`` and ``MANO_LEFT.pkl``.
    """

    split: str | None = None
    protocol: str = "paper"
    cache: Path | None = None
    workers: int = 1
    force: bool = False
    progress: Progress = no_progress
    faults: Faults = field(default_factory=Faults)
    store: Path | None = None
    mano: Path | None = None


@dataclass
class Source:
    """What a dataset gives: tables, and where its images are.

    Attributes:
        name: the dataset's name.
        frames: the ``frames`` table.
        hands: the ``hands`` table, sorted by ``hand_id``.
        root: the folder that ``image`` paths are relative to.
        synthetic: whether it is rendered; said wherever results are shown.
        skipped: rows left out, counted by reason.
        notes: one-line facts that belong in the report.
        images: makes sure that the images exist on disk (renders them), given the frames wanted.
        gestures: the ``gestures`` table, where the dataset has one.
        clips: the ``clips`` table, where the dataset has one.
        scenes: the ``scenes`` table, where the dataset has one.
        joint_error: mean 3D error of a joint that the owner publishes, metres.
        incomplete: what the folder lacks, a line each; a run stops at the first unless bad rows are left out.
    """

    name: str
    frames: pl.DataFrame
    hands: pl.DataFrame
    root: Path
    synthetic: bool = False
    skipped: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    images: Callable[[pl.DataFrame, Progress], None] | None = None
    gestures: pl.DataFrame | None = None
    clips: pl.DataFrame | None = None
    scenes: pl.DataFrame | None = None
    joint_error: float | None = None
    incomplete: list[str] = field(default_factory=list)


class DatasetReader(Protocol):
    """Reads one dataset: a spec such as ``ge:PATH`` → source tables."""

    def __call__(self, spec: Spec, context: ReadContext) -> Source:
        """Read it.

        Raises:
            HandbenchError: the folder is not what its owner ships, or a guard failed.
        """
        ...
