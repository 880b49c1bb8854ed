"""The tables of a comparison (HandVQA, Tables 7 to 13): paired, tuned on × evaluated on, vision only, people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import polars as pl

from handbench.reports.board import Cell
from handbench.reports.comparison import EVERYTHING, Difference, Group, Side, tuned_on
from handbench.reports.drawing import TITLES
from handbench.reports.printed import Line, Printed

_SCORES: Final = (
    ("angle", "accuracy"),
    ("angle", "mae_answered"),
    ("distance", "accuracy"),
    ("distance", "mae_answered"),
    ("x", "accuracy"),
    ("y", "accuracy"),
    ("z", "accuracy"),
)
_HEADINGS: Final = ("Angle acc.", "MAE", "Distance acc.", "MAE", "X acc.", "Y acc.", "Z acc.")
_PAPER_SETS: Final = {"freihand": "FreiHAND", "interhand": "InterHand2.6M", "fpha": "FPHA"}
_PUBLISHED: Final = (
    "Lines in italics or grey are published (HandVQA, arXiv 2603.26362): the paper's images, prompts and scoring, "
    "percent as printed, without intervals."
)
_OTHER_DATA: Final = " They are of other images than these: for orientation, not for comparison."


def _percent(metric: str) -> bool:
    return not metric.startswith("mae")


def _shown(cell: Cell) -> str:
    return f"{cell.text}\n({cell.interval})" if cell.interval else cell.text


def _cells(side: Side, model: str, wanted: Sequence[tuple[str, str]]) -> list[Cell]:
    rows = side.scores.filter((pl.col("model").cast(pl.String) == model) & (pl.col("slice").cast(pl.String) == "all"))
    found = {(row["descriptor"], row["metric"]): row for row in rows.iter_rows(named=True)}
    return [
        Cell(row["value"], row["low"], row["high"], _percent(metric))
        if (row := found.get((descriptor, metric)))
        else Cell(None)
        for descriptor, metric in wanted
    ]


def _bare(model: str, side: Side) -> str:
    return model if model in side.models else model.rpartition(" (")[0]


def scores(groups: Sequence[Group], named: dict[str, str], published: pl.DataFrame) -> Printed:
    """Tuned on × evaluated on (Tables 7 to 10), each of the run's models in every dataset."""
    lines = []
    for group in groups:
        for model, side in group.models.items():
            cells = _cells(side, _bare(model, side), (*_SCORES, (EVERYTHING, "accuracy")))
            on = tuned_on(side, model, named)
            count = f"{group.questions.height:,}".replace(",", " ")
            lines.append(Line((model, on or "–", group.dataset, *map(_shown, cells), count)))
    sets = {_PAPER_SETS.get(group.sides[0].manifest["source"]["name"], "") for group in groups} - {""}
    theirs = _published_scores(published, sets)
    return Printed(
        name="scores",
        title="Tuned on × evaluated on",
        note="Percent and ranks with 95 % cluster intervals."
        + (f" {_PUBLISHED}" if theirs else "")
        + ("" if sets or not theirs else _OTHER_DATA),
        headings=("Model", "Tuned on", "Evaluated on", *_HEADINGS, "All acc.", "Questions"),
        lines=(*lines, *theirs),
        texts=3,
    )


def _published_scores(published: pl.DataFrame, sets: set[str]) -> list[Line]:
    if "tuned_on" not in published.columns:
        return []
    rows = published.filter(pl.col("table").is_in([f"Table {number}" for number in (2, 3, 7, 8, 9, 10)]))
    if sets:
        rows = rows.filter(pl.col("evaluated_on").is_in(list(sets)))
    else:
        rows = rows.filter(pl.col("table").is_in(["Table 7", "Table 8", "Table 9", "Table 10"]))
    lines = []
    for (model, tuned, on), part in rows.group_by("model", "tuned_on", "evaluated_on", maintain_order=True):
        found = {(row["descriptor"], row["metric"]): row["value"] for row in part.iter_rows(named=True)}
        cells = [_published_cell(found, descriptor, metric) for descriptor, metric in _SCORES]
        lines.append(Line((f"{model} (published)", str(tuned or "–"), str(on), *cells, "–", "–"), published=True))
    return lines


def _published_cell(found: dict[tuple[str, str], float], descriptor: str, metric: str) -> str:
    value = found.get((descriptor, "mae" if metric == "mae_answered" else metric))
    return "–" if value is None else f"{value:.2f}" if metric == "accuracy" else f"{value:.3f}"


