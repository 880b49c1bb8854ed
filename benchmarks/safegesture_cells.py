"""For each published model, a table of 48 cells that meets its published margins, scored by handbench.

The paper prints no answers by cell.  Whole numbers of answers per cell, gesture right or wrong, and label are sought
(mixed-integer linear programme) such that the confusion matrix (Appendix F) is met exactly, accuracy by scenario (C),
the six failure classes (D), accuracies by gesture (E), the main table (2), and mean and least modal share (I) are met
within rounding.  Such a table is one of many; point estimates must agree, intervals need not.

    python benchmarks/safegesture_cells.py [--seconds 120]
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array, lil_array

from handbench.tasks.safegesture.cell_counts import shares_by_cell
from handbench.tasks.safegesture.cells import PAPER
from handbench.tasks.safegesture.intervals import cell_draws, paired_difference
from handbench.tasks.safegesture.measures import TAXONOMY
from handbench.tasks.safegesture.scoring import STUDENTISED, Score, score_counts

MODELS = ("GPT-4o", "Qwen2.5-VL", "InternVL2", "Phi-3.5", "LLaVA-NeXT")
PER_CELL = 100
C, K = PAPER.truth.size, len(PAPER.labels)
ANSWERS = C * 2 * K  # then C modal counts, then C · K choices of the modal label
SIZE = ANSWERS + C + C * K
TRUTH = PAPER.flat_truth
ACTS = PAPER.intervention


class Margins:
    """Rows of the programme: a weighted sum of variables between two limits."""

    def __init__(self) -> None:
        self.rows: list[dict[int, float]] = []
        self.low: list[float] = []
        self.high: list[float] = []

    def add(self, row: dict[int, float], low: float, high: float) -> None:
        """Ask for one sum."""
        self.rows.append(row)
        self.low.append(low)
        self.high.append(high)

    def constraint(self) -> LinearConstraint:
        """All rows as the solver wants them."""
        matrix = lil_array((len(self.rows), SIZE))
        for number, row in enumerate(self.rows):
            for column, weight in row.items():
                matrix[number, column] = weight
        return LinearConstraint(csr_array(matrix), self.low, self.high)


def answer(cell: int, right: int, label: int) -> int:
    return (cell * 2 + right) * K + label


def pick(where: Callable[[int, int, int], bool]) -> dict[int, float]:
    """Weight 1 on every (cell, gesture right, label) that a rule takes."""
    return {answer(c, r, j): 1.0 for c in range(C) for r in (0, 1) for j in range(K) if where(c, r, j)}


def kind(cell: int, right: int, label: int) -> str:
    """The failure class of an answer, from section 3.7 and not from handbench's own code."""
    truth = TRUTH[cell]
    if label == truth:
        return "correct" if right else "lucky_guess"
    if not right:
        return "misperception"
    if ACTS[truth] == ACTS[label]:
        return "decoupling"
    return "under_safety" if ACTS[truth] else "over_safety"


