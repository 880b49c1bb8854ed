"""Shards laid together are the run that was never parted, whatever table its questions are made of."""

from __future__ import annotations

import polars as pl
import pytest

from handbench import api
from handbench.errors import HandbenchError
from tests.handvqa.conftest import random_hands, write_source

KINDS = {
    "hands": ("handvqa?controls=rotations,mirror,blank", None),
    "gestures": ("safegesture", "synth:gestures?n=2"),
    "clips": ("interactions", "synth:clips?n=5&frames=8"),
    "scenes": ("pointing?controls=masked,armless,mirror,blank", "synth:scenes?n=7&width=96"),
}


@pytest.mark.parametrize("kind", list(KINDS))
def test_three_shards_are_one_to_the_byte(tmp_path, kind):
    task, data = KINDS[kind]
    if kind == "hands":
        data = write_source(tmp_path / "source", random_hands(11))
    whole = api.ask(task, data, tmp_path / "whole", workers=1)
    parts = [tmp_path / f"part-{number}" for number in (3, 1, 2)]
    for path in parts:
        api.ask(task, data, path, shard=f"{path.name[-1]}/3", workers=1)
    merged = api.merge(parts, tmp_path / "merged")
    files = sorted(path.name for path in whole.folder.root.glob("*.parquet"))
    assert len(files) == 3
    assert files == sorted(path.name for path in merged.folder.root.glob("*.parquet"))
    for name in files:
        assert (merged.folder.root / name).read_bytes() == (whole.folder.root / name).read_bytes(), name
    for key in ("asked", "questions", "not_asked"):
        assert merged.manifest[key] == whole.manifest[key]
    if merged.manifest["source"]["rendered"]:
        assert merged.manifest["source"]["root"] == str(merged.folder.images.resolve())
    assert merged.manifest.get("controls") == whole.manifest.get("controls")
    counts = [api.Run.open(path).manifest["questions"]["count"] for path in parts]
    assert 0 < min(counts) < sum(counts) == whole.manifest["questions"]["count"]


def test_an_image_in_two_shards_is_there_once(tmp_path):
    hands = random_hands(6)
    together = hands.with_columns(pl.lit(hands["image"][0]).alias("image"))
    source = write_source(tmp_path / "source", together)
    whole = api.ask("handvqa", source, tmp_path / "whole")
    for number in (1, 2):
        api.ask("handvqa", source, tmp_path / f"part-{number}", shard=f"{number}/2")
    merged = api.merge([tmp_path / "part-1", tmp_path / "part-2"], tmp_path / "merged")
    assert merged.table("frames").height == 1
    assert merged.table("frames").equals(whole.table("frames"))
    assert merged.manifest["questions"] == whole.manifest["questions"]


def test_items_without_images_are_not_parted(tmp_path):
    with pytest.raises(HandbenchError, match="leave out --shard"):
        api.ask("safegesture?variant=gesture-as-text", None, tmp_path / "part", shard="1/3")
