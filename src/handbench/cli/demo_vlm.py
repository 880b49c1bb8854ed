"""``handbench demo-vlm``: a vision-language model before and after tuning, with nothing to download."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from handbench.cli.app import app
from handbench.cli.options import Json, Workers
from handbench.cli.printing import print_run
from handbench.cli.progress import progress_bar

BASE, TUNED = "tiny", "tiny?adapter=tuned"


@app.command("demo-vlm")
def demo_vlm(
    out: Annotated[Path, typer.Option("--out", "-o", help="Where to put the run.")] = Path("demo-vlm"),
    hands: Annotated[int, typer.Option("--hands", min=1, help="How many rendered hands.")] = 100,
    workers: Workers = None,
    as_json: Json = False,
) -> None:
    """The tiny model of this package on rendered hands: as it is, tuned, and its eyes alone; beside blind guesses."""
    from handbench import api
    from handbench.reports import before_after

    models = ["chance", "prior", BASE, "pose:tiny", TUNED]
    with progress_bar(as_json) as tell:
        run = api.run("handvqa", f"synth:hands?n={hands}&seed=0", models, out, workers=workers, progress=tell)
    picture = before_after.write(run.folder, BASE, TUNED)
    print_run(run, as_json)
    if not as_json:
        print(f"A toy of four million parameters that knows one renderer. Before and after: {picture}")
