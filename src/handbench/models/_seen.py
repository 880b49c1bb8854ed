"""What an adapter has seen, kept beside it: a test on the same images, recordings or people is no test."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import polars as pl

from handbench.errors import HandbenchError

FILE: Final = "trained_on.parquet"
KINDS: Final = ("image", "cluster", "sequence", "subject")
"""What is compared: the image (by its hash where it has one), the unit of the intervals, the recording, the person."""


def seen_in(questions: pl.DataFrame) -> pl.DataFrame:
    """Everything that questions show: ``kind`` and ``name``, each once."""
    parts = [_names(questions, kind).select(pl.lit(kind).alias("kind"), "name") for kind in KINDS]
    return pl.concat(parts).unique().sort("kind", "name")


def _names(questions: pl.DataFrame, kind: str) -> pl.DataFrame:
    """``row`` and ``name``: what each question shows in one respect, no row where that is not known."""
    dataset = pl.col("dataset").cast(pl.String)
    if kind == "image":
        shown = questions.select("images", dataset, hash=_or_null(questions, "image_hash")).with_row_index("row")
        shown = shown.explode("images", empty_as_null=True)
        name = pl.coalesce("hash", pl.col("dataset") + "/" + pl.col("images").cast(pl.String))
        return shown.select("row", name.alias("name")).drop_nulls()
    frame = questions.select((dataset + "/" + _or_null(questions, kind)).alias("name")).with_row_index("row")
    return frame.drop_nulls()


def _or_null(frame: pl.DataFrame, column: str) -> pl.Expr:
    return pl.col(column).cast(pl.String) if column in frame.columns else pl.lit(None, pl.String)


def overlap(questions: pl.DataFrame, seen: pl.DataFrame) -> dict[str, int]:
    """How many questions share something with what was seen.

    Args:
        questions: rows of the ``questions`` table.
        seen: as :func:`seen_in` makes it.

    Returns:
        A count for each kind of which there is any, and ``questions``: those that share at least one.
    """
    found: dict[str, int] = {}
    any_of = pl.Series([False] * questions.height)
    for kind in KINDS:
        known = seen.filter(pl.col("kind") == kind)["name"]
        rows = _names(questions, kind).filter(pl.col("name").is_in(known.implode()))["row"].unique()
        if rows.len():
            found[kind] = rows.len()
            any_of = any_of | pl.Series(range(questions.height)).is_in(rows.implode())
    return {**found, "questions": int(any_of.sum())} if found else {}


def read(adapter: Path) -> pl.DataFrame | None:
    """What an adapter has seen; None where its folder does not tell.

    Raises:
        HandbenchError: the list is damaged.
    """
    path = adapter / FILE
    if not path.is_file():
        return None
    try:
        return pl.read_parquet(path, columns=["kind", "name"])
    except (OSError, pl.exceptions.PolarsError) as error:
        raise HandbenchError(f"{path}: expected the list of what the adapter was tuned on: {error}") from None


def kinds(counts: dict[str, int]) -> str:
    """How many are shared by what, in words."""
    return ", ".join(f"{count} by {kind}" for kind, count in counts.items() if kind != "questions")


def refuse(adapter: str, counts: dict[str, int]) -> None:
    """Say that a test is none.

    Raises:
        HandbenchError: always, where there is any overlap.
    """
    if counts:
        raise HandbenchError(
            f"adapter={adapter}: {counts['questions']} of these questions share something with what it was tuned on "
            f"({kinds(counts)}); take another split, or allow_overlap=yes to count them and go on"
        )
