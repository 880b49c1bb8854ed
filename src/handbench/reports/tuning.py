"""The report of a training: the loss curve, what changed, what it was made of."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl
from markupsafe import Markup
from rich.markup import escape
from rich.table import Table

from handbench.reports import tuning_figures
from handbench.reports.drawing import TITLES
from handbench.reports.environment import template
from handbench.reports.terminal_table import plain


def write(folder: Path, record: dict[str, Any]) -> Path:
    """Write ``report.html`` of an adapter.

    Args:
        folder: the adapter's, with ``losses.parquet``.
        record: as tuning gives it, with ``changes``.
    """
    losses = pl.read_parquet(folder / "losses.parquet")
    text = template("tuning.html.j2").render(
        version=version("handbench"),
        record=record,
        curve=Markup(tuning_figures.loss_curve(losses["step"].to_numpy(), losses["loss"].to_numpy())),
        arrows=Markup(tuning_figures.arrows(record["changes"])) if record["changes"] else "",
        folder=str(folder),
    )
    path = folder / "report.html"
    path.write_text(text, encoding="utf-8")
    return path


def terminal(changes: Sequence[dict[str, Any]]) -> Table:
    """What changed, for a terminal.

    Args:
        changes: a row per test and descriptor, as tuning gives them.
    """
    table = plain("Before and after, percent right", "95 % intervals of the paired difference.")
    table.add_column("test", overflow="fold", min_width=20)
    for heading in ("before", "after", "difference", "commonest\nanswer", "N"):
        table.add_column(heading, justify="right", no_wrap=True)
    last = ""
    for row in changes:
        test = " ".join([f"{row['task']} on {row['data']}", row["split"]]).strip()
        if test != last:
            table.add_row(f"[dim]{escape(test)}[/dim]")
        last = test
        colour = "green" if row["low"] > 0 else "red" if row["high"] < 0 else "default"
        interval = f"{100 * row['low']:+.0f} to {100 * row['high']:+.0f}"
        table.add_row(
            TITLES.get(row["descriptor"], row["descriptor"]),
            f"{100 * row['before']:.1f}",
            f"[bold]{100 * row['after']:.1f}[/bold]",
            f"[{colour}]{100 * row['difference']:+.1f}[/{colour}] [dim]{interval}[/dim]",
            "–" if row["prior"] is None else f"{100 * row['prior']:.1f}",
            str(row["n"]),
        )
    return table
