"""How far a stated confidence can be trusted: reliability, ECE, Brier score, AUROC, selective accuracy, temperature.

Everything follows from per-cluster counts in fine steps of confidence, so that intervals draw clusters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from handbench.stats.bootstrap import group_clusters
from handbench.stats.ratios import ratios, sums_by_cluster
from handbench.stats.statistic import with_interval

Array = NDArray[np.float64]

BINS: Final = 10
LEVELS: Final = 256
"""Most steps of confidence that AUROC and the selective curve tell apart in resamples; values are exact in the sample
where there are no more."""

COVERAGES: Final = np.linspace(0.05, 1.0, 20)
"""Shares of the surest answers at which selective accuracy is told."""

_CURVE_RESAMPLES: Final = 2_000
_TINY: Final = 1e-6


@dataclass(frozen=True)
class Number:
    """A value with its 95 % cluster interval; NaN where undefined."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Reliability:
    """Accuracy by bin of confidence; (B,) each, NaN in an empty bin."""

    edges: Array
    count: NDArray[np.int64]
    confidence: Array
    accuracy: Array
    low: Array
    high: Array
    right: NDArray[np.int64]
    """Right answers in each bin; the wrong ones are ``count - right``."""


@dataclass(frozen=True)
class Selective:
    """Accuracy of the surest share of the answers; (C,) each."""

    coverage: Array
    accuracy: Array
    low: Array
    high: Array


def bin_of(confidence: Array, bins: int = BINS) -> NDArray[np.int64]:
    """(N,) number of each confidence's bin: equal widths, the upper end within, 0 in the first."""
    return np.clip(np.ceil(confidence * bins - 1e-9).astype(np.int64) - 1, 0, bins - 1)


def reliability(
    confidence: Array, right: NDArray[np.bool_], cluster: NDArray[np.integer], bins: int = BINS
) -> Reliability:
    """The reliability diagram (HandVQA, Figs. 14 to 17).

    Args:
        confidence: (N,) likelihood of the chosen option.
        right: (N,) whether it is the right one.
        cluster: (N,) cluster number, dense from 0.
        bins: how many bins of equal width.
    """
    member = np.eye(bins)[bin_of(confidence, bins)]
    items, hits = sums_by_cluster(cluster, member), sums_by_cluster(cluster, member * right[:, None])
    found = ratios(hits, items, share=True)
    count = member.sum(0)
    mean = np.divide(confidence @ member, count, out=np.full(bins, np.nan), where=count > 0)
    return Reliability(
        np.linspace(0, 1, bins + 1),
        count.astype(np.int64),
        mean,
        found.value,
        found.low,
        found.high,
        hits.sum(0).astype(np.int64),
    )


def calibration_error(
    confidence: Array, right: NDArray[np.bool_], cluster: NDArray[np.integer], bins: int = BINS
) -> Number:
    """Expected calibration error: mean distance of accuracy and confidence over bins (Naeini et al. 2015)."""
    member = np.eye(bins)[bin_of(confidence, bins)]
    gap = sums_by_cluster(cluster, member * (right - confidence)[:, None])
    items = sums_by_cluster(cluster, np.ones((len(right), 1)))
    return _number(
        np.concatenate([gap, items], axis=1),
        items[:, 0],
        lambda sums: np.abs(sums[:, :-1]).sum(1, keepdims=True) / np.maximum(sums[:, -1:], 1),
    )


def brier(likelihoods: Array, truth: NDArray[np.integer], cluster: NDArray[np.integer]) -> Number:
    """Mean over answers of the sum over options of (likelihood - truth) squared, 0 to 2 (Brier 1950).

    Args:
        likelihoods: (N, K), NaN beyond an answer's options.
        truth: (N,) the right option.
        cluster: (N,) cluster number.
    """
    told = np.nan_to_num(likelihoods)
    told[np.arange(len(truth)), truth] -= 1
    return _mean((told**2).sum(1), cluster)


def log_loss(likelihoods: Array, truth: NDArray[np.integer], cluster: NDArray[np.integer]) -> Number:
    """Mean of -ln of the likelihood of the truth, which is taken as at least 1e-6."""
    return _mean(-np.log(np.maximum(likelihoods[np.arange(len(truth)), truth], _TINY)), cluster)


def auroc(confidence: Array, right: NDArray[np.bool_], cluster: NDArray[np.integer]) -> Number:
    """Chance that a right answer is surer than a wrong one, ties counted half; 0.5 is no use, below is reversed."""
    counts, levels = _by_level(confidence, right, cluster)

    def area(sums: Array) -> Array:
        hits, misses = sums[:, :levels], sums[:, levels:]
        below = np.cumsum(misses, axis=1) - 0.5 * misses
        pairs = hits.sum(1) * misses.sum(1)
        won = (hits * below).sum(1)
        return np.asarray(np.divide(won, pairs, out=np.full(len(sums), np.nan), where=pairs > 0))[:, None]

    return _number(counts, counts.sum(1), area)


