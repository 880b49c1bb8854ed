from __future__ import annotations

import polars as pl
import pytest
from PIL import Image

from handbench import api, protocols, tables
from handbench.errors import HandbenchError
from handbench.protocols import Source
from handbench.tasks.interactions import questions
from handbench.tasks.interactions.options import InteractionOptions, load

H2O = load("")["h2o"]


def clips(actions: list[str | None], dataset: str = "h2o", frames: int = 10) -> pl.DataFrame:
    return tables.conform(
        pl.DataFrame(
            {
                "clip_id": [f"{dataset}/test/{n:03d}" for n in range(len(actions))],
                "images": [[f"{n}/{frame:06d}.png" for frame in range(frames)] for n in range(len(actions))],
                "dataset": [dataset] * len(actions),
                "split": ["test"] * len(actions),
                "action": actions,
                "cluster": [f"c{n}" for n in range(len(actions))],
            },
            schema_overrides={"action": pl.String},
        ),
        "clips",
    )


def test_four_frames_in_the_order_of_time_one_from_each_quarter():
    asked, _ = questions.ask(clips(["grab book"]), InteractionOptions())
    assert asked["images"][0].to_list() == ["0/000001.png", "0/000003.png", "0/000006.png", "0/000008.png"]
    assert "4 images are frames of one video" in asked["prompt"][0]


def test_a_short_clip_gives_all_its_frames():
    asked, _ = questions.ask(clips(["grab book"], frames=2), InteractionOptions())
    assert asked["images"][0].to_list() == ["0/000000.png", "0/000001.png"]
    assert "2 images" in asked["prompt"][0]


def test_h2o_has_thirty_six_actions_and_any_may_be_asked():
    assert len(H2O.names) == 36
    asked, skipped = questions.ask(clips([*H2O.names, None, "juggle"]), InteractionOptions())
    assert asked.height == 36
    assert skipped == {"no action told": 1, "an action that is not listed": 1}
    for row in asked.iter_rows(named=True):
        assert row["option_labels"][row["truth_index"]] == row["truth_category"]
        assert len(set(row["options"])) == 4


def test_actions_that_mean_the_same_never_stand_against_each_other():
    asked, _ = questions.ask(clips(["spray spray"] * 500), InteractionOptions())
    assert "apply spray" not in set(asked["option_labels"].cast(pl.List(pl.String)).explode())


def test_a_dataset_with_too_few_actions_is_refused():
    with pytest.raises(HandbenchError, match="labels that could be wrong options"):
        questions.ask(clips(["wave", "clap"], dataset="mine"), InteractionOptions())


def test_multi_image_prompts_go_the_whole_way(tmp_path, monkeypatch):
    table = clips(["grab book", "read book", "pour milk", "open chips"])
    for image in table["images"].explode():
        (tmp_path / image).parent.mkdir(exist_ok=True)
        Image.new("RGB", (8, 8), (20, 60, 90)).save(tmp_path / image)
    frames = tables.conform(
        table.explode("images").select(
            pl.col("images").alias("image"), "dataset", "split", pl.lit(8).alias("width"), pl.lit(8).alias("height"),
            pl.lit(False).alias("annotated"),
        ),
        "frames",
    )  # fmt: skip
    source = Source("h2o", frames, tables.empty("hands"), tmp_path, clips=table)
    monkeypatch.setitem(protocols.rooms._found["datasets"], "clipped", lambda spec, context: source)
    made = api.run("interactions", "clipped:x", ["chance", "prior", "oracle"], tmp_path / "run", workers=1)
    assert made.manifest["questions"]["images"] == 40
    whole = made.scores.filter(pl.col("slice") == "all", pl.col("metric") == "accuracy")
    found = {row["model"]: row for row in whole.iter_rows(named=True)}
    assert found["oracle"]["value"] == 1.0
    assert found["oracle"]["clusters"] == 4
    assert made.report.read_text().count("data:image/jpeg") == 16


def test_h2o_end_to_end(tmp_path):
    """The owner's layout: poses, images, a camera, and the list of actions."""
    view = tmp_path / "data" / "subject4" / "h1" / "0" / "cam4"
    (view / "hand_pose").mkdir(parents=True)
    (view / "rgb").mkdir()
    (view / "cam_intrinsics.txt").write_text("30 30 16 12 32 24")
    for frame in range(24):
        (view / "hand_pose" / f"{frame:06d}.txt").write_text(" ".join(["0"] * 128))
        Image.new("RGB", (32, 24), (frame * 9, 80, 90)).save(view / "rgb" / f"{frame:06d}.png")
    lists = tmp_path / "data" / "action_labels"
    lists.mkdir()
    rows = [f"{n + 1} subject4/h1/0 {action} {n * 6} {n * 6 + 5} 0 23" for n, action in enumerate((1, 16, 23, 33))]
    heading = "id path action_label start_act end_act start_frame end_frame"
    (lists / "action_test.txt").write_text("\n".join([heading, *rows]) + "\n")
    made = api.run(
        "interactions?answer=letter", f"h2o:{tmp_path / 'data'}", ["chance", "prior", "oracle"], tmp_path / "run",
        workers=1, force=True,
    )  # fmt: skip
    asked = made.table("questions")
    assert asked["truth_category"].to_list() == ["grab book", "place cappuccino", "pour milk", "read book"]
    assert asked["images"].list.len().to_list() == [4] * 4
    whole = made.scores.filter(pl.col("slice") == "all", pl.col("metric") == "accuracy", pl.col("model") == "oracle")
    assert whole.select("value", "n", "clusters").row(0) == (1.0, 4, 4)


def test_rendered_clips_end_to_end(tmp_path):
    made = api.run(
        "interactions?frames=2", "synth:clips?n=2&frames=60&size=64", ["prior", "oracle"], tmp_path, workers=1
    )
    asked = made.table("questions")
    assert set(asked["truth_category"]) <= set(load("")["synth-clips"].names)
    whole = made.scores.filter(pl.col("slice") == "all", pl.col("metric") == "accuracy", pl.col("model") == "oracle")
    assert whole.select("value", "n").row(0) == (1.0, asked.height)
