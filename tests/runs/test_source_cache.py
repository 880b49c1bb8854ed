"""A dataset's tables are read once, and read anew as soon as anything of it has changed."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

import handbench
from handbench.faults import Faults
from handbench.hand.geometry import center_and_extent
from handbench.protocols import ReadContext, Source, dataset
from handbench.runs import source_cache
from handbench.runs.parts import load_source
from handbench.specs import Options
from tests.handvqa.conftest import random_hands

calls: list[str] = []


@dataset("counted")
def counted(spec, context):
    """A dataset of one file, whose reader says when it is called."""
    calls.append(context.split or "")
    options = Options(spec)
    options.text("hash", "")
    options.done()
    root = Path(spec.name)
    numbers = json.loads((root / "hands.json").read_text())
    hands = random_hands(numbers["count"], seed=numbers["seed"])
    frames = hands.select("image", "dataset", "split").with_columns(width=32, height=24, annotated=True)
    frames = handbench.tables.conform(frames, "frames")
    return Source("counted", frames, hands, root, skipped={"bad": 1}, notes=["a note"])


@pytest.fixture
def data(tmp_path):
    calls.clear()
    root = tmp_path / "data"
    root.mkdir()
    (root / "hands.json").write_text(json.dumps({"count": 12, "seed": 1}))
    for number in range(12):
        Image.new("RGB", (32, 24)).save(root / f"{number:06d}.jpg")
    return root


def read(root, tmp_path, **more):
    return load_source(f"counted:{root}", ReadContext(store=tmp_path / "store", **more))


def same(one, other):
    assert one.hands.equals(other.hands)
    assert one.frames.equals(other.frames)
    assert replace(one, hands=None, frames=None) == replace(other, hands=None, frames=None)


def test_the_second_reading_is_the_first(data, tmp_path):
    first, second = read(data, tmp_path), read(data, tmp_path)
    assert calls == [""]
    same(first, second)
    assert second.hands.schema == first.hands.schema
    same(first, load_source(f"counted:{data}", ReadContext()))  # without a store
    assert calls == ["", ""]


def _touch(path):
    stat = path.stat()
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))


def _same_size_and_time(path):
    stat = path.stat()
    path.write_text(path.read_text().replace('"seed": 1', '"seed": 2'))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


CHANGES = {
    "an image is gone": lambda root: (root / "000003.jpg").unlink(),
    "an image is new": lambda root: (root / "000099.jpg").write_bytes(b"x"),
    "an image is renamed": lambda root: (root / "000003.jpg").rename(root / "000033.jpg"),
    "an image has another size": lambda root: (root / "000003.jpg").write_bytes(b"x"),
    "an image has another time": lambda root: _touch(root / "000003.jpg"),
    "annotations of the same size and time": lambda root: _same_size_and_time(root / "hands.json"),
    "a new folder": lambda root: ((root / "more").mkdir(), (root / "more" / "a.txt").write_text("x")),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_is_seen(data, tmp_path, change):
    read(data, tmp_path)
    change(data)
    fresh = load_source(f"counted:{data}", ReadContext())
    calls.clear()
    same(read(data, tmp_path), fresh)
    assert calls == [""]
    read(data, tmp_path)
    assert calls == [""]


def test_each_way_of_reading_is_kept_for_itself(data, tmp_path):
    for more in ({}, {"split": "a"}, {"protocol": "released"}, {"force": True}, {"faults": Faults(True)}):
        read(data, tmp_path, **more)
        read(data, tmp_path, **more)
    load_source(f"counted:{data}?hash=no", ReadContext(store=tmp_path / "store"))
    assert len(calls) == 6
    read(data, tmp_path, workers=4, cache=tmp_path)  # does not change what is read
    assert len(calls) == 6


def test_another_reader_is_another_reading(data, tmp_path, monkeypatch):
    read(data, tmp_path)
    monkeypatch.setattr(source_cache, "_code", lambda own: "another")
    read(data, tmp_path)
    assert len(calls) == 2


@pytest.mark.parametrize("damage", ["cut", "flipped", "meta", "gone", "other rows"])
def test_damaged_tables_are_made_anew_and_it_is_said(data, tmp_path, damage):
    fresh = read(data, tmp_path)
    (place,) = (tmp_path / "store").iterdir()
    path = place / ("source.json" if damage == "meta" else "hands.parquet")
    raw = bytearray(path.read_bytes())
    if damage == "gone":
        path.unlink()
    elif damage == "other rows":
        handbench.tables.write(fresh.hands[:3], path, "hands")
    else:
        raw[len(raw) // 2] ^= 255
        path.write_bytes(raw[: len(raw) // 2] if damage == "cut" else raw)
        if damage == "meta":
            path.write_text("{")
    again = read(data, tmp_path)
    assert len(calls) == 2
    assert again.hands.equals(fresh.hands)
    assert [note for note in again.notes if "damaged" in note and str(place) in note]
    last = read(data, tmp_path)
    assert len(calls) == 2
    assert last.notes == ["a note"]


def test_a_place_that_cannot_be_written_is_said(data, tmp_path):
    (tmp_path / "store").write_text("a file")
    source = read(data, tmp_path)
    assert source.hands.height == 12
    assert [note for note in source.notes if "could not be kept" in note]


def test_links_are_followed_and_loops_end(data, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "a.json").write_text("1")
    (data / "linked").symlink_to(tmp_path / "elsewhere")
    (data / "loop").symlink_to(data)
    read(data, tmp_path)
    (tmp_path / "elsewhere" / "a.json").write_text("2")
    read(data, tmp_path)
    assert len(calls) == 2


def test_runs_share_what_is_kept(data, tmp_path):
    joints = random_hands(12).select("joints_cam").to_series().to_numpy()
    assert center_and_extent(joints)[1].shape == (12, 3)
    store = tmp_path / "own"
    for number in (1, 2, 3):
        handbench.ask("handvqa", f"counted:{data}", tmp_path / f"run{number}", shard=f"{number}/3", cache=store)
    assert len(calls) == 1
    handbench.ask("handvqa", f"counted:{data}", tmp_path / "anew", cache=False)
    assert len(calls) == 2
    merged = handbench.merge([tmp_path / f"run{number}" for number in (1, 2, 3)], tmp_path / "merged")
    whole = pl.read_parquet(tmp_path / "anew" / "questions.parquet")
    assert merged.table("questions").equals(handbench.tables.conform(whole, "questions"))
    assert np.isfinite(merged.table("hands")["extent"].to_numpy()).all()


def test_the_users_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("HANDBENCH_CACHE", str(tmp_path / "mine"))
    assert source_cache.user_folder() == tmp_path / "mine"
    monkeypatch.delenv("HANDBENCH_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert source_cache.user_folder() == tmp_path / "handbench"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert source_cache.user_folder() == Path.home() / ".cache" / "handbench"
