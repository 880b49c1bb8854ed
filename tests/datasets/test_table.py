from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hand_maker import context, hands, write_ge

from handbench import tables
from handbench.datasets import ge
from handbench.datasets.table import read
from handbench.errors import HandbenchError
from handbench.specs import Spec


@pytest.fixture
def source(tmp_path):
    write_ge(tmp_path, hands(12, "left"), range(12))
    return ge.read(Spec.parse(f"ge:{tmp_path}"), context())


def test_what_another_reader_gave_comes_back(source, tmp_path):
    tables.write(source.hands, tmp_path / "hands.parquet", "hands")
    tables.write(source.frames, tmp_path / "frames.parquet", "frames")
    for name in (tmp_path, tmp_path / "hands.parquet"):
        again = read(Spec.parse(f"table:{name}"), context())
        assert again.hands.equals(source.hands)
        assert again.frames.equals(source.frames)
        assert (again.name, again.skipped, again.notes) == ("ge", {}, [])


def test_tables_elsewhere_and_without_frames(source, tmp_path):
    place = tmp_path / "tables"
    tables.write(source.hands[list(range(11, -1, -1))], place / "own.parquet", "hands")
    again = read(Spec.parse(f"table:{place}/own.parquet?images=.."), context())
    assert again.hands.equals(source.hands)
    assert again.frames.select("image", "width", "height").equals(source.frames.select("image", "width", "height"))
    absolute = source.hands.with_columns(image=pl.lit(f"{tmp_path}/") + pl.col("image"))
    tables.write(absolute, place / "own.parquet", "hands")
    assert read(Spec.parse(f"table:{place}/own.parquet"), context()).hands.height == 12


def test_splits_and_lost_images(source, tmp_path):
    halves = source.hands.with_columns(split=pl.when(pl.int_range(12) < 5).then(pl.lit("a")).otherwise(pl.lit("b")))
    tables.write(halves, tmp_path / "hands.parquet", "hands")
    (tmp_path / source.hands["image"][0]).unlink()
    spec = Spec.parse(f"table:{tmp_path}/hands.parquet")
    part = read(spec, context(split="a"))
    assert (part.hands.height, part.skipped) == (4, {"other split": 7, "no image": 1})
    with pytest.raises(HandbenchError, match="no split 'c'; there are a, b"):
        read(spec, context(split="c"))


def test_guards_look_at_tables_as_well(source, tmp_path):
    wrong = source.hands.with_columns(
        joints_cam=pl.Series(source.hands["joints_cam"].to_numpy() * 1000, dtype=tables.JOINTS_3D)
    )
    tables.write(wrong, tmp_path / "hands.parquet", "hands")
    with pytest.raises(HandbenchError, match="look like millimetres"):
        read(Spec.parse(f"table:{tmp_path}"), context())
    flat = source.hands.with_columns(joints_cam=pl.lit(None, tables.JOINTS_3D))
    tables.write(flat, tmp_path / "hands.parquet", "hands")
    assert read(Spec.parse(f"table:{tmp_path}"), context()).notes == []


def test_bad_tables_are_one_clear_line(source, tmp_path):
    path = tmp_path / "hands.parquet"
    spec = Spec.parse(f"table:{path}")
    for content, message in (
        (None, "found nothing there"),
        (b"no parquet", "expected the hands table in Parquet"),
        (source.frames, "expected the hands table, found the frames table"),
        (pl.concat([source.hands, source.hands]), "stands in it more than once"),
    ):
        if isinstance(content, bytes):
            path.write_bytes(content)
        elif content is not None:
            tables.write(content, path, "frames" if content is source.frames else "hands")
        with pytest.raises(HandbenchError, match=message) as caught:
            read(spec, context())
        assert "\n" not in str(caught.value)
    tables.write(source.hands, path, "hands")
    tables.write(source.frames[1:], tmp_path / "frames.parquet", "frames")
    with pytest.raises(HandbenchError, match=r"frames.parquet: no frame images/00000.jpg"):
        read(spec, context())
    with pytest.raises(HandbenchError, match="after the colon"):
        read(Spec.parse("table"), context())
    assert np.isfinite(source.hands["extent"].to_numpy()).all()
