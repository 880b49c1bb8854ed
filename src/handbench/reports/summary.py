"""What the terminal shows of a scored run: a table and a few sentences, whatever the task."""

from __future__ import annotations

from typing import Any

import polars as pl
from rich.table import Table

from handbench.protocols import Task
from handbench.reports import choices, pointing_tables, safegesture_board, safegesture_tables
from handbench.reports.findings import verdicts
from handbench.reports.terminal import board
from handbench.reports.terminal_table import plain


def summary(
    task: Task, options: Any, scores: pl.DataFrame, dataset: str, title: str, ceiling: pl.DataFrame | None = None
) -> tuple[Table, list[str]]:
    """The score board and its sentences.

    Args:
        task: the run's task.
        options: its options.
        scores: the ``scores`` table.
        dataset: the run's dataset.
        title: what stands above.
        ceiling: the run's ``ceiling`` table, if it has one.
    """
    if task.name == "safegesture":
        lines = safegesture_board.board(scores, task.published(), options.cells)
        own = safegesture_tables.own_scores(scores)
        models = own["model"].unique(maintain_order=True).to_list()
        return _safety(lines, title), safegesture_board.sentences(own, models, options.cells)
    if task.name in ("gestures", "interactions"):
        return choices.board(scores, title), []
    if task.name.partition("/")[0] == "pointing":
        found = pointing_tables.Scores(scores.filter(pl.col("slice").cast(pl.String) != "control"))
        return _pointing(found, title), pointing_tables.sentences(found, options.speaks.frame)
    return board(scores, task.published(), dataset, title, ceiling), verdicts(scores)


def _pointing(scores: pointing_tables.Scores, title: str) -> Table:
    table = plain(
        title, "IoU at least τ, every target counted; 95 % intervals over images below. N-acc: negatives rejected."
    )
    table.add_column("model", overflow="fold", width=17)
    columns = [("P@0.3", "p_at_0.3"), ("P@0.5", "p_at_0.5"), ("P@0.7", "p_at_0.7"), ("mIoU", "mean_iou")]
    columns += [("acc.", "accuracy"), ("N-acc", "n_acc")]
    table.add_column("", width=7)
    for heading, _ in columns:
        table.add_column(heading, justify="right", no_wrap=True, width=8)
    for model in scores.models:
        for subtask in scores.subtasks:
            numbers = [scores.number(model, subtask, metric) for _, metric in columns]
            cells = [
                "" if one.value is None else f"[bold]{one.text}[/bold]\n[dim]{_short(one)}[/dim]" for one in numbers
            ]
            name = f"[bold]{model}[/bold]" if subtask == scores.subtasks[0] else ""
            table.add_row(name, pointing_tables.NAMES[subtask], *cells)
    return table


def _short(number: pointing_tables.Number) -> str:
    return "" if number.low is None or number.high is None else f"{number.low:.2f}–{number.high:.2f}".replace("0.", ".")


def _safety(lines: list[safegesture_tables.Line], title: str) -> Table:
    table = plain(title, "Percent; 95 % intervals over the cells. Dim: policies that see no image, published rows.")
    table.add_column("system", overflow="fold", width=24)
    for heading in ("GA ↑", "SA ↑", "F1 ↑", "DS ↓", "under ↓", "over ↓"):
        table.add_column(heading, justify="right", no_wrap=True, width=9)
    for line in lines:
        style = "bold" if line.kind == "model" else "dim"
        cells = [
            f"[{style}]{number.text}[/{style}]"
            + (f"\n[dim]{number.short_interval}[/dim]" if line.kind == "model" else "")
            for number in line.numbers
        ]
        name = line.name.removeprefix("Baseline: ")
        table.add_row(f"[{style}]{name}[/{style}]", *cells)
    return table
