"""The truth's own ceiling, kept with a run's questions and shown beside every score."""

from __future__ import annotations

import re
from typing import Any, Final

import polars as pl

from handbench import tables
from handbench.controls.names import main
from handbench.errors import HandbenchError
from handbench.protocols import HasCeiling
from handbench.runs.answering import task_of
from handbench.runs.folder import RunFolder

ASSUMED: Final = 0.003
"""Metres: taken for the error of real data whose owner publishes none; the middle of the usual 2 to 5 mm."""

_UNITS: Final = {"mm": 1e-3, "cm": 1e-2, "m": 1.0}


def parse_noise(text: str) -> float:
    """Metres from ``3mm``, ``0.3cm`` or ``0.003m``.

    Raises:
        HandbenchError: it is no such length, or not between 0 and 10 cm.
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(mm|cm|m)\s*", text)
    metres = float(match[1]) * _UNITS[match[2]] if match else 0.0
    if not 0 < metres <= 0.1:
        raise HandbenchError(f"--noise {text!r}: expected the mean 3D error of a joint such as 3mm, at most 10cm")
    return metres


def published_or_assumed(source: dict[str, Any]) -> tuple[float, str] | None:
    """The error of a source's joints and where that number is from; None where the truth is exact.

    Args:
        source: the part ``source`` of a run's record.
    """
    if source["synthetic"]:
        return None
    error = source.get("joint_error")
    return (float(error), "published") if error else (ASSUMED, "assumed")


def keep_ceiling(
    folder: RunFolder, chosen: tuple[float, str] | None = None, questions: pl.DataFrame | None = None
) -> pl.DataFrame | None:
    """The ceiling of a run, made and stored as ``ceiling.parquet`` where it is not there yet.

    Args:
        folder: a run with questions.
        chosen: mean 3D error of a joint in metres, and where that number is from; None for what is stored, else
            what :func:`published_or_assumed` says.
        questions: the run's questions, where they are at hand.

    Returns:
        The ``ceiling`` table; None where there is none: the task has no such thing, the truth is exact, or
        the questions came without joints.
    """
    stored = read_ceiling(folder)
    if stored is not None and chosen is None:
        return stored
    manifest = folder.manifest()
    task, options = task_of(manifest)
    chosen = chosen or published_or_assumed(manifest["source"])
    if chosen is None or not isinstance(task, HasCeiling) or not folder.table("hands").exists():
        return None
    hands = folder.read("hands")
    if hands["joints_cam"].null_count() == hands.height:
        return None
    asked = main(folder.read("questions") if questions is None else questions)
    table = task.ceiling(asked, hands, options, *chosen)
    tables.write(table, folder.table("ceiling"), "ceiling")
    return table


def read_ceiling(folder: RunFolder) -> pl.DataFrame | None:
    """The ceiling that is stored with a run, None where there is none."""
    return folder.read("ceiling") if folder.table("ceiling").exists() else None
