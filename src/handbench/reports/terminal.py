"""The score board on a terminal."""

from __future__ import annotations

import polars as pl
from rich.table import Table

from handbench.reports.board import COLUMNS, model_rows, published_rows


def board(scores: pl.DataFrame, published: pl.DataFrame, dataset: str, title: str) -> Table:
    """The paper's Tables 2 and 3 in one table, intervals below the numbers.

    Args:
        scores: the ``scores`` table.
        published: as a task's ``published()`` gives it.
        dataset: the run's dataset.
        title: what stands above.
    """
    rows, note = published_rows(published, dataset)
    table = Table(title=title, caption=note, caption_justify="left", title_justify="left", padding=(0, 1))
    table.add_column("model", overflow="fold", max_width=26)
    for _, _, heading, unit in COLUMNS:
        table.add_column(f"{heading}\n[dim]{unit}[/dim]", justify="right")
    for row in model_rows(scores):
        cells = [f"[bold]{cell.text}[/bold]\n[dim]{cell.interval}[/dim]" for cell in row.cells]
        table.add_row(f"[bold]{row.name}[/bold]", *cells)
    table.add_section()
    for row in rows:
        table.add_row(f"[dim]{row.name}[/dim]", *(f"[dim]{cell.text}[/dim]" for cell in row.cells))
    return table
