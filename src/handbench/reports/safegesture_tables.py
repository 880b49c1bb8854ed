"""Lines of the SafeGesture report's tables: the run's numbers in the paper's layout, the printed ones beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from handbench.tasks.safegesture.measures import TAXONOMY

BESIDE: Final = (
    ("under_safety_any_gesture", "Under-safety, any gesture"),
    ("over_safety_any_gesture", "Over-safety, any gesture"),
    ("missed_rate", "Missed, of interventions"),
    ("alarm_rate", "False alarm, of the rest"),
    ("worst_cell_missed", "Worst cell: missed"),
    ("worst_cell_accuracy", "Worst cell: right label"),
    ("cells_never_right", "Cells never right"),
    ("abstention_precision", "Deferring to a human: precision"),
    ("abstention_recall", "Deferring to a human: recall"),
    ("label_rate", "Label readable"),
    ("gesture_rate", "Gesture readable"),
    ("lucky_guess_share", "Lucky, of right labels"),
    ("consistency", "Two items of a cell answered alike"),
    ("own_gesture_majority", "Its gesture + majority table"),
    ("own_gesture_truth_table", "Its gesture + the truth"),
    ("expected_cost", "Cost per item"),
)
"""What a safety engineer asks besides."""

MODAL: Final = ("modal_share_mean", "modal_share_median", "modal_share_min")
TWO_STEP: Final = " + two-step"
"""How the row of a model that was asked in two steps ends, unless it was renamed."""


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
    """A line of a table; ``kind`` is ``model``, ``baseline`` or ``published``."""

    name: str
    numbers: tuple[Number, ...]
    kind: str = "model"


def plain(scores: pl.DataFrame) -> pl.DataFrame:
    """The ``scores`` table with texts for categories."""
    return scores.with_columns(pl.col("model", "metric", "slice", "protocol").cast(pl.String))


def own_scores(scores: pl.DataFrame) -> pl.DataFrame:
    """The rows with the paper's intervals."""
    return plain(scores).filter(pl.col("protocol").str.ends_with("interval=percentile"))


def value_of(scores: pl.DataFrame, model: str, metric: str, key: str = "all", value: str = "all") -> float | None:
    """One score, None where there is none."""
    return number_of(scores, model, metric, key, value).value


def number_of(scores: pl.DataFrame, model: str, metric: str, key: str = "all", value: str = "all") -> Number:
    """One score with its interval."""
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


def model_lines(scores: pl.DataFrame, models: list[str], metrics: Sequence[str]) -> list[Line]:
    """A line per model, a column per metric."""
    return [Line(model, tuple(number_of(scores, model, name) for name in metrics)) for model in models]


def printed(row: dict[str, Any] | None) -> Number:
    """A printed percentage with its interval."""
    if row is None:
        return Number(None)
    value, low, high = (None if row[name] is None else row[name] / 100 for name in ("value", "ci95_low", "ci95_high"))
    return Number(value, low, high)


def slices(
    scores: pl.DataFrame, models: list[str], key: str, values: Sequence[str], metrics: Sequence[str]
) -> list[Line]:
    """A line per model with the metrics of every scenario, gesture or label."""
    return [
        Line(model, tuple(number_of(scores, model, metric, key, value) for value in values for metric in metrics))
        for model in models
    ]


def class_lines(scores: pl.DataFrame, models: list[str], labels: Sequence[str]) -> list[Line]:
    """Appendix G: F1 by label, then macro-F1 and balanced accuracy."""
    return [
        Line(
            model,
            (
                *(number_of(scores, model, "f1", "label", label) for label in labels),
                number_of(scores, model, "macro_f1"),
                number_of(scores, model, "balanced_accuracy"),
            ),
        )
        for model in models
    ]


def printed_classes(published: pl.DataFrame, labels: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Appendix G as printed, in the same columns; none where the labels are others."""
    part = published.filter(pl.col("table") == "Appendix G")
    lines = []
    for (model,), rows in part.group_by("model", maintain_order=True):
        found = {(row["metric"], row["label"]): row["value"] for row in rows.iter_rows(named=True)}
        columns = [*(("F1", label) for label in labels), ("F1", "macro"), ("balanced_accuracy", None)]
        values = [found.get(column) for column in columns]
        if values[0] is not None:
            lines.append((str(model), ["–" if value is None else f"{value:.1f}" for value in values]))
    return lines


def rivals(published: pl.DataFrame, table: str, key: str, values: Sequence[str]) -> list[tuple[str, list[str]]]:
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


def printed_metrics(published: pl.DataFrame, table: str, metrics: Sequence[str]) -> list[tuple[str, list[str]]]:
    """A table of the paper as printed, a column per metric."""
    part = published.filter((pl.col("table") == table) & pl.col("metric").is_in(list(metrics)))
    lines = []
    for (model,), rows in part.group_by("model", maintain_order=True):
        found = dict(rows.select("metric", "value").iter_rows())
        lines.append((str(model), ["–" if name not in found else f"{found[name]:.1f}" for name in metrics]))
    return lines


def taxonomy_lines(scores: pl.DataFrame, models: list[str]) -> list[Line]:
    """Appendix D: the six failure classes, of the models that were asked for a gesture."""
    lines = model_lines(scores, models, TAXONOMY)
    return [line for line in lines if all(number.value is not None for number in line.numbers)]


def paired(scores: pl.DataFrame, models: list[str]) -> list[tuple[str, Number, Number]]:
    """Table 19: (pair, difference of Decoupling Scores, share of resamples above zero)."""
    lines = []
    for place, first in enumerate(models):
        for second in models[place + 1 :]:
            gap = number_of(scores, first, "decoupling_difference", "against", second)
            if gap.value is not None:
                above = number_of(scores, first, "difference_above_zero", "against", second)
                rival = f"({second})" if " + " in second else second
                lines.append((f"{first} − {rival}", gap, above))
    return lines


def printed_pairs(published: pl.DataFrame) -> list[tuple[str, Number, Number]]:
    """Table 19 as printed."""
    rows = published.filter(pl.col("metric") == "paired_DS_difference").iter_rows(named=True)
    return [(row["model"], printed(row), Number(row["share_above_zero_percent"] / 100)) for row in rows]


def ablation(runs: Sequence[tuple[str, pl.DataFrame]]) -> list[Line]:
    """Table 4 of the run's own models: Variant A, one prompt, Variant B, what the image adds, what words add to it.

    Two steps stand beside: the gesture from the image, the action from words.

    Args:
        runs: (variant, own scores) of this run and of those beside it.
    """
    found: dict[str, dict[str, float]] = {}
    for variant, scores in runs:
        rows = scores.filter(
            (pl.col("metric") == "safety_accuracy") & (pl.col("slice") == "all") & pl.col("value").is_not_null()
        )
        for model, value in rows.select("model", "value").iter_rows():
            two = variant == "image" and model.endswith(TWO_STEP)
            name, column = (model.removesuffix(TWO_STEP), "two-step") if two else (model, variant)
            found.setdefault(name, {}).setdefault(column, value)
    return [
        Line(
            model,
            (
                *(Number(got.get(column)) for column in ("scenario-only", "image", "two-step", "gesture-as-text")),
                _gap(got.get("image"), got.get("scenario-only")),
                _gap(got.get("gesture-as-text"), got.get("image")),
            ),
        )
        for model, got in found.items()
        if got.keys() - {"image"}
    ]


def _gap(whole: float | None, part: float | None) -> Number:
    return Number(None if whole is None or part is None else whole - part)
