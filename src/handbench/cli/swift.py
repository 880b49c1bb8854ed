"""ms-swift: files for it, and its results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from handbench.cli.app import exports, imports
from handbench.cli.options import Folder, Json, Workers
from handbench.cli.progress import progress_bar

if TYPE_CHECKING:
    from handbench.api import Run
    from handbench.exchange.swift import Asked
    from handbench.protocols import ReadContext


@exports.command("swift")
def export_swift(
    folder: Folder,
    base: Annotated[str, typer.Option("--base", help="The model as ms-swift names it: a folder or a name.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="A folder for rows and commands.")],
    test: Annotated[
        Path | None,
        typer.Option("--test", help="A run whose questions the tuned model is asked.", show_default="this one"),
    ] = None,
    recipe: Annotated[str, typer.Option("--recipe", help="The settings: paper.")] = "paper",
    processes: Annotated[int, typer.Option("--gpus", min=1, help="Over how many devices the batch is spread.")] = 1,
    kind: Annotated[
        str, typer.Option("--model-type", help="ms-swift's name of the architecture, if it cannot tell.")
    ] = "",
    vision: Annotated[bool, typer.Option("--vision", help="Tune the vision encoder as well.")] = False,
    max_tokens: Annotated[int, typer.Option("--max-tokens", min=1, help="Most tokens of a reply.")] = 2048,
    cpu: Annotated[bool, typer.Option("--cpu", help="Commands for a machine without an accelerator.")] = False,
    workers: Workers = None,
    as_json: Json = False,
) -> None:
    """A run's questions → ms-swift's JSON lines, and the commands that tune on them and ask again."""
    from handbench import api
    from handbench.exchange import swift
    from handbench.protocols import ReadContext
    from handbench.specs import Spec
    from handbench.tune.settings import recipe as named

    run = api.Run.open(folder)
    known = named(recipe, "hf", Spec.parse(run.manifest["asked"]["data"]).kind)
    with progress_bar(as_json) as tell:
        context = ReadContext(workers=workers or 1, progress=tell)
        parts = [_asked(one, context) for one in (run, *([api.Run.open(test)] if test else []))]
        plan = swift.Plan(
            base=base, rank=known.rank, alpha=known.alpha, rate=known.rate, warmup=known.warmup, epochs=known.epochs,
            device_batch=known.device_batch, accumulation=known.accumulation(1, processes), seed=known.seed,
            vision=vision, kind=kind, max_tokens=max_tokens, devices=processes, cpu=cpu,
        )  # fmt: skip
        rows = swift.export(parts[0], out, plan, parts[1] if test else None)
    if as_json:
        print(json.dumps({"rows": rows, "data": str(out / swift.DATA), "commands": str(out / swift.COMMANDS)}))
        return
    print(f"{rows} rows; run: sh {out / swift.COMMANDS}")
    print(out / swift.DATA)


def _asked(run: Run, context: ReadContext) -> Asked:
    """A run's questions, with their images drawn where they are rendered."""
    from handbench.exchange.swift import Asked
    from handbench.runs.answering import image_root
    from handbench.runs.asking import ensure_images

    questions = run.table("questions")
    ensure_images(run.folder, questions["images"].explode().drop_nulls().unique().to_list(), context)
    return Asked(questions, image_root(run.folder, run.manifest))


@imports.command("swift")
def import_swift(
    folder: Folder,
    results: Annotated[Path, typer.Argument(help="What swift infer wrote (--result_path).")],
    exported: Annotated[Path, typer.Option("--export", help="The folder that export swift wrote.")],
    name: Annotated[str, typer.Option("--name", help="What the model is called in the run.")],
    as_json: Json = False,
) -> None:
    """Results of ms-swift → answers of the run."""
    from handbench import api
    from handbench.exchange import swift
    from handbench.runs.folder import slug
    from handbench.specs import Spec

    replies = swift.read_results(results, exported)
    path = exported / f"replies-{slug(name)}.jsonl"
    replies.write_ndjson(path)
    with progress_bar(as_json) as tell:
        made = api.answer(folder, str(Spec("replies", str(path.resolve()), {"name": name})), progress=tell)
    print(json.dumps({"answers": replies.height, "run": str(folder)}) if as_json else made.folder.root / "answers")
