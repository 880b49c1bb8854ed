from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from handbench import tables
from handbench.errors import HandbenchError
from handbench.hand.descriptors import DESCRIPTORS, PAPER, categorise
from handbench.specs import Options, Spec
from handbench.tasks.handvqa import questions, text
from handbench.tasks.handvqa.describe import extent_flips, label_counts, term_counts
from handbench.tasks.handvqa.options import HandVQAOptions
from tests.handvqa.conftest import random_hands

LONG = {
    "cmc": "carpometacarpal",
    "mcp": "metacarpophalangeal",
    "pip": "proximal interphalangeal",
    "dip": "distal interphalangeal",
    "ip": "interphalangeal",
    "tip": "tip",
}


def golden_key(joint: str) -> str:
    finger, segment = joint.split("_")
    return f"{finger}_{LONG[segment]}"


def test_sentences_are_the_papers_own(shared):
    golden = json.loads((shared / "golden/handvqa/released_mode/sentences.json").read_text())["sentences"]
    names = {"angle": "angle", "distance": "distance"} | {axis: f"relative_pos_{axis}" for axis in "xyz"}
    compared = 0
    for index, a, b in PAPER.items:
        descriptor = DESCRIPTORS[index]
        key = golden_key(a) + (f"-{golden_key(b)}" if b else "")
        wanted = golden[names[descriptor.name]][key]
        assert set(descriptor.asked_labels) == set(wanted)
        for label in descriptor.asked_labels:
            assert text.sentence(label, a, b) == wanted[label]
            compared += 1
    assert compared == 15 * 4 + 23 * (3 + 2 + 2 + 2)


def test_every_question_is_true_to_its_value(hands):
    asked, _ = questions.ask(hands, HandVQAOptions())
    values = questions.hand_values(hands, HandVQAOptions())
    categories = categorise(values)
    row_of = {hand: row for row, hand in enumerate(hands["hand_id"])}
    column_of = {(DESCRIPTORS[index].name, a, b): column for column, (index, a, b) in enumerate(PAPER.items)}
    for row in tables.conform(asked, "questions").iter_rows(named=True):
        item = (row["about_descriptor"], row["about_joint_a"], row["about_joint_b"])
        at = row_of[row["hand_id"]], column_of[item]
        descriptor = DESCRIPTORS[PAPER.items[at[1]][0]]
        label = descriptor.labels[categories[at]]
        assert row["truth_category"] == label
        assert row["option_labels"][row["truth_index"]] == label
        assert row["options"][row["truth_index"]] == text.sentence(label, *item[1:])
        assert sorted(row["option_labels"]) == sorted(descriptor.asked_labels)
        assert descriptor.asked_labels[row["truth_rank"]] == label
        assert row["truth_value"] == pytest.approx(values[at], rel=1e-5)
        assert row["truth_margin"] == pytest.approx(
            min(abs(values[at] - limit) for limit in descriptor.thresholds), abs=1e-4
        )
        assert f"{text.LETTERS[row['truth_index']]}. {row['options'][row['truth_index']]}" in row["prompt"]
        order = [int(digit) for digit in row["variant"].rpartition("order=")[2]]
        assert [descriptor.asked_labels[rank] for rank in order] == row["option_labels"]
        assert f"person's {row['about_side']} hand" in row["prompt"]


def test_counts_follow_the_papers_rule(hands):
    asked, skipped = questions.ask(hands, HandVQAOptions())
    categories = categorise(questions.hand_values(hands, HandVQAOptions()))
    for index, descriptor in enumerate(DESCRIPTORS):
        part = categories[:, PAPER.columns(index)]
        eligible = (part != 1).sum(1) if descriptor.dropped else np.full(len(part), part.shape[1])
        mine = asked.filter(pl.col("about_descriptor").cast(pl.String) == descriptor.name)
        assert mine.height == np.minimum(eligible, 5).sum()
        if descriptor.dropped:
            assert skipped[f"{descriptor.name}: aligned"] == (part == 1).sum()
    assert asked.select("question_id").is_duplicated().sum() == 0
    everything, _ = questions.ask(hands, HandVQAOptions(per_descriptor=None))
    assert everything.height == (categories.size - sum(skipped.values()))
    assert set(asked["question_id"]) <= set(everything["question_id"])


def test_options_are_shuffled_evenly():
    asked, _ = questions.ask(random_hands(800, seed=4), HandVQAOptions())
    for descriptor in DESCRIPTORS:
        mine = asked.filter(pl.col("about_descriptor").cast(pl.String) == descriptor.name)
        share = mine["truth_index"].value_counts(normalize=True)["proportion"]
        options = len(descriptor.asked_labels)
        assert share.len() == options
        assert (share - 1 / options).abs().max() < 4 * np.sqrt(0.25 / mine.height)


