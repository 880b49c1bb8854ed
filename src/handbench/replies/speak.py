"""The other way round: an option → the reply that says it, as a model would that follows the instruction."""

from __future__ import annotations

from typing import Final

import polars as pl

LETTERS: Final = "ABCDEFGHIJKLMNOP"


def place_of(option_labels: pl.Series, label: pl.Series) -> pl.Series:
    """Where a label stands among the labels of its row.

    Args:
        option_labels: lists of labels.
        label: one label per row, null where there is none.

    Returns:
        Int8 places from 0; null where the label is null or not among them.
    """
    frame = pl.DataFrame({"labels": option_labels, "label": label.cast(pl.String)})
    longest = int(frame.select(pl.col("labels").list.len().max().fill_null(0)).item())
    found = pl.lit(None, pl.Int8)
    for place in reversed(range(longest)):
        here = pl.col("labels").list.get(place, null_on_oob=True).cast(pl.String) == pl.col("label")
        found = pl.when(here).then(pl.lit(place, pl.Int8)).otherwise(found)
    return frame.select(found.alias("place")).to_series()


def lettered_replies(options: pl.Series, place: pl.Series) -> pl.Series:
    """``B. the option's own words`` for each row; null where the place is null.

    Args:
        options: lists of options.
        place: the option to say, from 0.
    """
    frame = pl.DataFrame({"options": options, "place": place})
    letter = pl.col("place").replace_strict(dict(enumerate(LETTERS)), default=None, return_dtype=pl.String)
    words = pl.col("options").list.get(pl.col("place").fill_null(0), null_on_oob=True).cast(pl.String)
    return frame.select((letter + ". " + words).alias("reply")).to_series()


def _spoken(questions: pl.DataFrame, place: pl.Series) -> pl.Series:
    """Lettered replies to choices; of fields, boxes and words, whose options are whole replies, the option itself."""
    whole = ["fields", "box", "text"]
    if "kind" not in questions.columns or not questions["kind"].cast(pl.String).is_in(whole).any():
        return lettered_replies(questions["options"], place)
    chosen = pl.DataFrame({"options": questions["options"], "place": place}).select(
        pl.when(pl.col("place").is_not_null())
        .then(pl.col("options").list.get(pl.col("place").fill_null(0), null_on_oob=True))
        .cast(pl.String)
        .alias("reply")
    )
    return chosen.to_series()


def answers(questions: pl.DataFrame, place: pl.Series, model: str) -> pl.DataFrame:
    """The ``answers`` table of one who picks an option for every question.

    Args:
        questions: rows of the ``questions`` table.
        place: the option of each row, from 0; null leaves the question unanswered.
        model: the name that the answers carry.
    """
    reply = _spoken(questions, place)
    finish = reply.is_null().replace_strict({True: "none", False: "stop"}, return_dtype=pl.String)
    return questions.select("question_id", "variant").with_columns(
        pl.lit(model, pl.Categorical).alias("model"),
        pl.lit(0, pl.Int16).alias("repeat"),
        pl.lit(0, pl.Int16).alias("turn"),
        reply,
        finish.cast(pl.Categorical).alias("finish"),
    )


def right_replies(questions: pl.DataFrame) -> pl.Series:
    """The reply that each question wants: in the oracle's words, or the letter alone where that is asked for.

    Args:
        questions: rows of the ``questions`` table.

    Returns:
        A reply for each; null where the truth is not among the options, or likelihoods are asked for, of which no one
        set is right.
    """
    said = answers(questions, questions["truth_index"], "truth")["reply"]
    letter = questions["truth_index"].replace_strict(dict(enumerate(LETTERS)), default=None, return_dtype=pl.String)
    parts = questions["variant"].cast(pl.String).str.split(";")
    alone, many = parts.list.contains("letter"), parts.list.contains("likelihoods")
    return pl.select(pl.when(alone).then(letter).when(~many).then(said).alias("reply")).to_series()
