from __future__ import annotations

import hashlib

import numpy as np
import polars as pl
import pytest
from hand_maker import picture

from handbench.datasets import files
from handbench.datasets.selection import Selection
from handbench.errors import HandbenchError
from handbench.faults import Faults


def test_images_are_listed_in_one_order_whatever_the_disk_says(tmp_path):
    for name in ("b/2.jpg", "b/10.jpeg", "a/1.png", "c.JPG"):
        picture(tmp_path / name)
    (tmp_path / "c.txt").write_text("no image")
    assert files.list_images(tmp_path) == ["a/1.png", "b/10.jpeg", "b/2.jpg", "c.JPG"]
    assert files.list_images(tmp_path / "none") == []


def test_numbers_in_names():
    assert files.numbered(["a/0007.jpg", "cover.jpg", "12.png", "3b.jpg"]) == {7: "a/0007.jpg", 12: "12.png"}
    with pytest.raises(HandbenchError, match="have one number"):
        files.numbered(["a/7.jpg", "b/007.jpg"])


@pytest.mark.parametrize("workers", [1, 3])
def test_hashes_are_of_the_bytes(tmp_path, workers):
    names = [f"{row}.jpg" for row in range(5)]
    for row, name in enumerate(names):
        (tmp_path / name).write_bytes(bytes([row % 2]) * 100)
    told = []
    found = files.hash_images(tmp_path, names, workers, lambda *step: told.append(step))
    assert found == {n: hashlib.sha256((tmp_path / n).read_bytes()).hexdigest()[:32] for n in names}
    assert len(set(found.values())) == 2
    assert told[0] == (0, 5, "hashing images")
    (tmp_path / "1.jpg").write_bytes(b"")
    with pytest.raises(HandbenchError, match=r"1.jpg: the image is empty"):
        files.hash_images(tmp_path, names, workers)
    with pytest.raises(HandbenchError, match=r"9.jpg: cannot be read"):
        files.hash_images(tmp_path, ["9.jpg"], workers)


def test_sizes_are_compared_with_those_of_the_files(tmp_path):
    names = [f"{row}.png" for row in range(40)]
    for name in names:
        picture(tmp_path / name, 30, 20)
    sizes = np.tile([30, 20], (40, 1))
    files.same_sizes(tmp_path, names, sizes)
    files.same_sizes(tmp_path, [], sizes[:0])
    with pytest.raises(HandbenchError, match=r"0.png: 30 x 20 pixels, the annotations say 60 x 40"):
        files.same_sizes(tmp_path, names, sizes * 2)


def test_what_is_there(tmp_path):
    picture(tmp_path / "a.jpg")
    assert files.existing(tmp_path, ["a.jpg", "b.jpg"]).tolist() == [True, False]
    (tmp_path / "b.jpg").write_bytes(b"")
    (tmp_path / "c.jpg").mkdir()
    assert files.existing(tmp_path, ["a.jpg", "b.jpg", "c.jpg"]).tolist() == [True, True, False]
    with pytest.raises(HandbenchError, match=r"b.jpg: the image is empty"):
        files.not_empty(tmp_path, ["a.jpg", "b.jpg"], Faults())
    faults = Faults(keep_going=True)
    assert files.not_empty(tmp_path, ["a.jpg", "b.jpg"], faults).tolist() == [True, False]
    assert faults.take()[0] == {"image of 0 bytes": 1}


@pytest.mark.parametrize(
    "path", ["../a.jpg", "b/../../a.jpg", "/etc/a.jpg", "~/a.jpg", "C:\\a.jpg", "b\\..\\a.jpg", ".."]
)
def test_paths_of_outside_files_stay_in_the_folder(tmp_path, path):
    (tmp_path / "set").mkdir()
    picture(tmp_path / "a.jpg")
    with pytest.raises(HandbenchError, match="leads out of this folder"):
        files.existing(tmp_path / "set", ["x.jpg", path])
    assert files.existing(tmp_path / "set", ["a..b/c.jpg", "..a.jpg", "a\0b.jpg"]).tolist() == [False] * 3
    assert files.existing(tmp_path / "set", ["../a.jpg"], anywhere=True).tolist() == [True]


def test_the_earliest_pattern_wins(tmp_path):
    (tmp_path / "z.json").write_text("1")
    (tmp_path / "a.json").write_text("1")
    assert files.first_of(tmp_path, ("z*.json", "*.json"), "a file").name == "z.json"
    assert files.first_of(tmp_path, ("q*.json", "*.json"), "a file").name == "a.json"
    with pytest.raises(HandbenchError, match=r"missing a file; expected q\*.json or r.json"):
        files.first_of(tmp_path, ("q*.json", "r.json"), "a file")


def test_a_selection_counts_what_it_leaves_out():
    left = Selection(pl.DataFrame({"a": [1, 2, None, 4]}), {"before": 2, "never": 0})
    left.keep("small", pl.col("a") > 1)
    left.match("alone", pl.DataFrame({"a": [2, 9], "b": ["x", "y"]}), ("a",))
    assert left.rows.to_dicts() == [{"a": 2, "b": "x"}]
    assert left.skipped == {"before": 2, "small": 2, "alone": 1}
    left.keep("last", pl.lit(False))
    with pytest.raises(HandbenchError, match=r"here: nothing is left of it .before: 2; small: 2; alone: 1; last: 1"):
        left.refuse_empty("here", "it")
