"""Every dataset's reader against a tiny copy of the dataset in its owner's layout, written without the readers."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from tests.datasets.layouts import Expected, Hand, hagrid, ipn

from handbench.errors import HandbenchError
from handbench.faults import Faults
from handbench.runs.parts import ReadContext, load_source


@dataclass(frozen=True)
class Case:
    """A layout with its options, the reader meant for it, and how that reader is asked."""

    layout: str
    reader: str
    at: str = "."
    query: str = ""
    keep_going: bool = False
    options: dict[str, str | bool] = field(default_factory=dict)


CASES = [
    pytest.param(Case("freihand", "freihand"), id="freihand"),
    pytest.param(Case("simplehand", "freihand"), id="simplehand"),
    pytest.param(Case("interhand", "interhand", query="?hands=both"), id="interhand"),
    pytest.param(Case("fpha", "fpha"), id="fpha"),
    pytest.param(Case("fpha", "fpha", options={"annotation": "Hand_pose_annotation_v1"}), id="fpha-v1"),
    pytest.param(Case("ho3d", "ho3d", options={"version": "v2"}), id="ho3d-v2"),
    pytest.param(Case("ho3d", "ho3d", options={"version": "v3"}), id="ho3d-v3"),
    pytest.param(Case("ho3d", "ho3d", keep_going=True, options={"version": "v2"}), id="ho3d-v2-keep-going"),
    pytest.param(Case("ho3d", "ho3d", keep_going=True, options={"version": "v3"}), id="ho3d-v3-keep-going"),
    pytest.param(Case("dexycb", "dexycb"), id="dexycb"),
    pytest.param(Case("h2o", "h2o", query="?cameras=cam0,cam4"), id="h2o"),
    pytest.param(Case("rhd", "rhd"), id="rhd"),
    pytest.param(Case("assemblyhands", "assemblyhands"), id="assemblyhands"),
    pytest.param(Case("arctic", "arctic"), id="arctic"),
    pytest.param(Case("cocowholebody", "cocowholebody"), id="cocowholebody"),
    pytest.param(Case("halpe", "halpe"), id="halpe"),
    pytest.param(Case("single_hands", "onehand10k", options={"dataset": "onehand10k"}), id="onehand10k"),
    pytest.param(Case("single_hands", "panoptic", options={"dataset": "panoptic"}), id="panoptic"),
    pytest.param(
        Case("single_hands", "panoptic", options={"dataset": "panoptic", "sides": True}),
        id="panoptic-sides",
    ),
    pytest.param(Case("hint", "hint"), id="hint"),
    pytest.param(Case("hint", "hint", options={"ego4d": True}), id="hint-ego4d"),
    pytest.param(Case("hint", "hint", keep_going=True, options={"ego4d": True}), id="hint-ego4d-keep-going"),
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
    expected = importlib.import_module(f"tests.datasets.layouts.{case.layout}").write(tmp_path, hands, **case.options)
    for split in dict.fromkeys(item.split for item in expected):
        source = load_source(
            f"{case.reader}:{tmp_path / case.at}{case.query}",
            ReadContext(split=split, faults=Faults(keep_going=case.keep_going)),
        )
        found: dict[tuple[Path, str | None], list[dict]] = {}
        for row in source.hands.iter_rows(named=True):
            found.setdefault(((source.root / row["image"]).resolve(), _side(row["side"])), []).append(row)
        wanted: dict[tuple[Path, str | None], list[Expected]] = {}
        for item in expected:
            if item.split == split:
                wanted.setdefault(((tmp_path / item.image).resolve(), item.side), []).append(item)
        assert _counts(found) == _counts(wanted)
        for key, items in wanted.items():
            for item, row in zip(_sorted(items), sorted(found[key], key=_first_row), strict=True):
                _same(f"{item.image} {item.side}: joints_cam", row["joints_cam"], item.joints_cam, 1e-5)
                _same(f"{item.image} {item.side}: joints_px", row["joints_px"], item.joints_px, 1e-3)


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_every_picture_of_hagrid_has_its_class(version: str, hands: list[Hand], tmp_path: Path):
    written = hagrid.write(tmp_path, hands, version)
    for split in ("train", "val", "test"):
        source = load_source(f"hagrid:{tmp_path}?gestures=all&n=1", ReadContext(split=split))
        assert source.gestures is not None
        found = source.gestures.select("image", "gesture").rows()
        assert sorted(found) == sorted((image, gesture) for image, gesture, part in written if part == split)
        assert source.hands.height == 0


def test_every_segment_of_ipn_is_a_clip(hands: list[Hand], tmp_path: Path):
    written = ipn.write(tmp_path, hands)
    for split in ("train", "test"):
        source = load_source(f"ipn:{tmp_path}", ReadContext(split=split))
        assert source.clips is not None
        rows = source.clips.select("sequence", "factor_gesture", "start", "end", "images").rows()
        wanted = [segment[:-1] for segment in written if segment[-1] == split]
        assert sorted(row[:-1] for row in rows) == sorted(wanted)
        for video, _gesture, start, end, images in rows:
            assert list(images) == [f"frames/{video}/{video}_{frame:06d}.jpg" for frame in range(start, end + 1)]


def _side(told: str) -> str | None:
    return None if told == "unknown" else told


def _counts(rows: dict[tuple[Path, str | None], list]) -> list[tuple[str, str, int]]:
    return sorted((str(image), side or "", len(of)) for (image, side), of in rows.items())


def _first_row(row: dict) -> float:
    return row["joints_px"][0][0] if row["joints_px"] is not None else 0.0


def _sorted(items: list[Expected]) -> list[Expected]:
    return sorted(items, key=lambda item: 0.0 if item.joints_px is None else float(item.joints_px[0, 0]))


def _same(what: str, found: list | None, wanted: np.ndarray | None, tolerance: float) -> None:
    assert (found is None) == (wanted is None), f"{what}: {found} where {wanted} is stored"
    if wanted is not None:
        np.testing.assert_allclose(np.array(found, dtype=float), wanted, rtol=0, atol=tolerance, err_msg=what)


def test_first_person_images_of_arctic_are_refused(hands: list[Hand], tmp_path: Path):
    importlib.import_module("tests.datasets.layouts.arctic").write(tmp_path, hands, setup="p2")
    with pytest.raises(HandbenchError, match="only p1_train and p1_val are read"):
        load_source(f"arctic:{tmp_path}", ReadContext(split="p2_val"))
