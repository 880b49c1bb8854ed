"""``handbench compare``: runs side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from handbench.cli.app import app
from handbench.cli.options import Json
from handbench.cli.progress import progress_bar
from handbench.errors import HandbenchError


@app.command()
def compare(
    runs: Annotated[list[Path], typer.Argument(help="Folders of scored runs.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="A folder for the tables and the page.")] = Path("compared"),
    base: Annotated[
        str | None, typer.Option("--base", help="The model that others are held against.", show_default=False)
    ] = None,
    tuned_on: Annotated[
        list[str] | None,
        typer.Option(
            "--tuned-on", help="MODEL=DATASET where the adapter does not tell; repeatable.", show_default=False
        ),
    ] = None,
    shared: Annotated[bool, typer.Option("--shared", help="Compare on the questions that all runs have.")] = False,
    as_json: Json = False,
) -> None:
    """Runs side by side: paired differences, tables across datasets, replies that changed.

    Runs on one dataset must have the same questions and protocol; what differs is listed.
    """
    from handbench.protocols import ReadContext
    from handbench.reports import compare as compared

    named = dict(_named(text) for text in tuned_on or [])
    with progress_bar(as_json) as tell:
        found = compared.compare(runs, out, base=base, named=named, shared=shared, context=ReadContext(progress=tell))
    if as_json:
        rows = [{**vars(one), "cell": vars(one.cell)} for one in found.differences]
        print(json.dumps({"page": str(found.page), "differences": rows}))
        return
    for line in compared.sentences(found.differences):
        print(f"• {line}")
    print(found.page)


def _named(text: str) -> tuple[str, str]:
    model, equals, dataset = text.rpartition("=")
    if not equals or not model or not dataset:
        raise HandbenchError(f"--tuned-on {text!r}: write MODEL=DATASET, as in tuned=freihand")
    return model, dataset
