"""The consistency table: what happens to a model's answers where one thing is changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import polars as pl
from markupsafe import Markup

from handbench.controls.names import CONTROLS
from handbench.reports.board import COLUMNS, Cell, Row
from handbench.reports.drawing import TITLES
from handbench.reports.environment import template
from handbench.reports.findings import BLIND, kind

UNSEEN: Final = "blank"
"""The control whose scores stand beside every model's own: what it answers without seeing the hand."""


@dataclass(frozen=True)
class Line:
    """One control of one model.

    Attributes:
        name: what was changed.
        accuracy: over all questions.
        change: the paired difference to the plain questions.
        consistency: share of answers that are what the plain answer calls for.
        parts: consistency by descriptor.
    """

    name: str
    accuracy: Cell
    change: Cell
    consistency: Cell
    parts: tuple[Cell, ...]


@dataclass(frozen=True)
class Rotated:
    """How a model fares under all rotations of the options.

    Attributes:
        circular: share of questions that are right in every order.
        mean: accuracy over all orders.
        places: (descriptor, share of answers at each place).
    """

    circular: Cell
    mean: Cell
    places: tuple[tuple[str, tuple[Cell, ...]], ...]


@dataclass(frozen=True)
class Consistency:
    """Everything that the controls say of one model."""

    lines: tuple[Line, ...]
    rotated: Rotated | None
    sentences: tuple[str, ...]


def descriptors(scores: pl.DataFrame) -> list[str]:
    """Descriptors that the controls are told of, in the usual order."""
    found = set(_controls(scores)["descriptor"].cast(pl.String))
    return [name for name in TITLES if name in found]


def _controls(scores: pl.DataFrame) -> pl.DataFrame:
    return scores.filter(pl.col("slice").cast(pl.String) == "control")


def of_model(scores: pl.DataFrame, model: str) -> Consistency | None:
    """What the controls say of one model; None where it had none."""
    rows = _controls(scores).filter(pl.col("model").cast(pl.String) == model)
    if rows.is_empty():
        return None
    found = {(row["slice_value"], row["metric"], row["descriptor"]): row for row in rows.iter_rows(named=True)}
    names = rows["slice_value"].unique(maintain_order=True).to_list()
    columns = descriptors(scores)
    lines = tuple(_line(found, name, columns) for name in names if name != "rotations")
    rotated = _rotated(found, columns) if "rotations" in names else None
    return Consistency(lines, rotated, tuple(_sentences(model, found, rotated)))


def _cell(found: dict[tuple[str, str, str], dict[str, Any]], *key: str) -> Cell:
    row = found.get((key[0], key[1], key[2]))
    return Cell(None) if row is None else Cell(row["value"], row["low"], row["high"])


def _line(found: dict[tuple[str, str, str], dict[str, Any]], name: str, columns: list[str]) -> Line:
    accuracy, change, kept = (
        _cell(found, name, metric, "all") for metric in ("accuracy", "accuracy_change", "consistency")
    )
    parts = tuple(_cell(found, name, "consistency", column) for column in columns)
    shown = f"options turned by {name.removeprefix('rotation-')}" if name.startswith("rotation-") else CONTROLS[name]
    return Line(shown, accuracy, change, kept, parts)


def _rotated(found: dict[tuple[str, str, str], dict[str, Any]], columns: list[str]) -> Rotated:
    places = []
    for column in columns:
        cells = [_cell(found, "rotations", f"choice_at_{letter}", column) for letter in "ABCDEFGH"]
        if known := tuple(cell for cell in cells if cell.value is not None):
            places.append((TITLES[column], known))
    circular, mean = (_cell(found, "rotations", metric, "all") for metric in ("circular_accuracy", "accuracy"))
    return Rotated(circular, mean, tuple(places))


def _sentences(model: str, found: dict[tuple[str, str, str], dict[str, Any]], rotated: Rotated | None) -> list[str]:
    said = []
    if rotated is not None and rotated.circular.value is not None and rotated.mean.value is not None:
        gap = rotated.mean.value - rotated.circular.value
        if gap > 0.1:
            said.append(
                f"{model} depends on the order of the options: right in {rotated.mean.text} % on average, but in "
                f"{rotated.circular.text} % in every order."
            )
    turned = _cell(found, "mirror", "consistency", "x")
    if turned.high is not None and turned.high < 0.5:
        said.append(
            f"{model} does not see left and right: in the mirror it turns its answer round in {turned.text} % "
            f"({turned.interval})."
        )
    for name, words in ((UNSEEN, "a blank image"), ("masked", "the hand covered")):
        change = _cell(found, name, "accuracy_change", "all")
        if (
            change.low is not None
            and change.high is not None
            and change.low < 0 < change.high
            and abs(change.value or 0) < 0.05
        ):
            said.append(
                f"{model} answers {words} as well as the real one: the difference is {change.text} points "
                f"({change.interval}), so its score says nothing of seeing."
            )
            break
    return said


def sentences(scores: pl.DataFrame) -> list[str]:
    """What the controls say of every model that sees images, in words."""
    models = _controls(scores)["model"].cast(pl.String).unique(maintain_order=True).to_list()
    found = [of_model(scores, model) for model in models if kind(model) not in BLIND]
    return [line for said in found if said is not None for line in said.sentences]


def section(scores: pl.DataFrame) -> Markup:
    """The report's part on controls, for any task; empty where the run has none."""
    models = _controls(scores)["model"].cast(pl.String).unique(maintain_order=True).to_list()
    said = {model: found for model in models if kind(model) not in BLIND and (found := of_model(scores, model))}
    columns = [TITLES[name] for name in descriptors(scores)]
    return Markup(template("controls.html.j2").render(controls=said, control_columns=columns))


def unseen_rows(scores: pl.DataFrame) -> list[Row]:
    """Lines for the score board: each model before a blank image."""
    rows = _controls(scores).filter(
        pl.col("slice_value") == UNSEEN, pl.col("metric").cast(pl.String).is_in(["accuracy", "answer_rate"])
    )
    lines = []
    for (model,), part in rows.group_by("model", maintain_order=True):
        if kind(str(model)) in BLIND:
            continue
        found = {(row["descriptor"], row["metric"]): row for row in part.iter_rows(named=True)}
        cells = []
        for descriptor, metric, _, _ in COLUMNS:
            row = found.get((descriptor, metric))
            cells.append(Cell(None) if row is None else Cell(row["value"], row["low"], row["high"]))
        lines.append(Row(f"{model}, blank image", tuple(cells)))
    return lines
