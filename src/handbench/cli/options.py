"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Task = Annotated[str, typer.Argument(help="The task and its options, e.g. handvqa?per_descriptor=all.")]
Data = Annotated[str, typer.Option("--data", help="The source, e.g. synth:hands?n=200&seed=0 or ge:PATH.")]
Models = Annotated[
    list[str],
    typer.Option("--model", "-m", help="Who answers, e.g. prior, pose:blaze-full; repeatable."),
]
Strategy = Annotated[
    str | None,
    typer.Option("--strategy", help="Ask turn by turn, e.g. sv-cot?turns=3.", show_default=False),
]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="The run's folder.")]
Split = Annotated[
    str | None,
    typer.Option("--split", help="The owner's split, or paper-train, paper-test.", show_default=False),
]
Protocol = Annotated[str, typer.Option("--protocol", help="paper, or released for the released code's rules.")]
Workers = Annotated[
    int | None,
    typer.Option("--workers", min=1, help="Processes; one per processor unless given.", show_default=False),
]
Force = Annotated[bool, typer.Option("--force", help="Go on where a check of the data would stop.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines instead of tables.")]
Folder = Annotated[Path, typer.Argument(help="The run's folder.")]
