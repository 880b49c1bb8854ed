"""Hand-object interactions: which action a few frames of a clip show (HandVQA, sections 4.3 and 8.5, on H2O)."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import polars as pl

from handbench.errors import HandbenchError
from handbench.protocols import task
from handbench.tasks import one_right
from handbench.tasks.interactions import questions
from handbench.tasks.interactions.options import InteractionOptions


class Interactions:
    """One right action of a labelled clip and three wrong ones."""

    name = questions.TASK
    options = InteractionOptions

    def ask(self, rows: pl.DataFrame, options: InteractionOptions) -> tuple[pl.DataFrame, dict[str, int]]:
        """See :func:`handbench.tasks.interactions.questions.ask`."""
        return questions.ask(rows, options)

    def read(self, questions: pl.DataFrame, answers: pl.DataFrame) -> pl.DataFrame:
        """See :func:`handbench.tasks.one_right.read`."""
        return one_right.read(questions, answers)

    def score(self, questions: pl.DataFrame, readings: pl.DataFrame) -> pl.DataFrame:
        """See :func:`handbench.tasks.one_right.score`; intervals are by the clip."""
        return one_right.score(questions, readings, self.name)

    def answer_from_poses(
        self, questions: pl.DataFrame, poses: pl.DataFrame, hands: pl.DataFrame, model: str, options: Any
    ) -> pl.DataFrame:
        """Refused: joints do not tell an action with an object."""
        raise HandbenchError(f"{model}: interactions cannot be answered from joints alone")

    def extent_flips(self, hands: pl.DataFrame, options: Any) -> pl.DataFrame:
        """None: no label here depends on the hand's extent."""
        return pl.DataFrame()

    def describe(self, questions: pl.DataFrame) -> dict[str, pl.DataFrame]:
        """How often each action is right, and how often it is a wrong option."""
        return {"labels": one_right.label_counts(questions)}

    def published(self) -> pl.DataFrame:
        """Table 4 of HandVQA: percent."""
        text = (files(__package__) / "published.json").read_text(encoding="utf-8")
        return pl.DataFrame(json.loads(text)["results"], infer_schema_length=None)


task(questions.TASK)(Interactions())
