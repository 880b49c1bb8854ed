"""``handbench demo``: the main job with nothing to download."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from handbench.cli.app import app
from handbench.cli.options import Json, Workers
from handbench.cli.printing import print_run
from handbench.cli.progress import progress_bar


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
    with progress_bar(as_json) as tell:
        run = api.run("handvqa", f"synth:hands?n={hands}&seed=0", models, out, workers=workers, progress=tell)
    print_run(run, as_json)


def _real_estimators() -> list[str]:
    from importlib.util import find_spec

    if find_spec("ai_edge_litert") is None:
        print("the pose estimators are left out: pip install 'handbench[hands]' brings them", file=sys.stderr)
        return []
    return ["pose:blaze-lite", "pose:blaze-full"]
