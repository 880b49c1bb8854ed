from __future__ import annotations

import dataclasses
from dataclasses import replace

import polars as pl
import pytest

from handbench import tables
from handbench.errors import HandbenchError
from handbench.protocols import ReadContext
from handbench.specs import Spec
from handbench.synth.hands import read
from handbench.tasks.handvqa.options import HandVQAOptions
from handbench.tasks.handvqa.questions import ask
from handbench.tune.choosing import category_weights, choose, shares
from handbench.tune.settings import TINY, Settings


@pytest.fixture(scope="module")
def questions() -> pl.DataFrame:
    hands = read(Spec.parse("synth:hands?n=60&size=32"), ReadContext(split="train")).hands
    return tables.conform(ask(hands, HandVQAOptions(per_descriptor=None))[0], "questions")


def share_of(frame: pl.DataFrame, category: str) -> float:
    return shares(frame).filter(pl.col("truth_category") == category)["share"].item()


def test_balance_brings_up_what_is_rare(questions):
    settings = Settings(per_image=14)
    plain, balanced = choose(questions, settings), choose(questions, dataclasses.replace(settings, balance=True))
    assert plain.height == balanced.height == 60 * 14
    assert share_of(balanced, "close to") > 3 * share_of(plain, "close to")
    assert share_of(balanced, "spread wide from") < share_of(plain, "spread wide from") - 0.05


def test_weights_make_the_categories_of_a_template_equal():
    table = pl.DataFrame(
        {
            "about_descriptor": ["angle"] * 8,
            "about_joint_a": ["index_pip"] * 8,
            "about_joint_b": [None] * 8,
            "truth_category": ["straight"] * 6 + ["bent inward"] * 2,
        },
        schema_overrides={"about_joint_b": pl.String},
    )
    weights = category_weights(table)
    assert weights[:6].sum() == pytest.approx(weights[6:].sum())
    assert weights.mean() == pytest.approx(1)


def test_emphasis_makes_a_descriptor_likelier(questions):
    settings = Settings(per_image=14, emphasis={"angle": 5.0})
    counts = choose(questions, settings)["about_descriptor"].cast(pl.String).value_counts()
    plain = choose(questions, Settings(per_image=14))["about_descriptor"].cast(pl.String).value_counts()
    of = lambda frame: dict(frame.iter_rows())["angle"]  # noqa: E731
    assert of(counts) > 2 * of(plain)


def test_the_tiny_recipe_asks_for_the_five_descriptors_about_equally_often(questions):
    shares = choose(questions, TINY)["about_descriptor"].cast(pl.String).value_counts(normalize=True)
    assert dict(shares.iter_rows()) == pytest.approx(dict.fromkeys(["angle", "distance", "x", "y", "z"], 0.2), abs=0.05)


def test_a_recipe_may_speak_of_descriptors_that_are_not_asked_about(questions):
    angles = questions.filter(pl.col("about_descriptor").cast(pl.String) == "angle")
    assert choose(angles, TINY).height == choose(angles, replace(TINY, emphasis={})).height > 0


def test_a_choice_depends_on_the_question_and_not_on_the_table(questions):
    settings = Settings(per_image=5)
    some = questions.filter(pl.col("hand_id").is_in(questions["hand_id"].unique().sort()[:10].implode()))
    whole, part = choose(questions, settings), choose(some, settings)
    assert set(part["question_id"]) == set(whole["question_id"]) & set(some["question_id"])
    other = choose(questions, Settings(per_image=5, seed=1))
    assert set(other["question_id"]) != set(whole["question_id"])


def test_what_cannot_be_chosen_is_said(questions):
    with pytest.raises(HandbenchError, match="there is no such descriptor"):
        choose(questions, Settings(per_image=5, emphasis={"angel": 2.0}))
    with pytest.raises(HandbenchError, match="need a number of questions per image"):
        choose(questions, Settings(balance=True))
    with pytest.raises(HandbenchError, match="no question here has a known answer"):
        choose(questions.clear(), Settings())
