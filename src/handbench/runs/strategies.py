"""Asking in several turns: a strategy says the next prompt from the replies so far; every turn is an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import polars as pl

from handbench.errors import HandbenchError
from handbench.protocols import Model, Strategy

KEY: Final = ["question_id", "variant"]

MOST_TURNS: Final = 32
"""A strategy that has not come to an end by then never will."""


def drive(
    model: Model,
    strategy: Strategy,
    questions: pl.DataFrame,
    done: pl.DataFrame,
    begin: Callable[[int, int], None] = lambda number, asked: None,
) -> Iterator[pl.DataFrame]:
    """Ask a model turn by turn.

    All open questions are asked a turn before the next turn begins, so that a model can work on many at once.  A turn
    that ends in an error ends its question.  A model that was told to stop, and leaves questions of a turn without an
    answer, is asked no further.

    Args:
        model: who answers.
        strategy: what is asked.
        questions: all questions of the run.
        done: ``answers`` that are in the log already; their turns are not asked again.
        begin: told the number of each turn and how many questions are asked in it.

    Yields:
        ``answers`` with their turn's number, as they come.

    Raises:
        HandbenchError: the strategy asks about a question that is not open, or never ends.
    """
    known, open_ = done, questions
    for number in range(MOST_TURNS):
        asked = _turn(strategy, number, open_, known)
        if asked.is_empty():
            return
        left = _without(asked, known.filter(pl.col("turn") == number))
        begin(number, left.height)
        told = [known]
        for answers in model.answer(left) if left.height else ():
            told.append(answers.with_columns(pl.lit(number, pl.Int16).alias("turn")))
            yield told[-1]
        if sum(answers.height for answers in told[1:]) < left.height:
            return
        known = pl.concat(told, how="diagonal_relaxed")
        open_ = _only(open_, asked)
    raise _endless(strategy)


def unanswered(strategy: Strategy | None, questions: pl.DataFrame, done: pl.DataFrame) -> pl.DataFrame:
    """Questions that are not through: the turn that they lack is not in the log.

    Args:
        strategy: what is asked, None for each question once.
        questions: all questions of the run.
        done: ``answers`` in the log.

    Returns:
        Rows of ``questions``, in their order.

    Raises:
        HandbenchError: see :func:`drive`.
    """
    if strategy is None:
        return _without(questions, done)
    lacking: list[pl.DataFrame] = []
    open_ = questions
    for number in range(MOST_TURNS):
        asked = _turn(strategy, number, open_, done)
        if asked.is_empty():
            return _only(questions, pl.concat(lacking)) if lacking else questions.clear()
        left = _without(asked, done.filter(pl.col("turn") == number)).select(KEY)
        lacking.append(left)
        open_ = _without(_only(open_, asked), left)
    raise _endless(strategy)


def _turn(strategy: Strategy, number: int, questions: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """What is asked in a turn, of the questions that were asked in the one before."""
    still = _without(questions, known.filter(pl.col("finish").cast(pl.String) == "error"))
    if still.is_empty():
        return still
    replies = _only(known.filter(pl.col("turn") < number), still).sort([*KEY, "turn"])
    asked = strategy.turn(number, still, replies)
    if asked.join(still, on=KEY, how="anti").height or asked.select(KEY).is_duplicated().any():
        raise HandbenchError(f"{strategy.name}: turn {number} asks about a question that is not open, or twice")
    if number == 0 and asked.height < still.height:
        raise HandbenchError(f"{strategy.name}: turn 0 must ask about all {still.height} questions, not {asked.height}")
    return asked


def _endless(strategy: Strategy) -> HandbenchError:
    return HandbenchError(f"{strategy.name}: did not come to an end in {MOST_TURNS} turns")


def _without(rows: pl.DataFrame, others: pl.DataFrame) -> pl.DataFrame:
    return rows.join(others, on=KEY, how="anti", maintain_order="left")


def _only(rows: pl.DataFrame, others: pl.DataFrame) -> pl.DataFrame:
    return rows.join(others, on=KEY, how="semi", maintain_order="left")


def last_turns(answers: pl.DataFrame) -> pl.DataFrame:
    """The last turn of every question, which holds the answer proper; order kept.

    Args:
        answers: the ``answers`` table of one model or several.
    """
    if answers["turn"].max() in (None, 0):
        return answers
    key = [*KEY, "model", "repeat"]
    return answers.filter(pl.col("turn") == pl.col("turn").max().over(key))
