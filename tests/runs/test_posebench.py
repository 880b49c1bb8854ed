from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import handbench
from handbench import tables
from handbench.errors import HandbenchError
from handbench.protocols import ReadContext
from handbench.runs import posebench
from handbench.runs.folder import RunFolder

DATA = "synth:clips?n=3&frames=24&size=96"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A prepared run of three short clips, and a file of poses: the truth, disturbed, with a few faults."""
    root = tmp_path_factory.mktemp("pose")
    folder = RunFolder(root / "run")
    posebench.prepare(folder, "handpose", DATA, ReadContext(cache=folder.images))
    rng = np.random.default_rng(0)
    records = []
    for row in folder.read("hands").iter_rows(named=True):
        points = np.array(row["joints_px"]) + rng.normal(0, 1.0, (21, 2))
        scores = np.full((21, 1), 0.9)
        records.append(
            {
                "image": row["image"],
                "side": row["side"],
                "keypoints": np.hstack([points, scores]).tolist(),
                "score": 0.9,
            }
        )
        if row["side"] == "right":
            ghost = np.hstack([points + 0.3, scores - 0.3]).tolist()
            records.append({"image": row["image"], "side": "left", "keypoints": ghost, "score": 0.6})
    records.append({"image": "nowhere.jpg", "side": "left", "keypoints": records[0]["keypoints"]})
    path = root / "good.json"
    path.write_text(json.dumps(records))
    return root, folder, path


def _value(scores, stage, metric, where=("all", "all")):
    row = scores.filter(
        (pl.col("stage").cast(pl.String) == stage)
        & (pl.col("metric").cast(pl.String) == metric)
        & (pl.col("slice").cast(pl.String) == where[0])
        & (pl.col("slice_value") == where[1])
    )
    return row["value"][0]


def test_a_run_from_poses_made_elsewhere_with_cleanup(made):
    _, folder, path = made
    run = handbench.run("handpose", DATA, estimator=f"poses:{path}?name=mine", out=folder.root, cleanup="both")
    scores = run.scores
    assert _value(scores, "raw", "cross_hand_overlap") > 0.3
    assert _value(scores, "both", "cross_hand_overlap") == 0
    # Both hands of a right one's place: precision falls, and comes back.
    assert _value(scores, "raw", "det_f1@iou0.5") < 0.85 < _value(scores, "both", "det_f1@iou0.5")
    matches = run.table("matches")
    truth = run.table("hands").height
    for stage in ("raw", "both"):
        rows = matches.filter(pl.col("stage").cast(pl.String) == stage)
        assert rows.filter(pl.col("hand_id").is_not_null()).height == truth
    manifest = run.manifest
    assert manifest["left_out"]["mine (raw)"]["prediction for a frame that does not exist"] == 1
    assert manifest["cleaned"]["mine (both)"]["on a surer hand of the other label"] > 10
    page = run.report.read_text()
    for part in ("Table 3", "Table 4", "How these numbers were made", "A left and a right hand at one place"):
        assert part in page
    assert ">nan<" not in page


def test_strata_are_told_for_every_hand(made):
    _, folder, _ = made
    hands = folder.read("hands")
    for column in ("factor_blur", "factor_size", "factor_occlusion", "factor_view", "factor_plan"):
        assert hands[column].null_count() == 0, column
    assert set(hands["factor_blur"].cast(pl.String).unique()) <= {"sharp", "mild", "blurry"}


def test_a_second_estimator_joins_and_another_set_is_refused(made):
    root, folder, path = made
    other = root / "other.json"
    other.write_text(path.read_text())
    run = handbench.run(
        "handpose", DATA, estimator=[f"poses:{path}?name=mine", f"poses:{other}?name=other"], out=folder.root
    )
    assert run.scores["model"].cast(pl.String).unique().sort().to_list() == ["mine", "other"]
    page = run.report.read_text()
    assert "How the ranks cross" in page
    with pytest.raises(HandbenchError, match="holds another run: task"):
        handbench.run("handpose?iou=0.3", DATA, estimator=f"poses:{path}?name=mine", out=folder.root)
    with pytest.raises(HandbenchError, match="has the name 'mine' already"):
        handbench.run("handpose", DATA, estimator=f"poses:{other}?name=mine", out=folder.root)


def test_a_real_estimator_follows_hands_through_videos(made, tmp_path):
    _, folder, _ = made
    posebench.pose_all(folder, ["blaze-lite", "blaze-lite?track=no"], ReadContext(workers=1))
    followed = tables.read(folder.poses("blaze-lite"), "poses")
    alone = tables.read(folder.poses("blaze-lite?track=no"), "poses")
    assert followed["image"].n_unique() == alone["image"].n_unique() == 72
    assert folder.manifest()["estimators"]["blaze-lite"]["median_milliseconds"] > 0
    # Hands that are followed are looked for elsewhere than hands that are detected anew.
    found = [table.filter(pl.col("hand") >= 0)["keypoints_px"].to_list() for table in (followed, alone)]
    assert found[0]
    assert found[0] != found[1]


def test_truth_from_a_file_for_data_that_has_none(made, tmp_path):
    from handbench.datasets import annotations

    _, folder, path = made
    frames, hands = folder.read("frames"), folder.read("hands")
    some = frames.filter(pl.col("frame") % 2 == 0)
    truth = annotations.write(tmp_path / "truth.json", some, hands.join(some, on="image", how="semi"))
    run = handbench.run(
        "handpose",
        f"images:{folder.images}",
        estimator=f"poses:{path}?name=mine",
        out=tmp_path / "run",
        truth=str(truth),
    )
    assert run.manifest["set"]["frames"] == 72
    assert run.manifest["set"]["annotated"] == 36
    assert _value(run.scores, "raw", "det_r@iou0.5") > 0.9


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"task": "handpose", "estimator": ()}, "name one with --estimator"),
        ({"task": "handpose", "estimator": "blaze-full", "model": "chance"}, "not --model"),
        ({"task": "handvqa", "estimator": "blaze-full"}, "asks models"),
        ({"task": "handpose?alpha=2", "estimator": "poses:x.json"}, "alpha must lie"),
        ({"task": "handpose", "estimator": "nobody"}, "no estimator is called"),
        ({"task": "handpose", "estimator": "poses:x.json", "cleanup": "all"}, "choose one of"),
    ],
)
def test_wrong_words_are_named(made, tmp_path, arguments, said):
    _, folder, path = made
    if arguments.get("cleanup"):
        arguments = {**arguments, "estimator": f"poses:{path}?name=mine"}
        with pytest.raises(HandbenchError, match=said):
            posebench.score(folder, arguments["cleanup"])
        return
    with pytest.raises(HandbenchError, match=said):
        handbench.run(data=DATA, out=tmp_path / "run", **arguments)


def test_the_same_poses_answer_handvqa(tmp_path):
    """The chain begins here: joints made elsewhere, in 3D, put through the task's own geometry."""
    data = "synth:hands?n=6&size=64"
    ask = handbench.ask("handvqa", data, tmp_path / "run")
    hands = ask.table("hands")
    poses = hands.select(
        pl.lit("truth").alias("estimator"), pl.lit("raw").alias("stage"), "image", pl.lit(0, pl.Int16).alias("hand"),
        pl.col("side"), pl.lit(0.9, pl.Float32).alias("score"), pl.col("joints_px").alias("keypoints_px"),
        pl.col("joints_cam").alias("keypoints_cam"), "center", "extent",
    )  # fmt: skip
    file = tables.write(tables.conform(poses, "poses"), tmp_path / "truth.parquet", "poses")
    run = handbench.run("handvqa", data, f"pose:poses:{file}?name=truth", tmp_path / "run")
    value = run.scores.filter(
        (pl.col("metric").cast(pl.String) == "accuracy") & (pl.col("slice").cast(pl.String) == "all")
        & (pl.col("descriptor").cast(pl.String) == "all")
    )["value"]  # fmt: skip
    assert value.to_list() == [1.0]
