from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handbench.replies.likelihoods import from_logprobs, matrix, read_likelihoods, read_many
from handbench.replies.reading import Status

LABELS = ("bent inward", "straight", "bent slightly inward")

READ = [
    ('{"A": 0.2, "B": 0.7, "C": 0.1}', (0.2, 0.7, 0.1), "json"),
    ('Sure!\n```json\n{"C": 0.1, "A": 0.2, "B": 0.7}\n```', (0.2, 0.7, 0.1), "json"),
    ('{"a": "20%", "b": "70%", "c": "10%"}', (0.2, 0.7, 0.1), "json"),
    ('{"A": 20, "B": 70, "C": 10}', (0.2, 0.7, 0.1), "json"),
    ("A: 20%\nB: 70%\nC: 10%", (0.2, 0.7, 0.1), "lines"),
    ("- **A**: 0.2\n- **B**: 0.7\n- **C**: 0.1", (0.2, 0.7, 0.1), "lines"),
    ('{"bent inward": 0.2, "straight": 0.7, "bent slightly inward": 0.1}', (0.2, 0.7, 0.1), "json"),
    ('{"A. The thumb is bent inward at": 0.2, "B. straight": 0.7, "C": 0.1}', (0.2, 0.7, 0.1), "json"),
    ('{"A": 0.4, "B": 1.4, "C": 0.2}', (0.2, 0.7, 0.1), "json_rescaled"),
    ('<think>{"A": 1, "B": 0, "C": 0}</think>{"A": 0.2, "B": 0.7, "C": 0.1}', (0.2, 0.7, 0.1), "json"),
    ('{"A": 0.5, "B": 0.3, "C": 0.2} No: {"A": 0.2, "B": 0.7, "C": 0.1}', (0.2, 0.7, 0.1), "json"),
]

NOT_READ = [
    ('{"A": 0.9, "B": 0.1}', Status.UNPARSED, "json_missing"),
    ('{"A": 0.2, "B": 0.7, "D": 0.1}', Status.OFF_LIST, "json_unknown_name"),
    ('{"A": 0.2, "B": "70%", "C": 0.1}', Status.UNPARSED, "json_two_units"),
    ('{"A": 0, "B": 0, "C": 0}', Status.UNPARSED, "json_no_total"),
    ('{"A": "high", "B": 0.7, "C": 0.1}', Status.UNPARSED, "json_no_number"),
    ('{"A": -0.2, "B": 0.7, "C": 0.5}', Status.UNPARSED, "json_no_number"),
    ('{"A": 0.4, "B": 0.4, "C": 0.2}', Status.HEDGED, "json_tied"),
    ('{"A": 0.2, "A": 0.6, "B": 0.2, "C": 0.2}', Status.HEDGED, "json_twice"),
    ("B", Status.UNPARSED, "no_numbers"),
    ("I cannot tell.", Status.UNPARSED, "no_numbers"),
    ("", Status.EMPTY, "empty"),
]


@pytest.mark.parametrize(("reply", "shares", "rule"), READ)
def test_read(reply, shares, rule):
    found = read_likelihoods(reply, LABELS)
    assert found.status is Status.OK, found
    assert found.shares == pytest.approx(shares)
    assert (found.choice, found.rule) == (1, rule)


@pytest.mark.parametrize(("reply", "status", "rule"), NOT_READ)
def test_not_read_and_never_guessed(reply, status, rule):
    found = read_likelihoods(reply, LABELS)
    assert (found.status, found.rule) == (status, rule)
    assert found.choice is None


@given(st.text(max_size=80))
def test_any_text_has_a_status(text):
    found = read_likelihoods(text, LABELS)
    assert found.shares is None or math.isclose(sum(found.shares), 1, abs_tol=1e-9)
    assert (found.choice is not None) == (found.status is Status.OK)


def test_logprobs_become_shares_among_the_options():
    given_ = pl.Series([[math.log(0.02), math.log(0.06)], None, [-1.0, None], [-1.0, -1.0, -1.0]])
    found = from_logprobs(given_)
    assert found[0].to_list() == pytest.approx([0.25, 0.75])
    assert found.null_count() == 2
    table = matrix(found)
    assert table.shape == (4, 3)
    assert np.isnan(table[0, 2])
    assert table[3] == pytest.approx([1 / 3] * 3)


def test_columns_are_read_row_by_row():
    replies = pl.Series(['{"A": 0.9, "B": 0.1}', None, '{"A": 0.9, "B": 0.1}'])
    labels = pl.Series([["left", "right"], ["left", "right"], ["right", "left"]])
    found = read_many(replies, labels, pl.Series(["stop", "none", "stop"]))
    assert found["choice"].to_list() == [0, None, 0]
    assert found["status"].cast(pl.String).to_list() == ["ok", "empty", "ok"]
