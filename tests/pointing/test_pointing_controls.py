from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from PIL import Image

from handbench import api
from handbench.controls.images import GREY, arms_of, covered, padded
from handbench.runs.controls import with_controls
from handbench.tasks.pointing.controls import mirror_scene


def test_a_scene_mirrored_twice_is_itself(scenes):
    for row in scenes.iter_rows(named=True):
        once = mirror_scene(row)
        twice = mirror_scene(once)
        assert np.allclose(twice["hand_box"], row["hand_box"])
        assert np.allclose(twice["candidate_boxes"], row["candidate_boxes"])
        assert twice["caption_hand"] == row["caption_hand"]
        assert once["hand_side"] != row["hand_side"]
        x1, _, x2, _ = row["hand_box"]
        assert once["hand_box"][0] == pytest.approx(row["width"] - x2)
        assert once["hand_box"][2] == pytest.approx(row["width"] - x1)


def test_an_arm_is_covered_and_the_hand_left():
    joints = np.zeros((1, 21, 2))
    joints[0, :, 0] = 50
    joints[0, 0], joints[0, 9] = (50, 60), (50, 40)  # the hand points up, its arm comes from below
    joints[0, 5], joints[0, 17] = (45, 40), (55, 40)
    box = np.array([[40.0, 20, 60, 62]])
    drawn = np.asarray(covered(Image.new("RGB", (100, 100), (255, 0, 0)), arms_of(box, joints)[0]))
    grey = (drawn == GREY).all(axis=2)
    assert grey[75:, 46:54].all()
    assert not grey[:58].any()
    unknown = arms_of(box, np.full((1, 21, 2), np.nan))
    assert (np.asarray(covered(Image.new("RGB", (100, 100)), unknown[0]))[90, 50] == GREY).all()
    masked = np.asarray(covered(Image.new("RGB", (100, 100)), padded(box)[0]))
    assert (masked[20:62, 40:60] == GREY).all()
    assert (masked[5, 5] == 0).all()


def test_all_controls_of_a_run(tmp_path):
    task = with_controls("pointing/d-rec?family=qwen3-vl", "mirror,masked,armless,blank")
    data = "synth:scenes?n=4&seed=3&width=128&supersample=1&negatives=0"
    run = api.run(task, data, ["oracle", "geometry"], tmp_path / "run", workers=1)
    questions = run.table("questions")
    assert questions.height == 12 * 5
    shown = questions["images"].list.first().unique()
    assert shown.str.starts_with("controls/").sum() == 16
    found = run.scores.filter(pl.col("slice").cast(pl.String) == "control")
    value = {
        (row["model"], row["slice_value"], row["metric"]): row["value"]
        for row in found.with_columns(pl.col(pl.Categorical).cast(pl.String)).iter_rows(named=True)
        if row["descriptor"] == "d-rec"
    }
    for control in ("mirror", "masked", "armless", "blank"):
        assert value["oracle", control, "accuracy"] == 1
        assert value["oracle", control, "consistency"] == 1
        assert value["geometry", control, "consistency"] == 1
        assert value["geometry", control, "accuracy_change"] == 0
    assert "language only" in run.report.read_text(encoding="utf-8")
