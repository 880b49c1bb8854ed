"""Hand-object interactions: which action a few frames of a clip show (HandVQA, sections 4.3 and 8.5, on H2O)."""

from __future__ import annotations

from typing import Any

import polars as pl

from handbench.errors import HandbenchError
from handbench.protocols import task
from handbench.tasks.interactions import questions
from handbench.tasks.interactions.options import InteractionOptions
from handbench.tasks.one_right import OneRight


class Interactions(OneRight):
    """One right action of a labelled clip and three wrong ones."""

    name = questions.TASK
    package = __package__
    options = InteractionOptions

    def ask(self, rows: pl.DataFrame, options: InteractionOptions) -> tuple[pl.DataFrame, dict[str, int]]:
        """See :func:`handbench.tasks.interactions.questions.ask`."""
        return questions.ask(rows, options)

    def answer_from_poses(
        self, questions: pl.DataFrame, poses: pl.DataFrame, hands: pl.DataFrame, model: str, options: Any
    ) -> pl.DataFrame:
        """Refused: joints do not tell an action with an object."""
        raise HandbenchError(f"{model}: interactions cannot be answered from joints alone")


task(questions.TASK)(Interactions())
