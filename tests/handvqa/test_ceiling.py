from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm

from handbench import api
from handbench.errors import HandbenchError
from handbench.hand.descriptors import describe
from handbench.hand.geometry import center_and_extent
from handbench.hand.skeleton import JOINT_INDEX
from handbench.reports import description
from handbench.reports.board import ceiling_row
from handbench.runs.ceilings import keep_ceiling, parse_noise, published_or_assumed, read_ceiling
from handbench.runs.folder import RunFolder
from handbench.tables import conform
from handbench.tasks.handvqa.ceiling import ceiling, disturbance
from handbench.tasks.handvqa.options import HandVQAOptions
from handbench.tasks.handvqa.questions import ask

ALL = HandVQAOptions(per_descriptor=None)


def table(joints, source="joints", size=0.2):
    """A hands table; with ``mesh`` the hand's size is fixed, whatever its joints."""
    count = len(joints)
    center, extent = center_and_extent(joints)
    if source == "mesh":
        extent = np.full((count, 3), size)
    columns = {
        "hand_id": [f"x/test/{row}/right" for row in range(count)],
        "image": [f"{row}.png" for row in range(count)],
        "dataset": ["x"] * count,
        "split": ["test"] * count,
        "side": ["right"] * count,
        "cluster": [str(row) for row in range(count)],
        "joints_cam": joints,
        "center": center,
        "extent": extent,
        "extent_source": [source] * count,
    }
    return conform(pl.DataFrame(columns), "hands")


def open_hands(count, seed=0):
    draw = np.random.default_rng(seed)
    return draw.normal(0, 0.05, (count, 21, 3)) + np.array([0, 0, 0.6])


def test_the_mean_length_of_a_disturbance_is_the_noise():
    moved = disturbance([f"hand {row}" for row in range(4000)], 0.003, seed=1)
    lengths = np.linalg.norm(moved, axis=-1)
    np.testing.assert_allclose(lengths.mean(), 0.003, rtol=0.01)
    # Isotropic and independent from joint to joint.
    flat = moved.reshape(4000, -1) / 0.003
    covariance = np.cov(flat.T)
    np.testing.assert_allclose(covariance, np.eye(63) * np.pi / 8, atol=0.04)


def test_a_disturbance_belongs_to_its_hand():
    names = [f"hand {row}" for row in range(50)]
    whole = disturbance(names, 0.01, seed=0)
    np.testing.assert_array_equal(disturbance(names[::-1], 0.01, seed=0)[::-1], whole)
    np.testing.assert_array_equal(disturbance(names[7:9], 0.01, seed=0), whole[7:9])
    assert (disturbance(names, 0.01, seed=1) != whole).all()


def test_flips_of_an_offset_are_those_of_the_normal_distribution():
    # One pose; thumb tip 0.04 m left of the index tip in a hand of 0.2 m: an offset of -0.2, "at the left of".
    joints = np.tile(open_hands(1), (1500, 1, 1))
    tips = [JOINT_INDEX["thumb_tip"], JOINT_INDEX["index_tip"]]
    joints[:, tips[0], 0] = joints[:, tips[1], 0] - 0.04
    hands = table(joints, "mesh")
    questions = ask(hands, ALL)[0].filter(
        pl.col("about_descriptor") == "x",
        pl.col("about_joint_a") == "thumb_tip",
        pl.col("about_joint_b") == "index_tip",
    )
    noise = 0.03
    row = ceiling(questions, hands, ALL, noise, resamples=50).filter(pl.col("descriptor") == "x").row(0, named=True)
    deviation = np.sqrt(2) * noise / np.sqrt(8 / np.pi)
    assert row["n"] == 1500
    assert row["accuracy"] == pytest.approx(norm.cdf(0.04 / deviation), abs=0.01)
    # Between the options, "aligned": an offset of less than 0.15 of 0.2 m either way.
    between = norm.cdf((0.03 + 0.04) / deviation) - norm.cdf((-0.03 + 0.04) / deviation)
    assert row["undecided"] == pytest.approx(between, abs=0.01)
    assert row["low"] < row["accuracy"] < row["high"]


def test_flips_are_those_of_a_plain_loop():
    # Where the hand's size is that of its joints, the size is disturbed with them.
    joints = open_hands(40, seed=3)
    hands = table(joints)
    questions = ask(hands, HandVQAOptions())[0]
    found = ceiling(questions, hands, HandVQAOptions(), 0.01, repeats=1, resamples=10)
    moved = joints + disturbance(hands["hand_id"].to_list(), 0.01, 0)
    values = describe(moved, *center_and_extent(moved))
    columns = {(d, a, b): c for c, (d, a, b) in enumerate(ALL.catalogue.items)}
    limits = [(105, 150, 170), (0.1, 0.3), (0,), (0,), (0,)]
    right = {}
    for question in questions.iter_rows(named=True):
        descriptor = ("angle", "distance", "x", "y", "z").index(question["about_descriptor"])
        column = columns[descriptor, question["about_joint_a"], question["about_joint_b"]]
        value = values[int(question["hand_id"].split("/")[2]), column]
        rank = sum(value >= limit for limit in limits[descriptor])
        right.setdefault(question["about_descriptor"], []).append(rank == question["truth_rank"])
    for row in found.iter_rows(named=True):
        expected = (
            [one for part in right.values() for one in part] if row["descriptor"] == "all" else right[row["descriptor"]]
        )
        assert row["accuracy"] == pytest.approx(np.mean(expected))
        assert row["n"] == len(expected)


