"""Files of cells: read and checked whole; the paper's own grid is one of them."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import numpy as np

from handbench.errors import HandbenchError
from handbench.tasks.safegesture.cells import INVALID, Cells, Costs, Gesture, Label, Scenario


def load(path: str | Path | None = None) -> Cells:
    """Read and check a grid.

    Args:
        path: a ``.toml`` file like ``cells.toml`` in this package, or a ``.csv`` with the columns ``gesture,
            scenario, safety_label`` and, if you like, ``system_behavior``, about the paper's gestures,
            scenarios and labels (those that it names).  A ``.toml`` with ``[costs]`` alone sets the prices of errors
            in the paper's grid.  None for the paper's own.

    Raises:
        HandbenchError: a cell is missing or comes twice, a label is unknown, or the file is not as expected.
    """
    if path is None:
        return _paper()
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise HandbenchError(f"{path}: expected a table of cells (.toml or .csv): {error}") from None
    return _from_csv(text, path) if path.suffix.lower() == ".csv" else _from_toml(text, path)


@cache
def _paper() -> Cells:
    return _from_toml((files(__package__) / "cells.toml").read_text(encoding="utf-8"), Path("cells.toml"))


def _from_toml(text: str, path: Path) -> Cells:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise HandbenchError(f"{path}: not TOML: {error}") from None
    if data.keys() == {"costs"}:
        return replace(_paper(), costs=_costs(data["costs"], _paper().label_ids, path))
    labels = tuple(
        Label(_text(row, "id", path), _text(row, "gloss", path), _flag(row, "intervention", path))
        for row in _rows(data, "labels", path)
    )
    gestures = tuple(
        Gesture(_text(row, "id", path), _text(row, "shape", path)) for row in _rows(data, "gestures", path)
    )
    scenarios = tuple(
        Scenario(_text(row, "id", path), str(row.get("short", row.get("id"))), _text(row, "description", path))
        for row in _rows(data, "scenarios", path)
    )
    given: list[tuple[str, str, str, str]] = []
    for gesture, row in _table(data, "cells", path).items():
        for scenario, cell in row.items() if isinstance(row, dict) else ():
            entry = cell if isinstance(cell, dict) else {"label": cell}
            given.append((gesture, scenario, _text(entry, "label", path), str(entry.get("behavior", ""))))
    cells = _assemble(gestures, scenarios, labels, given, path)
    return replace(
        cells,
        consensus=_text(data, "consensus", path),
        opening=_text(data, "opening", path),
        costs=_costs(data.get("costs", {}), cells.label_ids, path),
    )


def _from_csv(text: str, path: Path) -> Cells:
    paper = _paper()
    reader = csv.DictReader(text.splitlines())
    missing = {"gesture", "scenario", "safety_label"} - set(reader.fieldnames or ())
    if missing:
        raise HandbenchError(f"{path}: column {', '.join(sorted(missing))} is missing in the first line")
    given = [
        (
            (row["gesture"] or "").strip(),
            (row["scenario"] or "").strip(),
            (row["safety_label"] or "").strip(),
            row.get("system_behavior") or "",
        )
        for row in reader
    ]
    named = {(gesture, scenario) for gesture, scenario, _, _ in given}
    gestures = tuple(gesture for gesture in paper.gestures if any(name == gesture.id for name, _ in named))
    scenarios = tuple(scenario for scenario in paper.scenarios if any(name == scenario.id for _, name in named))
    cells = _assemble(gestures, scenarios, paper.labels, given, path)
    return replace(cells, consensus=f"whoever wrote {path.name}", opening=paper.opening)


def _assemble(
    gestures: tuple[Gesture, ...],
    scenarios: tuple[Scenario, ...],
    labels: tuple[Label, ...],
    given: Sequence[tuple[str, str, str, str]],
    path: Path,
) -> Cells:
    for kind, entries in (("gesture", gestures), ("scenario", scenarios), ("label", labels)):
        names = [entry.id for entry in entries]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise HandbenchError(f"{path}: {kind} {twice[0]!r} comes twice")
        if not names:
            raise HandbenchError(f"{path}: no {kind} is named")
    ids = ([g.id for g in gestures], [s.id for s in scenarios], [label.id for label in labels])
    truth = np.full((len(gestures), len(scenarios)), -1, np.int64)
    behavior = {}
    for gesture, scenario, label, told in given:
        for kind, name, known in zip(("gesture", "scenario", "label"), (gesture, scenario, label), ids, strict=True):
            if name not in known:
                raise HandbenchError(
                    f"{path}: cell {gesture}/{scenario}: unknown {kind} {name!r}; known: {', '.join(known)}"
                )
        place = ids[0].index(gesture), ids[1].index(scenario)
        if truth[place] >= 0:
            raise HandbenchError(f"{path}: cell {gesture}/{scenario} comes twice")
        truth[place] = ids[2].index(label)
        if told:
            behavior[gesture, scenario] = told
    if (truth < 0).any():
        row, column = np.argwhere(truth < 0)[0]
        raise HandbenchError(
            f"{path}: cell {ids[0][row]}/{ids[1][column]} is missing; every gesture needs a label in every scenario"
        )
    truth.setflags(write=False)
    return Cells(gestures, scenarios, labels, truth, "", "", behavior)


def _costs(data: Any, labels: Sequence[str], path: Path) -> Costs:
    if not isinstance(data, dict):
        raise HandbenchError(f"{path}: [costs] must be a table")
    prices = {name: _price(data[name], f"costs.{name}", path) for name in ("missed", "alarm", "grade") if name in data}
    matrix = {}
    for truth, row in data.get("matrix", {}).items():
        for answer, price in row.items():
            if truth not in labels or answer not in (*labels, INVALID):
                raise HandbenchError(f"{path}: costs.matrix.{truth}.{answer}: unknown label")
            matrix[truth, answer] = _price(price, f"costs.matrix.{truth}.{answer}", path)
    return Costs(**prices, matrix=matrix)


def _price(value: Any, name: str, path: Path) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise HandbenchError(f"{path}: {name} must be a number of at least 0, not {value!r}")
    return float(value)


def _rows(data: Mapping[str, Any], key: str, path: Path) -> list[dict[str, Any]]:
    rows = data.get(key)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise HandbenchError(f"{path}: [[{key}]] is missing; see cells.toml in the package for the form")
    return rows


def _table(data: Mapping[str, Any], key: str, path: Path) -> dict[str, Any]:
    table = data.get(key)
    if not isinstance(table, dict):
        raise HandbenchError(f"{path}: [{key}.GESTURE] is missing; see cells.toml in the package for the form")
    return table


def _text(row: Mapping[str, Any], key: str, path: Path) -> str:
    value = row.get(key)
    if not isinstance(value, str) or not value.strip():
        raise HandbenchError(f"{path}: {key!r} must be a text, found {value!r}")
    return value


def _flag(row: Mapping[str, Any], key: str, path: Path) -> bool:
    value = row.get(key)
    if not isinstance(value, bool):
        raise HandbenchError(f"{path}: {row.get('id')}: {key!r} must be true or false, found {value!r}")
    return value


PAPER: Final = _paper()
GESTURES: Final = PAPER.gesture_ids
LABELS: Final = PAPER.label_ids
