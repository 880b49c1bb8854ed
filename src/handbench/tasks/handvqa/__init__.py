"""HandVQA: questions from 3D hand joints (arXiv 2603.26362)."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import polars as pl

from handbench.protocols import task
from handbench.tasks.handvqa import baselines, ceiling, controls, describe, questions, reading, released, scoring
from handbench.tasks.handvqa.options import HandVQAOptions


class HandVQA:
    """Joint angles, distances, left/right, above/below, in front/behind, as multiple choice."""

    name = "handvqa"
    released = released
    options = HandVQAOptions

    def ask(self, hands: pl.DataFrame, options: HandVQAOptions) -> tuple[pl.DataFrame, dict[str, int]]:
        """See :func:`handbench.tasks.handvqa.questions.ask`."""
        return questions.ask(hands, options)

    def read(self, questions: pl.DataFrame, answers: pl.DataFrame) -> pl.DataFrame:
        """See :func:`handbench.tasks.handvqa.reading.read`."""
        return reading.read(questions, answers)

    def score(self, questions: pl.DataFrame, readings: pl.DataFrame) -> pl.DataFrame:
        """See :func:`handbench.tasks.handvqa.scoring.score`."""
        return scoring.score(questions, readings)

    def answer_from_poses(
        self, questions: pl.DataFrame, poses: pl.DataFrame, hands: pl.DataFrame, model: str, options: Any
    ) -> pl.DataFrame:
        """See :func:`handbench.tasks.handvqa.baselines.answer`."""
        return baselines.answer(questions, hands, poses, model, options.scale, options.catalogue)

    def extent_flips(self, hands: pl.DataFrame, options: HandVQAOptions) -> pl.DataFrame:
        """See :func:`handbench.tasks.handvqa.describe.extent_flips`."""
        return describe.extent_flips(hands, options)

    controls = ("rotations", "mirror", "wording")
    """Controls of its own, besides those that need no task: masked and blank."""

    def vary(
        self, questions: pl.DataFrame, control: str, options: HandVQAOptions, source: pl.DataFrame | None
    ) -> tuple[pl.DataFrame, dict[str, int]]:
        """See :func:`handbench.tasks.handvqa.controls.vary`."""
        return controls.vary(questions, control, options, source)

    def describe(self, questions: pl.DataFrame) -> dict[str, pl.DataFrame]:
        """Label counts (Table 6, Fig. 7) and term counts (Fig. 6) of a question table."""
        return {"labels": describe.label_counts(questions), "terms": describe.term_counts(questions)}

    def ceiling(
        self, questions: pl.DataFrame, hands: pl.DataFrame, options: HandVQAOptions, noise: float, source: str
    ) -> pl.DataFrame:
        """See :func:`handbench.tasks.handvqa.ceiling.ceiling`."""
        return ceiling.ceiling(questions, hands, options, noise, source)

    def against_paper(self, questions: pl.DataFrame) -> dict[str, pl.DataFrame]:
        """See :func:`handbench.tasks.handvqa.describe.against_paper`."""
        return describe.against_paper(questions, _published())

    def published(self) -> pl.DataFrame:
        """Tables 2 to 13 of the paper, long: percent and class indices as printed."""
        return pl.DataFrame(_published()["results"], infer_schema_length=None)


def _published() -> dict[str, Any]:
    text = (files(__package__) / "published.json").read_text(encoding="utf-8")
    content: dict[str, Any] = json.loads(text)
    return content


task("handvqa")(HandVQA())