def test_a_question_is_the_same_in_any_company(hands):
    whole, _ = questions.ask(hands, HandVQAOptions())
    shuffled, _ = questions.ask(hands.sample(fraction=1, shuffle=True, seed=1), HandVQAOptions())
    part, _ = questions.ask(hands[17:19], HandVQAOptions())
    assert shuffled.sort("question_id").equals(whole.sort("question_id"))
    ids = set(hands["hand_id"][17:19])
    assert part.equals(whole.filter(pl.col("hand_id").is_in(ids)))
    other, _ = questions.ask(hands, HandVQAOptions(seed=1))
    assert set(other["question_id"]) != set(whole["question_id"])


def test_a_longer_pair_list_leaves_angles_alone(hands, tmp_path):
    (tmp_path / "pairs.json").write_text(json.dumps([["wrist", "thumb_tip"], ["thumb_tip", "index_tip"]]))
    options = HandVQAOptions.from_options(Options(Spec.parse(f"handvqa?pairs={tmp_path}/pairs.json")))
    custom, _ = questions.ask(hands, options)
    paper, _ = questions.ask(hands, HandVQAOptions())

    def angles(frame):
        return frame.filter(pl.col("about_descriptor").cast(pl.String) == "angle")["question_id"].to_list()

    assert angles(custom) == angles(paper)
    assert "custom-" in custom["variant"][0]
    assert any("The wrist" in prompt for prompt in custom["prompt"].cast(pl.String).unique())


def test_thresholds_from_a_file(hands, tmp_path):
    (tmp_path / "limits.json").write_text(json.dumps({"angle": [90, 120, 150]}))
    options = HandVQAOptions.from_options(Options(Spec.parse(f"handvqa?thresholds={tmp_path}/limits.json")))
    asked, _ = questions.ask(hands, options)
    straight = asked.filter(pl.col("truth_category").cast(pl.String) == "straight")
    assert straight["truth_value"].min() >= 150


@pytest.mark.parametrize(
    ("query", "content", "message"),
    [
        ("per_descriptor=none", None, "per_descriptor must be all or a number"),
        ("scale=big", None, "scale must be one of paper, released"),
        ("answer=aloud", None, "answer must be one of"),
        ("pairs=FILE", "[", "expected a JSON file"),
        ("pairs=FILE", '[["thumb_tip", "nose"]]', "row 0: no joint 'nose'"),
        ("pairs=FILE", '[["thumb_tip", "thumb_tip"]]', "two different joints"),
        ("pairs=FILE", '[["wrist", "thumb_tip"], ["wrist", "thumb_tip"]]', "given twice"),
        ("thresholds=FILE", '{"angle": [1, 2]}', "angle needs 3 rising thresholds"),
        ("thresholds=FILE", '{"anger": [1]}', "expected thresholds by descriptor"),
    ],
)
def test_wrong_options_are_named(tmp_path, query, content, message):
    file = tmp_path / "file.json"
    if content is not None:
        file.write_text(content)
    spec = Spec.parse(f"handvqa?{query.replace('FILE', str(file))}")
    with pytest.raises(HandbenchError, match=message):
        HandVQAOptions.from_options(Options(spec))


def test_a_missing_joint_makes_no_question(hands):
    joints = hands["joints_cam"].to_numpy().copy()
    joints[:, 4] = np.nan
    center = hands["center"].to_numpy()
    broken = hands.with_columns(joints_cam=pl.Series(joints), center=pl.Series(center))
    asked, skipped = questions.ask(broken, HandVQAOptions(per_descriptor=None))
    joints_asked = pl.concat([asked["about_joint_a"].cast(pl.String), asked["about_joint_b"].cast(pl.String)])
    assert "thumb_tip" not in joints_asked
    assert skipped["angle: undefined"] == hands.height  # the angle at the thumb's IP ends at its tip
    assert skipped["distance: undefined"] == 10 * hands.height


def test_hands_without_3d_ask_nothing(hands):
    flat = hands.with_columns(joints_cam=pl.lit(None, tables.JOINTS_3D))
    asked, skipped = questions.ask(flat, HandVQAOptions())
    assert asked.height == 0
    assert sum(skipped.values()) == 107 * hands.height


def test_description_counts_every_question(hands):
    asked = tables.conform(questions.ask(hands, HandVQAOptions())[0], "questions")
    counts = label_counts(asked)
    assert counts["count"].sum() == asked.height
    assert counts.group_by("descriptor").agg(pl.col("share").sum())["share"].to_list() == pytest.approx([1] * 5)
    terms = dict(term_counts(asked).iter_rows())
    sentences = [option for row in asked["options"].to_list() for option in row]
    assert terms["ring finger"] == sum(sentence.count("ring finger") for sentence in sentences)
    assert terms["spread wide from"] == sum("spread wide from" in sentence for sentence in sentences)


def test_extent_flips_compare_mesh_with_joints(hands):
    assert extent_flips(hands, HandVQAOptions()).is_empty()
    same = hands.with_columns(extent_source=pl.lit("mesh"))
    assert extent_flips(same, HandVQAOptions())["flipped"].sum() == 0
    wide = same.with_columns(extent=pl.Series(hands["extent"].to_numpy() * 1.3))
    flips = extent_flips(wide, HandVQAOptions())
    assert flips.filter(descriptor="angle")["flipped"].item() == 0
    assert flips.filter(descriptor="distance")["flipped"].item() > 0
