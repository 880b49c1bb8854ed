"""How far the asking of a model is, in a line for the progress bar."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from handbench.protocols import Model, ReadContext, TellsFacts
from handbench.runs.costs import Budget

BESIDE = " · "
"""What stands before each of the things that are told beside what is being done."""


@dataclass
class Told:
    """Tells how many questions are answered (of all, or of those of a turn), and what went wrong so far.

    Attributes:
        context: whom to tell.
        name: the model's.
        total: questions to be answered.
        done: those that are.
        model: asked for its counts of requests, where it keeps them.
        budget: asked for what was spent.
        what: what is counted.
        errors: answers that are errors.
    """

    context: ReadContext
    name: str
    total: int
    done: int
    model: Model
    budget: Budget | None
    what: str = "answers"
    errors: int = 0

    def turn(self, number: int, asked: int) -> None:
        """A turn begins."""
        self.done, self.total, self.what = 0, asked, f"turn {number + 1}: answers"

    def come(self, answers: pl.DataFrame) -> None:
        """Answers have come."""
        self.done += answers.height
        self.errors += answers.select((pl.col("finish").cast(pl.String) == "error").sum()).item()
        counts = self.model.facts().get("counts", {}) if isinstance(self.model, TellsFacts) else {}
        beside = [f"{counts['retried']:,} retried"] if counts.get("retried") else []
        beside += [f"{self.errors:,} {'error' if self.errors == 1 else 'errors'}"] if self.errors else []
        beside += [self.budget.told] if self.budget else []
        self.context.progress(self.done, self.total, BESIDE.join([f"{self.what} of {self.name}", *beside]))
