"""The same answers under three ways of counting replies without a reading."""

from __future__ import annotations

import json
from typing import Any, Final

from handbench.cli.app import app
from handbench.cli.options import Folder, Json

_POLICIES: Final = {
    "strict": ("accuracy", "mae_worst_case"),
    "lenient": ("accuracy_answered", "mae_answered"),
    "official": ("accuracy_official", "mae_official"),
}
"""Accuracy and error of ranks: an unread reply is wrong and costs the most; is left out; is counted as the
paper's own evaluator does."""


@app.command()
def policies(folder: Folder, as_json: Json = False) -> None:
    """HandVQA scores counted strictly, leniently, and as the paper's own evaluator prints them."""
    rows = _rows(folder)
    if as_json:
        print(json.dumps(rows))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in ("model", "descriptor", *(f"{policy} {what}" for policy in _POLICIES for what in ("acc", "MAE"))):
        table.add_column(name, justify="left" if name in ("model", "descriptor") else "right")
    for row in rows:
        cells = [
            f"{value:.{digits}f}" if (value := row[f"{policy}_{what}"]) is not None else "–"
            for policy in _POLICIES
            for what, digits in (("accuracy", 2), ("mae", 3))
        ]
        table.add_row(row["model"], row["descriptor"], *cells)
    Console().print(table)
    print("acc in percent, MAE in ranks; strict: an unread reply is wrong; lenient: it is left out;")
    print("official: the paper's evaluator drops it, then takes the number dropped from the percentage")
    print(folder)


def _rows(folder: Any) -> list[dict[str, Any]]:
    import polars as pl

    from handbench.errors import HandbenchError
    from handbench.runs.folder import RunFolder

    run = RunFolder(folder)
    task = str(run.manifest()["asked"]["task"])
    if task.partition("?")[0] != "handvqa":
        raise HandbenchError(f"{folder}: a run of {task}; these policies are those of handvqa")
    if not run.table("scores").exists():
        raise HandbenchError(f"{folder}: not scored yet; go on with handbench score")
    words = pl.col("model", "metric", "descriptor").cast(pl.String)
    whole = run.read("scores").filter(pl.col("slice").cast(pl.String) == "all").with_columns(words)
    value = {(model, name, metric): found for model, name, metric, found in whole.select(
        "model", "descriptor", "metric", "value").iter_rows()}  # fmt: skip
    rows = []
    for model, descriptor in dict.fromkeys((model, name) for model, name, _ in value if name != "all"):
        row: dict[str, Any] = {"model": model, "descriptor": descriptor}
        for policy, (accuracy, mae) in _POLICIES.items():
            share = value.get((model, descriptor, accuracy))
            row[f"{policy}_accuracy"] = None if share is None else 100 * share
            row[f"{policy}_mae"] = value.get((model, descriptor, mae))
        rows.append(row)
    return rows
