"""The command line.  Each verb is a stage; heavy imports happen inside it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from handbench.errors import HandbenchError

if TYPE_CHECKING:
    from handbench.api import Run
    from handbench.protocols import Progress

app = typer.Typer(
    name="handbench",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help=(
        "Does this model understand hands, and what would fix it?\n\n"
        "Start with [bold]handbench demo[/bold]. On your own data: "
        "[bold]handbench run handvqa --data ge:PATH -m chance -m pose:blaze-full -o runs/first[/bold]. "
        "Things are named kind:name?key=value; [bold]handbench list[/bold] shows what there is."
    ),
)

Task = Annotated[str, typer.Argument(help="The task and its options, e.g. handvqa?per_descriptor=all.")]
Data = Annotated[str, typer.Option("--data", help="The source, e.g. synth:hands?n=200&seed=0 or ge:PATH.")]
Models = Annotated[
    list[str],
    typer.Option("--model", "-m", help="Who answers, e.g. prior, pose:blaze-full; repeatable."),
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


@contextmanager
def _progress(quiet: bool) -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        disable=quiet,
    )
    tasks: dict[str, Any] = {}

    def tell(done: int, total: int | None, what: str) -> None:
        if what not in tasks:
            for earlier in tasks.values():
                bar.stop_task(earlier)
            tasks[what] = bar.add_task(what, total=total)
        bar.update(tasks[what], completed=done, total=total)

    with bar:
        yield tell


def _finish(run: Run, as_json: bool) -> None:
    """Print a scored run: the board, what was left out, the report's place last."""
    if as_json:
        records = run.scores.to_dicts()
        print(json.dumps({"run": str(run.folder.root), "report": str(run.report), "scores": records}))
        return
    from rich.console import Console

    from handbench.reports.findings import verdicts
    from handbench.reports.terminal import board
    from handbench.runs.answering import task_of
    from handbench.runs.scoring import complete

    console = Console()
    manifest = run.manifest
    task, _ = task_of(manifest)
    source, questions = manifest["source"], manifest["questions"]
    mark = " (synthetic)" if source["synthetic"] else ""
    title = f"{task.name} on {source['name']}{mark}: {questions['count']} questions, {questions['hands']} hands"
    console.print(board(run.scores, task.published(), source["name"], title))
    for line in verdicts(run.scores):
        console.print(f"• {line}")
    for note in source["notes"]:
        console.print(f"[dim]note: {note}[/dim]", highlight=False)
    if source["skipped"]:
        console.print(f"[dim]left out: {_counts(source['skipped'])}[/dim]", highlight=False)
    if manifest["not_asked"]:
        console.print(f"[dim]not asked: {_counts(manifest['not_asked'])}[/dim]", highlight=False)
    for name, missing in complete(run.folder, manifest)[1].items():
        console.print(f"[yellow]{name} lacks {missing} answers; run it again to go on[/yellow]")
    print(run.report)


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{reason}: {count}" for reason, count in counts.items())


@app.command()
def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Where to put the run.")] = Path("demo"),
    hands: Annotated[int, typer.Option("--hands", min=1, help="How many rendered hands.")] = 200,
    workers: Workers = None,
    as_json: Json = False,
) -> None:
    """The main job on rendered hands: questions, four answerers, scores and a report, in under a minute."""
    from handbench import api

    models = ["chance", "prior", *_real_estimators()]
    with _progress(as_json) as tell:
        run = api.run("handvqa", f"synth:hands?n={hands}&seed=0", models, out, workers=workers, progress=tell)
    _finish(run, as_json)


def _real_estimators() -> list[str]:
    from importlib.util import find_spec

    if find_spec("ai_edge_litert") is None:
        print("the pose estimators are left out: pip install 'handbench[hands]' brings them", file=sys.stderr)
        return []
    return ["pose:blaze-lite", "pose:blaze-full"]


