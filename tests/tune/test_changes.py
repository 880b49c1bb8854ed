"""Before and after, tried on answerers whose scores are known without a model."""

from __future__ import annotations

import polars as pl
import pytest

from handbench import api, tuning
from handbench.reports import tuning_figures

TASK, DATA = "handvqa?per_descriptor=2", "synth:hands?n=12&size=32&supersample=1"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return api.run(TASK, DATA, ["chance", "oracle", "prior"], tmp_path_factory.mktemp("run") / "r", workers=1)


def test_what_changed_is_what_the_readings_say(run):
    rows = {row["descriptor"]: row for row in tuning.compare(run, "chance", "oracle", tuning.Test(TASK, DATA))}
    assert set(rows) == {"angle", "distance", "x", "y", "z"}
    asked = run.table("questions").select("question_id", "variant", "about_descriptor")
    right = (
        run.table("readings")
        .join(asked, on=["question_id", "variant"])
        .with_columns(pl.col(pl.Categorical).cast(pl.String))
        .group_by("model", "about_descriptor")
        .agg(pl.col("correct").mean(), pl.len())
    )
    known = {(model, name): (value, n) for model, name, value, n in right.iter_rows()}
    for name, row in rows.items():
        assert row["before"] == pytest.approx(known["chance", name][0])
        assert row["after"] == 1.0
        assert row["prior"] == pytest.approx(known["prior", name][0])
        assert row["n"] == known["oracle", name][1]
        assert row["lost"] == 0
        assert row["won"] == round(row["n"] * (1 - row["before"]))
        assert row["above"] == pytest.approx(1 - row["prior"])
        assert row["above_low"] <= row["above"] <= row["above_high"]


def test_where_the_commonest_answer_was_not_asked_nothing_is_said_of_it(tmp_path):
    run = api.run(TASK, DATA, ["chance", "oracle"], tmp_path / "r", workers=1)
    rows = tuning.compare(run, "chance", "oracle", tuning.Test(TASK, DATA))
    assert {row["prior"] for row in rows} == {row["above"] for row in rows} == {None}
    assert tuning_figures.arrows(rows).startswith("<svg")


def test_the_arrows_say_which_way(run):
    test = tuning.Test(TASK, DATA)
    better, worse = tuning.compare(run, "chance", "oracle", test), tuning.compare(run, "oracle", "chance", test)
    drawn = [tuning_figures.arrows(rows) for rows in (better, worse)]
    for text, colour in zip(drawn, (tuning_figures.AFTER, tuning_figures.WORSE), strict=True):
        others = {tuning_figures.AFTER, tuning_figures.WORSE} - {colour}
        assert text.count(f"stroke: {colour}; stroke-opacity: 0.55") == len(better)
        assert all(f"stroke: {other}; stroke-opacity: 0.55" not in text for other in others)
        assert "Left / right (X)" in text
        assert "commonest answer" in text


def test_rendered_hands_are_tested_on_others_where_nothing_is_said():
    data = "synth:hands?view=first_person&n=3000&seed=2"
    assert tuning.default_tests(TASK, data) == [tuning.Test(TASK, "synth:hands?n=100&seed=2&view=first_person", "test")]
    assert tuning.default_tests(TASK, "freihand:/somewhere") == []
    assert tuning.default_tests("interactions", "synth:clips") == []
