"""Rows that are left of a table, and a count of those that are not, by reason."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import polars as pl

from handbench.errors import HandbenchError

LACKING: Final = ("no image", "image without annotation", "annotation without image", "no annotation file")
"""Reasons that say that the folder is not whole, unlike those that say what was asked for."""

_NAMES: Final = ("image", "file_name", "image_id")


class Skipped(dict[str, int]):
    """Rows left out, counted by reason.

    Attributes:
        firsts: by reason, the name of the first row that was left out.
    """

    def __init__(self, counts: dict[str, int] | None = None, firsts: dict[str, str] | None = None) -> None:
        super().__init__(counts or {})
        self.firsts = firsts or {}


class Selection:
    """A table that shrinks, and remembers why.

    Attributes:
        rows: what is left.
        skipped: rows left out, counted by reason; reasons without rows are not in it.
    """

    def __init__(self, rows: pl.DataFrame, skipped: dict[str, int] | None = None) -> None:
        self.rows = rows
        self.skipped = Skipped(firsts=getattr(skipped, "firsts", None))
        for reason, count in (skipped or {}).items():
            self.count(reason, count)

    def count(self, reason: str, count: int) -> None:
        """Add to what was left out for a reason."""
        if count:
            self.skipped[reason] = self.skipped.get(reason, 0) + count

    def keep(self, reason: str, condition: pl.Expr | pl.Series) -> None:
        """Keep the rows of which the condition is true; false and null count under the reason."""
        before = self.rows
        self.rows = before.filter(condition)
        self.count(reason, before.height - self.rows.height)
        named = next((name for name in _NAMES if name in before.columns), None)
        if named and reason in LACKING and before.height > self.rows.height:
            first = before.filter(~pl.lit(condition) if isinstance(condition, pl.Series) else ~condition)[named][0]
            self.skipped.firsts.setdefault(reason, str(first))

    def match(self, reason: str, other: pl.DataFrame, on: tuple[str, ...]) -> None:
        """Add the columns of another table; rows without a partner there count under the reason."""
        before = self.rows.height
        self.rows = self.rows.join(other, on=list(on), maintain_order="left")
        self.count(reason, before - self.rows.height)

    def refuse_empty(self, source: str | Path, what: str) -> None:
        """Refuse to go on without a row.

        Raises:
            HandbenchError: nothing is left; the reasons are counted.
        """
        if self.rows.height == 0:
            left_out = "; ".join(f"{reason}: {count}" for reason, count in self.skipped.items())
            raise HandbenchError(f"{source}: nothing is left of {what} ({left_out or 'it has no rows'})")
