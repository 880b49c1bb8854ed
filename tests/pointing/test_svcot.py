from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from handbench import tables
from handbench.errors import HandbenchError
from handbench.replies.families import FAMILIES
from handbench.replies.frames import Placement
from handbench.runs.parts import make_strategy
from handbench.runs.strategies import drive
from handbench.specs import Spec
from handbench.stats.boxes import rejection_sweep
from handbench.tasks.pointing.scoring import box_confidence
from handbench.tasks.pointing.svcot import choose, read_candidates, read_chain, read_direction, read_scores, told_by
from tests.pointing.conftest import Scripted, chain_reply

SPEAKS = FAMILIES["qwen3-vl"]
SIZE = (1000, 1000)
HAND = [0.0, 400.0, 100.0, 600.0]  # its middle is (50, 500); a ray to the right runs along y = 500
NEAR, FAR, OFF = (200.0, 450.0, 300.0, 550.0), (600.0, 480.0, 700.0, 520.0), (400.0, 0.0, 500.0, 100.0)


def test_only_candidates_on_the_ray_are_chosen_from():
    chain = choose((1.0, 0.0), (50.0, 500.0), [(OFF, "off", 0.99), (NEAR, "near", 0.6), (FAR, "far", 0.7)], 0.5)
    assert [one.met for one in chain.candidates] == [False, True, True]
    assert (chain.box, chain.confidence, chain.rule) == (FAR, 0.7, "chosen")


@pytest.mark.parametrize(
    ("found", "tau", "status", "rule", "box"),
    [
        ([(NEAR, "", 0.5)], 0.5, "ok", "chosen", NEAR),
        ([(NEAR, "", 0.49)], 0.5, "rejected", "below-tau", None),
        ([(NEAR, "", 0.0)], 0.0, "ok", "chosen", NEAR),
        ([(OFF, "", 1.0)], 0.5, "rejected", "empty-ray", None),
        ([], 0.5, "rejected", "empty-ray", None),
        ([(NEAR, "", None)], 0.5, "unparsed", "no-score", None),
        ([(FAR, "", 0.8), (NEAR, "", 0.8)], 0.5, "ok", "chosen", NEAR),
        ([(NEAR, "", None), (FAR, "", 0.6)], 0.5, "ok", "chosen", FAR),
    ],
)
def test_the_choice_at_tau_by_hand(found, tau, status, rule, box):
    chain = choose((1.0, 0.0), (50.0, 500.0), found, tau)
    assert (str(chain.status), chain.rule, chain.box) == (status, rule, box)


def test_without_a_direction_the_chain_is_broken():
    chain = choose(None, (50.0, 500.0), [(NEAR, "", 0.9)], 0.5)
    assert (str(chain.status), chain.rule, chain.box) == ("unparsed", "no-direction", None)


@pytest.mark.parametrize(
    ("reply", "direction"),
    [
        ('{"direction": [3, 4]}', (0.6, 0.8)),
        ('```json\n{"direction": [0.0, -1.0]}\n```', (0.0, -1.0)),
        ("<think>direction: [1, 0]</think>{'direction': (-2, 0)}", (-1.0, 0.0)),
        ('{"direction": [0, 0]}', None),
        ('{"direction": "left"}', None),
        ('{"direction": [1, 0, 0]}', None),
        ("", None),
    ],
)
def test_directions(reply, direction):
    assert read_direction(reply) == (None if direction is None else pytest.approx(direction))


def test_candidates_keep_name_score_and_the_declared_frame():
    reply = json.dumps(
        {
            "direction": [1, 0],
            "candidates": [
                {"name": "cup", "bbox_2d": [200, 450, 300, 550], "score": 0.4},
                {"name": "far cup", "bbox_2d": [600, 480, 700, 520], "score": 0.8},
                {"name": "nowhere", "bbox_2d": [0.2, 0.4, 0.3, 0.5], "score": 1},
                {"name": "no box", "score": 1},
            ],
        }
    )
    found = read_candidates(reply, SPEAKS, (2000, 500), None)
    assert [name for _, name, _ in found] == ["cup", "far cup"]
    assert found[0][0] == (400, 225, 600, 275)
    assert [score for _, _, score in found] == [0.4, 0.8]


