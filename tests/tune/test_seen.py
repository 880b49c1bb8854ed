from __future__ import annotations

import polars as pl
import pytest

from handbench.errors import HandbenchError
from handbench.models import _seen


def table(**columns) -> pl.DataFrame:
    height = max(len(values) for values in columns.values())
    given = {"dataset": ["d"] * height, "image_hash": [None] * height, "subject": [None] * height,
             "sequence": [None] * height, "cluster": [f"c{n}" for n in range(height)]}  # fmt: skip
    texts = ("image_hash", "subject", "sequence")
    return pl.DataFrame({**given, **columns}, schema_overrides=dict.fromkeys(texts, pl.String))


def test_images_are_told_by_their_hash_and_else_by_their_path():
    trained = _seen.seen_in(table(images=[["a.jpg"], ["b.jpg"]], image_hash=["h1", None], cluster=["x", "y"]))
    test = table(images=[["other.jpg"], ["b.jpg"], ["a.jpg"]], image_hash=["h1", None, "h2"])
    assert _seen.overlap(test, trained) == {"image": 2, "questions": 2}


def test_people_and_recordings_are_those_of_one_dataset():
    trained = _seen.seen_in(table(images=[["a"]], subject=["1"], sequence=["s"], cluster=["k"]))
    same = table(images=[["z"], ["y"]], subject=["1", "2"], sequence=["t", "s"])
    assert _seen.overlap(same, trained) == {"sequence": 1, "subject": 1, "questions": 2}
    elsewhere = table(images=[["z"]], subject=["1"], sequence=["s"], dataset=["e"])
    assert _seen.overlap(elsewhere, trained) == {}


def test_every_frame_of_a_clip_counts():
    trained = _seen.seen_in(table(images=[["f2.jpg"]], cluster=["k"]))
    assert _seen.overlap(table(images=[["f1.jpg", "f2.jpg"], ["f3.jpg"]]), trained) == {"image": 1, "questions": 1}


def test_a_refusal_tells_what_is_shared(tmp_path):
    with pytest.raises(HandbenchError, match=r"3 of these questions share something .*2 by image, 1 by subject"):
        _seen.refuse("a", {"image": 2, "subject": 1, "questions": 3})
    _seen.refuse("a", {})
    assert _seen.read(tmp_path) is None
    (tmp_path / _seen.FILE).write_text("no table")
    with pytest.raises(HandbenchError, match="expected the list of what the adapter was tuned on"):
        _seen.read(tmp_path)
