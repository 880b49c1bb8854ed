"""What a question table holds, for the terminal."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from rich import box
from rich.console import Console
from rich.table import Table

from handbench.runs.answering import task_of
from handbench.runs.folder import RunFolder
from handbench.schemas import WORD


def describe(folder: Path) -> dict[str, pl.DataFrame]:
    """Label and term counts of a run's questions, by name of the table."""
    run = RunFolder(folder)
    task, _ = task_of(run.manifest())
    return task.describe(run.read("questions"))


def show(found: dict[str, pl.DataFrame]) -> None:
    """Print the counts; shares with a bar."""
    console = Console()
    for name, frame in found.items():
        alone = [column for column in frame.columns if frame[column].dtype == WORD and frame[column].n_unique() == 1]
        title = ", ".join([name, *(str(frame[column][0]) for column in alone)])
        frame = frame.drop(alone)
        table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
        for column in frame.columns:
            numeric = frame[column].dtype.is_numeric() and column != "share"
            table.add_column(column, justify="right" if numeric else "left", no_wrap=True)
        for row in frame.iter_rows(named=True):
            table.add_row(*(_cell(column, value) for column, value in row.items()))
        console.print(table)


def _cell(column: str, value: object) -> str:
    if column == "share" and isinstance(value, float):
        return f"{100 * value:5.1f} % " + "█" * round(10 * value)
    return str(value)
