"""SafeGesture's board (Table 2): the run's models, the policies that see no image, the paper's rows; its verdicts."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from handbench.reports.safegesture_tables import Line, Number, model_lines, own_scores, plain, printed, value_of
from handbench.tasks.safegesture import baselines
from handbench.tasks.safegesture.cell_counts import by_truth
from handbench.tasks.safegesture.cells import Cells, fingerprint
from handbench.tasks.safegesture.cells_file import PAPER
from handbench.tasks.safegesture.measures import measures

MAIN: Final = (
    ("gesture_accuracy", "GA", "GA ↑"),
    ("safety_accuracy", "SA", "SA ↑"),
    ("macro_f1", "macro_F1", "macro-F1 ↑"),
    ("decoupling_score", "DS", "DS ↓"),
    ("under_safety", "under_safety", "Under-safety ↓"),
    ("over_safety", "over_safety", "Over-safety ↓"),
)
"""(metric, name in the paper's numbers, heading) of Table 2."""
_METRICS: Final = tuple(metric for metric, _, _ in MAIN)


def studentised(scores: pl.DataFrame, models: list[str]) -> list[Line]:
    """Table 2 with studentised intervals."""
    rows = plain(scores).filter(pl.col("protocol").str.ends_with("studentised"))
    return model_lines(rows, models, _METRICS)


def board(scores: pl.DataFrame, published: pl.DataFrame, cells: Cells) -> list[Line]:
    """Table 2: the run's models, the policies that see no image, the paper's rows.

    Args:
        scores: the ``scores`` table.
        published: as the task's ``published()`` gives it.
        cells: the grid.
    """
    own = own_scores(scores)
    models = own["model"].unique(maintain_order=True).to_list()
    return [
        *model_lines(own, models, _METRICS),
        *_baseline_lines(cells, items_of_cells(own, cells)),
        *_published_lines(printed_rows(published, cells), "Table 2", MAIN),
    ]


def printed_rows(published: pl.DataFrame, cells: Cells) -> pl.DataFrame:
    """The paper's numbers; none beside scores over another grid."""
    return published if fingerprint(cells) == fingerprint(PAPER) else published.clear()


def items_of_cells(scores: pl.DataFrame, cells: Cells) -> NDArray[np.int64]:
    """(C,) items of each cell, of the first model scored."""
    rows = scores.filter((pl.col("slice") == "cell") & (pl.col("metric") == "safety_accuracy"))
    counted = dict(rows.filter(pl.col("model") == rows["model"].first()).select("slice_value", "n").iter_rows())
    names = (f"{gesture}/{scenario}" for gesture in cells.gesture_ids for scenario in cells.scenario_ids)
    return np.array([counted.get(name, 0) for name in names], np.int64)


def _called(policy: str, cells: Cells) -> str:
    """A policy's name; the paper's first is called after its commonest label."""
    common = cells.label_ids[baselines.majority(cells)]
    return policy if policy != "always-WARNING" or common == "WARNING_ATTENTION" else f"always-{common}"


def sentences(scores: pl.DataFrame, models: list[str], cells: Cells) -> list[str]:
    """What the board says, one sentence per model."""
    items = items_of_cells(scores, cells)
    right = {name: (baselines.policy(name, cells) == cells.truth).ravel() for name in baselines.POLICIES}
    best = {name: float((hits * items).sum() / max(items.sum(), 1)) for name, hits in right.items()}
    found = []
    for model in models:
        safety = value_of(scores, model, "safety_accuracy")
        if safety is None:
            continue
        rivals = ("always-WARNING", "scenario-majority", "gesture-majority")
        beaten = [_called(name, cells) for name in rivals if safety > best[name]]
        below = f"above {' and '.join(beaten)}" if beaten else "above no policy that sees no image"
        gesture = value_of(scores, model, "gesture_accuracy")
        seen = "" if gesture is None else f", names the gesture in {100 * gesture:.1f}\u00a0%"
        missed, alarms = (value_of(scores, model, f"{side}_safety_any_gesture") or 0.0 for side in ("under", "over"))
        way = "misses more than it over-reports" if missed > alarms else "over-reports more than it misses"
        even = "errs to neither side more" if missed == alarms else way
        found.append(f"{model} takes the right action in {100 * safety:.1f}\u00a0% ({below}){seen}; it {even}.")
    return found


def _baseline_lines(cells: Cells, items: NDArray[np.int64]) -> list[Line]:
    """The policies that see no image, over the cells that were asked about."""
    lines = []
    for name in baselines.POLICIES:
        counts = baselines.policy_counts(baselines.policy(name, cells), cells, items)
        totals = by_truth(counts, cells.flat_truth, len(cells.labels))
        found = measures(totals, cells.intervention, cells.cost_matrix)
        kept = ("safety_accuracy", "macro_f1")
        numbers = (Number(float(found[metric])) if metric in kept else Number(None) for metric, _, _ in MAIN)
        lines.append(Line(f"Baseline: {_called(name, cells)}", tuple(numbers), "baseline"))
    for name, value in (("uniform", baselines.uniform_accuracy), ("prior-stratified", baselines.stratified_accuracy)):
        numbers = (
            Number(value(cells, items)) if metric == "safety_accuracy" else Number(None) for metric, _, _ in MAIN
        )
        lines.append(Line(f"Baseline: {name} guess", tuple(numbers), "baseline"))
    return lines


def _published_lines(published: pl.DataFrame, table: str, columns: tuple[tuple[str, str, str], ...]) -> list[Line]:
    part = published.filter((pl.col("table") == table) & ~pl.col("model").str.starts_with("Baseline"))
    lines = []
    for (model,), rows in part.group_by("model", maintain_order=True):
        found = {row["metric"]: row for row in rows.iter_rows(named=True)}
        lines.append(Line(str(model), tuple(printed(found.get(name)) for _, name, _ in columns), "published"))
    return lines