@app.command()
def run(
    task: Task,
    data: Data,
    model: Models,
    out: Out = None,
    split: Split = None,
    protocol: Protocol = "paper",
    workers: Workers = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Ask, answer, score and report; repeat the command to go on where it was broken off."""
    from handbench import api

    with _progress(as_json) as tell:
        made = api.run(
            task,
            data,
            model,
            out,
            split=split,
            protocol=protocol,
            workers=workers,
            force=force,
            progress=tell,
        )
    _finish(made, as_json)


@app.command()
def ask(
    task: Task,
    data: Data,
    out: Annotated[Path, typer.Option("--out", "-o", help="The run's folder.")],
    split: Split = None,
    protocol: Protocol = "paper",
    shard: Annotated[str, typer.Option("--shard", help="i/N: only the i-th of N parts of the hands.")] = "1/1",
    workers: Workers = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Source → questions."""
    from handbench import api

    with _progress(as_json) as tell:
        made = api.ask(
            task,
            data,
            out,
            split=split,
            protocol=protocol,
            shard=shard,
            workers=workers,
            force=force,
            progress=tell,
        )
    manifest = made.manifest
    if as_json:
        print(json.dumps(manifest))
        return
    questions, source = manifest["questions"], manifest["source"]
    print(f"{questions['count']} questions about {questions['hands']} hands on {questions['images']} images")
    for name, counts in (("left out", source["skipped"]), ("not asked", manifest["not_asked"])):
        if counts:
            print(f"{name}: {_counts(counts)}")
    for note in source["notes"]:
        print(f"note: {note}")
    print(made.folder.table("questions"))


@app.command()
def merge(
    shards: Annotated[list[Path], typer.Argument(help="Folders made with --shard 1/N to N/N.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder of the whole.")],
) -> None:
    """Shards of questions → the whole, the same as if made at once."""
    from handbench import api

    print(api.merge(shards, out).folder.table("questions"))


@app.command()
def answer(folder: Folder, model: Models, workers: Workers = None, as_json: Json = False) -> None:
    """Questions → answers; what is answered already is not asked again."""
    from handbench import api

    with _progress(as_json) as tell:
        made = api.answer(folder, model, workers=workers, progress=tell)
    names = made.manifest["models"]
    print(json.dumps({"run": str(folder), "models": names}) if as_json else made.folder.root / "answers")


@app.command()
def score(folder: Folder, as_json: Json = False) -> None:
    """Answers → readings → scores."""
    from handbench import api

    made = api.score(folder)
    print(json.dumps(made.scores.to_dicts()) if as_json else made.folder.table("scores"))


@app.command()
def report(folder: Folder, workers: Workers = None) -> None:
    """Scores → one HTML file with tables, pictures and the questions themselves."""
    from handbench import api

    with _progress(False) as tell:
        print(api.report(folder, workers=workers, progress=tell))


@app.command()
def describe(folder: Folder, as_json: Json = False) -> None:
    """What is in the questions: counts per descriptor and label, and the terms of the options."""
    from handbench.reports.description import describe as rows
    from handbench.reports.description import show

    found = rows(folder)
    if as_json:
        print(json.dumps({name: frame.to_dicts() for name, frame in found.items()}))
        return
    show(found)
    print(folder)


@app.command("list")
def list_parts(as_json: Json = False) -> None:
    """What there is to name: tasks, data, models, estimators."""
    from handbench import protocols

    found = {room: protocols.names(room) for room in ("tasks", "datasets", "models", "estimators")}
    found["models"] += [f"pose:{name}" for name in found["estimators"]]
    if as_json:
        print(json.dumps(found))
        return
    for room, names in found.items():
        print(f"{room:<11} {', '.join(names)}")


_INTERRUPTED = 130


def main() -> None:
    """Run the command line; a user's error is one line and exit code 2."""
    try:
        code = app(standalone_mode=False)
        if code == _INTERRUPTED:  # the parser turns an interruption into its exit code
            raise KeyboardInterrupt
        sys.exit(code if isinstance(code, int) else 0)
    except HandbenchError as error:
        print(f"handbench: {error}", file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        print(f"handbench: {place}{error.strerror or error}", file=sys.stderr)
        sys.exit(2)
    except (KeyboardInterrupt, typer.Abort):
        print("handbench: stopped; repeat the command to go on", file=sys.stderr)
        sys.exit(_INTERRUPTED)
    except typer.Exit as stop:
        sys.exit(stop.exit_code)
    except Exception as error:
        if hasattr(error, "format_message") and hasattr(error, "exit_code"):  # a usage error of the parser
            print(f"handbench: {error.format_message()}", file=sys.stderr)
            sys.exit(error.exit_code)
        raise


if __name__ == "__main__":
    main()
