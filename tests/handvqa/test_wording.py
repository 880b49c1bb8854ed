"""Other wordings: the same questions with the same categories, readable in every form of reply."""

from __future__ import annotations

from itertools import product

import numpy as np
import polars as pl
import pytest

from handbench import tables
from handbench.errors import HandbenchError
from handbench.hand.descriptors import PAPER
from handbench.hand.skeleton import JOINTS
from handbench.specs import Options, Spec
from handbench.tasks.handvqa import questions, reading, wording
from handbench.tasks.handvqa.options import HandVQAOptions
from tests.handvqa.conftest import random_hands

ALL = list(product(wording.WORDINGS, range(1, wording.PHRASES + 1)))


def options(text: str) -> HandVQAOptions:
    return HandVQAOptions.from_options(Options(Spec.parse(f"handvqa?{text}")))


def test_default_is_the_papers_own_words():
    default, named = HandVQAOptions(), options("wording=anatomical")
    assert named == default
    asked, _ = questions.ask(random_hands(9), default)
    assert asked["variant"].cast(pl.String).str.contains(r"^paper/joints;anatomical-1;sentence;order=\d+$").all()
    asked = asked.filter(pl.col("item") == "/angle/thumb_ip", pl.col("about_side").cast(pl.String) == "right")
    row = asked.row(0, named=True)
    assert row["prompt"].startswith("Look at the person's right hand in the image. Which one of these sentences is")
    assert row["prompt"].endswith("letter and words, and with nothing else.")
    assert all(" at the interphalangeal joint." in option for option in row["options"])


@pytest.mark.parametrize(
    ("phrasing", "angle", "pair"),
    [
        (("plain", 1), "The index finger is straight at its middle joint.", "The tip of the thumb is above the wrist."),
        (("plain", 2), "The index finger's middle joint is straight.", "The thumb's tip is above the wrist."),
        (
            ("plain", 3),
            "At its middle joint, the index finger is straight.",
            "In the image, the tip of the thumb is above the wrist.",
        ),
        (
            ("anatomical", 2),
            "At the proximal interphalangeal joint, the index finger is straight.",
            "The tip joint of the thumb lies above the wrist.",
        ),
        (
            ("anatomical", 3),
            "The index finger's proximal interphalangeal joint is straight.",
            "The thumb's tip joint is above the wrist.",
        ),
    ],
)
def test_sentences(phrasing, angle, pair):
    say = wording.SENTENCES[phrasing[0]][phrasing[1] - 1]
    assert say("straight", "index_pip", None) == angle
    assert say("above", "thumb_tip", "wrist") == pair


@pytest.mark.parametrize(("words", "phrase"), ALL)
def test_every_sentence_names_its_category_and_its_joints_alone(words, phrase):
    say = wording.SENTENCES[words][phrase - 1]
    pairs = [(a, b) for a in JOINTS for b in JOINTS if a != b]
    said = {say("above", a, b) for a, b in pairs}
    assert len(said) == len(pairs)
    for index, a, b in PAPER.items:
        for label in PAPER.descriptors[index].asked_labels:
            assert f" {label}" in say(label, a, b)
    assert len({wording.SENTENCES[words][n]("above", "thumb_tip", "index_tip") for n in range(3)}) == wording.PHRASES


def test_same_questions_in_other_words():
    hands = random_hands(40)
    plain, _ = questions.ask(hands, options("wording=plain"))
    paper, _ = questions.ask(hands, HandVQAOptions())
    same = ["question_id", "truth_index", "truth_category", "truth_value", "option_labels", "about_joint_a"]
    assert plain.select(same).equals(paper.select(same))
    assert not (plain["prompt"].cast(pl.String) == paper["prompt"].cast(pl.String)).any()
    tables.conform(plain, "questions")