def share(row: dict[str, Any]) -> tuple[dict[int, float], float, float] | None:
    """What a printed number counts, the number of answers that make 1 of its unit, and half its last digit."""
    table, metric = row["table"], row["metric"]
    scenarios = len(PAPER.scenarios)
    percent = C * PER_CELL / 100
    if table == "Appendix C":
        column = PAPER.scenario_ids.index(row["scenario"])
        counted = pick(lambda c, r, j: c % scenarios == column and j == TRUTH[c])
        return counted, len(PAPER.gestures) * PER_CELL / 100, 0.05
    if table == "Appendix D":
        return pick(lambda c, r, j: kind(c, r, j) == row["category"].lower()), percent, 0.05
    if table == "Appendix E":
        line = PAPER.gesture_ids.index(row["gesture"])
        gesture = metric == "GA_by_gesture"
        counted = pick(lambda c, r, j: c // scenarios == line and (r == 1 if gesture else j == TRUTH[c]))
        return counted, scenarios * PER_CELL, 0.0005
    if table == "Table 2" and metric == "GA":
        return pick(lambda c, r, j: r == 1), percent, 0.05
    if table == "Table 2" and metric == "DS":
        right = pick(lambda c, r, j: True)
        weights = {(c, r, j): float(r) - float(j == TRUTH[c]) for c in range(C) for r in (0, 1) for j in range(K)}
        return {place: weights[key] for place, key in zip(right, weights, strict=True)}, percent, 0.05
    return None


def build(model: str, data: dict[str, Any], *, modal: bool) -> Margins:
    margins = Margins()
    for cell in range(C):
        margins.add({answer(cell, r, j): 1.0 for r in (0, 1) for j in range(K)}, PER_CELL, PER_CELL)
    for truth, row in enumerate(data["confusion_matrices"][model]):
        for label, count in enumerate(row):
            cells = {answer(int(c), r, label): 1.0 for c in np.flatnonzero(truth == TRUTH) for r in (0, 1)}
            margins.add(cells, count, count)
    for row in data["results"]:
        if row.get("model") != model or row.get("value") is None:
            continue
        value, found = row["value"], share(row)
        if modal and row["metric"] == "modal_share_mean":
            found = {ANSWERS + c: 1.0 for c in range(C)}, C * PER_CELL / 100, 0.05
        if modal and row["metric"] == "modal_share_min":
            for c in range(C):
                margins.add({ANSWERS + c: 1.0}, value, PER_CELL)
        if found is not None:
            counted, unit, step = found
            margins.add(counted, (value - step) * unit - 1e-6, (value + step) * unit + 1e-6)
    if modal:
        modal_rows(margins)
    return margins


def modal_rows(margins: Margins) -> None:
    """Tie each modal count to the greatest answer of its cell."""
    for c in range(C):
        chosen = ANSWERS + C + c * K
        margins.add({chosen + j: 1.0 for j in range(K)}, 1, 1)
        for j in range(K):
            count = {answer(c, r, j): -1.0 for r in (0, 1)}
            margins.add({ANSWERS + c: 1.0, **count}, 0, np.inf)
            margins.add({ANSWERS + c: 1.0, chosen + j: float(PER_CELL), **count}, -np.inf, PER_CELL)


def solve(model: str, data: dict[str, Any], seconds: float) -> tuple[np.ndarray | None, bool]:
    """(C, 2, K + 1) counts, and whether the modal shares are met too; None where no table exists."""
    integral = np.ones(SIZE)
    upper = np.full(SIZE, float(PER_CELL))
    upper[ANSWERS + C :] = 1
    for modal in (True, False):
        found = milp(
            np.zeros(SIZE),
            constraints=build(model, data, modal=modal).constraint(),
            bounds=Bounds(0, upper),
            integrality=integral,
            options={"time_limit": seconds},
        )
        if found.x is not None:
            whole = np.rint(found.x[:ANSWERS]).astype(np.int64).reshape(C, 2, K)
            return np.pad(whole, ((0, 0), (0, 0), (0, 1))), modal
    return None, False


def printed(data: dict[str, Any], model: str) -> dict[str, tuple[float, float | None, float | None]]:
    names = {
        "GA": "gesture_accuracy",
        "SA": "safety_accuracy",
        "DS": "decoupling_score",
        "under_safety": "under_safety",
        "over_safety": "over_safety",
        "macro_F1": "macro_f1",
        "modal_share_mean": "modal_share_mean",
        "modal_share_median": "modal_share_median",
        "modal_share_min": "modal_share_min",
        "balanced_accuracy": "balanced_accuracy",
    }
    rows = {}
    for row in data["results"]:
        if row.get("model") == model and row["table"] in ("Table 2", "Appendix G", "Appendix I"):
            name = names.get(row["metric"])
            if name and row.get("value") is not None:
                rows[name] = (row["value"], row.get("ci95_low"), row.get("ci95_high"))
        if row.get("model") == model and row["table"] == "Appendix D":
            rows.setdefault(row["category"].lower(), (row["value"], None, None))
    return rows


def show(model: str, counts: np.ndarray, draws: np.ndarray, data: dict[str, Any]) -> bool:
    scores = [*score_counts(counts, PAPER, draws, asked_gesture=True)]
    whole: dict[str, Score] = {s.metric: s for s in scores if s.part.slice == "all" and s.rule != STUDENTISED}
    student = {s.metric: s for s in scores if s.part.slice == "all" and s.rule == STUDENTISED}
    agrees = True
    print(f"  {'measure':<20}{'paper':>8}{'ours':>9}   {'paper interval':<16}{'percentile':<16}studentised")
    for name, (value, low, high) in printed(data, model).items():
        ours = whole[name]
        free = name in ("modal_share_median", "modal_share_min")  # another table with the same margins has another one
        close = abs(100 * ours.value - value) <= (0.5 if free else 0.0501)
        agrees &= close or free
        theirs = "" if low is None else f"[{low:.1f}, {high:.1f}]"
        mine = "" if low is None else f"[{100 * ours.interval.low:.1f}, {100 * ours.interval.high:.1f}]"
        other = student.get(name)
        third = "" if other is None else f"[{100 * other.interval.low:.1f}, {100 * other.interval.high:.1f}]"
        mark = "" if close else "  free" if free else "  DIFFERS"
        print(f"  {name:<20}{value:>8.1f}{100 * ours.value:>9.2f}   {theirs:<16}{mine:<16}{third}{mark}")
    assert set(TAXONOMY) <= set(printed(data, model))
    return agrees


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60, help="time limit of each programme")
    seconds = parser.parse_args().seconds
    text = (files("handbench.tasks.safegesture") / "published.json").read_text(encoding="utf-8")
    data = json.loads(text)
    draws = cell_draws(C)
    tables: dict[str, np.ndarray] = {}
    good = []
    for model in MODELS:
        begun = time.perf_counter()
        counts, modal = solve(model, data, seconds)
        if counts is None:
            print(f"{model}: no table of cells meets the printed margins")
            good.append(False)
            continue
        extra = "modal shares met too" if modal else "modal shares left free"
        print(f"{model}: found in {time.perf_counter() - begun:.1f} s ({extra})")
        tables[model] = counts
        good.append(show(model, counts, draws, data))
    print("paired differences of the Decoupling Score (paper | ours)")
    items = np.full(C, float(PER_CELL))
    for row in data["results"]:
        if row["metric"] != "paired_DS_difference":
            continue
        first, second = row["model"].split(" - ")
        if first in tables and second in tables:
            events = [shares_by_cell(tables[name], PAPER)["decoupling_score"] for name in (first, second)]
            gap = paired_difference(events[0], events[1], items, draws)
            print(
                f"  {row['model']:<26}{row['value']:.1f} [{row['ci95_low']}, {row['ci95_high']}] "
                f"{row['share_above_zero_percent']} % | {100 * gap.value:.1f} [{100 * gap.interval.low:.1f}, "
                f"{100 * gap.interval.high:.1f}] {100 * gap.above_zero:.2f} %"
            )
    print("all printed numbers met" if all(good) else "NOT all printed numbers are met")
    raise SystemExit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
