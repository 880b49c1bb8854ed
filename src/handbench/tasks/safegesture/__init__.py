"""SafeGesture: does a model that sees the gesture also know the safe action (arXiv 2608.16081)?"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import polars as pl

from handbench.protocols import task
from handbench.tasks.safegesture import chain, questions, reading, scoring
from handbench.tasks.safegesture.cells import Cells
from handbench.tasks.safegesture.cells_file import PAPER
from handbench.tasks.safegesture.options import SafeGestureOptions
from handbench.tasks.safegesture.questions import check_cells


class SafeGesture:
    """Six gestures in eight scenarios: the gesture's name and the safe action, in one JSON reply.

    Attributes:
        cells: gestures, scenarios, labels and the truth.
        reads_turns: the gesture may stand in another turn than the label.
    """

    name = "safegesture"
    options = SafeGestureOptions
    reads_turns = True

    def __init__(self, cells: Cells = PAPER) -> None:
        self.cells = cells

    def bound(self, options: SafeGestureOptions) -> SafeGesture:
        """The task as it is with these options: with their cells."""
        return SafeGesture(options.cells)

    def ask(self, rows: pl.DataFrame | None, options: SafeGestureOptions) -> tuple[pl.DataFrame, dict[str, int]]:
        """See :func:`handbench.tasks.safegesture.questions.ask`."""
        return questions.ask(rows, options)

    def read(self, questions: pl.DataFrame, answers: pl.DataFrame) -> pl.DataFrame:
        """See :func:`handbench.tasks.safegesture.reading.read`."""
        check_cells(questions, self.cells)
        return reading.read(questions, answers, self.cells)

    def score(self, questions: pl.DataFrame, readings: pl.DataFrame) -> pl.DataFrame:
        """See :func:`handbench.tasks.safegesture.scoring.score`."""
        check_cells(questions, self.cells)
        return scoring.score(questions, readings, self.cells)

    def answer_from_poses(
        self, questions: pl.DataFrame, poses: pl.DataFrame, hands: pl.DataFrame, model: str, options: Any
    ) -> pl.DataFrame:
        """See :func:`handbench.tasks.safegesture.chain.answer`; the annotated hands are not used."""
        return chain.answer(questions, poses, model, options.cells)

    def extent_flips(self, hands: pl.DataFrame, options: Any) -> pl.DataFrame:
        """None: no label here depends on the hand's extent."""
        return pl.DataFrame()

    def describe(self, questions: pl.DataFrame) -> dict[str, pl.DataFrame]:
        """Truth labels by scenario and by gesture (Tables 7 and 8), as items."""
        found = {}
        for name in ("about_scenario", "about_gesture"):
            counted = questions.group_by(name, "truth_category", maintain_order=True).len("items")
            found[name.removeprefix("about_")] = counted
        return found

    def published(self) -> pl.DataFrame:
        """The paper's own numbers, long: table, model, metric, value, unit and what they are of."""
        return pl.DataFrame(_printed()["results"], infer_schema_length=None)


def printed_confusions() -> dict[str, list[list[int]]]:
    """The paper's confusion matrices by model (Appendix F): rows are the truth, both in the order of its labels."""
    return dict(_printed()["confusion_matrices"])


def _printed() -> dict[str, Any]:
    return dict(json.loads((files(__package__) / "published.json").read_text(encoding="utf-8")))


task("safegesture")(SafeGesture())
