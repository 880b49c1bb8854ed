"""Pointing: what a pointing hand points at, and questions on it (EgoPoint-Ground, arXiv 2603.26646)."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import polars as pl

from handbench.protocols import task
from handbench.tasks.pointing import baselines, controls, describe, questions, reading, scoring
from handbench.tasks.pointing.options import SUBTASKS, PointingOptions


class Pointing:
    """EDG, D-REC, POG, the image alone, and D-VQA: all of them, or one.

    Attributes:
        name: ``pointing``, or ``pointing/edg`` and the like.
    """

    options = PointingOptions
    reads_turns = True
    controls = ("mirror",)

    def __init__(self, name: str) -> None:
        self.name = name

    def ask(self, scenes: pl.DataFrame, options: PointingOptions) -> tuple[pl.DataFrame, dict[str, int]]:
        """See :func:`handbench.tasks.pointing.questions.ask`."""
        return questions.ask(scenes, options)

    def vary(
        self, questions: pl.DataFrame, control: str, options: PointingOptions, source: pl.DataFrame | None
    ) -> tuple[pl.DataFrame, dict[str, int]]:
        """See :func:`handbench.tasks.pointing.controls.vary`."""
        return controls.vary(questions, control, options, source)

    def read(self, questions: pl.DataFrame, answers: pl.DataFrame) -> pl.DataFrame:
        """See :func:`handbench.tasks.pointing.reading.read`."""
        return reading.read(questions, answers)

    def score(self, questions: pl.DataFrame, readings: pl.DataFrame) -> pl.DataFrame:
        """See :func:`handbench.tasks.pointing.scoring.score`."""
        return scoring.score(questions, readings)

    def answer_from_poses(
        self, questions: pl.DataFrame, poses: pl.DataFrame, hands: pl.DataFrame, model: str, options: Any
    ) -> pl.DataFrame:
        """See :func:`handbench.tasks.pointing.baselines.answer_from_poses`; ``hands`` are the run's scenes."""
        return baselines.answer_from_poses(questions, poses, hands, model)

    def extent_flips(self, hands: pl.DataFrame, options: Any) -> pl.DataFrame:
        """None: no truth here depends on the hand's extent."""
        return pl.DataFrame()

    def describe(self, questions: pl.DataFrame) -> dict[str, pl.DataFrame]:
        """See :func:`handbench.tasks.pointing.describe.describe`."""
        return describe.describe(questions)

    def published(self) -> pl.DataFrame:
        """The paper's own numbers, long: table, model, evaluated_on, task, metric, value and unit."""
        text = (files(__package__) / "published.json").read_text(encoding="utf-8")
        return pl.DataFrame(json.loads(text)["results"], infer_schema_length=None)


task("pointing")(Pointing("pointing"))
for _subtask in SUBTASKS:
    task(f"pointing/{_subtask}")(Pointing(f"pointing/{_subtask}"))
