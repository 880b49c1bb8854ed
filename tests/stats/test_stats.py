from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import bootstrap as scipy_bootstrap
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score, mean_absolute_error

from handbench.stats.bootstrap import group_clusters, percentile_interval, resample, weights
from handbench.stats.counts import confusion_by_cluster
from handbench.stats.metrics import all_metrics, macro_f1, occurring
from handbench.stats.sliced import Slice, score_slices


def sample(seed: int, n: int = 300, labels: int = 4, unread: float = 0.1) -> tuple[np.ndarray, ...]:
    generator = np.random.default_rng(seed)
    truth = generator.integers(0, labels, n)
    chosen = np.where(generator.random(n) < 0.6, truth, generator.integers(0, labels, n))
    chosen[generator.random(n) < unread] = -1
    return generator.integers(0, 30, n), truth, chosen


@given(st.integers(0, 500), st.integers(2, 4), st.sampled_from([0.0, 0.3]))
@settings(max_examples=40, deadline=None)
def test_metrics_equal_scikit_learn(seed, labels, unread):
    cluster, truth, chosen = sample(seed, labels=labels, unread=unread)
    counts = confusion_by_cluster(cluster, truth, chosen, 30, labels).sum(0).astype(float)
    found = all_metrics(counts, ordinal=True, present=occurring(counts))
    read = chosen >= 0
    assert (counts[:, :-1] == confusion_matrix(truth[read], chosen[read], labels=range(labels))).all()
    assert found["accuracy"] == pytest.approx(accuracy_score(truth, chosen))
    assert found["accuracy_answered"] == pytest.approx(accuracy_score(truth[read], chosen[read]))
    assert found["answer_rate"] == pytest.approx(read.mean())
    # A reply without a reading is a miss of its label and a hit of none: a label of its own outside the mean.
    wanted = f1_score(truth, chosen, labels=range(labels), average="macro", zero_division=0)
    assert found["macro_f1"] == pytest.approx(wanted)
    answered = f1_score(truth[read], chosen[read], labels=range(labels), average="macro", zero_division=0)
    assert found["macro_f1_answered"] == pytest.approx(answered)
    assert found["mae_answered"] == pytest.approx(mean_absolute_error(truth[read], chosen[read]))
    worst = np.where(read, np.abs(truth - chosen), np.maximum(truth, labels - 1 - truth))
    assert found["mae_worst_case"] == pytest.approx(worst.mean())


def test_metrics_by_hand():
    # truth 0: one right, one unread; truth 1: one taken for 0.
    counts = np.array([[1.0, 0, 1], [1, 0, 0]])
    found = all_metrics(counts, ordinal=True, present=occurring(counts))
    assert found["accuracy"] == pytest.approx(1 / 3)
    assert found["accuracy_answered"] == pytest.approx(1 / 2)
    # F1 of label 0: 2·1 / (2 true + 2 chosen) = 1/2; of label 1: 0.
    assert found["macro_f1"] == pytest.approx(1 / 4)
    assert found["mae_worst_case"] == pytest.approx(2 / 3)


def test_nothing_counted_is_undefined():
    found = all_metrics(np.zeros((2, 3)), ordinal=True, present=np.ones(2, bool))
    assert all(np.isnan(value) for value in found.values())
    only_unread = np.array([[0.0, 0, 3], [0, 0, 1]])
    found = all_metrics(only_unread, ordinal=True, present=occurring(only_unread))
    assert found["accuracy"] == 0
    assert np.isnan(found["accuracy_answered"])


def test_labels_that_never_occur_do_not_count():
    counts = np.zeros((3, 4))
    counts[0, 0] = counts[1, 1] = 5
    assert macro_f1(counts, occurring(counts)) == 1


def test_interval_agrees_with_scipy_on_cluster_sums():
    cluster, truth, chosen = sample(7, n=1200)
    counts = confusion_by_cluster(cluster, truth, chosen, 30, 4)
    right = np.trace(counts, axis1=1, axis2=2)
    total = counts.sum((1, 2))

    def ratio(right, total, axis=-1):
        return right.sum(axis) / total.sum(axis)

    theirs = scipy_bootstrap(
        (right, total),
        ratio,
        paired=True,
        n_resamples=9_999,
        method="percentile",
        rng=np.random.default_rng(0),
    ).confidence_interval
    drawn = resample(np.stack([right, total], 1), lambda sums: sums[:, :1] / sums[:, 1:])
    low, high = percentile_interval(drawn)
    assert low[0] == pytest.approx(theirs.low, abs=0.004)
    assert high[0] == pytest.approx(theirs.high, abs=0.004)


def test_draws_are_the_same_for_every_model():
    first, second = (np.concatenate(list(weights(48, 500, seed=3))) for _ in range(2))
    assert (first == second).all()
    assert (first.sum(1) == 48).all()


def test_many_clusters_fall_into_equal_groups():
    group = group_clusters(10_000, largest=64)
    sizes = np.bincount(group)
    assert len(sizes) == 64
    assert sizes.max() - sizes.min() <= 1
    assert (group_clusters(50) == np.arange(50)).all()


def test_grouped_intervals_are_as_wide():
    generator = np.random.default_rng(1)
    clusters = 6000
    effect = generator.random(clusters)
    cluster = np.repeat(np.arange(clusters), 5)
    chosen = (generator.random(len(cluster)) > effect[cluster]).astype(int)
    part = [Slice(("d", "all", "all"), np.arange(len(cluster)), 2, False)]
    grouped = score_slices(cluster, np.zeros_like(chosen), chosen, part, resamples=2000)[0]
    share = np.bincount(cluster, chosen == 0) / 5
    width = 2 * 1.96 * share.std(ddof=1) / np.sqrt(clusters)
    assert grouped.high - grouped.low == pytest.approx(width, rel=0.08)


def test_slices_equal_their_own_scores():
    cluster, truth, chosen = sample(2, n=900)
    rows = np.flatnonzero(truth > 0)
    slices = [
        Slice(("a", "all", "all"), np.arange(900), 4, True),
        Slice(("a", "part", "x"), rows, 4, True),
    ]
    found = {(score.keys[2], score.metric): score for score in score_slices(cluster, truth, chosen, slices)}
    assert found["x", "accuracy"].value == pytest.approx(accuracy_score(truth[rows], chosen[rows]))
    assert found["x", "accuracy"].n == len(rows)
    assert found["x", "accuracy"].clusters == len(np.unique(cluster[rows]))
    assert found["all", "accuracy"].low < found["all", "accuracy"].value < found["all", "accuracy"].high


def test_one_cluster_has_no_interval():
    part = [Slice(("a", "all", "all"), np.arange(4), 2, False)]
    found = score_slices(np.zeros(4, int), np.array([0, 1, 0, 1]), np.array([0, 1, 1, 1]), part)
    assert found[0].value == 0.75
    assert found[0].low is None
    assert found[0].high is None
