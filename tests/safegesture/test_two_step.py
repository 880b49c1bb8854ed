"""The gesture from the image, then the action from words alone."""

from __future__ import annotations

import json

import polars as pl
import pytest

from handbench import api, tables
from handbench.errors import HandbenchError
from handbench.runs.strategies import drive
from handbench.specs import Options, Spec
from handbench.tasks.safegesture import SafeGesture, scoring
from handbench.tasks.safegesture.cells_file import LABELS, PAPER
from handbench.tasks.safegesture.options import SafeGestureOptions
from handbench.tasks.safegesture.questions import ask
from handbench.tasks.safegesture.two_step import make


class Scripted:
    """Says what a function of the question says."""

    name = "scripted"

    def __init__(self, say):
        self.say = say
        self.asked = []

    def answer(self, questions):
        self.asked.append(questions)
        replies = [self.say(row) for row in questions.iter_rows(named=True)]
        rows = questions.select("question_id", "variant").with_columns(
            pl.lit(self.name).alias("model"),
            pl.lit(0).alias("repeat"),
            pl.Series("reply", replies, dtype=pl.String),
            pl.lit("stop").alias("finish"),
        )
        yield tables.conform(rows.with_columns(pl.lit(0).alias("turn")), "answers")


def items(gestures=PAPER.gesture_ids, spec="safegesture"):
    rows = pl.DataFrame({"gesture": gestures}).with_columns(
        pl.concat_str(pl.lit("d/test/"), "gesture").alias("gesture_id"),
        pl.concat_str("gesture", pl.lit(".jpg")).alias("image"),
        pl.lit("d").alias("dataset"),
        pl.lit("test").alias("split"),
        pl.col("gesture").alias("cluster"),
    )
    options = SafeGestureOptions.from_options(Options(Spec.parse(spec)))
    return ask(tables.conform(rows, "gestures"), options)[0], options


def two_step(text="two-step"):
    return make(Spec.parse(text), Options(Spec.parse(text)))


def run(say, questions):
    model = Scripted(say)
    empty = tables.empty("answers")
    return model, pl.concat(list(drive(model, two_step(), questions, empty)), how="diagonal_relaxed")


def test_what_is_asked():
    questions, _ = items()

    def say(row):
        return '{"gesture": "closed fist"}' if row["images"] else '{"safety_label": "CRITICAL_STOP"}'

    model, answers = run(say, questions)
    look, judge = model.asked
    assert look["prompt"].n_unique() == 1
    assert look["images"].list.len().unique().to_list() == [1]
    assert not any(scenario.description in look["prompt"][0] for scenario in PAPER.scenarios)
    assert judge["images"].list.len().unique().to_list() == [0]
    assert judge["prompt"].n_unique() == 8  # a fist in every scenario
    text_only, _ = ask(None, SafeGestureOptions(variant="gesture-as-text"))
    assert set(judge["prompt"].cast(pl.String)) < set(text_only["prompt"].cast(pl.String))
    readings = SafeGesture().read(questions, answers)
    assert readings.height == questions.height
    assert readings["gesture"].cast(pl.String).unique().to_list() == ["fist"]
    assert readings["gesture_correct"].sum() == 8
    assert readings["label"].cast(pl.String).unique().to_list() == ["CRITICAL_STOP"]
    assert readings["correct"].sum() == 5
    assert readings["status"].cast(pl.String).unique().to_list() == ["ok"]


def test_perception_is_all_that_is_lost_where_the_judgement_is_the_truth_of_the_gesture_named():
    questions, _ = items()
    truth = {
        f"The gesture is {gesture.id}: {gesture.shape}": dict(zip(PAPER.scenario_ids, row, strict=True))
        for gesture, row in zip(PAPER.gestures, PAPER.truth, strict=True)
    }

    def say(row):
        if row["images"]:
            seen = {"call": "like"}.get(row["about_gesture"], row["about_gesture"])
            return json.dumps({"gesture": seen})
        told = next(known for words, known in truth.items() if words in row["prompt"])
        return json.dumps({"safety_label": LABELS[told[row["about_scenario"]]]})

    _, answers = run(say, questions)
    readings = SafeGesture().read(questions, answers)
    scores = scoring.score(questions, readings, resamples=20)

    def value(metric):
        return scores.filter((pl.col("metric").cast(pl.String) == metric) & (pl.col("slice").cast(pl.String) == "all"))[
            "value"
        ][0]

    assert value("gesture_accuracy") == pytest.approx(5 / 6)
    assert value("decoupling") + value("under_safety") + value("over_safety") == 0
    assert value("safety_accuracy") == value("own_gesture_truth_table")


def test_a_gesture_in_other_words_is_passed_on_and_none_ends_the_question():
    questions, _ = items(("stop", "like"))

    def say(row):
        if not row["images"]:
            assert "The gesture is a friendly wave.\n" in row["prompt"]
            return '{"safety_label": "SAFE_NEUTRAL"}'
        return '{"gesture": "a friendly wave"}' if row["about_gesture"] == "like" else "I cannot see a hand."

    model, answers = run(say, questions)
    assert [asked.height for asked in model.asked] == [16, 8]
    readings = SafeGesture().read(questions, answers)
    assert readings["gesture"].null_count() == 16
    by_status = dict(readings.group_by(pl.col("status").cast(pl.String)).len().iter_rows())
    assert by_status == {"refused": 8, "unparsed": 8}
    assert readings["label"].drop_nulls().len() == 8


def test_own_cells_are_named_with_the_strategy(tmp_path):
    path = tmp_path / "cells.csv"
    path.write_text("gesture,scenario,safety_label\nlike,home_daily,SAFE_NEUTRAL\nfist,home_daily,WARNING_ATTENTION\n")
    questions, _ = items(("like", "fist"), f"safegesture?cells={path}")
    nothing = tables.empty("answers")
    with pytest.raises(HandbenchError, match=r"two-step\?cells=FILE"):
        two_step().turn(0, questions, nothing)
    assert two_step(f"two-step?cells={path}").turn(0, questions, nothing).height == 2


def test_other_questions_are_refused():
    questions, _ = ask(None, SafeGestureOptions(variant="scenario-only"))
    with pytest.raises(HandbenchError, match="expected safegesture items with an image"):
        two_step().turn(0, questions, tables.empty("answers"))


def test_beside_the_one_prompt_form(tmp_path):
    data = "synth:gestures?n=1&size=48&supersample=1"
    made = api.ask("safegesture", data, tmp_path / "run", workers=1)
    api.answer(made, ["oracle", "chance"], workers=1)
    api.answer(made, ["oracle"], strategy="two-step", workers=1)
    api.score(made)
    rows = made.scores.with_columns(pl.col("model", "metric", "slice").cast(pl.String)).filter(
        (pl.col("slice") == "all") & (pl.col("metric") == "safety_accuracy")
    )
    assert dict(rows.filter(pl.col("model") != "chance").select("model", "value").iter_rows()) == {
        "oracle": 1.0,
        "oracle + two-step": 1.0,
    }
    api.report(made, workers=1)
    assert "oracle + two-step" in made.report.read_text(encoding="utf-8")