def test_paraphrases_are_drawn_by_id_and_evenly():
    hands = random_hands(300, seed=2)
    asked, _ = questions.ask(hands, options("wording=plain"))
    phrase = asked["variant"].cast(pl.String).str.extract(r"plain-1;sentence;phrase=(\d);", 1)
    order = asked["variant"].cast(pl.String).str.extract(r"order=(\d+)$", 1)
    counts = asked.select(phrase=phrase).group_by("phrase").len()
    assert counts.height == 3
    assert np.abs(counts["len"].to_numpy() / asked.height - 1 / 3).max() < 0.02
    # The order of two options does not tell the paraphrase.
    both = pl.DataFrame({"phrase": phrase, "order": order}).filter(pl.col("order").is_in(["01", "10"]))
    share = both.group_by("phrase").agg((pl.col("order") == "01").mean())["order"].to_numpy()
    assert np.abs(share - 0.5).max() < 0.04
    # Another order of the hands, or a part of them, gives the same questions.
    turned, _ = questions.ask(hands[list(range(120, 50, -1))], options("wording=plain"))
    key = ["question_id", "variant", "prompt"]
    joined = turned.select(key).join(asked.select(key), on="question_id", how="left", validate="1:1")
    assert (joined["variant"].cast(pl.String) == joined["variant_right"].cast(pl.String)).all()
    assert (joined["prompt"].cast(pl.String) == joined["prompt_right"].cast(pl.String)).all()


def test_a_named_paraphrase_is_the_drawn_one():
    hands = random_hands(20)
    drawn, _ = questions.ask(hands, options("wording=anatomical&paraphrase=any"))
    for number in range(1, 4):
        fixed, _ = questions.ask(hands, options(f"wording=anatomical&paraphrase={number}"))
        shared = drawn.select("question_id", pl.col("variant", "prompt").cast(pl.String)).join(
            fixed.select("question_id", pl.col("variant", "prompt").cast(pl.String)), on=["question_id", "variant"]
        )
        assert shared.height > drawn.height / 5
        assert (shared["prompt"] == shared["prompt_right"]).all()


STYLES = {
    "whole": lambda letter, sentence, label: f"{letter}. {sentence}",
    "sentence": lambda letter, sentence, label: sentence,
    "small": lambda letter, sentence, label: sentence.lower().rstrip("."),
    "capitals": lambda letter, sentence, label: sentence.upper(),
    "letter": lambda letter, sentence, label: letter,
    "told": lambda letter, sentence, label: f"The correct answer is {letter}: {sentence}",
    "thought": lambda letter, sentence, label: f"<think>Let me look at the joints.</think>\n**{letter}. {sentence}**",
    "category": lambda letter, sentence, label: label,
}


@pytest.mark.parametrize(("words", "phrase"), ALL)
def test_replies_in_the_options_words_are_read(words, phrase):
    chosen = options(f"wording={words}&paraphrase={phrase}&per_descriptor=all")
    asked = tables.conform(questions.ask(random_hands(4, seed=9), chosen)[0], "questions")
    rows = []
    for number, row in enumerate(asked.iter_rows(named=True)):
        pick = number % len(row["options"])
        for style, say in STYLES.items():
            reply = say("ABCD"[pick], row["options"][pick], row["option_labels"][pick])
            rows.append((row["question_id"], row["variant"], style, reply, pick))
    schema = ["question_id", "variant", "model", "reply", "pick"]
    given = pl.DataFrame(rows, schema=schema, orient="row").with_columns(repeat=0, turn=0, finish=pl.lit("stop"))
    answers = tables.conform(given, "answers")
    readings = reading.read(asked, answers)
    wrong = given.with_columns(read=readings["choice"], status=readings["status"]).filter(
        pl.col("read").ne_missing(pl.col("pick"))
    )
    assert wrong.is_empty(), wrong.select("model", "reply", "pick", "read", "status").head(5).rows()


def test_a_sentence_about_another_joint_is_not_taken():
    chosen = options("wording=plain&paraphrase=1&per_descriptor=all")
    asked = tables.conform(questions.ask(random_hands(2), chosen)[0], "questions")
    row = asked.filter(pl.col("about_joint_a").cast(pl.String) == "index_pip", pl.col("about_joint_b").is_null())[:1]
    answer = pl.DataFrame(
        {
            **{name: row[name].to_list() for name in ("question_id", "variant")},
            "model": ["m"],
            "repeat": [0],
            "turn": [0],
            "reply": ["The ring finger is straight at its end joint."],
            "finish": ["stop"],
        }
    )
    assert reading.read(row, tables.conform(answer, "answers"))["choice"].to_list() == [None]


def test_unknown_words_are_refused():
    with pytest.raises(HandbenchError, match="wording must be one of anatomical, plain"):
        options("wording=latin")
    with pytest.raises(HandbenchError, match="paraphrase must be one of any, 1, 2, 3"):
        options("wording=plain&paraphrase=4")