@pytest.mark.parametrize(
    ("reply", "scores"),
    [
        ('{"scores": [0.1, 0.9]}', [0.1, 0.9]),
        ("[0.1, 0.9]", [0.1, 0.9]),
        ('{"scores": {"1": 0.1, "2": 0.9}}', [0.1, 0.9]),
        ('{"scores": [0.1, 1.7]}', [0.1, 1.0]),
        ('{"scores": [0.1]}', [None, None]),
        ("both fit", [None, None]),
    ],
)
def test_scores(reply, scores):
    assert read_scores(reply, 2) == scores


def test_a_chain_of_three_turns_is_that_of_one():
    entries = [{"name": "near", "bbox_2d": [200, 450, 300, 550]}, {"name": "off", "bbox_2d": [400, 0, 500, 100]}]
    entries.append({"name": "far", "bbox_2d": [600, 480, 700, 520]})
    three = ['{"direction": [1, 0]}', json.dumps({"candidates": entries}), '{"scores": [0.3, 0.8]}']
    scored = [{**entry, "score": score} for entry, score in zip(entries, (0.3, 0.99, 0.8), strict=True)]
    one = [json.dumps({"direction": [1, 0], "candidates": scored})]
    lies = Placement(SIZE)
    first, second = (read_chain(replies, HAND, SPEAKS, SIZE, lies, 0.5) for replies in (three, one))
    assert first.box == second.box == FAR
    assert first.confidence == second.confidence == 0.8
    assert [candidate.met for candidate in first.candidates] == [True, False, True]


def asked(ask, scenes, text, strategy, broken=lambda reply, row: reply):
    questions, task = ask(text)
    model = Scripted("script + " + strategy, lambda row, scene: broken(chain_reply(row, scene), row))
    model.rows_are(scenes)
    none = tables.empty("answers")
    answers = pl.concat(drive(model, make_strategy(Spec.parse(strategy)), questions, none))
    return questions, task, answers, task.read(questions, answers)


@pytest.mark.parametrize(
    "name", ["qwen3-vl", "qwen2.5-vl", "llava-onevision", "florence-2", "deepseek-vl2-native", "custom"]
)
@pytest.mark.parametrize("turns", [1, 3])
def test_a_script_that_knows_all_is_right_in_every_family(ask, scenes, name, turns):
    questions, task, answers, readings = asked(ask, scenes, f"pointing/edg?family={name}", f"sv-cot?turns={turns}")
    assert readings.height == questions.height
    positive = questions["truth_box"].is_not_null()
    right = readings.filter(positive)
    assert (right["iou"] > 0.7).all(), right.filter(pl.col("iou") <= 0.7)
    assert (readings.filter(~positive)["status"].cast(pl.String) == "rejected").all()
    assert readings["rule"].cast(pl.String).str.starts_with("sv-cot").all()
    assert set(answers["turn"]) == set(range(turns))
    scores = task.score(questions, readings)
    value = dict(scores.filter(pl.col("slice") == "all").select(pl.col("metric").cast(pl.String), "value").iter_rows())
    assert (value["p_at_0.7"], value["n_acc"], value["t_acc"], value["rejection_auroc"]) == (1, 1, 1, 1)


