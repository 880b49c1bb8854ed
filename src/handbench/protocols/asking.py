"""What a task offers: questions, readings, scores."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import polars as pl


class Task(Protocol):
    """One benchmark: source → questions, answers → readings, readings → scores."""

    name: str
    options: type[Any]
    """A frozen dataclass of the task's own options, ``from_options(Options, protocol)`` makes it."""

    # A task with ``reads_turns = True`` is given every turn of a question by ``read``; others its last one.

    def ask(self, hands: pl.DataFrame, options: Any) -> tuple[pl.DataFrame, dict[str, int]]:
        """Questions about a chunk of hands, and a count of what could not be asked."""
        ...

    def read(self, questions: pl.DataFrame, answers: pl.DataFrame) -> pl.DataFrame:
        """Readings of answers."""
        ...

    def score(self, questions: pl.DataFrame, readings: pl.DataFrame) -> pl.DataFrame:
        """Scores, with an interval each."""
        ...

    def answer_from_poses(
        self, questions: pl.DataFrame, poses: pl.DataFrame, hands: pl.DataFrame, model: str, options: Any
    ) -> pl.DataFrame:
        """Answers that follow from an estimator's joints by geometry alone."""
        ...

    def extent_flips(self, hands: pl.DataFrame, options: Any) -> pl.DataFrame:
        """How many labels change where the joints' extent stands in for the mesh's."""
        ...

    def describe(self, questions: pl.DataFrame) -> dict[str, pl.DataFrame]:
        """Counts of what is in a question table, by name."""
        ...

    def published(self) -> pl.DataFrame:
        """The paper's own numbers: table, model, tuned_on, evaluated_on, descriptor, metric, value."""
        ...


@runtime_checkable
class HasCeiling(Protocol):
    """A task that can tell how many of its labels would change were the truth off by so much."""

    def ceiling(
        self, questions: pl.DataFrame, hands: pl.DataFrame, options: Any, noise: float, source: str
    ) -> pl.DataFrame:
        """The ``ceiling`` table for a mean 3D joint error in metres, and where that number is from."""
        ...


@runtime_checkable
class HasPublishedCounts(Protocol):
    """A task whose paper prints how many questions it has."""

    def against_paper(self, questions: pl.DataFrame) -> dict[str, pl.DataFrame]:
        """Counts of a question table beside the paper's, by name."""
        ...


@runtime_checkable
class VariesQuestions(Protocol):
    """A task that knows controls of its own: what a mirror does to its truth, how its options are shown."""

    controls: tuple[str, ...]
    """Names of :data:`handbench.controls.names.CONTROLS` that :meth:`vary` makes."""

    def vary(
        self, questions: pl.DataFrame, control: str, options: Any, source: pl.DataFrame | None
    ) -> tuple[pl.DataFrame, dict[str, int]]:
        """Rows of a control, and how many questions it does not exist for, by reason.

        Args:
            questions: main questions.
            control: one of :attr:`controls`.
            options: the task's options.
            source: the table that the questions are made of.

        Returns:
            Rows of the ``questions`` table with the ids of their main questions, ``variant`` tagged by
            :func:`handbench.controls.names.tagged`; the run puts the control's images in.
        """
        ...
