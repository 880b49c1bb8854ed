"""Which questions of a table are learned from: some of each image's, rare categories as often as common ones.

Left to itself a sample teaches the prior: three of four distances are "spread wide", and a model that says so always is
right three times in four without a look at the hand.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from handbench import draws
from handbench.errors import HandbenchError
from handbench.hand.descriptors import DESCRIPTORS
from handbench.tune.settings import Settings

_MOST: float = 50.0
"""No question is made likelier than so many times by the rarity of its category."""


def choose(questions: pl.DataFrame, settings: Settings) -> pl.DataFrame:
    """A weighted sample without replacement of each image's questions, a function of (seed, question).

    Args:
        questions: rows of the ``questions`` table with a truth.
        settings: how many of each image, whether balanced, and the emphasis.

    Returns:
        The rows chosen, in the order of the table.

    Raises:
        HandbenchError: nothing is left, or the emphasis names no descriptor.
    """
    known = questions.filter(pl.col("truth_index").is_not_null())
    if known.is_empty():
        raise HandbenchError("tune: no question here has a known answer")
    settings.checked()
    weight = np.ones(known.height)
    if settings.balance:
        weight *= category_weights(known)
    if settings.emphasis:
        names = known["about_descriptor"].cast(pl.String)
        # A recipe names all descriptors; those that are not asked about here need no emphasis.
        known_names = {descriptor.name for descriptor in DESCRIPTORS} | set(names.unique())
        if strange := sorted(set(settings.emphasis) - known_names):
            known_ones = ", ".join(sorted(known_names))
            raise HandbenchError(
                f"tune: emphasis on {', '.join(strange)}: there is no such descriptor; known are {known_ones}"
            )
        weight *= names.replace_strict(settings.emphasis, default=1.0, return_dtype=pl.Float64).to_numpy()
    if settings.per_image is None:
        return known
    # Efraimidis and Spirakis: the largest of u^(1/w) are a sample without replacement with weights w.
    keys = draws.pair_keys(draws.name_keys(known["question_id"].to_list()), draws.name_keys(["tune"]), settings.seed)
    uniform = (keys[:, 0].astype(np.float64) + 0.5) / 2.0**64
    rank = pl.Series(np.log(uniform) / weight)
    about = known["images"].list.join("\0")
    place = pl.DataFrame({"about": about, "rank": rank}).select(
        pl.col("rank").rank("ordinal", descending=True).over("about")
    )
    return known.filter(place.to_series() <= settings.per_image)


def category_weights(questions: pl.DataFrame) -> np.ndarray:
    """How many times likelier each question must be for its template's categories to come equally often.

    Args:
        questions: with ``about_descriptor``, ``about_joint_a``, ``about_joint_b`` (a template) and ``truth_category``.

    Returns:
        (N,) weights; the mean of a template's is 1 unless a category is rarer than the limit allows.
    """
    columns = [name for name in ("about_descriptor", "about_joint_a", "about_joint_b") if name in questions.columns]
    template = questions.select(pl.col(*columns, "truth_category").cast(pl.String).fill_null(""))
    weights = template.select(
        (
            pl.len().over(columns)
            / (pl.col("truth_category").n_unique().over(columns) * pl.len().over([*columns, "truth_category"]))
        ).clip(upper_bound=_MOST)
    )
    return weights.to_series().to_numpy()


def shares(questions: pl.DataFrame) -> pl.DataFrame:
    """Counts of each category: ``about_descriptor``, ``truth_category``, ``n``, ``share`` of its descriptor."""
    keys = ["about_descriptor", "truth_category"]
    return (
        questions.group_by(pl.col(keys).cast(pl.String))
        .agg(pl.len().alias("n"))
        .with_columns((pl.col("n") / pl.col("n").sum().over("about_descriptor")).alias("share"))
        .sort(keys)
    )
