"""``handbench pose``: hands on any video or folder of images."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from handbench.cli.app import app
from handbench.cli.options import Json
from handbench.cli.printing import counted
from handbench.cli.progress import progress_bar


@app.command()
def pose(
    inputs: Annotated[list[Path], typer.Argument(help="Videos, or folders of images.")],
    estimator: Annotated[str, typer.Option("--estimator", "-e", help="Who looks, e.g. blaze-full, yoha.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The poses, a Parquet file.")] = Path("poses.parquet"),
    as_json: Json = False,
) -> None:
    """Videos or images → poses; repeat the command to go on where it was broken off."""
    from handbench.runs.video_posing import pose_videos

    with progress_bar(as_json) as tell:
        done = pose_videos(inputs, estimator, out, tell)
    if as_json:
        told = {**vars(done), "poses": str(done.poses), "frames": str(done.frames)}
        print(json.dumps(told))
        return
    print(f"{done.hands} hands on {done.images} frames")
    for name, problems in done.problems.items():
        print(f"{name}: {counted(problems)}")
    print(done.frames)
    print(done.poses)
