"""Every dataset's reader against a tiny copy of the dataset in its owner's layout, written without the readers."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from handbench.runs.parts import ReadContext, load_source
from tests.datasets.layouts import Expected, Hand


@dataclass(frozen=True)
class Case:
    """A layout, the reader meant for it, and where in its folder that reader is pointed."""

    layout: str
    reader: str
    at: str = "."


CASES = [
    pytest.param(Case("freihand", "freihand"), id="freihand"),
    pytest.param(Case("simplehand", "freihand"), id="simplehand"),
]


@pytest.fixture(scope="module")
def hands() -> list[Hand]:
    """Rendered hands, five of each side."""
    table = load_source("synth:hands?n=14&seed=5", ReadContext()).hands
    rows = [
        Hand(np.array(row["joints_cam"]), row["side"], np.array(row["intrinsics"]), (256, 256))
        for row in table.iter_rows(named=True)
    ]
    return [hand for side in ("left", "right") for hand in [row for row in rows if row.side == side][:5]]


@pytest.mark.parametrize("case", CASES)
def test_the_reader_finds_what_the_owner_ships(case: Case, hands: list[Hand], tmp_path: Path):
    expected = importlib.import_module(f"tests.datasets.layouts.{case.layout}").write(tmp_path, hands)
    for split in dict.fromkeys(item.split for item in expected):
        source = load_source(f"{case.reader}:{tmp_path / case.at}", ReadContext(split=split))
        found: dict[tuple[Path, str | None], list[dict]] = {}
        for row in source.hands.iter_rows(named=True):
            found.setdefault(((source.root / row["image"]).resolve(), row["side"]), []).append(row)
        wanted: dict[tuple[Path, str | None], list[Expected]] = {}
        for item in expected:
            if item.split == split:
                wanted.setdefault(((tmp_path / item.image).resolve(), item.side), []).append(item)
        assert {key: len(rows) for key, rows in found.items()} == {key: len(rows) for key, rows in wanted.items()}
        for key, items in wanted.items():
            for item, row in zip(_sorted(items), sorted(found[key], key=_first_row), strict=True):
                _same(row["joints_cam"], item.joints_cam, 1e-5)
                _same(row["joints_px"], item.joints_px, 1e-3)


def _first_row(row: dict) -> float:
    return row["joints_px"][0][0] if row["joints_px"] is not None else 0.0


def _sorted(items: list[Expected]) -> list[Expected]:
    return sorted(items, key=lambda item: 0.0 if item.joints_px is None else float(item.joints_px[0, 0]))


def _same(found: list | None, wanted: np.ndarray | None, tolerance: float) -> None:
    assert (found is None) == (wanted is None)
    if wanted is not None:
        np.testing.assert_allclose(np.array(found, dtype=float), wanted, rtol=0, atol=tolerance)