def paired(found: Sequence[Difference]) -> Printed:
    """Every paired difference, and which stand."""
    lines = [
        Line(
            (
                one.model,
                one.base,
                one.dataset,
                TITLES.get(one.descriptor, one.descriptor),
                f"{100 * one.second:.1f} → {100 * one.first:.1f}",
                _signed(one.cell.value),
                f"{_signed(one.cell.low)} to {_signed(one.cell.high)}" if one.cell.low is not None else "",
                _p(one.p_value),
                _p(one.corrected) + (" *" if one.sure else ""),
                "" if one.mcnemar is None else _p(one.mcnemar),
                "–" if one.detectable is None else f"{100 * one.detectable:.1f}",
                f"+{one.won} −{one.lost}",
                f"{one.n} in {one.clusters}",
            ),
            strong=one.sure,
        )
        for one in found
    ]
    table = Printed(
        name="paired",
        title="Paired differences of accuracy",
        note=(
            "Points, with 95 % intervals over clusters drawn together. p: sign-flip test by clusters; p (Holm): "
            "corrected over the table, a star where the difference stands at 5 %. McNemar: exact, only where every "
            "cluster has one question. Detectable: the smallest true difference found four times in five. "
            "Won and lost: questions that one of the two alone has right."
        ),
        headings=(
            "Model",
            "Against",
            "Evaluated on",
            "Questions",
            "Accuracy",
            "Difference",
            "95 % interval",
            "p",
            "p (Holm)",
            "McNemar",
            "Detectable",
            "Won, lost",
            "n in clusters",
        ),
        lines=tuple(lines),
        texts=4,
    )
    return table if any(one.mcnemar is not None for one in found) else table.without("McNemar")


def _signed(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:+.1f}".replace("-", "−")


def _p(value: float) -> str:
    return "" if value != value else "<0.001" if value < 0.001 else f"{value:.3f}"


def vision_only(groups: Sequence[Group], named: dict[str, str], published: pl.DataFrame) -> Printed | None:
    """Pose estimators beside language models (Table 11); None where no run has an estimator."""
    wanted = _SCORES[:4]
    lines = []
    for group in groups:
        for model, side in group.models.items():
            what = (
                "vision only" if side.kind_of(model) == "pose" else "tuned" if tuned_on(side, model, named) else "base"
            )
            if side.kind_of(model) not in ("chance", "oracle", "prior"):
                cells = _cells(side, _bare(model, side), wanted)
                lines.append((what == "vision only", Line((model, what, group.dataset, *map(_shown, cells)))))
    if not any(is_vision for is_vision, _ in lines):
        return None
    theirs = [
        Line((f"{line[0]} (published)", line[1], line[2], *line[3:]), published=True) for line in _table_11(published)
    ]
    return Printed(
        name="vision_only",
        title="Vision alone beside language models",
        note="A pose estimator answers by its joints through the same geometry as the truth."
        + (f" {_PUBLISHED}" if theirs else ""),
        headings=("Model", "Kind", "Evaluated on", *_HEADINGS[:4]),
        lines=(*(line for _, line in sorted(lines, key=lambda pair: not pair[0])), *theirs),
        texts=3,
    )


def _table_11(published: pl.DataFrame) -> list[tuple[str, ...]]:
    if "tuned_on" not in published.columns:
        return []
    rows = published.filter(pl.col("table") == "Table 11")
    lines = []
    for (model, tuned, on), part in rows.group_by("model", "tuned_on", "evaluated_on", maintain_order=True):
        found = {(row["descriptor"], row["metric"]): row["value"] for row in part.iter_rows(named=True)}
        cells = [_published_cell(found, descriptor, metric) for descriptor, metric in _SCORES[:4]]
        what = "vision only" if model == "HaMeR" else "tuned" if tuned else "base"
        lines.append((str(model), what, str(on), *cells))
    return lines


def people(groups: Sequence[Group], published: pl.DataFrame) -> Printed | None:
    """People beside models on the questions that people answered (Table 13); None where no run has people."""
    lines = []
    for group in groups:
        answered = [(model, side) for model, side in group.models.items() if side.kind_of(model) == "people"]
        for model, side in answered:
            lines += _beside_people(group, model, side)
    if not lines:
        return None
    rows = published.filter(pl.col("table") == "Table 13") if "table" in published.columns else published.clear()
    theirs = [
        Line((f"{row['model']} (published)", row["evaluated_on"], f"{row['value']:.2f}", "–", "–", "–"), published=True)
        for row in rows.iter_rows(named=True)
    ]
    return Printed(
        name="people",
        title="People and models on the same questions",
        note=(
            "Accuracy in percent over the questions that people answered, every person's answer counted. Agreement: "
            "Krippendorff's alpha of the chosen labels, 1 where all agree, 0 where they agree as by chance. "
            + (_PUBLISHED if theirs else "")
        ).strip(),
        headings=("Who", "Questions of", "Accuracy", "Answers", "Questions", "Agreement"),
        lines=(*lines, *theirs),
        texts=2,
    )


def _beside_people(group: Group, people_name: str, side: Side) -> list[Line]:
    from handbench.reports.agreement import accuracy_of, agreement_of

    bare = _bare(people_name, side)
    mine = side.readings.filter(pl.col("model").cast(pl.String) == bare)
    keys = mine.select("question_id", pl.col("variant").cast(pl.String)).unique()
    lines = []
    for model, other in group.models.items():
        rows = other.readings.filter(pl.col("model").cast(pl.String) == _bare(model, other)).with_columns(
            pl.col("variant").cast(pl.String)
        )
        part = rows.join(keys, on=["question_id", "variant"], how="semi")
        cell = accuracy_of(part, group.questions)
        alpha = agreement_of(part, group.questions) if model == people_name else None
        count = part.select("question_id", "variant").unique().height
        told: tuple[Any, ...] = (str(part.height), str(count), "–" if alpha is None else f"{alpha:.2f}")
        lines.append(Line((model, group.dataset, _shown(cell), *told), strong=model == people_name))
    return lines
