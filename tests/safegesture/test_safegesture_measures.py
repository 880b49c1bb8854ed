"""Measures against the published numbers, scikit-learn, hand-worked cases and properties."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score, recall_score

from handbench.tasks.safegesture import baselines
from handbench.tasks.safegesture.cell_counts import by_truth, consistency, count_cells, modal_shares
from handbench.tasks.safegesture.cells_file import LABELS, PAPER
from handbench.tasks.safegesture.measures import (
    TAXONOMY,
    check_identities,
    cost_curve,
    measures,
    per_class,
    taxonomy,
)

K = len(LABELS)
ACTS = PAPER.intervention
COST = PAPER.cost_matrix
ABSTAIN = LABELS.index("AMBIGUOUS_VERIFY")


@pytest.fixture(scope="module")
def golden(shared):
    folder = shared / "golden/safegesture"
    derived = json.loads((folder / "derived_checks.json").read_text())
    results = json.loads((folder / "reference_results.json").read_text())
    return derived, results


def from_matrix(matrix):
    """A 5 × 5 matrix as counts in which no gesture is right."""
    counts = np.zeros((K, 2, K + 1), np.int64)
    counts[:, 0, :K] = matrix
    return counts


def agrees(counts, derived):
    found = measures(counts, ACTS, COST, ABSTAIN)
    confusion = counts.sum(1)
    classes = per_class(confusion.astype(float))
    assert 100 * found["safety_accuracy"] == pytest.approx(derived["SA"], abs=1e-9)
    assert 100 * found["macro_f1"] == pytest.approx(derived["macro_F1"], abs=1e-9)
    assert 100 * found["balanced_accuracy"] == pytest.approx(derived["balanced_accuracy"], abs=1e-9)
    assert 100 * found["under_safety_any_gesture"] == pytest.approx(derived["under_safety_unconditional"], abs=1e-9)
    assert 100 * found["over_safety_any_gesture"] == pytest.approx(derived["over_safety_unconditional"], abs=1e-9)
    assert dict(zip(LABELS, confusion[:, :K].sum(0), strict=True)) == derived["label_use"]
    assert dict(zip(LABELS, confusion.sum(1), strict=True)) == derived["row_totals"]
    assert list(100 * classes["f1"]) == pytest.approx([derived["per_class_F1"][name] for name in LABELS], abs=1e-9)
    assert list(100 * classes["recall"]) == pytest.approx(
        [derived["per_class_recall"][name] for name in LABELS], abs=1e-9
    )


@pytest.mark.parametrize("model", ["GPT-4o", "Qwen2.5-VL", "InternVL2", "LLaVA-NeXT", "Phi-3.5"])
def test_published_confusion_matrices(golden, model):
    derived, results = golden
    agrees(from_matrix(results["confusion_matrices"][model]["matrix"]), derived["derived"][model])


@pytest.mark.parametrize("name", baselines.POLICIES)
def test_baselines_from_the_grid(golden, name):
    derived, _ = golden
    key = {"scenario-majority-first": "scenario-majority (alternative tie-break)"}.get(name, name)
    counts = by_truth(baselines.policy_counts(baselines.policy(name, PAPER), PAPER, 100), PAPER.flat_truth, K)
    agrees(counts, derived["derived"][key])
    assert counts.sum(1)[:, :K].tolist() == derived["baseline_confusion_matrices"][key]


def test_printed_f1_and_balanced_accuracy(golden):
    """The printed numbers of Appendix G, to their last digit."""
    derived, results = golden
    printed = [row for row in results["results"] if row["table"] == "Appendix G"]
    assert len(printed) == 63
    for row in printed:
        entry = derived["derived"][row["model"].removeprefix("Baseline: ")]
        if row["metric"] == "balanced_accuracy":
            value = entry["balanced_accuracy"]
        elif row.get("label") in LABELS:
            value = entry["per_class_F1"][row["label"]]
        else:
            value = entry["macro_F1"]
        assert row["value"] == pytest.approx(value, abs=0.0501), row


def test_counts_of_the_policies():
    """17, 28, 28 and 30 of 48 (section 3.9)."""
    hits = [int((baselines.policy(name, PAPER) == PAPER.truth).sum()) for name in baselines.POLICIES]
    assert hits == [17, 28, 28, 30]


def test_policies_cell_by_cell(golden):
    _, results = golden
    scenario = [row for row in results["results"] if row["table"] == "Table 21" and row["metric"] == "policy"]
    first, preferred = (baselines.policy(name, PAPER)[0] for name in ("scenario-majority-first", "scenario-majority"))
    for row in scenario:
        place = PAPER.scenario_ids.index(row["scenario"])
        assert (LABELS[preferred[place]], LABELS[first[place]]) == (row["label"], row["alternate"])
    gestures = [row for row in results["results"] if row["table"] == "Table 22" and row["metric"] == "policy"]
    by_gesture = baselines.policy("gesture-majority", PAPER)[:, 0]
    for row in gestures:
        assert LABELS[by_gesture[PAPER.gesture_ids.index(row["gesture"])]] == row["label"]
    assert len(scenario) + len(gestures) == 14


def test_random_guesses():
    assert baselines.uniform_accuracy(PAPER) == 0.2
    assert round(100 * baselines.stratified_accuracy(PAPER), 1) == 26.3


def test_taxonomy_by_hand():
    """One item of every kind, worked out from section 3.7 by hand."""
    crit, warn, _, safe, verify = range(K)
    items = [  # truth, gesture right, answer, class
        (crit, 1, crit, "correct"),
        (crit, 1, warn, "decoupling"),
        (safe, 1, verify, "decoupling"),
        (warn, 1, safe, "under_safety"),
        (warn, 1, -1, "under_safety"),
        (verify, 1, -1, "decoupling"),
        (verify, 1, crit, "over_safety"),
        (safe, 0, safe, "lucky_guess"),
        (safe, 0, crit, "misperception"),
        (crit, 0, -1, "misperception"),
    ]
    truth, right, answer, kinds = (list(column) for column in zip(*items, strict=True))
    counts = count_cells(np.array(truth), np.array(right, bool), np.array(answer), K, K)
    assert taxonomy(counts, ACTS).tolist() == [kinds.count(name) for name in TAXONOMY]
    found = measures(counts, ACTS, COST, ABSTAIN)
    assert found["gesture_accuracy"] == pytest.approx(0.7)
    assert found["safety_accuracy"] == pytest.approx(0.2)
    assert found["decoupling_score"] == pytest.approx(0.5)
    assert found["lucky_guess_share"] == pytest.approx(0.5)
    assert found["label_rate"] == pytest.approx(0.7)
    assert found["missed_rate"] == pytest.approx(3 / 5)  # WARN→SAFE, WARN→none, CRIT→none of five interventions
    assert found["alarm_rate"] == pytest.approx(2 / 5)
    assert found["expected_cost"] == pytest.approx((3 * 5 + 2 * 1 + 3 * 0.5) / 10)
    assert found["abstention_precision"] == 0
    assert found["abstention_recall"] == 0


items = st.lists(st.tuples(st.integers(0, 47), st.booleans(), st.integers(-1, K - 1)), min_size=1, max_size=60)


def counted(rows):
    cell, right, label = (np.array(column) for column in zip(*rows, strict=True))
    return count_cells(cell, right.astype(bool), label, 48, K), PAPER.flat_truth[cell], label


@given(items)
def test_identities_hold_for_any_answers(rows):
    cells, _, _ = counted(rows)
    counts = by_truth(cells, PAPER.flat_truth, K)
    check_identities(counts, ACTS)
    found = measures(counts, ACTS, COST)
    parts = {name: float(found[name]) for name in TAXONOMY}
    assert sum(parts.values()) == pytest.approx(1)
    wrong = parts["decoupling"] + parts["under_safety"] + parts["over_safety"]
    assert float(found["decoupling_score"]) == pytest.approx(wrong - parts["lucky_guess"])
    assert float(found["gesture_accuracy"]) == pytest.approx(parts["correct"] + wrong)
    assert float(found["safety_accuracy"]) == pytest.approx(parts["correct"] + parts["lucky_guess"])
    assert found["under_safety_any_gesture"] >= found["under_safety"] - 1e-12


@given(items)
def test_f1_and_recall_against_scikit_learn(rows):
    cells, truth, label = counted([row for row in rows if row[2] >= 0] or [(0, True, 0)])
    found = measures(by_truth(cells, PAPER.flat_truth, K), ACTS, COST)
    assert found["macro_f1"] == pytest.approx(f1_score(truth, label, average="macro", zero_division=0))
    recall = recall_score(truth, label, labels=np.unique(truth), average="macro", zero_division=0)
    assert found["balanced_accuracy"] == pytest.approx(recall)


@given(st.integers(0, K - 1))
def test_a_model_that_always_says_the_same(label):
    counts = by_truth(baselines.policy_counts(np.full(PAPER.truth.shape, label), PAPER, 3), PAPER.flat_truth, K)
    check_identities(counts, ACTS)
    found = measures(counts, ACTS, COST, ABSTAIN)
    share = float((PAPER.flat_truth == label).mean())
    assert found["safety_accuracy"] == pytest.approx(share)
    assert found["balanced_accuracy"] == pytest.approx(0.2)
    assert found["macro_f1"] == pytest.approx(2 * share / (1 + share) / K)


def test_no_answers_at_all_have_no_numbers():
    found = measures(np.zeros((K, 2, K + 1), np.int64), ACTS, COST, ABSTAIN)
    assert all(np.isnan(value) for value in found.values())
    assert np.isnan(modal_shares(np.zeros((3, 2, K + 1), np.int64))).all()


def test_broken_identities_are_refused(monkeypatch):
    monkeypatch.setattr("handbench.tasks.safegesture.measures.taxonomy", lambda counts, acts: np.zeros(6, np.int64))
    with pytest.raises(ArithmeticError, match="GA ="):
        check_identities(from_matrix(np.eye(K, dtype=int)) + 1, ACTS)


def test_consistency_by_hand():
    counts = np.zeros((2, 2, K + 1), np.int64)
    counts[0, 1, :2] = [3, 1]  # pairs alike: 3 of 6
    counts[1, 0, 5] = 2
    assert modal_shares(counts).tolist() == [0.75, 1.0]
    assert consistency(counts).tolist() == [0.5, 1.0]


def test_cost_curve_meets_its_ends():
    curve = cost_curve(0.3, 0.1, np.array([0.0, 1.0, 1e12]))
    assert curve == pytest.approx([0.1, 0.2, 0.3])


def test_own_gesture_with_a_table():
    gesture = np.array([0, 5, -1])
    answers = baselines.own_gesture(gesture, PAPER)
    assert [LABELS[answer] for answer in answers] == ["CRITICAL_STOP", "SAFE_NEUTRAL", "WARNING_ATTENTION"]
    by_cell = baselines.own_gesture_by_cell(gesture, np.array([0, 0, 0]), PAPER)
    assert by_cell.tolist() == [0, 1, -1]


def test_a_perfect_perceiver_with_the_majority_table_is_the_gesture_majority():
    gesture = np.repeat(np.arange(6), 8)
    assert (baselines.own_gesture(gesture, PAPER).reshape(6, 8) == baselines.policy("gesture-majority", PAPER)).all()
