"""Readings → scores: per descriptor, joint, pair, side and factor, each with a cluster interval."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from handbench import tables
from handbench.hand.descriptors import DESCRIPTORS
from handbench.stats.bootstrap import RESAMPLES
from handbench.stats.intervals import Rule
from handbench.stats.sliced import Score, Slice, score_slices
from handbench.tasks.handvqa import official
from handbench.tasks.handvqa.reading import beside

NEEDED: Final = (
    *("question_id", "variant", "options", "option_labels", "truth_index", "truth_rank"),
    *("about_descriptor", "about_joint_a", "about_joint_b", "about_side", "cluster"),
)
"""Columns of ``questions`` that reading and scoring need."""

LARGEST_FACTOR: Final = 24
"""A factor with more values than this is no division into groups and is left out."""


def score(
    questions: pl.DataFrame,
    readings: pl.DataFrame,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
    sliced: bool = True,
    rule: Rule | None = None,
) -> pl.DataFrame:
    """Score readings.

    Args:
        questions: the ``questions`` table.
        readings: the ``readings`` table of any number of models.
        resamples: bootstrap resamples.
        seed: of the resamples, the same for every model.
        sliced: also per joint, pair, side and factor, not only per descriptor.
        rule: how the intervals are found; by default what suits each slice's number of clusters.

    Returns:
        The ``scores`` table.  ``accuracy`` counts a reply without a reading as wrong,
        ``accuracy_answered`` leaves it out, ``answer_rate`` tells how many have one.
    """
    factors = [name for name in questions.columns if name.startswith("factor_")]
    columns = ["truth_rank", "about_descriptor", "about_joint_a", "about_joint_b", "about_side", "cluster"]
    clusters = questions["cluster"].unique(maintain_order=True)
    rows = []
    for (model,), group in readings.group_by("model", maintain_order=True):
        about = beside(questions, group, [*columns, *factors])
        code = about["cluster"].cast(pl.Enum(clusters)).to_physical().to_numpy()
        rules = about["variant"].cast(pl.String).str.replace_all(r";(order|phrase|again)=\d+", "")
        protocol = " + ".join(sorted(rules.unique()))
        found = score_slices(
            np.unique(code, return_inverse=True)[1],
            about["truth_rank"].to_numpy(),
            about["chosen_rank"].fill_null(-1).to_numpy(),
            [*_slices(about, factors if sliced else [], sliced)],
            resamples=resamples,
            seed=seed,
            rule=rule,
        )
        rows += [_row(score, str(model), protocol) for score in (*found, *_pooled(about, code, resamples, seed, rule))]
        rows += [_row(score, str(model), f"{protocol};official") for score in _official(about)]
    if not rows:
        return tables.empty("scores")
    return tables.conform(pl.DataFrame(rows, infer_schema_length=None), "scores", "the scores")


def _row(score: Score, model: str, protocol: str) -> dict[str, object]:
    descriptor, part, value = score.keys
    return {
        "task": "handvqa",
        "model": model,
        "metric": score.metric,
        "descriptor": descriptor,
        "slice": part,
        "slice_value": value,
        "value": score.value,
        "low": score.low,
        "high": score.high,
        "n": score.n,
        "clusters": score.clusters,
        "protocol": protocol if score.rule is None else f"{protocol};interval={score.rule}",
    }


def _official(about: pl.DataFrame) -> Iterator[Score]:
    """What the paper's own evaluator prints of each descriptor; without an interval, as it gives none."""
    if "official_rank" not in about.columns or about["official_rank"].null_count() == about.height:
        return
    for descriptor in DESCRIPTORS:
        mine = about.filter(pl.col("about_descriptor").cast(pl.String) == descriptor.name)
        taken = mine["official_rank"].fill_null(-1).to_numpy()
        found = official.figures(mine["truth_rank"].to_numpy(), taken, descriptor.ordinal)
        clusters = mine["cluster"].n_unique()
        for name, (value, counted) in found.items():
            yield Score((descriptor.name, "all", "all"), name, value, None, None, counted, clusters)


def _pooled(
    about: pl.DataFrame, code: NDArray[np.integer], resamples: int, seed: int, rule: Rule | None
) -> list[Score]:
    """All descriptors together: right or wrong is all that they share."""
    chosen = about.select(pl.when("correct").then(0).when(pl.col("chosen_rank").is_null()).then(-1).otherwise(1))
    every = Slice(("all", "all", "all"), np.arange(about.height), 2, False)
    found = score_slices(
        np.unique(code, return_inverse=True)[1],
        np.zeros(about.height, np.int64),
        chosen.to_series().to_numpy(),
        [every],
        resamples=resamples,
        seed=seed,
        rule=rule,
    )
    return [score for score in found if "f1" not in score.metric]


def _slices(about: pl.DataFrame, factors: list[str], sliced: bool) -> Iterator[Slice]:
    for descriptor in DESCRIPTORS:
        mine = np.flatnonzero(np.asarray(about["about_descriptor"].cast(pl.String) == descriptor.name))
        if not len(mine):
            continue
        labels, ordinal = len(descriptor.asked_labels), descriptor.ordinal
        yield Slice((descriptor.name, "all", "all"), mine, labels, ordinal)
        if not sliced:
            continue
        part = about[mine]
        for name, values in _divisions(part, factors):
            for value, rows in _members(values):
                yield Slice((descriptor.name, name, value), mine[rows], labels, ordinal)


def _divisions(part: pl.DataFrame, factors: list[str]) -> Iterator[tuple[str, list[pl.Series]]]:
    """The columns that divide the answers of one descriptor, by name; a joint divides by either of two."""
    a, b = part["about_joint_a"].cast(pl.String), part["about_joint_b"].cast(pl.String)
    if b.null_count() == part.height:
        yield "joint", [a]
    else:
        yield "joint", [a, b]
        yield "pair", [a + "-" + b]
    for name in ("about_side", *factors):
        values = part[name].cast(pl.String)
        if 1 < values.n_unique() <= LARGEST_FACTOR:
            yield name.removeprefix("about_"), [values]


def _members(columns: list[pl.Series]) -> Iterator[tuple[str, NDArray[np.int64]]]:
    stacked = pl.concat(
        [pl.DataFrame({"value": column, "row": np.arange(column.len(), dtype=np.int64)}) for column in columns]
    ).drop_nulls("value")
    for (value,), group in stacked.sort("value", "row").group_by("value", maintain_order=True):
        yield str(value), group["row"].to_numpy()
