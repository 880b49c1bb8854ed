"""HandVQA's own controls: options rotated, image mirrored."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

import polars as pl

from handbench.controls.names import tagged
from handbench.controls.options import rotations
from handbench.errors import HandbenchError
from handbench.schemas import WORD
from handbench.tables import concat
from handbench.tasks.handvqa import text
from handbench.tasks.handvqa.options import HandVQAOptions
from handbench.tasks.handvqa.questions import ask
from handbench.tasks.handvqa.wording import WORDINGS

_OTHER: Final = {"left": "right", "right": "left"}
_SIDE: Final = r"\b(left|right) hand\b"


def vary(
    questions: pl.DataFrame, control: str, options: HandVQAOptions, hands: pl.DataFrame | None = None
) -> tuple[pl.DataFrame, dict[str, int]]:
    """Rows of a control.

    Args:
        questions: main questions.
        control: ``rotations``, ``mirror`` or ``wording``.
        options: how the questions were made.
        hands: the ``hands`` table that they were made of; needed for another wording.

    Returns:
        The rows, and how many questions have no such control, by reason.
    """
    if control == "rotations":
        return concat([questions.clear(), *rotations(questions, text.lettered)]), {}
    if control == "wording":
        return _reworded(questions, options, hands)
    return _mirrored(questions, options)


def _reworded(
    questions: pl.DataFrame, options: HandVQAOptions, hands: pl.DataFrame | None
) -> tuple[pl.DataFrame, dict[str, int]]:
    """The same questions in the other wording, a paraphrase drawn for each; the order of the options stays."""
    if hands is None:
        raise HandbenchError("controls: wording: the hands that these questions are about are not known")
    other = next(wording for wording in WORDINGS if wording != options.wording)
    mine = hands.filter(pl.col("hand_id").is_in(questions["hand_id"].unique().implode()))
    reworded, _ = ask(mine, replace(options, wording=other, paraphrase=None))
    kept = reworded.join(questions.select("question_id"), on="question_id", how="semi", maintain_order="left")
    missing = questions.height - kept.height
    return kept.with_columns(tagged(pl.col("variant"), "wording").alias("variant")), (
        {"not asked": missing} if missing else {}
    )


def _mirrored(questions: pl.DataFrame, options: HandVQAOptions) -> tuple[pl.DataFrame, dict[str, int]]:
    """The same questions about the mirrored image: a right hand is a left one there, and what was left is right.

    Angles, distances, heights and depths stay.  A left/right question whose mirrored value would be "aligned", as it
    can be with thresholds that are not symmetric, has no mirror.
    """
    thresholds = next(descriptor.thresholds for descriptor in options.catalogue.descriptors if descriptor.name == "x")
    low, high = thresholds
    sideways = pl.col("about_descriptor").cast(pl.String) == "x"
    value = -pl.col("truth_value").cast(pl.Float64)
    rank = pl.when(value < low).then(0).when(value >= high).then(1)
    kept = questions.filter(~sideways | rank.is_not_null())
    label = pl.when(rank == 0).then(pl.lit("at the left of")).otherwise(pl.lit("at the right of"))
    margin = pl.min_horizontal((value - low).abs(), (value - high).abs())
    index = pl.when(sideways & (rank != pl.col("truth_rank"))).then(1 - pl.col("truth_index").cast(pl.Int8))
    mirrored = kept.with_columns(
        index.otherwise(pl.col("truth_index")).alias("truth_index"),
        pl.when(sideways).then(rank.cast(pl.Int8)).otherwise(pl.col("truth_rank")).alias("truth_rank"),
        pl.when(sideways)
        .then(label)
        .otherwise(pl.col("truth_category").cast(pl.String))
        .cast(WORD)
        .alias("truth_category"),
        pl.when(sideways).then(value).otherwise(pl.col("truth_value")).cast(pl.Float32).alias("truth_value"),
        pl.when(sideways).then(margin).otherwise(pl.col("truth_margin")).cast(pl.Float32).alias("truth_margin"),
        pl.col("about_side").cast(pl.String).replace(_OTHER).cast(WORD).alias("about_side"),
        _swapped(kept["prompt"]),
        tagged(pl.col("variant"), "mirror").alias("variant"),
    )
    gone = questions.height - kept.height
    return mirrored, {"aligned": gone} if gone else {}


def _swapped(prompts: pl.Series) -> pl.Series:
    """Each distinct prompt with the hand's side exchanged; what is left or right of what in it stays."""
    known = prompts.unique()
    table = {text_: _swap(text_) for text_ in known.cast(pl.String).to_list()}
    return prompts.cast(pl.String).replace_strict(table, return_dtype=pl.String).cast(WORD)


def _swap(prompt: str) -> str:
    return re.sub(_SIDE, lambda found: f"{_OTHER[found[1]]} hand", prompt)
