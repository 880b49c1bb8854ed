from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from PIL import Image

from handbench import api, tables
from handbench.errors import HandbenchError
from handbench.tasks import one_right
from handbench.tasks.gestures import questions
from handbench.tasks.gestures.options import GestureOptions, load

# HandVQA, Table 14, and what HaGRIDv2 has besides.
TABLE_14 = [
    "one", "two_up", "two_up_inverted", "three", "four",
    "fist", "palm", "ok", "peace", "peace_inverted",
    "rock", "hand_heart", "like", "dislike", "stop",
    "stop_inverted", "point", "grabbing", "grip", "call",
    "timeout", "no_gesture", "holy", "little_finger", "middle_finger",
    "mute", "take_picture", "three_gun", "thumb_index", "thumb_index2",
    "xsign",
]  # fmt: skip
V2 = ["hand_heart2", "three2", "three3"]


def rows(gestures: list[str], users: list[str] | None = None, dataset: str = "hagrid") -> pl.DataFrame:
    count = len(gestures)
    return tables.conform(
        pl.DataFrame(
            {
                "gesture_id": [f"{dataset}/test/{n:05d}" for n in range(count)],
                "image": [f"{n}.jpg" for n in range(count)],
                "dataset": [dataset] * count,
                "split": ["test"] * count,
                "gesture": gestures,
                "cluster": users or [f"u{n}" for n in range(count)],
            }
        ),
        "gestures",
    )


def test_every_label_has_two_descriptions():
    known = load("")
    assert sorted(known) == sorted(TABLE_14 + V2)
    texts = [text for description in known.values() for text in (description.shape, description.meaning)]
    assert len(set(texts)) == 2 * len(known)


def test_one_is_right_and_look_alikes_never_stand_against_each_other():
    asked, skipped = questions.ask(rows(TABLE_14 * 40), GestureOptions())
    known = load("")
    assert not skipped
    for row in asked.iter_rows(named=True):
        labels, right = row["option_labels"], row["about_gesture"]
        assert labels[row["truth_index"]] == right == row["truth_category"]
        assert len(set(labels)) == 4
        kind = row["factor_description"]
        assert row["options"] == [getattr(known[label], kind) for label in labels]
        assert all(known[label].group != known[right].group for label in labels if label != right)


def test_places_and_rivals_are_drawn_evenly():
    asked, _ = questions.ask(rows(["fist"] * 4000), GestureOptions())
    places = asked["truth_index"].value_counts()["count"].to_numpy()
    assert abs(places / 4000 - 0.25).max() < 0.03
    others = (
        asked["option_labels"]
        .cast(pl.List(pl.String))
        .explode()
        .value_counts()
        .filter(pl.col("option_labels") != "fist")
    )
    expected = 4000 * 3 / (len(TABLE_14 + V2) - 1)
    assert others.height == len(TABLE_14 + V2) - 1
    assert abs(others["count"].to_numpy() / expected - 1).max() < 0.25


def test_a_question_does_not_depend_on_its_neighbours():
    table = rows(TABLE_14 * 2)
    whole = questions.ask(table, GestureOptions(seed=3))[0]
    part = questions.ask(table[20:30], GestureOptions(seed=3))[0]
    same = whole.filter(pl.col("question_id").is_in(part["question_id"].implode()))
    assert (
        same.select("question_id", "prompt")
        .sort("question_id")
        .equals(part.select("question_id", "prompt").sort("question_id"))
    )
    other = questions.ask(table[20:30], GestureOptions(seed=4))[0]
    assert other["prompt"].to_list() != part["prompt"].to_list()


def test_an_unknown_label_is_counted():
    asked, skipped = questions.ask(rows(["fist", "juggling"]), GestureOptions())
    assert asked.height == 1
    assert skipped == {"no option for juggling": 1}


def test_a_score_is_the_share_of_right_answers_with_an_interval_by_user():
    asked, _ = questions.ask(rows(["fist"] * 40, [f"u{n // 10}" for n in range(40)]), GestureOptions())
    right = np.array([True] * 10 + [False] * 30)  # all of one user's are right
    reply = [
        f"{'ABCD'[(index if ok else (index + 1) % 4)]}" for index, ok in zip(asked["truth_index"], right, strict=True)
    ]
    answers = tables.conform(
        asked.select("question_id", "variant").with_columns(
            pl.lit("m").alias("model"), pl.lit(0).alias("repeat"), pl.lit(0).alias("turn"), pl.Series("reply", reply),
            pl.lit("stop").alias("finish"),
        ),
        "answers",
    )  # fmt: skip
    scores = one_right.score(asked, one_right.read(asked, answers), "gestures")
    row = scores.filter(pl.col("slice") == "all", pl.col("metric") == "accuracy").row(0, named=True)
    assert (row["value"], row["n"], row["clusters"]) == (0.25, 40, 4)
    assert row["low"] == 0.0
    assert row["high"] >= 0.75  # four users, one of them right: far wider than forty questions would say


def test_rendered_gestures_end_to_end(tmp_path):
    made = api.run(
        "gestures", "synth:gestures?n=5&size=48&supersample=1", ["chance", "prior", "oracle"], tmp_path, workers=1
    )
    whole = made.scores.filter(pl.col("slice") == "all", pl.col("metric") == "accuracy")
    assert dict(whole.select(pl.col("model").cast(pl.String), "value").iter_rows())["oracle"] == 1.0
    assert set(made.table("questions")["option_labels"].cast(pl.List(pl.String)).explode()) == {
        "stop", "fist", "call", "point", "mute", "like"
    }  # fmt: skip
    page = made.report.read_text()
    assert "Differences" in page
    assert "30" in page


def test_a_bad_file_of_descriptions_is_named(tmp_path):
    path = tmp_path / "d.toml"
    path.write_text('[fist]\ngroup = "a"\nshape = "b"\n')
    with pytest.raises(HandbenchError, match=r"\[fist\]: expected the texts group, shape, meaning"):
        load(str(path))


def test_hagrid_end_to_end_with_every_class_and_a_sample_of_all(tmp_path):
    """The owner's layout: a file of annotations and a folder of images for each class."""
    place = tmp_path / "data" / "annotations" / "test"
    place.mkdir(parents=True)
    for label in TABLE_14:
        (tmp_path / "data" / label).mkdir()
        entries = {}
        for number in range(3):
            Image.new("RGB", (24, 24), (number * 60, 90, 120)).save(tmp_path / "data" / label / f"{label}-{number}.jpg")
            entries[f"{label}-{number}"] = {"labels": [label], "user_id": f"u{number}", "bboxes": []}
        (place / f"{label}.json").write_text(json.dumps(entries))
    spec = f"hagrid:{tmp_path / 'data'}?gestures=all&total=60"
    made = api.run("gestures", spec, ["chance", "prior", "oracle"], tmp_path / "run", workers=1)
    asked = made.table("questions")
    assert asked.height == 60
    assert set(asked["about_gesture"]) <= set(TABLE_14)
    row = made.scores.filter(pl.col("slice") == "all", pl.col("metric") == "accuracy", pl.col("model") == "oracle")
    assert row.select("value", "n", "clusters").row(0) == (1.0, 60, 3)  # three people
    again = api.ask("gestures", spec, tmp_path / "again", workers=1).table("questions")
    assert again["question_id"].to_list() == asked["question_id"].to_list()
    with pytest.raises(HandbenchError, match="93 images of these gestures, 94 wanted"):
        api.ask("gestures", f"hagrid:{tmp_path / 'data'}?gestures=all&total=94", tmp_path / "more", workers=1)
