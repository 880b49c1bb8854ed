"""A smaller test that stands for the whole: the same shares of every kind of question, each size within the next."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import polars as pl

from handbench import draws
from handbench.errors import HandbenchError

STRATA: Final = ("dataset", "about_descriptor", "truth_category")

_Z: Final = 1.959963984540054


def sample(questions: pl.DataFrame, count: int, seed: int = 0) -> pl.DataFrame:
    """Take a stratified sample of questions.

    Within each stratum (dataset, descriptor, label) the questions stand in an order that depends on the seed and
    their names alone.  The k-th of m gets the place (k - 1/2) / m, and those with the lowest places are taken
    (Webster's apportionment): a sample holds every smaller one, and a stratum that is the share w of all questions
    gets its due number to within (1 + w S) / 2 questions, S being the number of strata.

    Args:
        questions: the ``questions`` table.
        count: how many to take; all are taken where there are no more.
        seed: another seed, another sample.

    Returns:
        The sample in the order of the questions.

    Raises:
        HandbenchError: ``count`` is not at least 1.
    """
    if count < 1:
        raise HandbenchError(f"--sample {count}: take at least 1 question")
    if count >= questions.height:
        return questions
    ids = questions.select(pl.concat_str("question_id", pl.col("variant").cast(pl.String), separator=" ")).to_series()
    keys = draws.pair_keys(draws.name_keys(ids.to_list()), draws.name_keys(["sample"]), seed)[:, 0]
    places = (
        questions.select(pl.col(STRATA).cast(pl.String))
        .with_columns(pl.Series("key", keys))
        .select(
            (pl.col("key").rank("ordinal").over(STRATA) - 0.5) / pl.len().over(STRATA),
            pl.col("key").alias("tie"),
        )
    )
    order = np.lexsort((places["tie"].to_numpy(), places["key"].to_numpy()))
    taken: pl.DataFrame = questions[np.sort(order[:count]).tolist()]
    return taken


def expected_width(count: int, accuracy: float = 0.5) -> float:
    """Width of the 95 % interval of an accuracy measured on so many independent questions (Wilson's).

    Questions about the same hand are not independent: the interval of a run, which draws whole clusters, is wider.
    """
    spread = _Z * math.sqrt(accuracy * (1 - accuracy) / count + _Z**2 / (4 * count**2))
    return 2 * spread / (1 + _Z**2 / count)


def expectation(count: int) -> str:
    """What interval to expect, in words, for an accuracy near one half: the widest."""
    half = 50 * expected_width(count)
    return (
        f"expect ±{half:.1f} points on the whole where every question is about another hand, more where they share one"
    )
