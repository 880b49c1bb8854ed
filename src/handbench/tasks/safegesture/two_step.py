"""``--strategy two-step``: the gesture from the image alone, then the action from words alone.

The second prompt is that of Variant B about the gesture that the model itself named, so that what it scores below
Variant B is lost in perception.  The paper asks for both at once (section 3.4) and cannot tell the two apart.
"""

from __future__ import annotations

from functools import cached_property
from typing import Final

import polars as pl

from handbench.errors import HandbenchError
from handbench.protocols import strategy
from handbench.replies import read_fields
from handbench.specs import Options, Spec
from handbench.tasks.safegesture.cells import Cells, Gesture
from handbench.tasks.safegesture.cells_file import load
from handbench.tasks.safegesture.options import SafeGestureOptions
from handbench.tasks.safegesture.reading import GESTURE, KEY, fields
from handbench.tasks.safegesture.text import gesture_prompt, gesture_reply, ideal_reply, prompt

NAME: Final = "two-step"
_LONGEST_WORDS: Final = 120
"""Characters of a gesture in the model's own words that the second prompt repeats."""


class TwoStep:
    """Asks about SafeGesture items in two turns."""

    name = NAME

    def __init__(self, options: SafeGestureOptions) -> None:
        self._options = options

    @property
    def _cells(self) -> Cells:
        return self._options.cells

    @cached_property
    def _prompts(self) -> dict[tuple[str, str], str]:
        """Prompts of Variant B by gesture and scenario."""
        return {
            (gesture.id, scenario.id): prompt(self._cells, "gesture-as-text", scenario, gesture)
            for gesture in self._cells.gestures
            for scenario in self._cells.scenarios
        }

    def turn(self, number: int, questions: pl.DataFrame, replies: pl.DataFrame) -> pl.DataFrame:
        """See :class:`handbench.protocols.Strategy`; where no gesture is told, there is no second turn.

        Raises:
            HandbenchError: the questions are no items with an image, or about other cells than these.
        """
        self._check(questions)
        if number == 0:
            return self._look(questions)
        return self._judge(questions, replies) if number == 1 else questions.clear()

    def _check(self, questions: pl.DataFrame) -> None:
        strange = questions.filter(pl.col("variant").cast(pl.String) != self._options.tag)
        if strange.height:
            raise HandbenchError(
                f"{NAME}: expected safegesture items with an image and these cells ({self._options.tag}), found "
                f"{strange[0, 'variant']}; own cells are named with --strategy {NAME}?cells=FILE"
            )

    def _look(self, questions: pl.DataFrame) -> pl.DataFrame:
        """One prompt for all: items that share an image are one request."""
        names = self._cells.gesture_ids
        truth = pl.col("about_gesture").cast(pl.String).replace_strict(names, range(len(names)))
        return questions.with_columns(
            pl.lit(gesture_prompt(self._cells)).cast(pl.Categorical).alias("prompt"),
            truth.cast(pl.Int8).alias("truth_index"),
            _lists([gesture_reply(name) for name in names], "options"),
            _lists(list(names), "option_labels"),
        )

    def _judge(self, questions: pl.DataFrame, replies: pl.DataFrame) -> pl.DataFrame:
        """The scenario and the gesture in words; no image."""
        first = replies.filter(pl.col("turn") == 0).select(*KEY, "reply", pl.col("finish").cast(pl.String))
        rows = questions.join(first, on=KEY, how="left", maintain_order="left")
        pairs = [*rows.select("reply", "finish").iter_rows()]
        told = {pair: self._told(*pair) for pair in set(pairs)}
        scenarios = rows["about_scenario"].cast(pl.String)
        prompts = [self._prompt(told[pair], scenario) for pair, scenario in zip(pairs, scenarios, strict=True)]
        asked = rows.drop("reply", "finish").with_columns(pl.Series("prompt", prompts, dtype=pl.String))
        return (
            asked.drop_nulls("prompt")
            .with_columns(
                pl.col("prompt").cast(pl.Categorical),
                pl.lit(pl.Series([[]], dtype=pl.List(pl.String))).first().alias("images"),
                pl.col("truth_rank").alias("truth_index"),
                _lists([ideal_reply(label) for label in self._cells.label_ids], "options"),
                _lists(list(self._cells.label_ids), "option_labels"),
            )
            .select(questions.columns)
        )

    def _told(self, reply: str | None, finish: str) -> str | None:
        """The gesture of a reply, in its own words where it is none of those asked for."""
        asked = fields(self._cells.gesture_ids, self._cells.label_ids)[:1]
        found = read_fields(reply, asked, finish=finish)
        return found.values[GESTURE] or found.written.get(GESTURE, "").strip()[:_LONGEST_WORDS] or None

    def _prompt(self, gesture: str | None, scenario: str) -> str | None:
        if gesture is None:
            return None
        known = self._prompts.get((gesture, scenario))
        if known is not None:
            return known
        place = self._cells.scenarios[self._cells.scenario_ids.index(scenario)]
        return prompt(self._cells, "gesture-as-text", place, Gesture(gesture, ""))


def _lists(texts: list[str], name: str) -> pl.Expr:
    return pl.lit(pl.Series([texts], dtype=pl.List(pl.String))).first().alias(name)


@strategy(NAME)
def make(spec: Spec, options: Options) -> TwoStep:
    """Make ``two-step?cells=FILE``."""
    path = options.text("cells", "")
    return TwoStep(SafeGestureOptions(cells=load(path or None), path=path))
