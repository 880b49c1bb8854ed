"""How a source is read: the keyword arguments that several verbs share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypedDict

from handbench.errors import HandbenchError
from handbench.faults import Faults
from handbench.protocols import Progress, ReadContext, no_progress
from handbench.runs import source_cache


class Reading(TypedDict, total=False):
    """How a source is read.

    Attributes:
        split: the owner's split, or ``paper-train``, ``paper-test``.
        protocol: ``paper`` (the default), or ``released`` for the released code's rules.
        workers: processes, by default one per processor.
        force: go on where a guard would stop.
        keep_going: leave bad rows of the source out and count them, instead of stopping at the first.
        cache: where the tables of a dataset are kept once they are read: a folder, True (the default) for the user's
            cache folder, False for nowhere.
        mano: your own folder of ``MANO_RIGHT.pkl`` and ``MANO_LEFT.pkl``, for datasets that ship MANO parameters.
        progress: told how far it is.
    """

    split: str | None
    protocol: str
    workers: int | None
    force: bool
    keep_going: bool
    cache: str | Path | bool
    mano: str | Path | None
    progress: Progress


def context_of(how: Reading, images: Path | None) -> ReadContext:
    """What a reader is given.

    Args:
        how: the keyword arguments.
        images: a folder for rendered images.

    Raises:
        HandbenchError: there is no such protocol.
    """
    protocol = how.get("protocol", "paper")
    if protocol not in ("paper", "released"):
        raise HandbenchError(f"--protocol {protocol!r}: protocols are paper and released")
    cache, mano = how.get("cache", True), how.get("mano")
    return ReadContext(
        split=how.get("split"),
        protocol=protocol,
        cache=images,
        workers=how.get("workers") or os.cpu_count() or 1,
        force=how.get("force", False),
        progress=how.get("progress", no_progress),
        faults=Faults(how.get("keep_going", False)),
        store=source_cache.user_folder() if cache is True else Path(cache) if cache else None,
        mano=Path(mano).expanduser() if mano is not None else None,
    )
