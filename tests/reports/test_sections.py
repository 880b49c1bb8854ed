from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from scipy.spatial.transform import Rotation

from handbench import api
from handbench.hand.alignment import align, aligned_errors
from handbench.hand.skeleton import JOINT_INDEX, JOINTS
from handbench.reports import chain, confidence, consistency, difficulty
from handbench.runs.answering import task_of
from tests import scripted


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Likelihoods told in words, by a confident scripted answerer and a reversed one, with a blank image besides."""
    root = tmp_path_factory.mktemp("sections")
    made = api.ask("handvqa?answer=likelihoods&controls=blank", "synth:hands?n=14&seed=8", root / "r", workers=1)
    name = scripted.write(made.table("questions"), scripted.reversed_confidence, root / "replies.parquet")
    api.answer(made, [name, "prior"], workers=1)
    return api.score(made)


def test_report_tells_of_confidence_controls_and_difficulty(run):
    page = api.report(run, workers=1).read_text()
    assert "reversed_confidence&#39;s confidence is reversed" in page
    assert "told in words" in page
    assert 'id="controls"' in page
    assert 'id="difficulty"' in page
    assert "reversed_confidence, blank image" in page
    assert "published: LLaVA Mistral 7B, easy subset (225 QA)" in page
    assert 'id="chain"' not in page  # there is no pose estimator in this run


def test_likelihoods_are_read_into_the_table(run):
    readings = run.table("readings").filter(pl.col("model").cast(pl.String) == "reversed_confidence")
    answers = run.table("answers").filter(pl.col("model").cast(pl.String) == "reversed_confidence")
    both = answers.join(readings, on=["question_id", "variant"])
    for row in both.head(50).iter_rows(named=True):
        told = list(json.loads(row["reply"]).values())
        assert row["likelihoods"] == pytest.approx(np.array(told) / sum(told), abs=1e-6)
        assert row["choice"] == int(np.argmax(told))


def test_a_model_that_answers_a_blank_image_as_well_is_told(run):
    said = consistency.of_model(run.scores, "reversed_confidence")
    assert said is not None
    assert [line.name for line in said.lines] == ["a grey image of the same size: what is answered unseen"]


def test_confidence_is_that_of_the_likelihoods(run):
    questions = run.table("questions").select("question_id", "variant", "cluster", "truth_index")
    rows = run.table("readings").join(questions, on=["question_id", "variant"])
    rows = rows.filter(pl.col("model").cast(pl.String) == "reversed_confidence")
    told = confidence.of_model(rows)
    assert told is not None
    best = [max(shares) for shares in rows["likelihoods"].to_list()]
    assert told.mean == pytest.approx(np.mean(best), abs=1e-6)
    assert told.without == 0
    assert dict(told.numbers)["AUROC of right against wrong"].high < 0.05
    assert confidence.of_model(rows.head(5)) is None


def test_alignment_undoes_place_turn_and_size():
    generator = np.random.default_rng(0)
    true = generator.normal(size=(6, 21, 3))
    turns = Rotation.random(6, rng=generator).as_matrix()
    moved = 2.5 * np.einsum("nij,nkj->nki", turns, true) + generator.normal(size=(6, 1, 3))
    assert aligned_errors(moved, true).max() < 1e-9
    noisy = moved + generator.normal(0, 0.3, moved.shape)
    for one, wanted, found in zip(noisy, true, align(noisy, true), strict=True):
        from_, to = one - one.mean(0), wanted - wanted.mean(0)
        turn = Rotation.align_vectors(to, from_)[0].as_matrix()
        turned = from_ @ turn.T
        scale = (turned * to).sum() / (turned**2).sum()
        assert found == pytest.approx(scale * turned + wanted.mean(0))
    mirrored = true * [-1, 1, 1]
    assert aligned_errors(mirrored, true).mean() > 0.1  # a left hand is no right hand
    true[0, 3] = np.nan
    assert np.isnan(align(moved, true)[0]).all()


def pose_rows(hands: pl.DataFrame, shift_px: float = 0.0, shift_tip: float = 0.0) -> pl.DataFrame:
    """Poses that are the truth, with pixels and one fingertip moved."""
    pixels = hands["joints_px"].to_numpy().reshape(-1, 21, 2) + np.array([shift_px, 0])
    joints = hands["joints_cam"].to_numpy().reshape(-1, 21, 3).copy()
    joints[:, JOINT_INDEX["index_tip"], 2] += shift_tip
    schema = {"keypoints_px": hands.schema["joints_px"], "keypoints_cam": hands.schema["joints_cam"]}
    return pl.DataFrame(
        {
            "estimator": "made",
            "stage": "raw",
            "image": hands["image"],
            "hand": [0] * hands.height,
            "side": hands["side"].cast(pl.String),
            "score": [1.0] * hands.height,
            "keypoints_px": pixels.tolist(),
            "keypoints_cam": joints.tolist(),
            "center": [None] * hands.height,
            "extent": [None] * hands.height,
        },
        schema_overrides={**schema, "center": hands.schema["center"], "extent": hands.schema["extent"]},
    )


def test_chain_follows_an_error_through(run):
    questions, hands = run.table("questions"), run.table("hands")
    main_questions = questions.filter(~pl.col("variant").cast(pl.String).str.contains("control="))
    task, options = task_of(run.manifest)

    def made(**moved):
        poses = pose_rows(hands, **moved)
        answers = task.answer_from_poses(main_questions, poses, hands, "pose:made", options)
        readings = task.read(main_questions, answers)
        found = chain.of_model("pose:made", hands, poses, main_questions, readings, options)
        assert found is not None
        return {step.name: step for step in found.steps}, readings

    exact, readings = made()
    assert exact["PCK@0.1"].whole.value == 100
    assert exact["Aligned error"].whole.value == pytest.approx(0, abs=1e-6)
    assert exact["Bend angle error"].whole.value == pytest.approx(0, abs=1e-6)
    assert exact["Answers right"].whole.value == pytest.approx(100 * readings["correct"].mean())
    moved, after = made(shift_px=1000.0, shift_tip=0.05)
    assert moved["PCK@0.1"].whole.value == 0
    errors = [cell.value for cell in moved["Aligned error"].joints]
    assert JOINTS[int(np.argmax(errors))] == "index_tip"
    angles = {joint: cell.value for joint, cell in zip(JOINTS, moved["Bend angle error"].joints, strict=True)}
    known = {joint: value for joint, value in angles.items() if value is not None}
    assert max(known, key=known.get) == "index_dip"  # the joint whose outer bone is moved
    assert known["thumb_mcp"] == pytest.approx(0, abs=1e-6)
    assert after["correct"].mean() <= readings["correct"].mean()


def test_difficulty_rules_by_hand():
    joints = np.zeros((3, 21, 3))
    joints[:, :, 2] = 0.5
    joints[:, JOINT_INDEX["index_mcp"]] = [0.05, 0.1, 0.5]
    joints[:, JOINT_INDEX["little_mcp"]] = [-0.05, 0.1, 0.5]
    joints[1, JOINT_INDEX["index_mcp"]] = [0, 0.1, 0.55]
    joints[1, JOINT_INDEX["little_mcp"]] = [0, 0.1, 0.45]  # the palm seen from its edge
    pixels = np.zeros((3, 21, 2))
    pixels[:, 1] = [[10, 10], [100, 100], [100, 100]]
    seen = [[True] * 21 for _ in range(3)]
    seen[2][JOINT_INDEX["thumb_tip"]] = False
    hands = pl.DataFrame(
        {
            "hand_id": ["a", "b", "c"],
            "joints_cam": pl.Series(joints.tolist(), dtype=pl.Array(pl.Float64, (21, 3))),
            "joints_px": pl.Series(pixels.tolist(), dtype=pl.Array(pl.Float64, (21, 2))),
            "visible": pl.Series(seen, dtype=pl.Array(pl.Boolean, 21)),
            "occluded": pl.Series([None] * 3, dtype=pl.Array(pl.Boolean, 21)),
        }
    )
    questions = pl.DataFrame(
        {
            "question_id": ["1", "2", "3", "4"],
            "variant": ["v"] * 4,
            "hand_id": ["a", "b", "c", "c"],
            "about_descriptor": ["x", "x", "x", "angle"],
            "about_joint_a": ["thumb_tip", "thumb_tip", "thumb_tip", "index_pip"],
            "about_joint_b": ["index_tip", "index_tip", "index_tip", None],
            "truth_margin": [0.01, 0.5, 0.6, 3.0],
        }
    )
    found = difficulty.factors(questions, hands)
    assert found["hidden"].to_list() == [False, False, True, False]
    assert found["edge"].to_list() == [False, True, False, False]
    assert found["small"].to_list() == [True, False, False, False]
    assert found["near"].to_list()[:3] == [True, False, False]
