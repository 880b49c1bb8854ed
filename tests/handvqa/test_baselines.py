from __future__ import annotations

import numpy as np
import polars as pl

from handbench import tables
from handbench.tasks.handvqa import baselines, questions, reading
from handbench.tasks.handvqa.options import HandVQAOptions
from tests.handvqa.conftest import random_hands


def poses_of(hands: pl.DataFrame, joints: np.ndarray | None = None) -> pl.DataFrame:
    joints = hands["joints_cam"].to_numpy() if joints is None else joints
    return tables.conform(
        pl.DataFrame(
            {
                "estimator": ["mine"] * hands.height,
                "stage": ["raw"] * hands.height,
                "image": hands["image"],
                "hand": [0] * hands.height,
                "side": hands["side"],
                "score": [0.9] * hands.height,
                "keypoints_cam": pl.Series(joints),
            }
        ),
        "poses",
    )


def read(hands: pl.DataFrame, poses: pl.DataFrame) -> pl.DataFrame:
    asked = tables.conform(questions.ask(hands, HandVQAOptions())[0], "questions")
    said = tables.conform(baselines.answer(asked, hands, poses, "pose:mine"), "answers")
    return asked.hstack(reading.read(asked, said).select("choice", "status", "correct", "chosen_rank"))


def test_true_joints_answer_everything_rightly():
    hands = random_hands(40)
    assert read(hands, poses_of(hands))["correct"].all()


def test_place_and_size_of_the_prediction_do_not_matter():
    hands = random_hands(40)
    joints = hands["joints_cam"].to_numpy() * 1.7 + [0.3, -0.2, 5]
    assert read(hands, poses_of(hands, joints))["correct"].all()


def test_a_mirrored_prediction_is_wrong_in_x_alone():
    hands = random_hands(40)
    found = read(hands, poses_of(hands, hands["joints_cam"].to_numpy() * [-1, 1, 1]))
    by = {row[0]: row[1] for row in found.group_by(pl.col("about_descriptor").cast(pl.String)).agg(
        pl.col("correct").mean()).iter_rows()}  # fmt: skip
    assert by == {"angle": 1.0, "distance": 1.0, "x": 0.0, "y": 1.0, "z": 1.0}


def test_an_aligned_value_picks_the_nearer_option():
    hands = random_hands(40)
    joints = hands["joints_cam"].to_numpy().copy()
    center = joints.mean(axis=1, keepdims=True)
    joints[:, :, 0] = center[:, :, 0] + 0.2 * (joints[:, :, 0] - center[:, :, 0])  # pressed flat in x
    found = read(hands, poses_of(hands, joints)).filter(pl.col("about_descriptor").cast(pl.String) == "x")
    assert (found["status"].cast(pl.String) == "ok").all()
    assert found["correct"].all()


def test_no_hand_is_no_answer():
    hands = random_hands(10)
    poses = poses_of(hands).with_columns(hand=pl.when(pl.col("image") == "000003.jpg").then(-1).otherwise("hand"))
    found = read(hands, tables.conform(poses, "poses"))
    lost = found["hand_id"] == hands["hand_id"][3]
    assert (found.filter(lost)["status"].cast(pl.String) == "empty").all()
    assert found.filter(~lost)["correct"].all()


def test_the_surest_hand_stands_for_a_lone_one_and_the_named_side_for_two():
    hands = random_hands(2).with_columns(image=pl.lit("both.jpg"), side=pl.Series(["left", "right"]))
    right_only = poses_of(hands)[1:]
    chosen = baselines.hand_of_question(hands, right_only)
    assert chosen["hand_id"].to_list() == [hands["hand_id"][1]]
    lone = hands[:1].with_columns(image=pl.lit("a.jpg"))
    pair = poses_of(hands).with_columns(image=pl.lit("a.jpg"), score=pl.Series([0.2, 0.9]), hand=pl.Series([0, 1]))
    same_side = baselines.hand_of_question(lone, tables.conform(pair, "poses"))
    assert same_side["score"].to_list() == [np.float32(0.2)]  # the side goes before the score


def test_2d_estimators_leave_it_open():
    hands = random_hands(5)
    flat = poses_of(hands).with_columns(keypoints_cam=pl.lit(None, tables.JOINTS_3D))
    assert (read(hands, flat)["status"].cast(pl.String) == "empty").all()
