"""What geometry alone answers: an estimator's joints, put through the same descriptors as the truth."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from handbench.hand.descriptors import PAPER, Catalogue, describe
from handbench.hand.geometry import Floats, Scale, center_and_extent
from handbench.replies.speak import answers, place_of


def hand_of_question(hands: pl.DataFrame, poses: pl.DataFrame) -> pl.DataFrame:
    """Which predicted hand stands for which annotated hand.

    Where an image has one annotated hand, it is the predicted hand with the highest score, one of the right
    side first.  Where it has two, only a predicted hand of the named side will do: the other one would
    be another hand.  The truth's position is not used.

    Args:
        hands: ``hand_id, image, side`` of the annotated hands.
        poses: the ``poses`` table of one estimator and stage.

    Returns:
        ``hand_id`` and the columns of the pose that stands for it; no row where there is none.
    """
    found = poses.filter(pl.col("hand") >= 0).rename({"side": "found_side"})
    several = pl.len().over("image") > 1
    pairs = (
        hands.select("hand_id", "image", "side", several.alias("several"))
        .join(found, on="image")
        .with_columns((pl.col("side") == pl.col("found_side")).fill_null(False).alias("same"))
        .filter(pl.col("same") | ~pl.col("several"))
        .sort("same", "score", "hand", descending=[True, True, False], nulls_last=True)
    )
    return pairs.unique("hand_id", keep="first", maintain_order=True)


def answer(
    questions: pl.DataFrame,
    hands: pl.DataFrame,
    poses: pl.DataFrame,
    name: str,
    scale: Scale = Scale.PAPER,
    catalogue: Catalogue = PAPER,
) -> pl.DataFrame:
    """Answer questions from an estimator's 3D joints.

    A value picks the option whose category it falls into; a value between the options (an offset that is
    "aligned", which no option offers) picks the nearer one.  A question about a hand that was not found, or
    of an estimator without 3D joints, is left unanswered.

    Args:
        questions: the ``questions`` table.
        hands: the ``hands`` table that the questions are about.
        poses: the ``poses`` table of one estimator.
        name: the model's name in the answers.
        scale: scale rule of the questions.
        catalogue: joints, pairs and thresholds of the questions.

    Returns:
        The ``answers`` table, one row per question in the same order.
    """
    predicted = hand_of_question(hands, poses).filter(pl.col("keypoints_cam").is_not_null())
    ranks = _ranks(predicted, scale, catalogue)
    hand_row = dict(zip(predicted["hand_id"].to_list(), range(predicted.height), strict=True))
    columns = {(catalogue.descriptors[d].name, a, b): c for c, (d, a, b) in enumerate(catalogue.items)}
    item = columns_of(questions, columns)
    row = questions["hand_id"].replace_strict(hand_row, default=-1, return_dtype=pl.Int64).to_numpy()
    rank = np.full(questions.height, -1, np.int64)
    known = row >= 0
    rank[known] = ranks[row[known], item[known]]
    place = place_of(questions["option_labels"], _label_of_rank(questions, rank))
    return answers(questions, place, name)


def columns_of(questions: pl.DataFrame, columns: dict[tuple[str, str, str | None], int]) -> NDArray[np.int64]:
    """The catalogue's column that each question asks about."""
    keys = ["about_descriptor", "about_joint_a", "about_joint_b"]
    known = pl.DataFrame([(*item, column) for item, column in columns.items()], [*keys, "column"], orient="row")
    asked = questions.select(pl.col(keys).cast(pl.String))
    typed = known.with_columns(pl.col(keys).cast(pl.String))
    return asked.join(typed, on=keys, how="left", nulls_equal=True, maintain_order="left")["column"].to_numpy()


def _ranks(predicted: pl.DataFrame, scale: Scale, catalogue: Catalogue) -> NDArray[np.int64]:
    """Rank of the option that each value picks, -1 where the value is undefined."""
    joints = predicted["keypoints_cam"].to_numpy().reshape(-1, 21, 3)
    center, extent = _size(predicted, joints)
    return nearest_ranks(describe(joints, center, extent, scale, catalogue), catalogue).astype(np.int64)


def nearest_ranks(values: Floats, catalogue: Catalogue = PAPER) -> NDArray[np.int8]:
    """Rank of the option that each value picks.

    Args:
        values: (N, C) as :func:`handbench.hand.descriptors.describe` gives them.
        catalogue: the same as there.

    Returns:
        (N, C) rank among the options; a value that no option offers picks the nearer one, and -1 stands
        where the value is undefined.
    """
    ranks = np.full(values.shape, -1, np.int8)
    for index, descriptor in enumerate(catalogue.descriptors):
        part = catalogue.columns(index)
        limits = descriptor.thresholds
        if descriptor.dropped is not None:
            limits = (sum(limits) / len(limits),)
        ranks[:, part] = sum((values[:, part] >= limit).astype(np.int8) for limit in limits)
    ranks[np.isnan(values)] = -1
    return ranks


def _size(predicted: pl.DataFrame, joints: NDArray[np.floating]) -> tuple[Floats, Floats]:
    """Centre and extent: of the predicted mesh where the estimator gives one, else of its joints."""
    center, extent = center_and_extent(joints)
    given = predicted["extent"].is_not_null().to_numpy() & predicted["center"].is_not_null().to_numpy()
    if given.any():
        center[given] = predicted["center"].filter(pl.Series(given)).to_numpy()
        extent[given] = predicted["extent"].filter(pl.Series(given)).to_numpy()
    return center, extent


def _label_of_rank(questions: pl.DataFrame, rank: NDArray[np.int64]) -> pl.Series:
    table = {
        f"{descriptor.name}:{place}": label
        for descriptor in PAPER.descriptors
        for place, label in enumerate(descriptor.asked_labels)
    }
    key = questions["about_descriptor"].cast(pl.String) + ":" + pl.Series(rank).cast(pl.String)
    return key.replace_strict(table, default=None, return_dtype=pl.String)
