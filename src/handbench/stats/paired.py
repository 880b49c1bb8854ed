"""Two models on the same questions: differences, tests and what could have been found at all."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit
from scipy.stats import binom

from handbench.stats.bootstrap import RESAMPLES
from handbench.stats.intervals import effective_clusters

Array = NDArray[np.float64]

_EXACT: Final = 13
"""With so many clusters or fewer all 2 ** n signs are tried."""

_CHUNK: Final = 4 << 20


def sign_flip(differences: Array, *, flips: int = RESAMPLES, seed: int = 0) -> Array:
    """Two-sided test that a paired difference is nothing, by clusters.

    If neither model is better, each cluster's sum of differences is as likely to have the other sign.  The sum over
    clusters is held against its values under random signs; what goes on within a cluster does not matter.

    Args:
        differences: (G, S) sum of (first right - second right) over each cluster's questions.
        flips: random sign patterns; all patterns are taken where there are few clusters.
        seed: of the signs.

    Returns:
        (S,) p-values; 1 where no cluster differs.
    """
    differences = np.asarray(differences, np.float64)
    observed = np.abs(differences.sum(0))
    slack = 1e-9 * np.maximum(np.abs(differences).sum(0), 1)
    groups = len(differences)
    if groups <= _EXACT:
        codes = np.arange(2**groups)[:, None] >> np.arange(groups) & 1
        extreme = (np.abs((1.0 - 2 * codes) @ differences) >= observed - slack).mean(0)
        return np.asarray(extreme, np.float64)
    generator = np.random.default_rng(seed)
    step = max(1, _CHUNK // groups)
    count = np.zeros(differences.shape[1])
    for start in range(0, flips, step):
        rows = min(step, flips - start)
        signs = generator.integers(0, 2, (rows, groups), np.int8).astype(np.float32) * 2 - 1
        count += (np.abs(signs.astype(np.float64) @ differences) >= observed - slack).sum(0)
    return np.asarray((count + 1) / (flips + 1))


def mcnemar_exact(only_first: NDArray[np.integer], only_second: NDArray[np.integer]) -> Array:
    """Exact two-sided McNemar test; right only where every cluster has one question.

    Args:
        only_first: (S,) questions that the first model alone has right.
        only_second: (S,) questions that the second model alone has right.
    """
    fewer, both = np.minimum(only_first, only_second), np.asarray(only_first) + np.asarray(only_second)
    return np.asarray(np.minimum(1.0, 2 * binom.cdf(fewer, both, 0.5)), np.float64)


def holm(p_values: Array) -> Array:
    """Holm's step-down correction over a table of tests; NaN stays NaN and is no test.

    Args:
        p_values: (S,).

    Returns:
        (S,) adjusted p-values: those at most 0.05 hold together with a family-wise error of 5 %.
    """
    p_values = np.asarray(p_values, np.float64)
    adjusted = np.full(p_values.shape, np.nan)
    known = np.flatnonzero(~np.isnan(p_values))
    order = known[np.argsort(p_values[known], kind="stable")]
    steps = p_values[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def standard_errors(events: Array, items: Array) -> Array:
    """(G, S), (G, S) → (S,) standard error of each ratio of sums by linearisation; NaN below two clusters."""
    items = np.broadcast_to(np.asarray(items, np.float64), np.asarray(events).shape)
    total = items.sum(0)
    ratio = np.divide(events.sum(0), total, out=np.full(total.shape, np.nan), where=total > 0)
    groups = (items > 0).sum(0)
    squares = ((events - ratio * items) ** 2).sum(0)
    error = np.sqrt(squares * groups / np.maximum(groups - 1, 1)) / np.maximum(total, 1)
    return np.asarray(np.where(groups < 2, np.nan, error))


def minimum_detectable(events: Array, items: Array, *, power: float = 0.8, level: float = 0.95) -> Array:
    """Smallest true difference that such a comparison would find.

    Args:
        events: (G, S) paired differences by cluster.
        items: (G, S) questions by cluster.
        power: how often it is to be found.
        level: of the interval that must leave 0 out.

    Returns:
        (S,) (t_(1 - alpha/2) + t_power) standard errors, with the effective clusters less one degrees of freedom.
    """
    items = np.broadcast_to(np.asarray(items, np.float64), np.asarray(events).shape)
    free = np.maximum(effective_clusters(items) - 1, 1.0)
    return np.asarray((stdtrit(free, 0.5 + level / 2) + stdtrit(free, power)) * standard_errors(events, items))
