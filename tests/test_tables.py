from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from handbench import tables
from handbench.errors import HandbenchError


def hands(count: int = 3) -> pl.DataFrame:
    joints = np.random.default_rng(0).normal(size=(count, 21, 3))
    return pl.DataFrame(
        {
            "hand_id": [f"d/s/{index}/right" for index in range(count)],
            "image": [f"{index}.jpg" for index in range(count)],
            "dataset": ["d"] * count,
            "split": ["s"] * count,
            "side": ["right"] * count,
            "cluster": [str(index) for index in range(count)],
            "joints_cam": pl.Series(joints),
            "factor_view": ["palm"] * count,
        }
    )


def test_round_trip_keeps_every_bit(tmp_path):
    path = tables.write(hands(), tmp_path / "hands.parquet", "hands")
    back = tables.read(path, "hands")
    assert (back["joints_cam"].to_numpy() == hands()["joints_cam"].to_numpy()).all()
    assert back["factor_view"].to_list() == ["palm"] * 3
    assert back["subject"].null_count() == 3


def test_name_and_version_stand_in_the_file(tmp_path):
    path = tables.write(hands(), tmp_path / "hands.parquet", "hands")
    metadata = pl.read_parquet_metadata(path)
    assert metadata["handbench.table"] == "hands"
    assert metadata["handbench.version"] == tables.VERSION


def test_a_file_from_elsewhere_is_welcome(tmp_path):
    path = tmp_path / "hands.parquet"
    hands().write_parquet(path)
    assert tables.read(path, "hands").height == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.drop("side"), r"hands\.parquet: no hands table: column 'side' is missing"),
        (lambda f: f.with_columns(side=pl.lit(None, pl.String)), r"hands\.side, row 0: the value is missing"),
        (lambda f: f.with_columns(joints_cam=pl.lit("x")), r"hands\.joints_cam must be Array"),
        (
            lambda f: f.with_columns(intrinsics=pl.Series(np.full((3, 3, 3), [[[1.0]], [[np.nan]], [[1.0]]]))),
            r"hands\.intrinsics, row 1: NaN is not allowed",
        ),
    ],
)
def test_wrong_columns_are_named(tmp_path, change, message):
    path = tmp_path / "hands.parquet"
    change(hands()).write_parquet(path)
    with pytest.raises(HandbenchError, match=message) as caught:
        tables.read(path, "hands")
    assert "\n" not in str(caught.value)


def test_wrong_files_are_named(tmp_path):
    (tmp_path / "text.parquet").write_text("not parquet at all")
    tables.write(hands(), tmp_path / "hands.parquet", "hands")
    (tmp_path / "empty").mkdir()
    for name, table, message in [
        ("text.parquet", "hands", "expected the hands table in Parquet"),
        ("hands.parquet", "frames", "expected the frames table, found the hands table"),
        ("absent.parquet", "hands", "found nothing there"),
        ("empty", "hands", "found a folder without Parquet files"),
    ]:
        with pytest.raises(HandbenchError, match=message):
            tables.read(tmp_path / name, table)


def test_a_cut_file_is_named(tmp_path):
    path = tables.write(hands(50), tmp_path / "hands.parquet", "hands")
    path.write_bytes(path.read_bytes()[:-400])
    with pytest.raises(HandbenchError, match=r"hands\.parquet"):
        tables.read(path, "hands")


def test_parts_depend_on_rows_alone(tmp_path):
    frame = tables.conform(hands(25), "hands")
    for name, sizes in (("one", [25]), ("many", [3, 7, 1, 14])):
        with tables.Writer(tmp_path / name, "hands", rows_per_part=10) as writer:
            start = 0
            for size in sizes:
                writer.add(frame[start : start + size])
                start += size
    names = [path.name for path in tables.parts(tmp_path / "one", "hands")]
    assert names == ["part-00000.parquet", "part-00001.parquet", "part-00002.parquet"]
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "many" / name).read_bytes()
    assert tables.read(tmp_path / "one", "hands").equals(frame)
    assert tables.content_hash(tmp_path / "one", "hands") == tables.content_hash(tmp_path / "many", "hands")


def test_a_broken_off_writer_leaves_nothing(tmp_path):
    def broken_off() -> None:
        with tables.Writer(tmp_path / "hands.parquet", "hands") as writer:
            writer.add(hands())
            raise RuntimeError

    with pytest.raises(RuntimeError):
        broken_off()
    assert list(tmp_path.iterdir()) == []


def test_an_empty_table_can_be_written(tmp_path):
    with tables.Writer(tmp_path / "hands.parquet", "hands"):
        pass
    assert tables.read(tmp_path / "hands.parquet", "hands").height == 0


@pytest.mark.parametrize("table", tables.SCHEMAS)
def test_every_schema_conforms_to_itself(table):
    assert tables.conform(tables.empty(table), table).columns == list(tables.SCHEMAS[table])
