"""Replies → readings: which option was chosen, and how far that is from the truth."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from handbench.errors import HandbenchError
from handbench.hand.descriptors import DESCRIPTORS
from handbench.replies import read_choices
from handbench.replies.likelihoods import from_logprobs, read_many
from handbench.tables import WORD
from handbench.tasks.handvqa import official

KEY = ["question_id", "variant"]

RANKS: Final = {label: rank for descriptor in DESCRIPTORS for rank, label in enumerate(descriptor.asked_labels)}
"""Rank of every label among those that are asked; no two descriptors share a label."""

_NEEDED = ["options", "option_labels", "truth_index", "truth_rank", "about_descriptor"]


def beside(questions: pl.DataFrame, answers: pl.DataFrame, columns: list[str]) -> pl.DataFrame:
    """Answers with columns of their questions beside them.

    Args:
        questions: the ``questions`` table.
        answers: rows with a question key; none may ask for a question that is not there.
        columns: what to bring over.

    Raises:
        HandbenchError: an answer belongs to no question.
    """
    known = questions.select(*KEY, *columns)
    same = answers.height == known.height and all(bool((answers[key] == known[key]).all()) for key in KEY)
    if same:  # the usual case: one answer per question in the questions' own order
        return pl.concat([answers, known.drop(KEY)], how="horizontal")
    joined = answers.join(known.with_columns(pl.lit(True).alias("_known")), on=KEY, how="left")
    stray = joined.filter(pl.col("_known").is_null())
    if stray.height:
        first = stray.row(0, named=True)
        raise HandbenchError(
            f"{stray.height} answers belong to no question here, the first to {first['question_id']!r} "
            f"({first['variant']}); were they given to another run's questions?"
        )
    return joined.drop("_known")


def read(questions: pl.DataFrame, answers: pl.DataFrame) -> pl.DataFrame:
    """Read the replies of choice questions.

    Args:
        questions: the ``questions`` table.
        answers: the ``answers`` table, any number of models and repeats.

    Returns:
        The ``readings`` table, one row per answer in the same order.
    """
    rows = beside(questions, answers, _NEEDED)
    rows = pl.concat([rows, _understood(rows)], how="horizontal")
    choice = pl.col("choice")
    label = pl.col("option_labels").list.get(choice.fill_null(0), null_on_oob=True)
    readings = rows.with_columns(
        (choice == pl.col("truth_index")).fill_null(False).alias("correct"),
        pl.when(choice.is_not_null()).then(label).cast(WORD).alias("label"),
    )
    readings = readings.with_columns(_rank(readings["label"]).alias("chosen_rank"))
    return readings.select(
        *KEY,
        "model",
        "repeat",
        pl.col("status", "rule").cast(WORD),
        "span_start",
        "span_end",
        "choice",
        "chosen_rank",
        "correct",
        "likelihoods",
        (pl.col("chosen_rank") - pl.col("truth_rank")).abs().cast(pl.Float32).alias("distance"),
        official.ranks(rows["reply"], rows["about_descriptor"], rows["option_labels"]),
    )


def _understood(rows: pl.DataFrame) -> pl.DataFrame:
    """The choice, and the likelihoods where the reply or the model tells them."""
    variants = rows["variant"].cast(WORD).unique().cast(pl.String)
    told = variants.filter(variants.str.contains(r"(^|;)likelihoods(;|$)"))
    read = read_choices(rows["reply"], rows["options"], rows["finish"])
    given = rows["option_logprobs"] if "option_logprobs" in rows.columns else None
    if given is None or given.null_count() == given.len():
        shares = pl.Series([None] * rows.height, dtype=pl.Null)
    else:
        shares = from_logprobs(given)
    read = read.with_columns(shares.cast(pl.List(pl.Float32)).alias("likelihoods"))
    if told.is_empty():
        return read
    asked = rows["variant"].cast(pl.String).is_in(told.implode())
    said = read_many(rows["reply"], rows["option_labels"], rows["finish"])
    return pl.DataFrame(
        {
            name: pl.select(
                pl.when(asked)
                .then(said[name].cast(read.schema[name]) if name in said.columns else None)
                .otherwise(read[name])
            ).to_series()
            for name in read.columns
        }
    )


def _rank(labels: pl.Series) -> pl.Series:
    """Rank of each label, looked up by the number of its category."""
    known = labels.unique().drop_nulls()
    numbers = labels.to_physical()
    table = np.zeros(int(known.to_physical().cast(pl.Int64).to_numpy().max(initial=0)) + 1, np.int8)
    table[known.to_physical().to_numpy()] = [RANKS[label] for label in known.to_list()]
    return pl.select(pl.when(numbers.is_not_null()).then(pl.Series(table[numbers.fill_null(0).to_numpy()]))).to_series()