def test_no_noise_leaves_all_and_more_noise_leaves_less():
    hands = table(open_hands(60))
    questions = ask(hands, ALL)[0]
    accuracies = [
        ceiling(questions, hands, ALL, noise, repeats=2, resamples=10)["accuracy"].to_numpy()
        for noise in (1e-12, 0.02, 0.05, 0.1)
    ]
    assert (accuracies[0] == 1).all()
    assert (np.diff(accuracies, axis=0) < 0).all()


@pytest.mark.parametrize(("text", "metres"), [("3mm", 0.003), (" 2.5 mm", 0.0025), ("0.5cm", 0.005), ("0.01m", 0.01)])
def test_lengths_with_a_unit(text, metres):
    assert parse_noise(text) == pytest.approx(metres)


@pytest.mark.parametrize("text", ["3", "mm", "-3mm", "0mm", "1m", "nan mm", ""])
def test_lengths_that_are_none(text):
    with pytest.raises(HandbenchError, match="expected the mean 3D error of a joint such as 3mm"):
        parse_noise(text)


def test_which_error_is_taken_where_none_is_given():
    assert published_or_assumed({"synthetic": True}) is None
    assert published_or_assumed({"synthetic": False, "joint_error": 0.0042}) == (0.0042, "published")
    assert published_or_assumed({"synthetic": False}) == (0.003, "assumed")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    api.ask("handvqa", "synth:hands?n=12&seed=0", folder, workers=1)
    return folder


def test_a_run_keeps_its_ceiling_and_the_board_shows_it(run):
    folder = RunFolder(run)
    # Rendered hands are exact, so that nothing is assumed about them.
    assert keep_ceiling(folder) is None
    given = description.describe([str(run)], noise="4mm")["ceiling"]
    assert given["descriptor"].to_list() == ["angle", "distance", "x", "y", "z", "all"]
    stored = read_ceiling(folder)
    assert stored["noise"].unique().to_list() == [0.004]
    np.testing.assert_allclose(given["flipped"], 1 - stored["accuracy"])
    assert keep_ceiling(folder).equals(stored)
    row = ceiling_row(stored)
    assert row.name == "truth's ceiling: joints off by 4 mm (given)"
    assert row.cells[0].value == stored["accuracy"][0]
    assert row.cells[-1].text == "–"
    assert ceiling_row(None) is None


def test_controls_are_no_questions_of_their_own(tmp_path):
    api.ask("handvqa?controls=mirror,blank", "synth:hands?n=6&seed=0", tmp_path / "with", workers=1)
    api.ask("handvqa", "synth:hands?n=6&seed=0", tmp_path / "without", workers=1)
    heights = [api.Run.open(tmp_path / name).table("questions").height for name in ("with", "without")]
    assert heights[0] == 3 * heights[1]
    both, plain = (description.describe([str(tmp_path / name)], noise="9mm") for name in ("with", "without"))
    assert both["ceiling"].equals(plain["ceiling"])
    counts = [description.describe([str(tmp_path / name)])["labels"]["count"].to_list() for name in ("with", "without")]
    assert counts[0] == counts[1]


def test_counts_beside_the_papers(run):
    found = description.describe([str(run)], against="paper")
    labels, sizes = found["table_6"], found["section_7_1"]
    questions = api.Run.open(run).table("questions")
    assert labels["count"].sum() == questions.height
    # Table 6 and section 7.1 agree on the whole.
    assert labels["paper_count"].sum() == sizes["paper_questions"].sum() == 1_658_033
    for _, part in labels.group_by("descriptor"):
        assert part["share"].sum() == pytest.approx(1)
        assert part["difference"].sum() == pytest.approx(0)
    assert sizes["images"].null_count() == 6
    renamed = questions.with_columns(dataset=pl.lit("freihand"), split=pl.lit("paper-test"))
    row = (
        api.Run.open(run) and description.look_up(str(run), "handvqa", None).task.against_paper(renamed)["section_7_1"]
    )
    mine = row.filter(pl.col("dataset") == "FreiHAND", pl.col("split") == "test").row(0, named=True)
    assert (mine["images"], mine["questions"]) == (12, questions.height)
    assert (mine["paper_images"], mine["paper_questions"]) == (3960, 98261)


def test_markdown_has_a_line_for_each_row(run):
    text = description.markdown(description.describe([str(run)], against="paper"))
    blocks = text.split("\n\n")
    assert blocks[0] == "**HandVQA, Table 6: labels of the paper's six sets together**"
    lines = blocks[1].splitlines()
    assert len(lines) == 2 + 13
    assert {line.count("|") for line in lines} == {8}


def test_bad_wishes_are_one_clear_line(run, tmp_path):
    for wish, message in (
        ({"against": "mars"}, "expected paper"),
        ({"noise": "published"}, "no error of its joints is published for synth-hands; give one such as --noise 3mm"),
    ):
        with pytest.raises(HandbenchError, match=message):
            description.describe([str(run)], **wish)
    with pytest.raises(HandbenchError, match="share questions, which would count twice"):
        description.describe([str(run), str(run)])
    with pytest.raises(HandbenchError, match="no run here"):
        description.describe([str(tmp_path)])


def test_the_command_describes_a_source_that_is_no_run():
    command = [sys.executable, "-m", "handbench.cli", "describe", "synth:hands?n=4&seed=1", "--noise", "3mm", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = json.loads(done.stdout)["ceiling"]
    assert [row["descriptor"] for row in rows] == ["angle", "distance", "x", "y", "z", "all"]
    assert all(0 < row["accuracy"] <= 1 for row in rows)
