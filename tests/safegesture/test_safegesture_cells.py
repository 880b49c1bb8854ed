"""The grid: the paper's own, a person's own, and files that are refused."""

from __future__ import annotations

import csv
import json
from importlib.resources import files

import numpy as np
import pytest

from handbench.errors import HandbenchError
from handbench.tasks.safegesture.cells import fingerprint
from handbench.tasks.safegesture.cells_file import GESTURES, LABELS, PAPER, load

PACKAGED = (files("handbench.tasks.safegesture") / "cells.toml").read_text(encoding="utf-8")


def test_the_paper_s_grid_is_the_reference(shared):
    with open(shared / "golden/safegesture/cells.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 48
    for row in rows:
        label = PAPER.labels[PAPER.truth[GESTURES.index(row["gesture"]), PAPER.scenario_ids.index(row["scenario"])]]
        assert (label.id, label.intervention) == (row["safety_label"], row["intervention"] == "1")
    texts = json.loads((shared / "golden/safegesture/scenarios.json").read_text())
    assert [(s.id, s.description) for s in PAPER.scenarios] == [
        (entry["id"], entry["description"]) for entry in texts["scenarios"]
    ]


def test_label_counts_are_table_7():
    assert np.bincount(PAPER.flat_truth).tolist() == [5, 17, 2, 12, 12]


def test_own_file(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(
        """
consensus = "two crane drivers"
opening = "Someone shows this sign"
[[labels]]
id = "HALT"
gloss = "stop"
intervention = true
[[labels]]
id = "GO"
gloss = "go on"
intervention = false
[[gestures]]
id = "open"
shape = "open hand"
[[scenarios]]
id = "yard"
description = "A yard."
[[scenarios]]
id = "gate"
description = "A gate."
[costs]
missed = 9
[costs.matrix.GO]
HALT = 2.5
INVALID = 0
[cells.open]
yard = { label = "HALT", behavior = "stop the crane" }
gate = "GO"
"""
    )
    cells = load(path)
    assert cells.truth.tolist() == [[0, 1]]
    assert cells.behavior == {("open", "yard"): "stop the crane"}
    assert cells.consensus == "two crane drivers"
    assert cells.cost_matrix.tolist() == [[0, 9, 9], [2.5, 0, 0]]


def test_csv_of_some_gestures(tmp_path):
    path = tmp_path / "some.csv"
    path.write_text("gesture,scenario,safety_label,system_behavior\nlike,home_daily,SAFE_NEUTRAL,none\n")
    cells = load(path)
    assert (cells.gesture_ids, cells.scenario_ids) == (("like",), ("home_daily",))
    assert cells.label_ids == LABELS
    assert cells.behavior["like", "home_daily"] == "none"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('home_daily = "SAFE_NEUTRAL"\n', "", "cell stop/home_daily is missing"),
        ('"CRITICAL_STOP"\nfactory_robot', '"CRITICAL"\nfactory_robot', "unknown label 'CRITICAL'"),
        ("[cells.fist]", "[cells.fists]", "unknown gesture 'fists'"),
        ("consensus =", "# consensus =", "'consensus' must be a text"),
        ("intervention = true", 'intervention = "yes"', "must be true or false"),
        ('id = "fist"', 'id = "stop"', "gesture 'stop' comes twice"),
        ("missed = 5.0", "missed = -1", "must be a number of at least 0"),
        ("[[labels]]", "[[labels", "not TOML"),
        (
            '\nhome_daily = "SAFE_NEUTRAL"',
            '\nhome_daily = "SAFE_NEUTRAL"\nmoon = "SAFE_NEUTRAL"',
            "unknown scenario 'moon'",
        ),
    ],
)
def test_what_is_wrong_is_named(tmp_path, old, new, message):
    assert old in PACKAGED
    path = tmp_path / "cells.toml"
    path.write_text(PACKAGED.replace(old, new, 1))
    with pytest.raises(HandbenchError, match=message):
        load(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gesture,scenario\n", "column safety_label is missing"),
        ("gesture,scenario,safety_label\nlike,home_daily,SAFE_NEUTRAL\nlike,home_daily,SAFE_NEUTRAL\n", "comes twice"),
        ("gesture,scenario,safety_label\nwave,home_daily,SAFE_NEUTRAL\n", "no gesture is named"),
        ("", "is missing"),
    ],
)
def test_what_is_wrong_in_a_csv_is_named(tmp_path, text, message):
    path = tmp_path / "cells.csv"
    path.write_text(text)
    with pytest.raises(HandbenchError, match=message):
        load(path)


def test_no_file(tmp_path):
    with pytest.raises(HandbenchError, match="expected a table of cells"):
        load(tmp_path / "none.toml")


def test_prices_alone_are_of_the_paper_s_grid(tmp_path):
    path = tmp_path / "prices.toml"
    path.write_text("[costs]\nmissed = 20\n[costs.matrix.CRITICAL_STOP]\nSAFE_NEUTRAL = 100\n")
    cells = load(path)
    assert (cells.truth == PAPER.truth).all()
    assert fingerprint(cells) == fingerprint(PAPER)
    stop, warning, safe, verify = (
        LABELS.index(name) for name in ("CRITICAL_STOP", "WARNING_ATTENTION", "SAFE_NEUTRAL", "AMBIGUOUS_VERIFY")
    )
    assert cells.cost_matrix[stop, safe] == 100
    assert cells.cost_matrix[stop, verify] == 20
    assert cells.cost_matrix[stop, -1] == 20  # not readable: nothing is done
    assert cells.cost_matrix[stop, warning] == cells.costs.grade
    assert cells.cost_matrix[safe, stop] == cells.costs.alarm
