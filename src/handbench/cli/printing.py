"""What a command prints when it is done."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from handbench.api import Run
    from handbench.runs.costs import Estimate

WARNING: Final = "warning: "
"""How a note of a source begins that is more than a note."""


def print_run(run: Run, as_json: bool) -> None:
    """Print a scored run: the board, what was left out, the report's place last."""
    if as_json:
        records = run.scores.to_dicts()
        print(json.dumps({"run": str(run.folder.root), "report": str(run.report), "scores": records}))
        return
    if run.manifest.get("kind") == "poses":
        print_pose_run(run)
        return
    from rich.console import Console

    from handbench.reports import biases, consistency
    from handbench.reports.summary import summary
    from handbench.runs.answering import task_of
    from handbench.runs.ceilings import read_ceiling
    from handbench.runs.scoring import complete

    console = Console()
    manifest = run.manifest
    task, options = task_of(manifest)
    source, questions = manifest["source"], manifest["questions"]
    mark = " (synthetic)" if source["synthetic"] else ""
    hands = f", {questions['hands']} hands" if questions["hands"] else ""
    title = f"{task.name} on {source['name']}{mark}: {questions['count']} questions{hands}"
    table, sentences = summary(task, options, run.scores, source["name"], title, read_ceiling(run.folder))
    console.print(table)
    for line in [*sentences, *biases.of_run(run.folder), *consistency.sentences(run.scores)]:
        console.print(f"• {line}")
    for note in source["notes"]:
        console.print(noted(note), style="yellow" if note.startswith(WARNING) else "dim", highlight=False, markup=False)
    if source["skipped"]:
        console.print(f"[dim]left out: {counted(source['skipped'])}[/dim]", highlight=False)
    if manifest["not_asked"]:
        console.print(f"[dim]not asked: {counted(manifest['not_asked'])}[/dim]", highlight=False)
    for name, missing in complete(run.folder, manifest)[1].items():
        console.print(f"[yellow]{name} lacks {missing} answers; run it again to go on[/yellow]")
    print(run.report)


def print_pose_run(run: Run) -> None:
    """Print a scored run of pose estimators: the board, its sentences, what was left out, the report's place last."""
    from rich.console import Console

    from handbench.reports.handpose_terminal import board, sentences

    console = Console()
    manifest = run.manifest
    console.print(board(run.scores, manifest))
    for line in sentences(run.scores):
        console.print(f"• {line}", highlight=False)
    for note in manifest["source"]["notes"]:
        console.print(noted(note), style="yellow" if note.startswith(WARNING) else "dim", highlight=False, markup=False)
    told = {"data": manifest["source"]["skipped"], **manifest.get("left_out", {})}
    told |= {f"{each['name']} (file)": each["skipped"] for each in manifest["estimators"].values() if "skipped" in each}
    for name, reasons in told.items():
        if reasons:
            console.print(f"[dim]left out or noted, {name}: {counted(reasons)}[/dim]", highlight=False)
    print(run.report)


def print_estimates(estimates: dict[str, Estimate], strategy: str | None, as_json: bool) -> None:
    """Print what asking would take, a line per model."""
    if as_json:
        print(json.dumps({name: vars(estimate) for name, estimate in estimates.items()}))
        return
    for name, estimate in estimates.items():
        print(f"{name}: {estimate}" + (" (of the first turn)" if strategy else ""))


def noted(note: str) -> str:
    """A note of a source in one line; a warning says itself that it is one."""
    return note if note.startswith(WARNING) else f"note: {note}"


def counted(counts: dict[str, int]) -> str:
    """Reasons and their counts, in one line."""
    return ", ".join(f"{reason}: {count}" for reason, count in counts.items())
