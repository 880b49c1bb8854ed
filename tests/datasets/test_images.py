from __future__ import annotations

import hashlib

import pytest
from hand_maker import context, picture

from handbench.datasets.images import read
from handbench.errors import HandbenchError
from handbench.specs import Spec
from handbench.tables import conform


def test_every_image_in_the_folder_becomes_a_frame(tmp_path):
    picture(tmp_path / "b.JPG", 40, 30)
    picture(tmp_path / "inside" / "a.png", 20, 10)
    (tmp_path / "notes.txt").write_text("hello")
    source = read(Spec.parse(f"images:{tmp_path}"), context(workers=2))
    assert source.frames.select("image", "width", "height").rows() == [
        ("b.JPG", 40, 30),
        ("inside/a.png", 20, 10),
    ]
    digest = hashlib.sha256((tmp_path / "b.JPG").read_bytes()).hexdigest()
    assert source.frames["image_hash"][0] == digest[:32]
    assert source.hands.height == 0
    assert not source.frames["annotated"].any()
    conform(source.frames, "frames")
    conform(source.hands, "hands")
    bare = read(Spec.parse(f"images:{tmp_path}?hash=no"), context()).frames
    assert bare["image_hash"].null_count() == 2


def test_damaged_images(tmp_path):
    picture(tmp_path / "a.jpg")
    for raw, message in (
        (b"", "empty"),
        (b"text", "no readable image"),
        (b"\x89PNG\r\n\x1a\n123", "no readable image"),
    ):
        (tmp_path / "b.png").write_bytes(raw)
        with pytest.raises(HandbenchError, match=message) as caught:
            read(Spec.parse(f"images:{tmp_path}"), context())
        assert "\n" not in str(caught.value)
    source = read(Spec.parse(f"images:{tmp_path}"), context(force=True))
    assert (source.frames.height, source.skipped) == (1, {"unreadable image": 1})


def test_bad_places(tmp_path):
    (tmp_path / "a.txt").write_text("hello")
    with pytest.raises(HandbenchError, match="no image in it"):
        read(Spec.parse(f"images:{tmp_path}"), context())
    with pytest.raises(HandbenchError, match="found a file"):
        read(Spec.parse(f"images:{tmp_path}/a.txt"), context())
    with pytest.raises(HandbenchError, match="the only split is all"):
        read(Spec.parse(f"images:{tmp_path}"), context(split="test"))


def test_real_photos(shared):
    folder = shared / "samples" / "hamer_example_data"
    if not folder.is_dir():
        pytest.skip(f"no sample: {folder}")
    source = read(Spec.parse(f"images:{folder}"), context())
    assert source.frames["image"].to_list() == ["test1.jpg", "test2.jpg"]
    assert (source.frames["width"] > 100).all()
