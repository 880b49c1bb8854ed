"""Gestures in words: which description fits the hand (HandVQA, sections 4.3 and 8.5, on HaGRID)."""

from __future__ import annotations

from typing import Any

import polars as pl

from handbench.errors import HandbenchError
from handbench.protocols import task
from handbench.tasks.gestures import questions
from handbench.tasks.gestures.options import GestureOptions
from handbench.tasks.one_right import OneRight


class Gestures(OneRight):
    """One right description of a labelled gesture and three wrong ones."""

    name = questions.TASK
    package = __package__
    options = GestureOptions

    def ask(self, rows: pl.DataFrame, options: GestureOptions) -> tuple[pl.DataFrame, dict[str, int]]:
        """See :func:`handbench.tasks.gestures.questions.ask`."""
        return questions.ask(rows, options)

    def answer_from_poses(
        self, questions: pl.DataFrame, poses: pl.DataFrame, hands: pl.DataFrame, model: str, options: Any
    ) -> pl.DataFrame:
        """Refused: the rules over joints name six gestures only, and that is another task's question."""
        raise HandbenchError(f"{model}: gestures cannot be answered from joints; ask safegesture for that")


task(questions.TASK)(Gestures())
