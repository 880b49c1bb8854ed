"""Answerers that see no image: what a score is worth is told by what they get."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from handbench import draws, tables
from handbench.errors import HandbenchError
from handbench.protocols import Model, model
from handbench.replies.speak import answers, place_of
from handbench.specs import Options, Spec

_ROWS = 20_000


def _slabs(questions: pl.DataFrame) -> Iterator[pl.DataFrame]:
    for start in range(0, questions.height, _ROWS):
        yield questions[start : start + _ROWS]


class Chance:
    """Picks an option at random, as a function of (seed, question): the same in any order and any part."""

    def __init__(self, name: str, seed: int) -> None:
        self.name = name
        self.seed = seed

    def answer(self, questions: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """Answer every question with a random option."""
        for slab in _slabs(questions):
            ids = slab.select(pl.concat_str("question_id", "variant", separator=" ")).to_series().to_list()
            keys = draws.pair_keys(draws.name_keys(ids), draws.name_keys(["chance"]), self.seed)[:, 0]
            place = keys % slab["options"].list.len().to_numpy().astype(np.uint64)
            yield answers(slab, pl.Series(place.astype(np.int8)), self.name)


class Prior:
    """Always says the commonest category of the descriptor among those offered, without a look at the image.

    The categories are counted in a declared table; by default in the test questions themselves, which makes
    it the best that any constant answer can do there.
    """

    def __init__(self, name: str, source: str) -> None:
        self.name = name
        self.source = source
        self.commonest: dict[str, list[str]] = {}

    def prepare(self, questions: pl.DataFrame) -> None:
        """Count the categories: in the declared table, else in the questions given."""
        counted = tables.read(Path(self.source), "questions") if self.source else questions
        ranked = (
            counted.group_by("about_descriptor", "truth_category", "truth_rank")
            .len()
            .sort("len", "truth_rank", descending=[True, False])
        )
        self.commonest = {}
        for descriptor, category in ranked.select(
            pl.col("about_descriptor", "truth_category").cast(pl.String)
        ).iter_rows():
            self.commonest.setdefault(descriptor, []).append(category)

    def answer(self, questions: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """Answer every question with the commonest category of its descriptor.

        Raises:
            HandbenchError: the declared table has no question of a descriptor that is asked about.
        """
        asked = set(questions["about_descriptor"].cast(pl.String).unique())
        if missing := sorted(asked - set(self.commonest)):
            raise HandbenchError(f"{self.source}: has no question about {', '.join(missing)}")
        for slab in _slabs(questions):
            yield answers(slab, self._place(slab), self.name)

    def _place(self, slab: pl.DataFrame) -> pl.Series:
        """The commonest category offered: in HandVQA the commonest of all, which is always among the options."""
        descriptor = slab["about_descriptor"].cast(pl.String)
        place = pl.Series([None] * slab.height, dtype=pl.Int8)
        for rank in range(max(map(len, self.commonest.values()))):
            left = place.is_null()
            if not left.any():
                break
            label = descriptor.replace_strict(
                {name: known[rank] for name, known in self.commonest.items() if rank < len(known)},
                default=None, return_dtype=pl.String,
            )  # fmt: skip
            place = pl.select(pl.coalesce(place, place_of(slab["option_labels"], label))).to_series()
        return place


class Oracle:
    """Says the truth; anything below 1.0 is a fault of the harness."""

    def __init__(self, name: str) -> None:
        self.name = name

    def answer(self, questions: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """Answer every question rightly."""
        for slab in _slabs(questions):
            yield answers(slab, slab["truth_index"], self.name)


@model("chance")
def chance(spec: Spec, options: Options) -> Model:
    """``chance?seed=0``."""
    return Chance(options.text("name", str(spec)), options.integer("seed", 0))


@model("prior")
def prior(spec: Spec, options: Options) -> Model:
    """``prior``, or ``prior?from=QUESTIONS.parquet`` to count in another table."""
    return Prior(options.text("name", str(spec)), options.text("from", ""))


@model("oracle")
def oracle(spec: Spec, options: Options) -> Model:
    """``oracle``."""
    return Oracle(options.text("name", str(spec)))
