from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from handbench.errors import HandbenchError
from handbench.runs.sampling import STRATA, expected_width, sample


def table(sizes):
    rows = [
        {"question_id": f"{stratum}/{number}", "variant": "v", "dataset": "d", "about_descriptor": f"a{stratum // 2}",
         "truth_category": f"c{stratum}"}
        for stratum, size in enumerate(sizes)
        for number in range(size)
    ]  # fmt: skip
    return pl.DataFrame(rows).sample(fraction=1, shuffle=True, seed=1)


@given(
    st.lists(st.integers(1, 60), min_size=1, max_size=6), st.integers(1, 120), st.integers(1, 120), st.integers(0, 3)
)
def test_shares_are_kept_and_samples_are_nested(sizes, one, other, seed):
    questions = table(sizes)
    small, large = (sample(questions, count, seed) for count in sorted((one, other)))
    assert large.height == min(max(one, other), questions.height)
    assert set(small["question_id"]) <= set(large["question_id"])
    share = large.height / questions.height
    taken = dict(large.group_by("truth_category").len().iter_rows())
    for stratum, size in enumerate(sizes):
        bound = (1 + len(sizes) * size / questions.height) / 2
        assert abs(taken.get(f"c{stratum}", 0) - share * size) <= bound + 1e-9


def test_the_order_of_the_questions_does_not_matter():
    questions = table([30, 50, 5])
    assert set(sample(questions, 20)["question_id"]) == set(sample(questions.reverse(), 20)["question_id"])
    assert set(sample(questions, 20)["question_id"]) != set(sample(questions, 20, seed=1)["question_id"])
    kept = sample(questions, 20)
    place = {name: row for row, name in enumerate(questions["question_id"])}
    assert [place[name] for name in kept["question_id"]] == sorted(place[name] for name in kept["question_id"])
    assert set(STRATA) <= set(questions.columns)


def test_nothing_cannot_be_taken():
    with pytest.raises(HandbenchError, match="at least 1"):
        sample(table([3]), 0)


@pytest.mark.parametrize("count", [10, 400, 2000])
def test_width_is_wilsons(count):
    interval = binomtest(count // 2, count).proportion_ci(method="wilson")
    assert expected_width(count) == pytest.approx(interval.high - interval.low)
