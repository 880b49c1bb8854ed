"""The perception-only pipeline: a pose estimator's joints → gesture by rules → action by the table of cells.

It knows the scenario and consults the truth, so its errors are born in perception alone: where it is wrong, the joints
or the rules named another gesture.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from handbench.hand.gestures import UNKNOWN, name_gestures
from handbench.tasks.safegesture.cells import INVALID, Cells
from handbench.tasks.safegesture.text import ideal_reply


def best_hands(poses: pl.DataFrame) -> pl.DataFrame:
    """The hand with the highest score of each image; images without a hand are not in it.

    Args:
        poses: the ``poses`` table of one estimator.
    """
    return (
        poses.filter((pl.col("hand") >= 0) & pl.col("keypoints_px").is_not_null())
        .sort("score", "hand", descending=[True, False], nulls_last=True)
        .unique("image", keep="first", maintain_order=True)
    )


def joints_of(row: Mapping[str, Any]) -> NDArray[np.float64]:
    """(21, 3) joints of a hand, or (21, 2) pixels where the estimator gives no depth."""
    joints = row["keypoints_px"] if row["keypoints_cam"] is None else row["keypoints_cam"]
    return np.asarray(joints, np.float64)


def name_images(poses: pl.DataFrame) -> dict[str, str]:
    """Gesture of each image, of its hand with the highest score.

    The joints do not show the face, so a lone index finger that points up is taken for ``mute``.

    Args:
        poses: the ``poses`` table of one estimator.

    Returns:
        Image → gesture or ``unknown``; images without a hand are not in it.
    """
    best = best_hands(poses)
    named: dict[str, str] = {}
    for spatial in (True, False):
        part = best.filter(pl.col("keypoints_cam").is_not_null() == spatial)
        if part.height:
            joints = np.stack([joints_of(row) for row in part.iter_rows(named=True)])
            named |= dict(zip(part["image"], name_gestures(joints, upright_index="mute"), strict=True))
    return named


def answer(questions: pl.DataFrame, poses: pl.DataFrame, model: str, cells: Cells) -> pl.DataFrame:
    """Answer items from an estimator's joints.

    Args:
        questions: the ``questions`` table of the image variant.
        poses: the ``poses`` table of one estimator.
        model: the model's name in the answers.
        cells: the table that turns gesture and scenario into an action.

    Returns:
        The ``answers`` table, one row per question in the same order: JSON replies; where no gesture of the cells is
        recognised, the reply says so, and where no hand is found, nothing is said.
    """
    named = name_images(poses)
    table = {
        (gesture, scenario): cells.label_ids[cells.truth[row, column]]
        for row, gesture in enumerate(cells.gesture_ids)
        for column, scenario in enumerate(cells.scenario_ids)
    }
    images = questions["images"].list.first().to_list()
    replies = [
        _reply(named.get(image), scenario, table)
        for image, scenario in zip(images, questions["about_scenario"].cast(pl.String).to_list(), strict=True)
    ]
    reply = pl.Series("reply", replies, dtype=pl.String)
    return questions.select("question_id", "variant").with_columns(
        pl.lit(model, pl.Categorical).alias("model"),
        pl.lit(0, pl.Int16).alias("repeat"),
        pl.lit(0, pl.Int16).alias("turn"),
        reply,
        pl.Series("finish", ["none" if text is None else "stop" for text in replies], dtype=pl.Categorical),
    )


def _reply(gesture: str | None, scenario: str, table: dict[tuple[str, str], str]) -> str | None:
    if gesture is None:
        return None
    return ideal_reply(table.get((gesture, scenario), INVALID), gesture if gesture != UNKNOWN else "unknown")
