"""What a model and a strategy offer, and what a model may need beyond the question."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import polars as pl


class Model(Protocol):
    """Answers questions.

    ``answer`` yields frames of the ``answers`` table as the answers come in, so that each can be stored at
    once; the order is free and every question is answered exactly once.
    """

    name: str

    def answer(self, questions: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """Answer questions.

        Args:
            questions: rows of the ``questions`` table that are not answered yet.
        """
        ...


@runtime_checkable
class NeedsAllQuestions(Protocol):
    """A model that looks at the whole question table before it answers (``prior``)."""

    def prepare(self, questions: pl.DataFrame) -> None:
        """See the whole table once."""
        ...


@runtime_checkable
class NeedsRows(Protocol):
    """A model that looks at the source rows that the questions are made of (a baseline with exact geometry)."""

    def rows_are(self, rows: pl.DataFrame) -> None:
        """See the source's table, as it stands in the run."""
        ...


@runtime_checkable
class ResizesImages(Protocol):
    """A model that can bring images to a size that the task prescribes before it sends them."""

    def resize_by(self, rule: Callable[[tuple[int, int]], tuple[int, int] | None]) -> None:
        """Take a rule: width and height of an image → those to send it with, None to leave it as it is."""
        ...


@runtime_checkable
class NeedsImages(Protocol):
    """A model that looks at the images; those of the questions are on disk before it is asked."""

    def images_at(self, root: Path) -> None:
        """Say which folder the image paths are relative to."""
        ...


@runtime_checkable
class TellsFacts(Protocol):
    """A model that tells what was asked of whom, for the run's record; no secret may be in it."""

    def facts(self) -> dict[str, Any]:
        """Settings, counts of requests, and what the model said of itself: what TOML can hold."""
        ...


@runtime_checkable
class Stoppable(Protocol):
    """A model that can be told to ask no more, with what is under way still coming in."""

    def stop(self) -> None:
        """Ask no more; ``answer`` ends when what is under way has come."""
        ...


class Strategy(Protocol):
    """What a model is asked turn by turn: the next prompt from the replies so far.

    It must be a function of its arguments alone: a run that is taken up again calls it anew for turns whose replies
    are in the log.  One that looks at the images has ``images_at`` (:class:`NeedsImages`) as well.
    """

    name: str

    def turn(self, number: int, questions: pl.DataFrame, replies: pl.DataFrame) -> pl.DataFrame:
        """The prompts of one turn.

        Args:
            number: 0 for the first turn, which must ask about every question.
            questions: the questions that are still open, as they stand in the run: all at first, later those that
                were asked in the turn before and did not end in an error.
            replies: the ``answers`` to them so far, every turn, sorted by question and turn.

        Returns:
            Rows of the ``questions`` table with the keys of open questions; ``system``, ``prompt``, ``images``,
            ``options`` and ``kind`` are this turn's.  A question that is left out has had its last turn: the reply
            to that one is its answer, read against the run's own options.
        """
        ...
