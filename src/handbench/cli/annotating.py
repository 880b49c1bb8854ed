"""``handbench sample`` and ``handbench audit``: making and checking annotations of hands on frames."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from handbench.cli.app import app
from handbench.cli.options import Json, Split, Workers
from handbench.cli.printing import counted
from handbench.cli.progress import progress_bar
from handbench.errors import HandbenchError


@app.command()
def sample(
    data: Annotated[str, typer.Option("--data", help="Frames to pick from, e.g. ipn:PATH or images:DIR.")],
    estimator: Annotated[str, typer.Option("--estimator", "-e", help="Who makes the initial estimates.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The JSON file of annotations to write.")],
    rate: Annotated[
        list[str] | None,
        typer.Option(
            "--rate", help="CLASS=N: every N-th frame of a gesture class; *=N for all others.", show_default="*=10"
        ),
    ] = None,
    split: Split = None,
    workers: Workers = None,
    as_json: Json = False,
) -> None:
    """Pick frames at a rate per gesture class and seed their annotation from an estimator."""
    from handbench.protocols import ReadContext
    from handbench.runs.annotating import sample as make

    rates = dict(_rate(text) for text in rate or ["*=10"])
    with progress_bar(as_json) as tell:
        context = ReadContext(split=split, cache=out.parent / "images", workers=workers or 1, progress=tell)
        made = make(data, estimator, rates, out, context)
    if as_json:
        print(json.dumps({**vars(made), "path": str(made.path)}))
        return
    print(f"{made.hands} hands on {made.frames} frames ({counted(made.by_class)})")
    print(made.path)


def _rate(text: str) -> tuple[str, int]:
    name, equals, number = text.rpartition("=")
    if not equals or not number.isdigit():
        raise HandbenchError(f"--rate {text!r}: write CLASS=N, e.g. G05=2 or *=10")
    return name, int(number)


@app.command()
def audit(
    file: Annotated[Path, typer.Argument(help="Annotations, as sample writes them.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="A folder for the page; with --corrected, the merged file.")],
    images: Annotated[
        Path | None, typer.Option("--images", help="The folder of the images.", show_default=False)
    ] = None,
    number: Annotated[int, typer.Option("--frames", "-n", min=1, help="How many frames to check.")] = 100,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the draw.")] = 0,
    corrected: Annotated[
        Path | None, typer.Option("--corrected", help="Audited frames: count and merge them.", show_default=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """A page of annotated frames to check, all rare ones among them; or read the corrections back and count them."""
    from handbench.datasets import annotations as truth_files
    from handbench.protocols import ReadContext
    from handbench.reports import audit_page
    from handbench.runs import annotating
    from handbench.runs.parts import load_source
    from handbench.specs import Spec

    def read(path: Path) -> str:
        return str(Spec("annotations", str(path), {"images": str(images.resolve())} if images else {}))

    before = load_source(read(file), ReadContext())
    if corrected is not None:
        after = load_source(read(corrected), ReadContext())
        found = annotating.corrections(before, after)
        truth_files.write(out, *annotating.merged(before, after))
        print(json.dumps({**found.counts, "images": found.corrected}) if as_json else counted(found.counts))
        if not as_json:
            print(out)
        return
    chosen = annotating.frames_to_audit(before.frames, before.hands, number, seed)
    page = audit_page.write(chosen, before.hands, before.root, file.name, out / "audit.html")
    listed = before.frames.filter(before.frames["image"].is_in(chosen["image"].implode()))
    hands = before.hands.filter(before.hands["image"].is_in(chosen["image"].implode()))
    kept = truth_files.write(out / "audit.json", listed, hands)
    rare = int(chosen["rare"].sum())
    if as_json:
        print(json.dumps({"frames": chosen.height, "rare": rare, "page": str(page), "file": str(kept)}))
        return
    print(f"{chosen.height} frames to check, {rare} of them rare; correct {kept}")
    print(page)
