"""Ends of 95 % intervals from cluster resamples: percentile, widened percentile, BCa and studentised.

Which one is the default, and why, is measured by ``benchmarks/coverage.py``; the table is in ``docs/statistics.md``.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtrit

Array = NDArray[np.float64]

FEW: Final = 200
"""Below so many clusters the default is BCa."""


class Rule(StrEnum):
    """How the ends of an interval are found; named in ``protocol`` as ``interval=...``.

    ``percentile`` is the papers' way (SafeGesture, section 3.6 and Appendix H).  The ``-t`` rules widen the levels
    from the normal to Student's t over the effective number of clusters (Hesterberg 2015, "expanded percentile").
    """

    PERCENTILE = "percentile"
    PERCENTILE_T = "percentile-t"
    BCA_T = "bca-t"
    STUDENTISED = "studentised"


def default_rule(clusters: int) -> Rule:
    """BCa where clusters are few, else percentiles; both widened."""
    return Rule.BCA_T if clusters < FEW else Rule.PERCENTILE_T


def effective_clusters(sizes: NDArray[np.floating] | NDArray[np.integer]) -> Array:
    """How many clusters of equal size would vary as much as these (Kish).

    Args:
        sizes: (G, ...) answers in each cluster.

    Returns:
        (...) between 1 and G; 0 where there is no answer.
    """
    numbers = np.asarray(sizes, np.float64)
    squares = (numbers**2).sum(0)
    found = np.divide(numbers.sum(0) ** 2, squares, out=np.zeros(squares.shape), where=squares > 0)
    return np.asarray(found)


def reach(clusters: Array | float | None = None, level: float = 0.95) -> Array:
    """How many standard errors an interval reaches to each side.

    Args:
        clusters: effective number of clusters; None for so many that the normal is right.
        level: coverage aimed at.

    Returns:
        1.96 for None; t sqrt(n / (n - 1)) with n - 1 degrees of freedom for n clusters, which undoes that a
        bootstrap's spread is too small by sqrt((n - 1) / n).
    """
    upper = 0.5 + level / 2
    if clusters is None:
        return np.asarray(ndtri(upper))
    free = np.minimum(np.maximum(np.asarray(clusters, np.float64) - 1, 1.0), 1e12)  # infinity has no quantile
    return np.asarray(stdtrit(free, upper) * np.sqrt((free + 1) / free))


def quantiles(values: Array, levels: Array) -> Array:
    """Quantiles of their own levels for each column, resamples in which the value is undefined left out.

    Args:
        values: (R, S).
        levels: (L, S) between 0 and 1.

    Returns:
        (L, S), interpolated linearly as numpy does; NaN for a column without values.
    """
    ordered = np.sort(np.ascontiguousarray(values.T), axis=1).T  # by whole rows, which is faster; NaN goes last
    known = (~np.isnan(values)).sum(0)
    last = np.maximum(known - 1, 0)
    place = np.where(np.isnan(levels), 0.0, levels) * last
    low = np.floor(place).astype(np.int64)
    share = place - low
    column = np.arange(values.shape[1])
    found = ordered[low, column] * (1 - share) + ordered[np.minimum(low + 1, last), column] * share
    return np.where(np.isnan(levels) | (known == 0), np.nan, found)


def percentile_ends(values: Array, clusters: Array | None = None, level: float = 0.95) -> tuple[Array, Array]:
    """Percentile interval; widened where effective numbers of clusters are given.

    Args:
        values: (R, S) values over R resamples.
        clusters: (S,) effective numbers of clusters, None for the plain percentiles.
        level: coverage aimed at.

    Returns:
        (S,) lower and (S,) upper ends; NaN where no resample has a value.
    """
    z = np.broadcast_to(reach(clusters, level), values.shape[1:])
    low, high = quantiles(values, np.stack([ndtr(-z), ndtr(z)]))
    return low, high


def bca_ends(
    values: Array, exact: Array, jackknife: Array, clusters: Array | None = None, level: float = 0.95
) -> tuple[Array, Array]:
    """Bias-corrected and accelerated interval (Efron 1987); widened where effective clusters are given.

    Args:
        values: (R, S) values over R resamples.
        exact: (S,) values of the whole sample.
        jackknife: (G, S) values with each cluster left out.
        clusters: (S,) effective numbers of clusters, None for the plain BCa.
        level: coverage aimed at.

    Returns:
        (S,) lower and (S,) upper ends; NaN where no resample has a value.
    """
    known = (~np.isnan(values)).sum(0)
    below = (values < exact).sum(0) + 0.5 * (values == exact).sum(0)
    share = np.divide(below, known, out=np.full(exact.shape, 0.5), where=known > 0)
    edge = 1 / (len(values) + 1)
    bias = ndtri(np.clip(share, edge, 1 - edge))
    acceleration = _acceleration(jackknife)
    z = np.broadcast_to(reach(clusters, level), exact.shape)

    def shifted(side: Array) -> Array:
        sum_ = bias + side
        return np.asarray(ndtr(bias + sum_ / np.maximum(1 - acceleration * sum_, 1e-6)))

    low, high = quantiles(values, np.stack([shifted(-z), shifted(z)]))
    return low, high


def _acceleration(jackknife: Array) -> Array:
    """(G, S) → (S,) skewness of the leave-one-out values over 6; a value that is undefined counts as the mean."""
    known = ~np.isnan(jackknife)
    filled = np.where(known, jackknife, 0.0)
    mean = filled.sum(0) / np.maximum(known.sum(0), 1)
    away = np.where(known, mean - filled, 0.0)
    squares = (away**2).sum(0)
    return np.asarray(np.divide((away**3).sum(0), 6 * squares**1.5, out=np.zeros(squares.shape), where=squares > 0))


def unanimous_ends(value: Array, clusters: NDArray[np.integer] | Array, level: float = 0.95) -> tuple[Array, Array]:
    """Interval of a share that is 0 or 1 in every cluster, where resampling has nothing to draw from.

    The exact binomial (Clopper-Pearson) bound with each cluster taken for one trial: with all of n clusters right, a
    share below ((1 - level) / 2) ** (1 / n) would hardly have shown no error.

    Args:
        value: (S,) 0 or 1.
        clusters: (S,) number of clusters.
        level: coverage aimed at.
    """
    bound = ((1 - level) / 2) ** (1 / np.maximum(clusters, 1))
    return np.where(value > 0.5, bound, 0.0), np.where(value > 0.5, 1.0, 1 - bound)


def ratio_and_error(draws: Array, events: Array, items: Array) -> tuple[Array, Array]:
    """Ratio of sums and its standard error by linearisation, in every draw of the clusters.

    Args:
        draws: (R, G) how often each cluster is drawn.
        events: (G,) what is counted, by cluster; a difference of counts is welcome.
        items: (G,) what it is counted among.

    Returns:
        (R,) ratios and (R,) standard errors; 0 where nothing is counted.
    """
    total = draws @ items
    share = np.divide(draws @ events, total, out=np.zeros(len(draws)), where=total > 0)
    squares = draws @ events**2 - 2 * share * (draws @ (events * items)) + share**2 * (draws @ items**2)
    clusters = max(len(items), 2)
    error = np.sqrt(np.maximum(squares, 0) * clusters / (clusters - 1))
    return share, np.divide(error, total, out=np.zeros(len(draws)), where=total > 0)


def studentised_ends(
    events: Array, items: Array, draws: Array, *, fewest: int = 8, level: float = 0.95
) -> tuple[float, float]:
    """Bootstrap-t interval of a ratio of sums.

    Args:
        events: (G,) what is counted, by cluster; a difference of counts is welcome.
        items: (G,) what it is counted among.
        draws: (R, G) how often each cluster is drawn.
        fewest: clusters that must carry an event; with fewer, a resample's error is luck and its pivot means nothing.
        level: coverage aimed at.

    Returns:
        The ends, within what a share (or a difference of shares) can be; NaN where fewer than ``fewest`` clusters
        carry an event.
    """
    if np.count_nonzero(events) < fewest:
        return np.nan, np.nan
    whole, spread = ratio_and_error(np.ones((1, len(events))), events, items)
    if not spread[0] > 0:
        return float(whole[0]), float(whole[0])
    shares, errors = ratio_and_error(draws, events, items)
    usable = errors > 0
    if not usable.any():
        return np.nan, np.nan
    pivots = (shares[usable] - whole[0]) / errors[usable]
    tail = (1 - level) / 2
    ends = whole[0] - np.quantile(pivots, [1 - tail, tail]) * spread[0]
    low, high = np.clip(ends, -1.0 if (events < 0).any() else 0.0, 1.0)
    return float(low), float(high)
