"""Names of controls, and how a question table tells them from its main questions."""

from __future__ import annotations

from typing import Final

import polars as pl

from handbench.errors import HandbenchError

CONTROLS: Final = {
    "rotations": "the options in every rotated order",
    "mirror": "the image mirrored: left and right change places, nothing else does",
    "masked": "the hand covered",
    "armless": "the forearm covered, the hand left",
    "blank": "a grey image of the same size: what is answered unseen",
    "wording": "the question in other words",
}
"""What each control changes."""

IMAGE_CONTROLS: Final = ("mirror", "masked", "armless", "blank")
"""Controls that show another image."""

ALL: Final = "all"
"""Stands for every control that there is for a task and a source."""

_MARK: Final = ";control="


def parse(text: str) -> tuple[str, ...]:
    """Read ``rotations,mirror``; ``all`` stands for every control that the task and the source have.

    Raises:
        HandbenchError: there is no such control, or one comes twice.
    """
    names = tuple(filter(None, (part.strip() for part in text.split(","))))
    if names == (ALL,):
        return names
    for name in names:
        if name not in CONTROLS:
            raise HandbenchError(f"controls: there is no {name!r}; there are {', '.join(CONTROLS)}, or {ALL}")
    if len(set(names)) < len(names):
        raise HandbenchError(f"controls: {text!r} names one twice")
    return names


def tagged(variant: pl.Expr, name: str) -> pl.Expr:
    """The variant of a control of that name, ``rotation-1`` for one that has several."""
    return (variant.cast(pl.String) + f"{_MARK}{name}").cast(pl.Categorical())


def control_names(variants: pl.Series) -> pl.Series:
    """The control of each row: ``rotation-1``, ``mirror`` and so on; null for a main question."""
    return _by_variant(variants, pl.col("variant").str.extract(f"{_MARK}(.+)$"))


def main_variants(variants: pl.Series) -> pl.Series:
    """Each variant without its control; the order of options stays as it is told."""
    return _by_variant(variants, pl.col("variant").str.replace(f"{_MARK}.+$", ""))


def _by_variant(variants: pl.Series, found: pl.Expr) -> pl.Series:
    """Work on each distinct variant once: there are few, and millions of rows."""
    known = pl.DataFrame({"key": variants.unique()}).with_columns(pl.col("key").cast(pl.String).alias("variant"))
    table = known.select("key", found.alias("found"))
    return pl.DataFrame({"key": variants}).join(table, on="key", how="left", maintain_order="left")["found"]


def main(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows that are no controls, of any table with a ``variant``."""
    return rows.filter(control_names(rows["variant"]).is_null())


def kind(name: str) -> str:
    """``rotations`` of ``rotation-1``; other names are their own."""
    return "rotations" if name.startswith("rotation-") else name
