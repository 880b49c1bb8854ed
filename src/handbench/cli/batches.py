"""Batch files: requests out, results back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from handbench.cli.app import exports, imports
from handbench.cli.options import Folder, Json, Workers
from handbench.cli.printing import counted
from handbench.cli.progress import progress_bar

OneModel = Annotated[str, typer.Option("--model", "-m", help="Who answers: server:NAME?base_url=URL.")]


@exports.command("batch")
def export_batch(
    folder: Folder,
    model: OneModel,
    out: Annotated[Path, typer.Option("--out", "-o", help="A folder for the files.")],
    workers: Workers = None,
    as_json: Json = False,
) -> None:
    """Questions that a model has not answered → batch files as hosted APIs take them."""
    from handbench.exchange import batch
    from handbench.protocols import ReadContext
    from handbench.runs.folder import RunFolder

    with progress_bar(as_json) as tell:
        made = batch.export_batch(RunFolder(folder), model, out, ReadContext(workers=workers or 1, progress=tell))
    if as_json:
        print(json.dumps({**vars(made), "files": [str(path) for path in made.files]}))
        return
    print(f"{made.requests} requests for {made.questions} questions in {len(made.files)} files")
    if made.left_out:
        print(f"left out: {counted(made.left_out)}")
    print(out)


@imports.command("batch")
def import_batch(
    folder: Folder,
    results: Annotated[list[Path], typer.Argument(help="Files of results, in any order.")],
    model: OneModel,
    batch_folder: Annotated[Path, typer.Option("--batch", help="The folder that export batch wrote.")],
    as_json: Json = False,
) -> None:
    """Results of a batch → answers of the run."""
    from handbench.exchange import batch
    from handbench.runs.folder import RunFolder

    read = batch.import_batch(RunFolder(folder), model, batch_folder, results)
    if as_json:
        print(json.dumps(vars(read)))
        return
    print(
        f"{read.answered} answers, {read.errors} errors; {read.known} were answered before, "
        f"for {read.missing} nothing came back"
    )
    print(RunFolder(folder).root / "answers")
