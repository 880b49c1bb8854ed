from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import bootstrap as scipy_bootstrap
from scipy.stats import t as student
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from handbench.stats.bootstrap import weights
from handbench.stats.intervals import (
    Rule,
    bca_ends,
    effective_clusters,
    percentile_ends,
    quantiles,
    reach,
    studentised_ends,
    unanimous_ends,
)
from handbench.stats.paired import holm, mcnemar_exact, minimum_detectable, sign_flip, standard_errors
from handbench.stats.ratios import ratios, sums_by_cluster
from handbench.stats.sliced import Slice, score_slices


def clusters(seed: int, count: int = 30, level: float = 0.7) -> tuple[np.ndarray, np.ndarray]:
    """(G, 1) right answers and (G, 1) answers of clusters that differ."""
    generator = np.random.default_rng(seed)
    items = 5 + generator.poisson(10, (count, 1))
    return generator.binomial(items, generator.beta(5 * level, 5 * (1 - level), (count, 1))).astype(float), items


def drawn_ratios(events, items, resamples=10_000):
    draws = np.concatenate(list(weights(len(events), resamples))).astype(float)
    return (draws @ events) / (draws @ items)


@pytest.mark.parametrize("method", ["percentile", "BCa"])
@pytest.mark.parametrize("level", [0.6, 0.93])
def test_ends_equal_scipys(method, level):
    events, items = clusters(3, level=level)
    theirs = scipy_bootstrap(
        (events[:, 0], items[:, 0]),
        lambda right, total, axis=-1: right.sum(axis) / total.sum(axis),
        paired=True,
        n_resamples=20_000,
        method=method,
        rng=np.random.default_rng(0),
    ).confidence_interval
    values = drawn_ratios(events, items, 20_000)
    if method == "BCa":
        without = (events.sum(0) - events) / (items.sum(0) - items)
        low, high = bca_ends(values, events.sum(0) / items.sum(0), without)
    else:
        low, high = percentile_ends(values)
    assert low[0] == pytest.approx(theirs.low, abs=0.004)
    assert high[0] == pytest.approx(theirs.high, abs=0.004)


@given(st.integers(0, 10_000), st.floats(0.01, 0.99))
@settings(max_examples=30, deadline=None)
def test_quantiles_equal_numpys(seed, level):
    generator = np.random.default_rng(seed)
    values = generator.normal(size=(50, 3))
    values[generator.random((50, 3)) < 0.2] = np.nan
    found = quantiles(values, np.full((1, 3), level))
    assert found[0] == pytest.approx(np.nanquantile(values, level, axis=0))


def test_widening_is_students():
    assert float(reach()) == pytest.approx(1.959964, abs=1e-6)
    assert float(reach(20.0)) == pytest.approx(student.ppf(0.975, 19) * np.sqrt(20 / 19))
    assert float(reach(1e9)) == pytest.approx(float(reach()), abs=1e-6)


def test_effective_clusters_by_hand():
    # Two clusters of 10 and one of 20: 40² / (100 + 100 + 400).
    assert effective_clusters(np.array([10, 10, 20])) == pytest.approx(1600 / 600)
    assert effective_clusters(np.full(7, 3)) == pytest.approx(7)


def test_a_share_that_is_one_everywhere_has_the_binomial_bound():
    low, high = unanimous_ends(np.array([1.0, 0.0]), np.array([20, 20]))
    # (1 - p)^20 = 0.025 at p = 0.168: one of Clopper and Pearson's own numbers.
    assert low == pytest.approx([0.8316, 0.0], abs=1e-4)
    assert high == pytest.approx([1.0, 0.1684], abs=1e-4)
    found = ratios(np.full((20, 1), 5.0), np.full((20, 1), 5.0), share=True)
    assert (found.low[0], found.high[0]) == pytest.approx((0.8316, 1.0), abs=1e-4)


def test_few_clusters_take_bca_and_many_take_percentiles():
    for count, rule in ((40, Rule.BCA_T), (300, Rule.PERCENTILE_T)):
        cluster = np.repeat(np.arange(count), 4)
        generator = np.random.default_rng(0)
        chosen = (generator.random(4 * count) > generator.beta(8, 2, count)[cluster]).astype(int)
        whole = [Slice(("d", "all", "all"), np.arange(4 * count), 2, False)]
        found = score_slices(cluster, np.zeros_like(chosen), chosen, whole)[0]
        assert found.rule is rule
        right = (chosen == 0).astype(float)[:, None]
        sums = sums_by_cluster(cluster, np.concatenate([right, np.ones_like(right)], axis=1))
        same = ratios(sums[:, :1], sums[:, 1:])
        assert (found.low, found.high) == pytest.approx((same.low[0], same.high[0]), abs=1e-6)
        plain = score_slices(cluster, np.zeros_like(chosen), chosen, whole, rule=Rule.PERCENTILE)[0]
        assert plain.rule is Rule.PERCENTILE
        assert plain.high - plain.low < found.high - found.low


