"""Rows that are left of a table, and a count of those that are not, by reason."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from handbench.errors import HandbenchError


class Selection:
    """A table that shrinks, and remembers why.

    Attributes:
        rows: what is left.
        skipped: rows left out, counted by reason; reasons without rows are not in it.
    """

    def __init__(self, rows: pl.DataFrame, skipped: dict[str, int] | None = None) -> None:
        self.rows = rows
        self.skipped: dict[str, int] = {}
        for reason, count in (skipped or {}).items():
            self.count(reason, count)

    def count(self, reason: str, count: int) -> None:
        """Add to what was left out for a reason."""
        if count:
            self.skipped[reason] = self.skipped.get(reason, 0) + count

    def keep(self, reason: str, condition: pl.Expr | pl.Series) -> None:
        """Keep the rows of which the condition is true; false and null count under the reason."""
        before = self.rows.height
        self.rows = self.rows.filter(condition)
        self.count(reason, before - self.rows.height)

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
