"""The score board on a terminal, 80 columns wide."""

from __future__ import annotations

from typing import Final

import polars as pl
from rich.table import Table

from handbench.reports.board import ceiling_row, model_rows, published_rows
from handbench.reports.terminal_table import plain

_HEADINGS: Final = (
    "Angle\nacc ↑",
    "Angle\nMAE ↓",
    "Dist.\nacc ↑",
    "Dist.\nMAE ↓",
    "X\nacc ↑",
    "Y\nacc ↑",
    "Z\nacc ↑",
    "said\n%",
)
_NAME_WIDTH: Final = 18
_WIDTHS: Final = (7, 8, 7, 8, 7, 7, 7, 7)


def board(
    scores: pl.DataFrame, published: pl.DataFrame, dataset: str, title: str, ceiling: pl.DataFrame | None = None
) -> Table:
    """The paper's Tables 2 and 3 in one table, intervals below the numbers.

    Args:
        scores: the ``scores`` table.
        published: as a task's ``published()`` gives it.
        dataset: the run's dataset.
        title: what stands above.
        ceiling: the run's ``ceiling`` table, if it has one.
    """
    rows, note = published_rows(published, dataset)
    table = plain(title, f"Percent and ranks; 95 % cluster intervals below. {note}")
    table.add_column("model", overflow="fold", width=_NAME_WIDTH)
    for heading, width in zip(_HEADINGS, _WIDTHS, strict=True):
        table.add_column(heading, justify="right", no_wrap=True, width=width)
    for row in model_rows(scores):
        cells = [f"[bold]{cell.text}[/bold]\n[dim]{cell.short_interval}[/dim]" for cell in row.cells]
        table.add_row(f"[bold]{row.name}[/bold]", *cells)
    if top := ceiling_row(ceiling):
        table.add_row(top.name, *(f"{cell.text}\n[dim]{cell.short_interval}[/dim]" for cell in top.cells))
    table.add_section()
    for row in rows:
        table.add_row(f"[dim]{row.name}[/dim]", *(f"[dim]{cell.text}[/dim]" for cell in row.cells))
    return table
