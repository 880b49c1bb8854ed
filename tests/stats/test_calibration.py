from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, roc_auc_score
from sklearn.metrics import log_loss as sklearn_log_loss

from handbench.stats.calibration import (
    auroc,
    bin_of,
    brier,
    calibration_error,
    fit_temperature,
    halves,
    log_loss,
    reliability,
    selective,
    tempered,
)


def told(seed: int, n: int = 400, options: int = 3, sharpness: float = 1.0):
    """Likelihoods that are right as often as they say, raised to a power; truth; clusters."""
    generator = np.random.default_rng(seed)
    honest = generator.dirichlet(np.ones(options), n)
    truth = (generator.random(n)[:, None] > np.cumsum(honest, axis=1)).sum(1)
    said = honest**sharpness / (honest**sharpness).sum(1, keepdims=True)
    return said, truth, generator.integers(0, 40, n)


def top(said, truth):
    return said.max(1), said.argmax(1) == truth


@given(st.integers(0, 1000))
@settings(max_examples=10, deadline=None)
def test_scores_equal_scikit_learns(seed):
    said, truth, cluster = told(seed)
    confidence, right = top(said, truth)
    assert brier(said, truth, cluster).value == pytest.approx(brier_score_loss(truth, said, scale_by_half=False))
    assert log_loss(said, truth, cluster).value == pytest.approx(sklearn_log_loss(truth, said), abs=1e-4)
    coarse = np.round(confidence, 2)  # with ties, and few enough steps to be exact
    assert auroc(coarse, right, cluster).value == pytest.approx(roc_auc_score(right, coarse))
    assert auroc(confidence, right, cluster).value == pytest.approx(roc_auc_score(right, confidence), abs=0.003)
    shares, means = calibration_curve(right, confidence, n_bins=10)
    found = reliability(confidence, right, cluster)
    filled = found.count > 0
    assert found.accuracy[filled] == pytest.approx(shares)
    assert found.confidence[filled] == pytest.approx(means)


def test_calibration_error_by_hand():
    # Bin (0.5, 0.6]: three answers said 0.6, two right: |2 - 1.8| = 0.2.  Bin (0.8, 0.9]: one said 0.9, wrong: 0.9.
    confidence = np.array([0.6, 0.6, 0.6, 0.9])
    right = np.array([True, True, False, False])
    found = calibration_error(confidence, right, np.arange(4))
    assert found.value == pytest.approx((0.2 + 0.9) / 4)
    assert bin_of(np.array([0.0, 0.1, 0.100001, 1.0])).tolist() == [0, 0, 1, 9]


def test_brier_by_hand():
    said = np.array([[0.7, 0.2, 0.1], [0.5, 0.5, np.nan]])
    # 0.3² + 0.2² + 0.1² = 0.14 and 0.5² + 0.5² = 0.5.
    assert brier(said, np.array([0, 1]), np.array([0, 1])).value == pytest.approx(0.32)


def test_selective_accuracy_by_hand():
    confidence = np.array([0.9, 0.8, 0.8, 0.4])
    right = np.array([True, True, False, False])
    found = selective(confidence, right, np.arange(4), np.array([0.25, 0.5, 0.75, 1.0]))
    # The surest is right; of the two tied ones one comes in, half right; then all three, then all four.
    assert found.accuracy == pytest.approx([1.0, 1.5 / 2, 2 / 3, 0.5])


def test_intervals_hold_the_value_and_narrow_with_clusters():
    few, many = told(3, n=400), told(3, n=8000)
    widths = []
    for said, truth, cluster in (few, many):
        confidence, right = top(said, truth)
        found = auroc(confidence, right, cluster)
        assert found.low < found.value < found.high
        widths.append(found.high - found.low)
    assert widths[1] < 0.4 * widths[0]


def test_temperature_mends_overconfidence():
    said, truth, cluster = told(5, n=4000, sharpness=3.0)
    first = halves(cluster)
    assert not set(cluster[first]) & set(cluster[~first])
    temperature = fit_temperature(said[first], truth[first])
    assert temperature == pytest.approx(3.0, rel=0.1)
    mended = tempered(said[~first], temperature)
    before, after = (
        calibration_error(*top(one, truth[~first]), np.unique(cluster[~first], return_inverse=True)[1]).value
        for one in (said[~first], mended)
    )
    assert after < 0.4 * before
    assert (mended.argmax(1) == said[~first].argmax(1)).all()


def test_reversed_confidence_is_below_a_half():
    said, truth, cluster = told(1, n=2000)
    confidence, right = top(said, truth)
    found = auroc(1 - confidence, right, cluster)
    assert found.high < 0.5
