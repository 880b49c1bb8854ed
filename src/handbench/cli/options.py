"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from handbench.errors import HandbenchError

Task = Annotated[str, typer.Argument(help="The task and its options, e.g. handvqa?per_descriptor=all.")]
Data = Annotated[
    str | None,
    typer.Option(
        "--data",
        help="The source, e.g. synth:hands?n=200&seed=0 or ge:PATH; none where questions are text alone.",
        show_default=False,
    ),
]
Variant = Annotated[
    str | None,
    typer.Option("--variant", help="Of safegesture: scenario-only or gesture-as-text.", show_default=False),
]
CellsFile = Annotated[
    Path | None,
    typer.Option("--cells", help="Of safegesture: your own gestures, scenarios and labels.", show_default=False),
]
Questions = Annotated[
    str | None,
    typer.Option(
        "--questions", help="Questions that were released, instead of --data: released:PATH.", show_default=False
    ),
]
Models = Annotated[
    list[str],
    typer.Option("--model", "-m", help="Who answers, e.g. prior, pose:blaze-full; repeatable."),
]
Family = Annotated[
    str | None,
    typer.Option("--family", help="Whose prompts and coordinates, e.g. qwen3-vl (pointing).", show_default=False),
]
Strategy = Annotated[
    str | None,
    typer.Option("--strategy", help="Ask turn by turn, e.g. sv-cot?turns=3.", show_default=False),
]
Controls = Annotated[
    str | None,
    typer.Option(
        "--controls",
        help="Ask again with one thing changed: rotations, mirror, masked, blank, wording (by commas), or all.",
        show_default=False,
    ),
]
Sample = Annotated[
    int | None,
    typer.Option("--sample", min=1, help="Only so many of the questions, stratified.", show_default=False),
]
RetryErrors = Annotated[bool, typer.Option("--retry-errors", help="Ask again where the answer is an error.")]
Budget = Annotated[
    float | None,
    typer.Option("--budget", min=0, help="Stop when a model has cost this much.", show_default=False),
]
Prices = Annotated[
    Path | None,
    typer.Option(
        "--prices", help="TOML: tokens_in and tokens_out per million, by model.", exists=True, show_default=False
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Tell what asking would take; ask nothing.")]
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
KeepGoing = Annotated[
    bool, typer.Option("--keep-going", help="Leave bad rows of the source out and count them, by reason.")
]
Cache = Annotated[
    Path | None,
    typer.Option("--cache", help="Where the tables of a dataset are kept once read.", show_default="user's cache"),
]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Read the dataset anew and keep nothing.")]
Mano = Annotated[
    Path | None,
    typer.Option(
        "--mano",
        help="Your own folder of MANO_RIGHT.pkl and MANO_LEFT.pkl, for data that ship MANO parameters.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines instead of tables.")]
Folder = Annotated[Path, typer.Argument(help="The run's folder.")]


def cache_folder(cache: Path | None, no_cache: bool) -> Path | bool:
    """What ``--cache DIR`` and ``--no-cache`` mean together."""
    if cache is not None and no_cache:
        raise HandbenchError("--cache and --no-cache: give one of them")
    return False if no_cache else cache or True


def source_of(data: str | None, questions: str | None) -> str | None:
    """What ``--data`` or ``--questions`` names; None where neither is given."""
    if data is not None and questions is not None:
        raise HandbenchError("give --data for questions made here, or --questions for released ones, not both")
    if questions is not None and not questions.startswith("released:"):
        raise HandbenchError(f"--questions {questions}: expected released:PATH, a folder or file of released questions")
    return data or questions
