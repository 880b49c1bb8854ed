"""HaGRID in the forms of v1 and v2, made by hand."""

from __future__ import annotations

import json
import random

import pytest
from PIL import Image

from handbench.datasets import hagrid
from handbench.errors import HandbenchError
from handbench.protocols import ReadContext
from handbench.specs import Spec


def make(root, classes, *, per_class=5, nested=False, absent=()):
    for label in classes:
        folder = root / "test" / label if nested else root / label
        folder.mkdir(parents=True)
        entries = {}
        for number in range(per_class):
            stem = f"{label}-{number:02d}"
            entries[stem] = {"labels": ["no_gesture", label], "user_id": f"u{number % 3}", "bboxes": []}
            if stem not in absent:
                Image.new("RGB", (30 + number, 20)).save(folder / f"{stem}.jpg")
        target = root / "annotations" / "test"
        target.mkdir(parents=True, exist_ok=True)
        (target / f"{label}.json").write_text(json.dumps(entries))


def read(root, query="", **context):
    return hagrid.read(Spec.parse(f"hagrid:{root}?{query}"), ReadContext(**context))


@pytest.mark.parametrize("nested", [False, True])
def test_v2(tmp_path, nested):
    make(tmp_path, hagrid.GESTURES, nested=nested)
    source = read(tmp_path, "n=3")
    assert source.gestures.height == 18
    assert source.gestures["gesture_id"].is_sorted()
    assert source.gestures["gesture"].cast(str).value_counts()["count"].to_list() == [3] * 6
    wanted = random.Random(42).sample([f"stop-{number:02d}" for number in range(5)], 3)
    found = source.gestures.filter(source.gestures["gesture"].cast(str) == "stop")["gesture_id"].to_list()
    assert {name.rpartition("/")[2] for name in found} == set(wanted)
    assert set(source.frames["width"]) <= set(range(30, 35))
    assert not source.notes


def test_v1_has_no_point(tmp_path):
    make(tmp_path, [name for name in hagrid.GESTURES if name != "point"] + ["one"])
    with pytest.raises(HandbenchError, match=r"HaGRID v1 has none; declare a stand-in with point=one"):
        read(tmp_path, "n=2")
    source = read(tmp_path, "n=2&point=one")
    point = source.gestures.filter(source.gestures["gesture"].cast(str) == "point")
    assert point["source_label"].cast(str).to_list() == ["one", "one"]
    assert source.notes == ["hagrid: point is shown by the class one, a declared stand-in"]


def test_no_person_twice(tmp_path):
    make(tmp_path, ["stop", "fist"], per_class=6)
    source = read(tmp_path, "n=1&gestures=stop,fist&disjoint=yes")
    assert source.gestures["subject"].n_unique() == 2
    with pytest.raises(HandbenchError, match="people not taken yet, 2 wanted"):
        read(tmp_path, "n=2&gestures=stop,fist&disjoint=yes")


def test_images_that_are_absent_are_counted(tmp_path):
    make(tmp_path, ["like"], absent=("like-00", "like-03"))
    source = read(tmp_path, "n=0&gestures=like")
    assert source.gestures.height == 3
    assert source.skipped == {"image not at hand": 2}
    assert read(tmp_path, "n=3&gestures=like").gestures.height == 3
    with pytest.raises(HandbenchError, match="3 images, 4 wanted"):
        read(tmp_path, "n=4&gestures=like")


def test_damage_is_named(tmp_path):
    make(tmp_path, ["like"])
    (tmp_path / "annotations/test/like.json").write_text('{"a": {"labels": "like"}}')
    with pytest.raises(HandbenchError, match="image 'a': expected an object with a list of labels"):
        read(tmp_path, "gestures=like")
    with pytest.raises(HandbenchError, match="splits are"):
        read(tmp_path, "gestures=like", split="dev")
