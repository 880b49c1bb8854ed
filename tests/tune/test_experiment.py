from __future__ import annotations

import importlib.util
from pathlib import Path

import polars as pl
import pytest

from handbench import experiment
from handbench.errors import HandbenchError
from handbench.reports import experiment as report

EXAMPLES = Path(__file__).parents[2] / "examples"

PLAN = """
bases = ["tiny"]
besides = ["prior"]
vision = ["pose:tiny"]

[tuning]
steps = 2
per_image = 4
batch = 8
device_batch = 2
save_every = 1

[datasets.third-person]
data = "synth:hands?n=4&view=palm&size=64&supersample=1"
train_data = "synth:hands?n=6&view=palm&size=64&supersample=1"

[datasets.first-person]
data = "synth:hands?n=4&view=first_person&size=64&supersample=1"
train_data = "synth:hands?n=6&view=first_person&size=64&supersample=1"
"""


@pytest.fixture
def plan(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    return path


def test_the_matrix_of_the_paper(plan):
    read = experiment.read_plan(plan)
    assert experiment.cells(read) == [
        ("tiny", tuned, tested)
        for tuned in ("", "third-person", "first-person", "all")
        for tested in ("third-person", "first-person")
    ]
    settings = read.settings("tiny", "synth:hands")
    assert (settings.rate, settings.steps) == (3e-3, 2)  # the base's recipe, changed where the plan says so


@pytest.mark.parametrize("name", ["paper", "views"])
def test_the_examples_can_be_read(name):
    read = experiment.read_plan(EXAMPLES / f"{name}.toml")
    assert len(experiment.cells(read)) == len(read.bases) * (2 + len(read.datasets)) * len(read.datasets)
    for dataset in read.datasets:
        settings = read.settings(read.bases[0], dataset.train.data)
        assert (settings.rank, settings.alpha) == (8, 32)
        if name == "paper":
            assert settings.batch == {"FreiHAND": 128, "InterHand": 64, "FPHA": 64}[dataset.name]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("steps = 2", "stepz = 2", "stepz: settings are"),
        ('bases = ["tiny"]', "", "bases: expected a list"),
        ('bases = ["tiny"]', 'bases = ["server:x"]', "can be tuned"),
        ('besides = ["prior"]', 'besides = ["nobody"]', "no model is called 'nobody'"),
        ("first-person]", "all]", "no dataset may be called 'all'"),
        ("train_data", "training", "expected data, and if wanted"),
        ("vision =", "visions =", "unknown key 'visions'"),
        ("vision =", 'unified = "no"\nvision =', "expected unified = true or false"),
        ("vision =", "recipe = 5\nvision =", "the name of a recipe"),
        ("steps = 2", 'vision = "no"', "vision: expected true or false, not 'no'"),
        ("steps = 2", 'rank = "8"', "rank: expected a whole number, not '8'"),
        (
            'train_data = "synth:hands?n=6&view=palm&size=64&supersample=1"',
            "train_data = 5",
            "train_data: expected a text",
        ),
        ("vision =", 'task = "gestures"\nvision =', "the matrix is of handvqa"),
    ],
)
def test_what_is_wrong_with_a_plan_is_said_before_any_work(plan, old, new, message):
    plan.write_text(PLAN.replace(old, new))
    with pytest.raises(HandbenchError, match=message):
        experiment.read_plan(plan)


@pytest.mark.parametrize(
    ("difference", "low", "high", "above", "above_low", "colour"),
    [
        (0.3, 0.2, 0.4, 0.2, 0.1, "27, 127, 77"),
        (0.3, 0.2, 0.4, None, None, "27, 127, 77"),
        (0.3, 0.2, 0.4, -0.1, -0.2, "transparent"),
        (0.3, -0.1, 0.7, 0.2, 0.1, "transparent"),
        (-0.3, -0.4, -0.2, -0.3, -0.4, "179, 64, 42"),
    ],
)
def test_what_the_commonest_answer_reaches_too_is_no_gain_to_be_filled(difference, low, high, above, above_low, colour):
    gap = {"difference": difference, "low": low, "high": high, "above": above, "above_low": above_low}
    assert colour in report.strength(gap)


@pytest.mark.torch
@pytest.mark.skipif(importlib.util.find_spec("trl") is None, reason="trl is not installed: nothing is tuned")
@pytest.mark.filterwarnings("ignore")
def test_two_views_in_a_small_matrix_and_nothing_is_done_twice(plan, tmp_path):
    import torch

    torch.set_num_threads(1)
    results = experiment.run(plan, tmp_path / "out", workers=1)
    whole = results.filter(pl.col("slice") == "all", pl.col("metric") == "accuracy", pl.col("descriptor") == "all")
    rows = set(whole.select("base", "tuned_on", "evaluated_on").iter_rows())
    bases = [
        ("prior", ""),
        ("pose:tiny", ""),
        *(("tiny", name) for name in ("", "third-person", "first-person", "all")),
    ]
    assert rows == {(*base, tested) for base in bases for tested in ("third-person", "first-person")}
    page = (tmp_path / "out" / "report.html").read_text()
    assert "What transfers" in page
    assert "all together" in page
    assert page.count("tiny, tuned on first-person") >= 2  # in both pictures, as text
    weights = tmp_path / "out" / "tuned"
    before = {path: path.stat().st_mtime_ns for path in weights.rglob("adapter_model.safetensors")}
    assert len(before) == 3 + sum("checkpoint" in str(path) for path in before)
    again = experiment.run(plan, tmp_path / "out", workers=1)
    assert again.equals(results)
    assert before == {path: path.stat().st_mtime_ns for path in weights.rglob("adapter_model.safetensors")}
