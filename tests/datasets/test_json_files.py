from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handbench.datasets import json_files
from handbench.errors import HandbenchError

FIELDS = {"id": pl.Int64, "name": pl.String, "points": pl.List(pl.List(pl.Float64))}
OPTIONAL = ("name", "points")

numbers = st.floats(-1e6, 1e6)
# Text that looks like the edge of a record, and fields that hold records themselves.
text = st.text(st.sampled_from('ab}{][,":\\ é'), max_size=12)
records = st.fixed_dictionaries(
    {"id": st.integers(-(2**40), 2**40)},
    optional={
        "name": text,
        "points": st.lists(st.lists(numbers, max_size=3), max_size=3),
        "other": st.one_of(st.none(), text, st.lists(st.dictionaries(text, st.integers(), max_size=2), max_size=3)),
    },
)


@settings(max_examples=150, deadline=None)
@given(
    images=st.lists(records, max_size=5),
    notes=st.lists(records, max_size=5),
    info=st.one_of(st.just({}), st.just({"notes": [1, 2]}), st.just({"text": '"images": [{"id": 3}]'})),
    indent=st.sampled_from([None, 2]),
)
def test_records_are_those_that_the_standard_library_reads(tmp_path_factory, images, notes, info, indent):
    path = tmp_path_factory.mktemp("json") / "data.json"
    path.write_text(json.dumps({"info": info, "images": images, "notes": notes}, indent=indent))
    found = json_files.read_json_records(path, "records", {"images": FIELDS, "notes": FIELDS}, OPTIONAL)
    for frame, expected in zip(found, (images, notes), strict=True):
        assert frame.columns == list(FIELDS)
        assert frame["id"].to_list() == [one["id"] for one in expected]
        assert frame["name"].to_list() == [one.get("name") for one in expected]
        assert frame["points"].to_list() == [one.get("points") for one in expected]


def test_many_records_are_cut_where_records_end(tmp_path):
    path = tmp_path / "data.json"
    images = [{"id": row, "points": [[row, 0.5]]} for row in range(2500)]
    path.write_text(json.dumps({"images": images}))
    (frame,) = json_files.read_json_records(path, "records", {"images": FIELDS}, OPTIONAL)
    assert frame["id"].to_list() == list(range(2500))
    assert frame["points"].to_list() == [one["points"] for one in images]


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b'{"images": [{"id": 1}, {"id"', r"line 1, column \d+ .the file looks cut off"),
        (b'{"images": [{"id": 1}]', r"line 1, column \d+ .the file looks cut off"),
        (b'{"images": [{"name": "a"}]}', r"images: every record lacks the field 'id'"),
        (b'{"images": [{"id": 1}, {"name": "a"}]}', r"images: record 1 lacks the field 'id'"),
        (b'{"images": [{"id": "one"}]}', r"expected records: "),
        (b'{"others": []}', r"a list of records 'images', found none"),
        (b'{"images": null}', r"a list of records 'images', found none"),
        (b"[1, 2]", r"expected records"),
        (b"", r"is empty"),
        (b"\xff\xfe\x00", r"expected records"),
    ],
)
def test_bad_records_are_one_clear_line(tmp_path, raw, message):
    path = tmp_path / "data.json"
    path.write_bytes(raw)
    with pytest.raises(HandbenchError, match=message) as caught:
        json_files.read_json_records(path, "records", {"images": FIELDS}, OPTIONAL)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("count", [1, 2, 2000, 2001, 4500])
@pytest.mark.parametrize("indent", [None, 1])
def test_stacks_of_any_length(tmp_path, count, indent):
    path = tmp_path / "data.json"
    rows = np.random.default_rng(0).normal(size=(count, 3, 3))
    path.write_text(json.dumps(rows.tolist(), indent=indent))
    found = np.concatenate([*json_files.read_json_stack(path, (3, 3), "rows")])
    np.testing.assert_array_equal(found, rows)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[[[1, 2, 3], [4, 5, 6]]", r"line 1, column \d+"),
        ("[[[1, 2, 3], [4, 5, null]]]", r"2 x 3 finite numbers"),
        ("[[[1, 2, 3], [4, 5]]]", r"2 x 3 finite numbers"),
        ("[[[1, 2, 3], [4, 5, 6, 7]], [[1, 2], [4, 5, 6]]]", r"at least one of rows 0 to 1"),
        ("[[1, 2, 3]]", r"expected rows"),
        ('{"a": 1}', r"expected rows"),
        ('{"a": [[[1, 2, 3], [4, 5, 6]]]}', r"a list of matrices, found something else"),
        ("[]", r"a list of matrices, found none"),
        ("5", r"expected rows"),
    ],
)
def test_bad_stacks_are_one_clear_line(tmp_path, content, message):
    path = tmp_path / "data.json"
    path.write_text(content)
    with pytest.raises(HandbenchError, match=message) as caught:
        list(json_files.read_json_stack(path, (2, 3), "rows"))
    assert "\n" not in str(caught.value)


def test_the_place_of_an_error_is_named(tmp_path):
    path = tmp_path / "data.json"
    path.write_text('{\n  "a": 1,\n  "b": oops\n}')
    with pytest.raises(HandbenchError, match=r"data.json: expected cameras in JSON: .* line 3, column 8"):
        json_files.read_json(path, "cameras")
    path.write_text("[" * 100_000)
    with pytest.raises(HandbenchError, match="nested too deep"):
        json_files.read_json(path, "cameras")
