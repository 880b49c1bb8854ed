"""``tune``: questions → an adapter, and what it changed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from handbench.cli.app import app
from handbench.cli.options import Force, Json, Protocol, Split, Workers
from handbench.cli.progress import progress_bar

if TYPE_CHECKING:
    from handbench.tune.settings import Settings


@app.command()
def tune(
    data: Annotated[str, typer.Option("--data", help="The source to learn from, e.g. synth:hands?n=2000.")],
    base: Annotated[str, typer.Option("--base", help="tiny, or hf:FOLDER.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The adapter's folder.")],
    task: Annotated[str, typer.Option("--task", help="The task whose questions are learned.")] = "handvqa",
    split: Split = None,
    recipe: Annotated[
        str | None, typer.Option("--recipe", help="paper, or tiny; the paper's unless the base is tiny.")
    ] = None,
    start: Annotated[Path | None, typer.Option("--from", help="Go on from this adapter.")] = None,
    rank: Annotated[int | None, typer.Option(help="Rank of the adapter (8).", show_default=False)] = None,
    alpha: Annotated[
        int | None, typer.Option(help="Scale of the adapter, before division by the rank (32).", show_default=False)
    ] = None,
    lr: Annotated[
        float | None, typer.Option(help="Highest learning rate (paper 1e-4, tiny 3e-3).", show_default=False)
    ] = None,
    warmup: Annotated[
        float | None, typer.Option(help="Share of steps in which it rises (0.05).", show_default=False)
    ] = None,
    epochs: Annotated[
        float | None, typer.Option(help="Passes over the questions (1; paper on InterHand2.6M 3).", show_default=False)
    ] = None,
    steps: Annotated[int | None, typer.Option(help="So many steps, instead of epochs.", show_default=False)] = None,
    batch: Annotated[
        int | None,
        typer.Option(help="Questions per step, over all devices (paper 128 or 64, tiny 336).", show_default=False),
    ] = None,
    device_batch: Annotated[
        int | None, typer.Option(help="Rows at once on a device (paper 1 or 2, tiny 24).", show_default=False)
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of weights, choice and order (0).", show_default=False)] = None,
    per_image: Annotated[
        int | None,
        typer.Option(help="Questions of each image (paper all that are asked, tiny 14).", show_default=False),
    ] = None,
    balance: Annotated[
        bool | None,
        typer.Option(
            "--balance/--no-balance",
            help="Categories of a joint or pair equally often (paper no, tiny yes).",
            show_default=False,
        ),
    ] = None,
    emphasis: Annotated[
        str | None, typer.Option(help="Likelier descriptors, e.g. angle=3.", show_default=False)
    ] = None,
    vision: Annotated[bool, typer.Option("--vision", help="Tune the vision encoder as well.")] = False,
    packing: Annotated[
        str | None,
        typer.Option(
            help="An image's questions in one row: auto (where a check passes), on or off.", show_default=False
        ),
    ] = None,
    mix: Annotated[str | None, typer.Option(help="FILE:SHARE of other instructions, as JSON lines.")] = None,
    test: Annotated[
        list[str] | None,
        typer.Option(
            "--test",
            help="TASK@DATA or TASK@DATA@SPLIT to ask before and after; repeatable. Rendered hands are tested on 100 "
            "others where nothing is said; none leaves that out.",
        ),
    ] = None,
    allow_overlap: Annotated[
        bool, typer.Option("--allow-overlap", help="Count test questions that share something; do not refuse them.")
    ] = False,
    protocol: Protocol = "paper",
    workers: Workers = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Tune a model on the questions and show what that changed. Repeat the command to go on where it stopped."""
    from handbench import tuning
    from handbench.tune.together import main_process

    given = {
        "rank": rank, "alpha": alpha, "rate": lr, "warmup": warmup, "epochs": epochs, "steps": steps, "batch": batch,
        "device_batch": device_batch, "seed": seed, "per_image": per_image, "balance": balance, "packing": packing,
        "emphasis": None if emphasis is None else _emphasis(emphasis), "vision": vision or None,
    }  # fmt: skip
    settings = _settings(recipe, base, data, {key: value for key, value in given.items() if value is not None})
    first = main_process()  # of several that accelerate started, one speaks
    with progress_bar(as_json or not first) as tell:
        record = tuning.tune(
            data, base, out, task=task, split=split, settings=settings, start=start, mix=mix,
            tests=[] if test == ["none"] else test, allow_overlap=allow_overlap, protocol=protocol, workers=workers,
            force=force, progress=tell,
        )  # fmt: skip
    if not first:
        return
    if as_json:
        print(json.dumps(record, default=str))
        return
    _print(record, out)


def _settings(recipe: str | None, base: str, data: str, given: dict[str, Any]) -> Settings:
    from handbench.specs import Spec
    from handbench.tune import settings

    known = settings.recipe(recipe, Spec.parse(base).kind, Spec.parse(data).kind)
    return replace(known, **given)


def _emphasis(text: str) -> dict[str, float]:
    """Read ``angle=3,distance=2``."""
    from handbench.errors import HandbenchError
    from handbench.specs import Options, Spec

    if not all(part.partition("=")[2] for part in text.split(",")):
        raise HandbenchError(f"--emphasis {text!r}: write DESCRIPTOR=NUMBER, as in angle=3,distance=2")
    spec = Spec.parse("emphasis?" + text.replace(",", "&").replace(" ", ""))
    options = Options(spec)
    return {name: options.number(name, 1.0) for name in spec.options}


def _print(record: dict[str, Any], out: Path) -> None:
    from rich.console import Console

    from handbench.reports import tuning as report

    console = Console()
    trained, packing = record["trained"], record["packing"]
    console.print(
        f"{trained['questions']} questions about {trained['images']} images, {trained['steps']} steps of "
        f"{trained['per_step']:.0f}, "
        f"{trained['seconds']:.0f} s; loss {trained['first_loss']:.3f} → {trained['last_loss']:.3f}"
    )
    console.print(f"packing: {'on' if packing['on'] else 'off'}; {packing['checked']}")
    parity = record["parity"]
    console.print(f"the files give the trained model: within {max(parity['merged'], parity['reloaded']):.1e}")
    if record["changes"]:
        console.print(report.terminal(record["changes"]))
    else:
        console.print("nothing was asked before and after: --test TASK@DATA@SPLIT shows what this changed")
    print(out / "report.html")
