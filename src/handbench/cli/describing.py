"""``handbench describe``: what is in questions, beside the paper's counts, and how sure their truth is."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from handbench.cli.app import app
from handbench.cli.options import Cache, Force, Json, KeepGoing, Mano, NoCache, Protocol, Split, cache_folder
from handbench.cli.progress import progress_bar


@app.command()
def describe(
    targets: Annotated[
        list[str], typer.Argument(help="Folders of runs, or sources such as ge:PATH; several count together.")
    ],
    against: Annotated[
        str | None, typer.Option("--against", help="paper: our counts beside those that the paper prints.")
    ] = None,
    noise: Annotated[
        str | None,
        typer.Option(
            "--noise",
            help="The truth's ceiling where joints are off by so much, e.g. 3mm (mean 3D error of a joint), or "
            "published for the dataset's own figure. Kept with a run and shown beside its scores.",
        ),
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            "--encoder",
            help="The folder of a CLIP-like model: how similar a run's images and captions are. Kept with the run and "
            "shown in its report.",
        ),
    ] = None,
    task: Annotated[str, typer.Option("--task", help="The task that a source's questions are of.")] = "handvqa",
    split: Split = None,
    protocol: Protocol = "paper",
    force: Force = False,
    keep_going: KeepGoing = False,
    cache: Cache = None,
    no_cache: NoCache = False,
    mano: Mano = None,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    as_json: Json = False,
) -> None:
    """What is in the questions: counts per descriptor and label, and the terms of the options."""
    from handbench import api
    from handbench.reports import description

    with progress_bar(as_json) as tell:
        found = api.describe(
            targets,
            against=against,
            noise=noise,
            encoder=encoder,
            task=task,
            split=split,
            protocol=protocol,
            force=force,
            keep_going=keep_going,
            cache=cache_folder(cache, no_cache),
            mano=mano,
            progress=tell,
        )
    if as_json:
        print(json.dumps({name: frame.to_dicts() for name, frame in found.items()}))
    elif as_markdown:
        print(description.markdown(found))
    else:
        description.show(found)
        print(*targets)
