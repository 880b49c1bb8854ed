"""For each published model, a table of 48 cells that meets its published margins, scored by handbench.

The paper prints no answers by cell.  Whole numbers of answers per cell, gesture right or wrong, and label are sought
(mixed-integer linear programme) such that the confusion matrix (Appendix F) is met exactly, accuracy by scenario (C),
the six failure classes (D), accuracies by gesture (E), the main table (2), and mean, median and least modal share (I)
are met within rounding.  Such a table is one of many; point estimates must agree, intervals need not.

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
from handbench.tasks.safegesture.cells_file import PAPER
from handbench.tasks.safegesture.intervals import cell_draws, paired_difference
from handbench.tasks.safegesture.scoring import STUDENTISED, Score, score_counts

MODELS = ("GPT-4o", "Qwen2.5-VL", "InternVL2", "Phi-3.5", "LLaVA-NeXT")
PER_CELL = 100
C, K = PAPER.truth.size, len(PAPER.labels)
ANSWERS = C * 2 * K  # then C modal counts, C · K choices of the modal label, 3 · C cells beside median and minimum
CHOSEN = ANSWERS + C
BESIDE = CHOSEN + C * K
SIZE = BESIDE + 3 * C
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
            order_rows(margins, value, kind=0, above=C, below=1)
        if modal and row["metric"] == "modal_share_median":
            order_rows(margins, value, kind=1, above=C // 2 + 1, below=C // 2 + 1)
        if found is not None:
            counted, unit, step = found
            margins.add(counted, (value - step) * unit - 1e-6, (value + step) * unit + 1e-6)
    if modal:
        modal_rows(margins)
    return margins


def order_rows(margins: Margins, value: float, *, kind: int, above: int, below: int) -> None:
    """At least so many cells with a modal count of ``value`` or more, and so many with ``value`` or less."""
    if above == C:
        for c in range(C):
            margins.add({ANSWERS + c: 1.0}, value, PER_CELL)
    else:
        is_above = {BESIDE + 2 * C + c: 1.0 for c in range(C)}
        margins.add(is_above, above, C)
        for c in range(C):
            margins.add({ANSWERS + c: 1.0, BESIDE + 2 * C + c: -value}, 0, np.inf)
    margins.add({BESIDE + kind * C + c: 1.0 for c in range(C)}, below, C)
    for c in range(C):
        margins.add({ANSWERS + c: 1.0, BESIDE + kind * C + c: PER_CELL - value}, -np.inf, PER_CELL)


def modal_rows(margins: Margins) -> None:
    """Tie each modal count to the greatest answer of its cell."""
    for c in range(C):
        chosen = CHOSEN + c * K
        margins.add({chosen + j: 1.0 for j in range(K)}, 1, 1)
        for j in range(K):
            count = {answer(c, r, j): -1.0 for r in (0, 1)}
            margins.add({ANSWERS + c: 1.0, **count}, 0, np.inf)
            margins.add({ANSWERS + c: 1.0, chosen + j: float(PER_CELL), **count}, -np.inf, PER_CELL)


def solve(model: str, data: dict[str, Any], seconds: float) -> tuple[np.ndarray | None, bool]:
    """(C, 2, K + 1) counts, and whether the modal shares are met too; None where no table exists."""
    integral = np.ones(SIZE)
    upper = np.full(SIZE, float(PER_CELL))
    upper[CHOSEN:] = 1
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


NAMES = {
    "GA": "gesture_accuracy",
    "SA": "safety_accuracy",
    "DS": "decoupling_score",
    "macro_F1": "macro_f1",
    "F1": "f1",
    "GA_by_gesture": "gesture_accuracy",
    "SA_by_gesture": "safety_accuracy",
    "SA_by_scenario": "safety_accuracy",
    "label_count": "label_use",
}
"""The paper's names of measures where ours differ."""


def compare(row: dict[str, Any], scores: dict[tuple[str, str, str], Score]) -> tuple[str, float, float] | None:
    """Name, our value and half the last printed digit, in the printed unit; None for what no cells can tell."""
    part = next(((key, row[key]) for key in ("scenario", "gesture", "label") if row.get(key)), ("all", "all"))
    metric = row["category"].lower() if row.get("category") else NAMES.get(row["metric"], row["metric"])
    found = scores.get((metric, *part))
    if row.get("value") is None or found is None:
        return None
    factor = {"fraction": 1.0, "items": float(C * PER_CELL)}.get(row["unit"], 100.0)
    half = {"fraction": 0.0005, "items": 0.01}.get(row["unit"], 0.05)
    whole_number = row["metric"] in ("modal_share_median", "modal_share_min")
    name = metric if part[0] == "all" else f"{metric} {part[1]}"
    return name, factor * found.value, 0.5 if whole_number else half


def bracket(low: float | None, high: float | None, unit: float = 1.0) -> str:
    """An interval as it is printed; a dash where there is none."""
    return "-" if low is None or high is None or np.isnan(low) else f"[{unit * low:.1f}, {unit * high:.1f}]"


def show(model: str, counts: np.ndarray, draws: np.ndarray, data: dict[str, Any]) -> bool:
    """Hold every printed number of a model against our score of the same table of cells."""
    scores = [*score_counts(counts, PAPER, draws, asked_gesture=True)]
    ours = {(s.metric, s.part.slice, s.part.value): s for s in scores if s.rule != STUDENTISED}
    student = {s.metric: s for s in scores if s.rule == STUDENTISED}
    held = off = 0
    print(f"  {'measure':<20}{'paper':>8}{'ours':>9}   {'paper interval':<16}{'percentile':<16}studentised")
    for row in (row for row in data["results"] if row.get("model") == model and row["table"] != "Table 4"):
        found = compare(row, ours)
        if found is None:
            continue
        name, value, half = found
        close = abs(value - row["value"]) <= half + 1e-4
        held, off = held + close, off + (not close)
        if close and row["table"] not in ("Table 2", "Appendix D", "Appendix I"):
            continue
        three = ""
        if row.get("ci95_low") is not None:
            mine, other = ours[name, "all", "all"].interval, student[name].interval
            three = (
                f"{bracket(row['ci95_low'], row['ci95_high']):<16}{bracket(mine.low, mine.high, 100):<16}"
                f"{bracket(other.low, other.high, 100)}"
            )
        print(f"  {name:<20}{row['value']:>8}{value:>9.2f}   {three}{'' if close else '  DIFFERS'}".rstrip())
    print(f"  {held} of {held + off} printed numbers met")
    return held > 0 and not off


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