def selective(
    confidence: Array, right: NDArray[np.bool_], cluster: NDArray[np.integer], coverages: Array = COVERAGES
) -> Selective:
    """Accuracy where only the surest answers are kept (risk-coverage curve; El-Yaniv and Wiener 2010).

    Answers of equal confidence come in together, in no order among themselves.
    """
    counts, levels = _by_level(confidence, right, cluster)

    def curve(sums: Array) -> Array:
        hits = np.cumsum(sums[:, levels - 1 :: -1], axis=1)
        kept = np.cumsum((sums[:, :levels] + sums[:, levels:])[:, ::-1], axis=1)
        return _interpolated(kept / np.maximum(kept[:, -1:], 1), hits / np.maximum(kept[:, -1:], 1), coverages)

    value, low, high = with_interval(counts, counts.sum(1), curve, resamples=_CURVE_RESAMPLES)
    return Selective(coverages, value, low, high)


def _interpolated(kept: Array, hits: Array, coverages: Array) -> Array:
    """(R, L) cumulative shares kept and right → (R, C) accuracy at each coverage."""
    rows = np.arange(len(kept))
    found = np.empty((len(kept), len(coverages)))
    for place, coverage in enumerate(coverages):
        after = np.minimum((kept < coverage - 1e-12).sum(1), kept.shape[1] - 1)
        before = after - 1
        kept_0 = np.where(before >= 0, kept[rows, before], 0.0)
        hits_0 = np.where(before >= 0, hits[rows, before], 0.0)
        width = np.maximum(kept[rows, after] - kept_0, 1e-12)
        found[:, place] = (hits_0 + (hits[rows, after] - hits_0) * (coverage - kept_0) / width) / coverage
    return found


def _by_level(confidence: Array, right: NDArray[np.bool_], cluster: NDArray[np.integer]) -> tuple[Array, int]:
    """(G, 2 L) right and wrong answers by cluster and step of confidence, rising; and L."""
    known, level = np.unique(confidence, return_inverse=True)
    if len(known) > LEVELS:
        edges = np.unique(np.quantile(confidence, np.linspace(0, 1, LEVELS + 1)[1:-1]))
        level = np.searchsorted(edges, confidence, side="right")
    levels = int(level.max()) + 1
    code = np.where(right, level, level + levels)
    group = group_clusters(int(cluster.max()) + 1)[cluster]
    groups = int(group.max()) + 1
    counts = np.bincount(group.astype(np.int64) * 2 * levels + code, minlength=groups * 2 * levels)
    return counts.reshape(groups, 2 * levels).astype(np.float64), levels


def _mean(values: Array, cluster: NDArray[np.integer]) -> Number:
    sums = sums_by_cluster(cluster, np.stack([values, np.ones_like(values)], axis=1))
    found = ratios(sums[:, :1], sums[:, 1:])
    return Number(float(found.value[0]), float(found.low[0]), float(found.high[0]))


def _number(counts: Array, items: Array, statistic: Callable[[Array], Array]) -> Number:
    value, low, high = with_interval(counts, items, statistic)
    return Number(float(value[0]), float(low[0]), float(high[0]))


def halves(cluster: NDArray[np.integer], seed: int = 0) -> NDArray[np.bool_]:
    """(N,) whether an answer is in the half that is fitted on; a cluster is never divided."""
    clusters = int(cluster.max()) + 1
    first = np.zeros(clusters, bool)
    first[np.random.default_rng(seed).permutation(clusters)[: clusters // 2]] = True
    return np.asarray(first[cluster])


def tempered(likelihoods: Array, temperature: float) -> Array:
    """Likelihoods with their logarithms divided by a temperature; NaN stays."""
    logs = np.log(np.maximum(likelihoods, _TINY)) / temperature
    raised = np.exp(logs - np.nanmax(logs, axis=1, keepdims=True))
    return np.asarray(raised / np.nansum(raised, axis=1, keepdims=True))


def fit_temperature(likelihoods: Array, truth: NDArray[np.integer]) -> float:
    """The temperature of least log loss (Guo et al. 2017), between 1/50 and 50."""
    rows = np.arange(len(truth))

    def loss(log_temperature: float) -> float:
        told = tempered(likelihoods, float(np.exp(log_temperature)))[rows, truth]
        return float(-np.log(np.maximum(told, 1e-300)).mean())

    found = minimize_scalar(loss, bounds=(-np.log(50), np.log(50)), method="bounded")
    return float(np.exp(found.x))
