"""Asking in several turns: a strategy says the next prompt from the replies so far; every turn is an answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Protocol

import polars as pl

from handbench.errors import HandbenchError
from handbench.protocols import Model

KEY: Final = ["question_id", "variant"]

MOST_TURNS: Final = 32
"""A strategy that has not come to an end by then never will."""


class Strategy(Protocol):
    """What is asked next.

    It must be a function of its arguments alone: a run that is taken up again calls it anew for turns whose replies
    are in the log.
    """

    name: str

    def turn(self, number: int, questions: pl.DataFrame, replies: pl.DataFrame) -> pl.DataFrame:
        """The prompts of one turn.

        Args:
            number: 0 for the first turn.
            questions: the questions that are still open: all at first, later those asked in the turn before.
            replies: the ``answers`` to them so far, every turn, sorted by question and turn.

        Returns:
            Rows of the ``questions`` table with the keys of open questions and this turn's ``prompt``, ``system``,
            ``images`` and ``options``.  A question that is left out has had its last turn.
        """
        ...


def drive(model: Model, strategy: Strategy, questions: pl.DataFrame, done: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Ask a model turn by turn.

    All open questions are asked a turn before the next turn begins, so that a model can work on many at once.  A turn
    that ends in an error ends its question.

    Args:
        model: who answers.
        strategy: what is asked.
        questions: all questions of the run.
        done: ``answers`` that are in the log already; their turns are not asked again.

    Yields:
        ``answers`` with their turn's number, as they come.

    Raises:
        HandbenchError: the strategy asks about a question that is not open, or never ends.
    """
    known = done
    asked = questions
    for number in range(MOST_TURNS):
        failed = known.filter(pl.col("finish").cast(pl.String) == "error").select(KEY)
        still = asked.join(failed, on=KEY, how="anti", maintain_order="left")
        replies = known.join(still.select(KEY), on=KEY, how="semi").filter(pl.col("turn") < number)
        asked = strategy.turn(number, still, replies.sort([*KEY, "turn"])) if still.height else still
        if asked.is_empty():
            return
        if asked.join(still, on=KEY, how="anti").height or asked.select(KEY).is_duplicated().any():
            raise HandbenchError(f"{strategy.name}: turn {number} asks about a question that is not open, or twice")
        there = known.filter(pl.col("turn") == number).select(KEY)
        for answers in model.answer(asked.join(there, on=KEY, how="anti", maintain_order="left")):
            told = answers.with_columns(pl.lit(number, pl.Int16).alias("turn"))
            known = pl.concat([known, told], how="diagonal_relaxed")
            yield told
    raise HandbenchError(f"{strategy.name}: did not come to an end in {MOST_TURNS} turns")


def last_turns(answers: pl.DataFrame) -> pl.DataFrame:
    """The last turn of every question, which holds the answer proper; order kept.

    Args:
        answers: the ``answers`` table of one model or several.
    """
    key = [*KEY, "model", "repeat"]
    return answers.filter(pl.col("turn") == pl.col("turn").max().over(key))
