"""The report of a training: the loss curve, what changed, what it was made of."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl
from markupsafe import Markup

from handbench.reports import tuning_figures
from handbench.reports.environment import template


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
