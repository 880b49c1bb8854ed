"""``handbench study``: what the set itself does to the scores of a run of pose estimators."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from handbench.cli.app import app
from handbench.cli.options import Folder, Json
from handbench.cli.progress import progress_bar

studies = typer.Typer(no_args_is_help=True, help="Bias and size of a set, thresholds of blur, from a handpose run.")
app.add_typer(studies, name="study")

Out = Annotated[Path | None, typer.Option("--out", "-o", help="The page; in the run's folder unless given.")]


@studies.command("bias")
def bias(folder: Folder, out: Out = None, as_json: Json = False) -> None:
    """Scores on hands whose annotation does not lean on its initial estimate, beside all hands."""
    import json

    from handbench.reports.handpose_studies import bias_page
    from handbench.runs.folder import RunFolder
    from handbench.runs.studies import bias_study

    run = RunFolder(folder)
    study = bias_study(run)
    if as_json:
        print(json.dumps({"facts": study.facts, "scores": study.scores.to_dicts()}))
        return
    for what, value in study.facts.items():
        print(f"{what}: {value if not isinstance(value, float) else f'{value:.4f}'}")
    print(bias_page(study, run.manifest()["source"]["name"], out or folder / "bias.html"))


@studies.command("size")
def size(folder: Folder, out: Out = None, as_json: Json = False) -> None:
    """Scores on nested subsets of every video's frames."""
    import json

    from handbench.reports.handpose_studies import size_page
    from handbench.runs.folder import RunFolder
    from handbench.runs.studies import size_study

    run = RunFolder(folder)
    with progress_bar(as_json) as tell:
        scores = size_study(run, tell)
    if as_json:
        print(json.dumps(scores.to_dicts()))
        return
    print(size_page(scores, run.manifest()["source"]["name"], out or folder / "size.html"))


@studies.command("blur")
def blur(folder: Folder, out: Out = None) -> None:
    """A page of hands by sharpness and motion, to choose the thresholds of blur by eye."""
    from handbench.reports.handpose_studies import blur_page
    from handbench.runs.folder import RunFolder
    from handbench.runs.studies import blur_study

    run = RunFolder(folder)
    source = run.manifest()["source"]
    print(blur_page(blur_study(run), source["name"], Path(source["root"]), out or folder / "blur.html"))