def test_every_turn_shows_what_the_turns_before_gave(ask, scenes):
    _, _, answers, _ = asked(ask, scenes, "pointing/edg?family=qwen3-vl", "sv-cot?turns=3")
    questions, _ = ask("pointing/edg?family=qwen3-vl")
    strategy = make_strategy(Spec.parse("sv-cot?turns=3"))
    answers = tables.conform(answers, "answers")
    first = strategy.turn(0, questions, answers.clear())
    second = strategy.turn(1, questions, answers.filter(pl.col("turn") < 1).sort("question_id", "variant", "turn"))
    third = strategy.turn(2, second, answers.filter(pl.col("turn") < 2).sort("question_id", "variant", "turn"))
    row = questions.row(0, named=True)
    assert row["about_referent"] in first["prompt"][0]
    assert "points in the direction [" in second["prompt"][0]
    assert "1. " in third["prompt"][0]
    assert strategy.turn(3, third, answers).is_empty()


def test_the_hand_box_is_told_only_where_the_sub_task_gives_it(ask):
    strategy = make_strategy(Spec.parse("sv-cot"))
    for subtask, given in (("edg", True), ("pog", True), ("d-rec", False), ("no-cue", False)):
        questions, _ = ask(f"pointing/{subtask}?family=qwen3-vl")
        prompts = strategy.turn(0, questions, tables.empty("answers"))["prompt"].cast(pl.String)
        assert prompts.str.contains("Hand bbox: [", literal=True).all() == given
        assert prompts.str.contains("What is said:").any() == (subtask in ("edg", "d-rec"))


def test_what_was_asked_can_be_told_again(ask, scenes):
    questions, _, answers, _ = asked(ask, scenes, "pointing/edg?family=qwen3-vl", "sv-cot?turns=3")
    strategy = make_strategy(Spec.parse("sv-cot?turns=3"))
    row = questions.row(0, named=True)
    mine = answers.filter(pl.col("question_id") == row["question_id"]).sort("turn")
    told = strategy.prompts(row, [(reply, None) for reply in mine["reply"]])
    assert told[0] == strategy.turn(0, questions, tables.empty("answers"))["prompt"][0]
    assert len(told) == mine.height


def test_a_chain_that_breaks_ends_there_and_is_counted(ask, scenes):
    def broken(reply: str, row: dict) -> str:
        return "I cannot tell." if row["question_id"].endswith("/0") and '"direction"' in row["prompt"] else reply

    questions, _, answers, readings = asked(ask, scenes, "pointing/edg?family=qwen3-vl", "sv-cot?turns=3", broken)
    first = questions["question_id"].str.ends_with("/0")
    turns = answers.group_by("question_id").len()
    lost = questions.filter(first)["question_id"].implode()
    assert (turns.filter(pl.col("question_id").is_in(lost))["len"] == 1).all()
    status = readings.filter(first)["status"].cast(pl.String)
    assert set(status) <= {"refused", "unparsed"}


def test_a_lower_tau_rejects_less(ask, scenes):
    def unsure(reply: str, row: dict) -> str:
        return reply.replace('"score": 0.9', '"score": 0.45')

    for tau, rejected in ((0.4, False), (0.5, True)):
        questions, _, _, readings = asked(ask, scenes, "pointing/edg?family=qwen3-vl", f"sv-cot?tau={tau}", unsure)
        positive = questions["truth_box"].is_not_null()
        assert (readings.filter(positive)["status"].cast(pl.String) == ("rejected" if rejected else "ok")).all()
        sweep = rejection_sweep(~positive.to_numpy(), box_confidence(readings))
        assert sweep["accuracy"].max() == 1  # any threshold between 0.1 and 0.45
        assert np.nanmax(sweep["recall"]) == 1


def test_names_tell_the_strategy_and_bad_options_are_refused():
    found = told_by("server:Qwen/Qwen3-VL-8B + sv-cot?tau=0.4&turns=3")
    assert (found.turns, found.tau) == (3, 0.4)
    assert told_by("server:x") is None
    assert told_by("server:x + other") is None
    with pytest.raises(HandbenchError, match="turns must be 1"):
        make_strategy(Spec.parse("sv-cot?turns=2"))
    with pytest.raises(HandbenchError, match="tau must lie"):
        make_strategy(Spec.parse("sv-cot?tau=7"))