def test_studentised_agrees_with_student_where_clusters_are_even():
    generator = np.random.default_rng(1)
    items = np.full(60, 40.0)
    events = generator.binomial(40, 0.5, 60).astype(float)
    draws = np.concatenate(list(weights(60, 10_000))).astype(float)
    low, high = studentised_ends(events, items, draws)
    share = events / 40
    half = student.ppf(0.975, 59) * share.std(ddof=1) / np.sqrt(60)
    assert (low, high) == pytest.approx((share.mean() - half, share.mean() + half), abs=0.004)


@given(st.integers(0, 40), st.integers(0, 40))
@settings(max_examples=60, deadline=None)
def test_mcnemar_equals_statsmodels(first, second):
    found = mcnemar_exact(np.array([first]), np.array([second]))[0]
    wanted = mcnemar([[0, first], [second, 0]], exact=True).pvalue if first + second else 1.0
    assert found == pytest.approx(wanted)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
@settings(max_examples=60, deadline=None)
def test_holm_equals_statsmodels(p_values):
    assert holm(np.array(p_values)) == pytest.approx(multipletests(p_values, method="holm")[1])


def test_holm_leaves_out_what_was_not_tested():
    found = holm(np.array([0.01, np.nan, 0.04]))
    assert found[[0, 2]] == pytest.approx([0.02, 0.04])
    assert np.isnan(found[1])


def test_sign_flip_with_one_item_per_cluster_is_mcnemars():
    # Seven clusters that differ, six of them one way: 2 · (1 + 7) / 2⁷.
    differences = np.array([1, 1, 1, 1, 1, 1, -1, 0, 0.0])[:, None]
    assert sign_flip(differences)[0] == pytest.approx(16 / 128)
    assert sign_flip(differences)[0] == pytest.approx(mcnemar_exact(np.array([6]), np.array([1]))[0])
    many = np.concatenate([np.ones(30), -np.ones(14), np.zeros(100)])[:, None]
    assert sign_flip(many)[0] == pytest.approx(mcnemar_exact(np.array([30]), np.array([14]))[0], abs=0.005)


def test_sign_flip_holds_its_level_where_mcnemar_does_not():
    generator = np.random.default_rng(5)
    items = np.full((40, 2000), 20)
    first, second = (generator.binomial(items, generator.beta(2.4, 1.6, items.shape)) for _ in range(2))
    p_values = sign_flip((first - second).astype(float), flips=2000)
    assert 0.04 <= (p_values <= 0.05).mean() <= 0.06
    naive = mcnemar_exact(first.sum(0), second.sum(0))  # as if no question had both right
    assert (naive <= 0.05).mean() > 0.1


def test_what_could_be_found_is_found_four_times_in_five():
    generator = np.random.default_rng(2)
    count, size = 100, 10
    error = np.sqrt((0.25 + 0.24) / (count * size))  # of a difference of two independent shares, 0.5 and 0.6
    step = (student.ppf(0.975, count - 1) + student.ppf(0.8, count - 1)) * error
    first = generator.binomial(size, 0.5, (count, 2000))
    gap = (generator.binomial(size, 0.5 + step, (count, 2000)) - first).astype(float)
    items = np.full((count, 2000), size)
    assert minimum_detectable(gap, items).mean() == pytest.approx(step, rel=0.02)
    found = np.abs(gap.sum(0) / items.sum(0)) / standard_errors(gap, items) > student.ppf(0.975, count - 1)
    assert found.mean() == pytest.approx(0.8, abs=0.03)


def test_undefined_columns_are_nan():
    found = ratios(np.zeros((5, 1)), np.zeros((5, 1)))
    assert np.isnan(found.value[0])
    assert np.isnan(found.low[0])
    alone = ratios(np.array([[1.0]]), np.array([[2.0]]))
    assert alone.value[0] == 0.5
    assert np.isnan(alone.high[0])
