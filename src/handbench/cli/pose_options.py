"""Options of the commands that score or run pose estimators."""

from __future__ import annotations

from typing import Annotated

import typer

OptionalModels = Annotated[
    list[str] | None,
    typer.Option("--model", "-m", help="Who answers, e.g. prior, pose:blaze-full; repeatable.", show_default=False),
]
Estimators = Annotated[
    list[str] | None,
    typer.Option(
        "--estimator",
        "-e",
        help="For handpose: whose poses are scored, e.g. blaze-full, poses:FILE?name=wilor; repeatable.",
        show_default=False,
    ),
]
Cleanup = Annotated[
    str | None,
    typer.Option(
        "--cleanup",
        help="For handpose: score cleaned poses, too: spatial, temporal, both, majority, ablation.",
        show_default=False,
    ),
]
Truth = Annotated[
    str | None,
    typer.Option("--truth", help="For handpose: a file of annotations for the data's images.", show_default=False),
]
