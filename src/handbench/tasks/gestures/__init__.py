"""Gestures in words: which description fits the hand (HandVQA, sections 4.3 and 8.5, on HaGRID)."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import polars as pl

from handbench.errors import HandbenchError
from handbench.protocols import task
from handbench.tasks import one_right
from handbench.tasks.gestures import questions
from handbench.tasks.gestures.options import GestureOptions


class Gestures:
    """One right description of a labelled gesture and three wrong ones."""

    name = questions.TASK
    options = GestureOptions

    def ask(self, rows: pl.DataFrame, options: GestureOptions) -> tuple[pl.DataFrame, dict[str, int]]:
        """See :func:`handbench.tasks.gestures.questions.ask`."""
        return questions.ask(rows, options)

    def read(self, questions: pl.DataFrame, answers: pl.DataFrame) -> pl.DataFrame:
        """See :func:`handbench.tasks.one_right.read`."""
        return one_right.read(questions, answers)

    def score(self, questions: pl.DataFrame, readings: pl.DataFrame) -> pl.DataFrame:
        """See :func:`handbench.tasks.one_right.score`; intervals are by the person."""
        return one_right.score(questions, readings, self.name)

    def answer_from_poses(
        self, questions: pl.DataFrame, poses: pl.DataFrame, hands: pl.DataFrame, model: str, options: Any
    ) -> pl.DataFrame:
        """Refused: the rules over joints name six gestures only, and that is another task's question."""
        raise HandbenchError(f"{model}: gestures cannot be answered from joints; ask safegesture for that")

    def extent_flips(self, hands: pl.DataFrame, options: Any) -> pl.DataFrame:
        """None: no label here depends on the hand's extent."""
        return pl.DataFrame()

    def describe(self, questions: pl.DataFrame) -> dict[str, pl.DataFrame]:
        """How often each gesture is right, and how often it is a wrong option."""
        return {"labels": one_right.label_counts(questions)}

    def published(self) -> pl.DataFrame:
        """Table 4 of HandVQA: percent."""
        text = (files(__package__) / "published.json").read_text(encoding="utf-8")
        return pl.DataFrame(json.loads(text)["results"], infer_schema_length=None)


task(questions.TASK)(Gestures())
