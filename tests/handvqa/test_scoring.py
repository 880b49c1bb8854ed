from __future__ import annotations

import polars as pl
import pytest
from sklearn.metrics import accuracy_score, f1_score

from handbench import tables
from handbench.errors import HandbenchError
from handbench.models.baselines import Chance, Oracle, Prior
from handbench.models.replies import Replies
from handbench.tasks.handvqa import questions, reading, scoring
from handbench.tasks.handvqa.options import HandVQAOptions
from tests.handvqa.conftest import random_hands


@pytest.fixture(scope="module")
def asked() -> pl.DataFrame:
    return tables.conform(questions.ask(random_hands(120), HandVQAOptions())[0], "questions")


def answers(model, asked: pl.DataFrame) -> pl.DataFrame:
    return tables.concat(tables.conform(part, "answers") for part in model.answer(asked))


def value(scores: pl.DataFrame, metric: str, descriptor: str, part: str = "all", name: str = "all") -> float:
    row = scores.filter(metric=metric, descriptor=descriptor, slice=part, slice_value=name)
    assert row.height == 1
    return row["value"].item()


def test_the_oracle_is_right_everywhere(asked):
    readings = reading.read(asked, answers(Oracle("oracle"), asked))
    scores = scoring.score(asked, readings, resamples=200)
    for metric in ("accuracy", "accuracy_answered", "answer_rate", "macro_f1"):
        assert scores.filter(metric=metric)["value"].min() == 1.0
    assert scores.filter(pl.col("metric").cast(pl.String).str.starts_with("mae"))["value"].max() == 0.0


def test_chance_is_within_its_interval(asked):
    readings = reading.read(asked, answers(Chance("chance", 0), asked))
    scores = scoring.score(asked, readings, resamples=2000, sliced=False)
    for descriptor, chance in {"angle": 1 / 4, "distance": 1 / 3, "x": 1 / 2, "y": 1 / 2, "z": 1 / 2}.items():
        row = scores.filter(metric="accuracy", descriptor=descriptor)
        assert row["low"].item() < chance < row["high"].item()


def test_chance_does_not_depend_on_company(asked):
    whole = answers(Chance("chance", 0), asked)
    part = answers(Chance("chance", 0), asked[100:200])
    assert part["reply"].equals(whole["reply"][100:200])
    assert not answers(Chance("chance", 1), asked)["reply"].equals(whole["reply"])


def test_the_prior_is_the_best_constant(asked):
    model = Prior("prior", "")
    model.prepare(asked)
    readings = reading.read(asked, answers(model, asked))
    scores = scoring.score(asked, readings, resamples=100, sliced=False)
    for (descriptor,), part in asked.group_by("about_descriptor"):
        share = part["truth_category"].value_counts()["count"].max() / part.height
        assert value(scores, "accuracy", str(descriptor)) == pytest.approx(share)


def test_a_prior_from_another_table(asked, tmp_path):
    only_angles = asked.filter(pl.col("about_descriptor").cast(pl.String) == "angle")
    path = tables.write(only_angles, tmp_path / "questions.parquet", "questions")
    model = Prior("prior", str(path))
    model.prepare(asked)
    assert answers(model, only_angles).height == only_angles.height
    with pytest.raises(HandbenchError, match="has no question about distance"):
        answers(model, asked)


def test_scores_equal_scikit_learn_in_every_slice(asked):
    said = answers(Chance("chance", 3), asked).with_columns(
        reply=pl.when(pl.int_range(pl.len()) % 7 == 0).then(pl.lit("I cannot tell.")).otherwise("reply")
    )
    readings = reading.read(asked, said)
    assert (readings["status"].cast(pl.String) == "refused").sum() == -(-asked.height // 7)
    scores = scoring.score(asked, readings, resamples=50)
    rows = asked.hstack(readings.select("chosen_rank", "status")).with_columns(pl.col("chosen_rank").fill_null(-1))
    angle = rows.filter(pl.col("about_descriptor").cast(pl.String) == "angle")
    checks = {
        ("angle", "all", "all"): angle,
        ("angle", "joint", "index_pip"): angle.filter(pl.col("about_joint_a").cast(pl.String) == "index_pip"),
        ("angle", "side", "left"): angle.filter(pl.col("about_side").cast(pl.String) == "left"),
        ("angle", "factor_view", "palm"): angle.filter(factor_view="palm"),
        ("x", "pair", "thumb_tip-index_tip"): rows.filter(
            pl.col("about_descriptor").cast(pl.String) == "x",
            pl.col("about_joint_a").cast(pl.String) == "thumb_tip",
            pl.col("about_joint_b").cast(pl.String) == "index_tip",
        ),
        ("y", "joint", "index_tip"): rows.filter(
            pl.col("about_descriptor").cast(pl.String) == "y",
            (pl.col("about_joint_a").cast(pl.String) == "index_tip")
            | (pl.col("about_joint_b").cast(pl.String) == "index_tip"),
        ),
    }
    for (descriptor, part, name), mine in checks.items():
        truth, chosen = mine["truth_rank"].to_numpy(), mine["chosen_rank"].to_numpy()
        assert value(scores, "accuracy", descriptor, part, name) == pytest.approx(accuracy_score(truth, chosen))
        labels = sorted({*truth, *chosen} - {-1})
        wanted = f1_score(truth, chosen, labels=labels, average="macro", zero_division=0)
        assert value(scores, "macro_f1", descriptor, part, name) == pytest.approx(wanted)
    assert value(scores, "answer_rate", "all") == pytest.approx(1 - (rows["chosen_rank"] < 0).mean())


def test_replies_from_a_file(asked, tmp_path):
    told = asked[:50].select("question_id", reply=pl.lit("A"))
    for name in ("r.parquet", "r.csv", "r.jsonl"):
        path = tmp_path / name
        {"r.parquet": told.write_parquet, "r.csv": told.write_csv, "r.jsonl": told.write_ndjson}[name](path)
        readings = reading.read(asked, answers(Replies("mine", path), asked))
        assert (readings["choice"][:50] == 0).all()
        assert (readings["status"][50:].cast(pl.String) == "empty").all()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("r.txt", "", "expected a file of replies ending in"),
        ("r.csv", "question_id,answer\na,b\n", "column 'reply' is missing"),
        ("r.csv", "question_id,reply\na,b\na,c\n", "rows share a question_id"),
        ("r.csv", "question_id,reply\na,b\n", "no reply fits a question here"),
        ("r.jsonl", "{not json", "cannot be read"),
    ],
)
def test_wrong_reply_files_are_named(asked, tmp_path, name, content, message):
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(HandbenchError, match=message):
        answers(Replies("mine", path), asked)


def test_answers_to_other_questions_are_refused(asked):
    said = answers(Oracle("oracle"), asked)
    with pytest.raises(HandbenchError, match="answers belong to no question here"):
        reading.read(asked[:10], said)


def test_answers_in_any_order_read_the_same(asked):
    said = answers(Chance("chance", 0), asked)
    shuffled = said.sample(fraction=1, shuffle=True, seed=2)
    first = reading.read(asked, said).sort("question_id")
    assert reading.read(asked, shuffled).sort("question_id").equals(first)
