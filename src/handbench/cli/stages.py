"""The stages of a run: ask, answer, score, report, and all of them at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from handbench.cli.app import app
from handbench.cli.options import (
    Budget,
    Cache,
    CellsFile,
    Controls,
    Data,
    DryRun,
    Family,
    Folder,
    Force,
    Json,
    KeepGoing,
    Mano,
    Models,
    NoCache,
    Out,
    Prices,
    Protocol,
    Questions,
    RetryErrors,
    Sample,
    Split,
    Strategy,
    Task,
    Variant,
    Workers,
    cache_folder,
    source_of,
)
from handbench.cli.pose_options import Cleanup, Estimators, OptionalModels, Truth
from handbench.cli.printing import counted, noted, print_estimates, print_run
from handbench.cli.progress import progress_bar
from handbench.specs import Spec, with_options

if TYPE_CHECKING:
    from handbench.runs.reading import Reading


def _task(task: str, variant: str | None, cells: Path | None, controls: str | None, family: str | None) -> str:
    """A task's name with the options that have words of their own."""
    from handbench.runs.controls import with_controls

    return with_controls(
        with_options(task, variant=variant, cells=str(cells.resolve()) if cells is not None else None, family=family),
        controls,
    )


def _strategy(strategy: str | None, cells: Path | None) -> str | None:
    """A strategy's name; two-step is told the cells that the task is told."""
    if strategy is None or cells is None or Spec.parse(strategy).kind != "two-step":
        return strategy
    return with_options(strategy, cells=str(cells.resolve()), name="two-step")


@app.command()
def run(
    task: Task,
    model: OptionalModels = None,
    data: Data = None,
    estimator: Estimators = None,
    cleanup: Cleanup = None,
    truth: Truth = None,
    questions: Questions = None,
    variant: Variant = None,
    cells: CellsFile = None,
    out: Out = None,
    strategy: Strategy = None,
    controls: Controls = None,
    family: Family = None,
    sample: Sample = None,
    split: Split = None,
    protocol: Protocol = "paper",
    budget: Budget = None,
    prices: Prices = None,
    retry_errors: RetryErrors = False,
    dry_run: DryRun = False,
    workers: Workers = None,
    force: Force = False,
    keep_going: KeepGoing = False,
    cache: Cache = None,
    no_cache: NoCache = False,
    mano: Mano = None,
    as_json: Json = False,
) -> None:
    """Ask, answer, score and report; repeat the command to go on where it was broken off."""
    from handbench import api

    task, strategy = _task(task, variant, cells, controls, family), _strategy(strategy, cells)
    with progress_bar(as_json) as tell:
        source = source_of(data, questions)
        how: Reading = {
            "split": split,
            "protocol": protocol,
            "workers": workers,
            "force": force,
            "keep_going": keep_going,
            "cache": cache_folder(cache, no_cache),
            "mano": mano,
            "progress": tell,
        }
        if dry_run:
            asked = api.ask(task, source, out or api.default_folder(task, source), sample=sample, **how)
            estimates = api.estimate(asked, model or [], strategy=strategy, prices=prices)
        else:
            made = api.run(
                task,
                source,
                model or [],
                out,
                estimator=estimator or [],
                cleanup=cleanup,
                truth=truth,
                strategy=strategy,
                sample=sample,
                retry_errors=retry_errors,
                budget=budget,
                prices=prices,
                **how,
            )
    if dry_run:
        print_estimates(estimates, strategy, as_json)
    else:
        print_run(made, as_json)


@app.command()
def ask(
    task: Task,
    out: Annotated[Path, typer.Option("--out", "-o", help="The run's folder.")],
    data: Data = None,
    questions: Questions = None,
    variant: Variant = None,
    cells: CellsFile = None,
    family: Family = None,
    controls: Controls = None,
    sample: Sample = None,
    split: Split = None,
    protocol: Protocol = "paper",
    shard: Annotated[str, typer.Option("--shard", help="i/N: only the i-th of N parts of the hands.")] = "1/1",
    workers: Workers = None,
    force: Force = False,
    keep_going: KeepGoing = False,
    cache: Cache = None,
    no_cache: NoCache = False,
    mano: Mano = None,
    as_json: Json = False,
) -> None:
    """Source → questions."""
    from handbench import api

    with progress_bar(as_json) as tell:
        made = api.ask(
            _task(task, variant, cells, controls, family),
            source_of(data, questions),
            out,
            shard=shard,
            sample=sample,
            split=split,
            protocol=protocol,
            workers=workers,
            force=force,
            keep_going=keep_going,
            cache=cache_folder(cache, no_cache),
            mano=mano,
            progress=tell,
        )
    manifest = made.manifest
    if as_json:
        print(json.dumps(manifest))
        return
    made_of, source = manifest["questions"], manifest["source"]
    shown = f" about {made_of['hands']} hands on {made_of['images']} images" if made_of["images"] else ""
    print(f"{made_of['count']} questions{shown}")
    for name, counts in (("left out", source["skipped"]), ("not asked", manifest["not_asked"])):
        if counts:
            print(f"{name}: {counted(counts)}")
    for note in source["notes"]:
        print(noted(note))
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
def answer(
    folder: Folder,
    model: Models,
    strategy: Strategy = None,
    budget: Budget = None,
    prices: Prices = None,
    retry_errors: RetryErrors = False,
    dry_run: DryRun = False,
    workers: Workers = None,
    as_json: Json = False,
) -> None:
    """Questions → answers; what is answered already is not asked again."""
    from handbench import api

    if dry_run:
        print_estimates(api.estimate(folder, model, strategy=strategy, prices=prices), strategy, as_json)
        return
    with progress_bar(as_json) as tell:
        made = api.answer(
            folder,
            model,
            strategy=strategy,
            retry_errors=retry_errors,
            budget=budget,
            prices=prices,
            workers=workers,
            progress=tell,
        )
    names = made.manifest["models"]
    print(json.dumps({"run": str(folder), "models": names}) if as_json else made.folder.root / "answers")


@app.command()
def score(folder: Folder, as_json: Json = False) -> None:
    """Answers → readings → scores."""
    from handbench import api

    made = api.score(folder)
    print(json.dumps(made.scores.to_dicts()) if as_json else made.folder.table("scores"))


@app.command()
def report(
    folder: Folder,
    beside: Annotated[
        list[Path] | None,
        typer.Option("--beside", help="A scored run to show as well (safegesture's other variants); repeatable."),
    ] = None,
    workers: Workers = None,
) -> None:
    """Scores → one HTML file with tables, pictures and the questions themselves."""
    from handbench import api

    with progress_bar(False) as tell:
        print(api.report(folder, beside=beside or (), workers=workers, progress=tell))
