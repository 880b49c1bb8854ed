"""``experiment``: a whole matrix of models and datasets from one file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from handbench.cli.app import app
from handbench.cli.options import Force, Json, Workers
from handbench.cli.progress import progress_bar


@app.command()
def experiment(
    plan: Annotated[Path, typer.Argument(help="A TOML file: bases, datasets, tuning.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder of all cells and of the report.")],
    workers: Workers = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Base and tuned × datasets × descriptors in one report; repeat the command to go on where it was broken off."""
    from handbench import experiment as verb

    with progress_bar(as_json) as tell:
        results = verb.run(plan, out, workers=workers, force=force, progress=tell)
    print(json.dumps(results.to_dicts()) if as_json else out / "report.html")
