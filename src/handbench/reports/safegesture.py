"""The SafeGesture report: the paper's tables in its layout, the 48 cells, failures, costs, and the items."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from markupsafe import Markup
from numpy.typing import NDArray

from handbench.protocols import ReadContext
from handbench.reports import safegesture_figures as figures
from handbench.reports.answerers import answered
from handbench.reports.environment import template
from handbench.reports.safegesture_items import cards
from handbench.runs.answering import task_of
from handbench.runs.folder import RunFolder
from handbench.tasks.safegesture import baselines
from handbench.tasks.safegesture.cell_counts import by_truth
from handbench.tasks.safegesture.cells import Cells
from handbench.tasks.safegesture.items import Items, items_of
from handbench.tasks.safegesture.measures import TAXONOMY, measures

MAIN: Final = (
    ("gesture_accuracy", "GA", "GA ↑"),
    ("safety_accuracy", "SA", "SA ↑"),
    ("macro_f1", "macro_F1", "macro-F1 ↑"),
    ("decoupling_score", "DS", "DS ↓"),
    ("under_safety", "under_safety", "Under-safety ↓"),
    ("over_safety", "over_safety", "Over-safety ↓"),
)
"""(metric, name in the paper's numbers, heading) of Table 2."""

BESIDE: Final = (
    ("under_safety_any_gesture", "Under-safety, any gesture"),
    ("over_safety_any_gesture", "Over-safety, any gesture"),
    ("missed_rate", "Missed, of interventions"),
    ("alarm_rate", "False alarm, of the rest"),
    ("worst_cell_missed", "Worst cell: missed"),
    ("worst_cell_accuracy", "Worst cell: SA"),
    ("cells_never_right", "Cells never right"),
    ("abstention_precision", "Deferring: precision"),
    ("abstention_recall", "Deferring: recall"),
    ("label_rate", "Label readable"),
    ("gesture_rate", "Gesture readable"),
    ("balanced_accuracy", "Balanced accuracy"),
    ("lucky_guess_share", "Lucky, of right answers"),
    ("modal_share_mean", "Modal share, mean"),
    ("modal_share_median", "Modal share, median"),
    ("modal_share_min", "Modal share, least"),
    ("consistency", "Two items alike"),
    ("own_gesture_majority", "Its gesture + majority table"),
    ("own_gesture_truth_table", "Its gesture + the truth"),
    ("expected_cost", "Cost per item"),
)
"""What a safety engineer asks besides."""

ABBREVIATIONS: Final = {
    "CRITICAL_STOP": "CRIT",
    "WARNING_ATTENTION": "WARN",
    "HELP_DISTRESS": "HELP",
    "SAFE_NEUTRAL": "SAFE",
    "AMBIGUOUS_VERIFY": "AMBIG",
}
"""As the paper abbreviates them (Table 9)."""


@dataclass(frozen=True)
class Number:
    """One number of a table; None where there is none."""

    value: float | None
    low: float | None = None
    high: float | None = None
    unit: float = 100.0

    @property
    def text(self) -> str:
        """Percent with one digit, a dash where there is none."""
        return "–" if self.value is None else f"{self.unit * self.value:.{1 if self.unit == 100 else 2}f}"

    @property
    def interval(self) -> str:
        """``[40.3, 66.1]``, empty where there is none."""
        if self.low is None or self.high is None:
            return ""
        return f"[{self.unit * self.low:.1f}, {self.unit * self.high:.1f}]"

    @property
    def short_interval(self) -> str:
        """``40–66``, for narrow places."""
        if self.low is None or self.high is None:
            return ""
        return f"{self.unit * self.low:.0f}–{self.unit * self.high:.0f}"


@dataclass(frozen=True)
class Line:
    """A line of a table."""

    name: str
    numbers: tuple[Number, ...]
    kind: str = "model"


@dataclass(frozen=True)
class Cell:
    """One of the cells as a model answers it."""

    truth: str
    modal: str
    right: float
    title: str


def write(folder: RunFolder, context: ReadContext | None = None) -> Path:
    """Write ``report.html`` of a scored SafeGesture run.

    Args:
        folder: the run.
        context: workers and progress, for rendered images that the items need.

    Returns:
        The report's path.
    """
    manifest = folder.manifest()
    task, options = task_of(manifest)
    cells: Cells = options.cells
    questions, scores, readings = folder.read("questions"), folder.read("scores"), folder.read("readings")
    scores = _plain(scores)
    models = scores["model"].unique(maintain_order=True).to_list()
    items = {
        str(model): items_of(questions, part, cells)
        for (model,), part in readings.group_by("model", maintain_order=True)
    }
    own = own_scores(scores)
    published = task.published()
    shares = {model: [_value(own, model, name) for name in TAXONOMY] for model in models}
    errors = {
        model: (_value(own, model, "under_safety_any_gesture"), _value(own, model, "over_safety_any_gesture"))
        for model in models
    }
    text = template("safegesture.html.j2").render(
        manifest=manifest,
        answered=answered(folder),
        version=version("handbench"),
        cells=cells,
        short=[ABBREVIATIONS.get(label, label[:5]) for label in cells.label_ids],
        models=models,
        main=MAIN,
        board=board(scores, published, cells),
        studentised=_model_lines(scores.filter(pl.col("protocol").str.ends_with("studentised")), models),
        sentences=sentences(own, models, cells),
        beside=[(label, [_number(own, model, name) for model in models]) for name, label in BESIDE],
        grids={model: _grid(items[model], cells) for model in models},
        confusions={model: _confusion(items[model], cells) for model in models},
        named={model: _named(items[model], cells) for model in models if items[model].asked_gesture},
        by_scenario=_slices(own, models, "scenario", cells.scenario_ids, ("safety_accuracy",)),
        by_gesture=_slices(own, models, "gesture", cells.gesture_ids, ("gesture_accuracy", "safety_accuracy")),
        scenario_rivals=_rivals(published, "Appendix C", "scenario", cells.scenario_ids),
        gesture_rivals=_rivals(published, "Appendix E", "gesture", cells.gesture_ids),
        label_use=_label_use(items, cells),
        label_rivals=_rivals(published.filter(pl.col("model") != "Ground truth"), "Table 3", "label", cells.label_ids),
        f1=_slices(own, models, "label", cells.label_ids, ("f1",)),
        f1_rivals=_rivals(published.filter(pl.col("metric") == "F1"), "Appendix G", "label", cells.label_ids),
        taxonomy=[name.upper() for name in TAXONOMY],
        shares=shares,
        share_rivals=_rivals(published, "Appendix D", "category", [name.upper() for name in TAXONOMY]),
        bars=Markup(figures.failure_bars(_with_published_shares(shares, published))),
        curves=Markup(figures.cost_curves(errors, _trivial(cells))),
        paired=_paired(own, models),
        ablation=_rivals_by_metric(published),
        cards=cards(folder, manifest, questions, context) if options.variant == "image" else [],
        variant=options.variant,
    )
    folder.report.write_text(text, encoding="utf-8")
    return folder.report


def _plain(scores: pl.DataFrame) -> pl.DataFrame:
    return scores.with_columns(pl.col("model", "metric", "slice", "protocol").cast(pl.String))


def own_scores(scores: pl.DataFrame) -> pl.DataFrame:
    """The rows with the paper's intervals."""
    return _plain(scores).filter(pl.col("protocol").str.ends_with("interval=percentile"))


def board(scores: pl.DataFrame, published: pl.DataFrame, cells: Cells) -> list[Line]:
    """Table 2: the run's models, the policies that see no image, the paper's rows.

    Args:
        scores: the ``scores`` table.
        published: as the task's ``published()`` gives it.
        cells: the grid.
    """
    own = own_scores(scores)
    models = own["model"].unique(maintain_order=True).to_list()
    return [*_model_lines(own, models), *_baseline_lines(cells), *_published_lines(published, "Table 2", MAIN)]


def sentences(scores: pl.DataFrame, models: list[str], cells: Cells) -> list[str]:
    """What the board says, one sentence per model."""
    best = {name: float((baselines.policy(name, cells) == cells.truth).mean()) for name in baselines.POLICIES}
    found = []
    for model in models:
        safety = _value(scores, model, "safety_accuracy")
        if safety is None:
            continue
        rivals = ("always-WARNING", "scenario-majority", "gesture-majority")
        beaten = [name for name in rivals if safety > best[name]]
        below = f"above {' and '.join(beaten)}" if beaten else "above no policy that sees no image"
        gesture, gap = _value(scores, model, "gesture_accuracy"), _value(scores, model, "decoupling_score")
        seen = "" if gesture is None or gap is None else f", names the gesture in {100 * gesture:.1f} %"
        missed, alarms = (_value(scores, model, f"{side}_safety_any_gesture") or 0.0 for side in ("under", "over"))
        way = "misses more than it over-reports" if missed > alarms else "over-reports more than it misses"
        even = "errs to neither side more" if missed == alarms else way
        found.append(f"{model} takes the right action in {100 * safety:.1f} % ({below}){seen}; it {even}.")
    return found


def _value(scores: pl.DataFrame, model: str, metric: str, key: str = "all", value: str = "all") -> float | None:
    return _number(scores, model, metric, key, value).value


def _number(scores: pl.DataFrame, model: str, metric: str, key: str = "all", value: str = "all") -> Number:
    row = scores.filter(
        (pl.col("model") == model)
        & (pl.col("metric") == metric)
        & (pl.col("slice") == key)
        & (pl.col("slice_value") == value)
    )
    unit = 1.0 if metric == "expected_cost" else 100.0
    if row.is_empty():
        return Number(None, unit=unit)
    return Number(row["value"][0], row["low"][0], row["high"][0], unit)


def _model_lines(scores: pl.DataFrame, models: list[str]) -> list[Line]:
    return [Line(model, tuple(_number(scores, model, metric) for metric, _, _ in MAIN)) for model in models]


def _baseline_lines(cells: Cells) -> list[Line]:
    """The policies that see no image, over this grid."""
    lines = []
    for name in baselines.POLICIES:
        counts = baselines.policy_counts(baselines.policy(name, cells), cells)
        totals = by_truth(counts, cells.flat_truth, len(cells.labels))
        found = measures(totals, cells.intervention, cells.cost_matrix)
        kept = ("safety_accuracy", "macro_f1")
        numbers = (Number(float(found[metric])) if metric in kept else Number(None) for metric, _, _ in MAIN)
        lines.append(Line(f"Baseline: {name}", tuple(numbers), "baseline"))
    for name, value in (("uniform", baselines.uniform_accuracy), ("prior-stratified", baselines.stratified_accuracy)):
        numbers = (Number(value(cells)) if metric == "safety_accuracy" else Number(None) for metric, _, _ in MAIN)
        lines.append(Line(f"Baseline: {name} guess", tuple(numbers), "baseline"))
    return lines


def _published_lines(published: pl.DataFrame, table: str, columns: tuple[tuple[str, str, str], ...]) -> list[Line]:
    part = published.filter((pl.col("table") == table) & ~pl.col("model").str.starts_with("Baseline"))
    lines = []
    for (model,), rows in part.group_by("model", maintain_order=True):
        found = {row["metric"]: row for row in rows.iter_rows(named=True)}
        numbers = tuple(
            Number(row["value"], row["ci95_low"], row["ci95_high"], 1.0) if row else Number(None)
            for row in (found.get(name) for _, name, _ in columns)
        )
        lines.append(Line(str(model), tuple(_percent(number) for number in numbers), "published"))
    return lines


def _percent(number: Number) -> Number:
    """A printed percentage as a fraction."""
    value, low, high = (None if part is None else part / 100 for part in (number.value, number.low, number.high))
    return Number(value, low, high)


def _grid(items: Items, cells: Cells) -> list[tuple[str, list[Cell]]]:
    """Rows of the heat map: what is true, what is mostly said, how often it is right."""
    answers = items.counts(cells).sum(1)
    total = answers.sum(1)
    names = [*(ABBREVIATIONS.get(label, label[:5]) for label in cells.label_ids), "none"]
    right = answers[np.arange(len(answers)), cells.flat_truth] / np.maximum(total, 1)
    rows = []
    for line, gesture in enumerate(cells.gestures):
        row = []
        for column, scenario in enumerate(cells.scenarios):
            place = line * len(cells.scenarios) + column
            said = ", ".join(f"{name} {count}" for name, count in zip(names, answers[place], strict=True) if count)
            modal = names[int(answers[place].argmax())] if total[place] else "–"
            title = f"{gesture.id} in {scenario.id}: {said or 'nothing'}"
            row.append(Cell(names[cells.flat_truth[place]], modal, float(right[place]), title))
        rows.append((gesture.id, row))
    return rows


def _confusion(items: Items, cells: Cells) -> list[tuple[str, list[int]]]:
    counts = by_truth(items.counts(cells), cells.flat_truth, len(cells.labels)).sum(1)
    return list(zip(cells.label_ids, counts.tolist(), strict=True))


def _named(items: Items, cells: Cells) -> list[tuple[str, list[int]]]:
    """Gestures shown (rows) and named (columns, the last for none readable), by image and scenario."""
    size = len(cells.gestures)
    named = np.where(items.gesture < 0, size, items.gesture)
    code = items.true_gesture(cells) * (size + 1) + named
    counts: NDArray[np.int64] = np.bincount(code, minlength=size * (size + 1)).reshape(size, size + 1)
    return list(zip(cells.gesture_ids, counts.tolist(), strict=True))


def _slices(
    scores: pl.DataFrame, models: list[str], key: str, values: tuple[str, ...], metrics: tuple[str, ...]
) -> list[Line]:
    return [
        Line(model, tuple(_number(scores, model, metric, key, value) for value in values for metric in metrics))
        for model in models
    ]


def _rivals(published: pl.DataFrame, table: str, key: str, values: Any) -> list[tuple[str, list[str]]]:
    """Lines of one of the paper's tables as printed, in the order of these columns; none where it has none of them."""
    part = published.filter((pl.col("table") == table) & pl.col(key).is_in(list(values)))
    lines = []
    for (model,), rows in part.group_by("model", maintain_order=True):
        found: dict[str, list[str]] = {}
        for row in rows.sort("metric", maintain_order=True).iter_rows(named=True):
            fraction = row["unit"] == "fraction"
            number = 100 * row["value"] if fraction else row["value"]
            found.setdefault(row[key], []).append(f"{number:.0f}" if row["unit"] == "items" else f"{number:.1f}")
        width = max(len(texts) for texts in found.values())
        lines.append((str(model), [text for value in values for text in found.get(value, ["–"] * width)]))
    return lines


def _rivals_by_metric(published: pl.DataFrame) -> list[tuple[str, list[str]]]:
    """Table 4 as printed."""
    part = published.filter(pl.col("table") == "Table 4")
    return [
        (str(model), [f"{value:.1f}" for value in rows["value"]])
        for (model,), rows in part.group_by("model", maintain_order=True)
    ]


def _label_use(items: dict[str, Items], cells: Cells) -> list[tuple[str, list[int]]]:
    size = len(cells.labels)
    first = next(iter(items.values()))
    truth = np.bincount(cells.flat_truth[first.cell], minlength=size).tolist()
    lines = [("Ground truth", [*truth, 0])]
    for model, mine in items.items():
        used = np.bincount(np.where(mine.label < 0, size, mine.label), minlength=size + 1)
        lines.append((model, used.tolist()))
    return lines


def _with_published_shares(
    shares: dict[str, list[float | None]], published: pl.DataFrame
) -> dict[str, list[float | None]]:
    printed = _rivals(published, "Appendix D", "category", [name.upper() for name in TAXONOMY])
    shown = {model: parts for model, parts in shares.items() if None not in parts}
    for model, texts in printed:
        shown[f"{model} (published)"] = [float(text) / 100 for text in texts]
    return shown


def _trivial(cells: Cells) -> dict[str, tuple[float, float]]:
    """Missed and false-alarm shares of always acting and of never acting."""
    acting = float(cells.intervention[cells.flat_truth].mean())
    return {"always intervene": (0.0, 1 - acting), "never intervene": (acting, 0.0)}


def _paired(scores: pl.DataFrame, models: list[str]) -> list[tuple[str, Number, Number]]:
    lines = []
    for place, first in enumerate(models):
        for second in models[place + 1 :]:
            gap = _number(scores, first, "decoupling_difference", "against", second)
            if gap.value is not None:
                above = _number(scores, first, "difference_above_zero", "against", second)
                lines.append((f"{first} − {second}", gap, above))
    return lines
