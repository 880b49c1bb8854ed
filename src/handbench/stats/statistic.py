"""Intervals of any statistic of summed counts, by drawing clusters again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from handbench.stats.bootstrap import RESAMPLES, weights
from handbench.stats.intervals import Rule, bca_ends, default_rule, effective_clusters, percentile_ends

Array = NDArray[np.float64]

_BYTES: Final = 64 << 20


def with_interval(
    counts: Array,
    items: Array,
    statistic: Callable[[Array], Array],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
    rule: Rule | None = None,
) -> tuple[Array, Array, Array]:
    """Values of a statistic with their 95 % cluster intervals.

    Args:
        counts: (G, M) counts by cluster.
        items: (G,) answers by cluster.
        statistic: (R, M) summed counts → (R, S) values, NaN where undefined.
        resamples: how often the clusters are drawn again.
        seed: of the draws.
        rule: percentile, percentile-t or bca-t; by default what suits the number of clusters.

    Returns:
        (S,) values, lower and upper ends; the ends are NaN where there is one cluster only.
    """
    exact = statistic(counts.sum(0)[None, :])[0]
    clusters = int((items > 0).sum())
    if clusters < 2:
        return exact, np.full(exact.shape, np.nan), np.full(exact.shape, np.nan)
    step = max(1, _BYTES // (8 * counts.shape[1]))
    drawn = np.concatenate(
        [
            statistic(weight[start : start + step].astype(np.float64) @ counts)
            for weight in weights(len(counts), resamples, seed)
            for start in range(0, len(weight), step)
        ]
    )
    effective = np.broadcast_to(effective_clusters(items), exact.shape)
    chosen = rule or default_rule(clusters)
    if chosen is Rule.BCA_T:
        without = statistic(counts.sum(0) - counts[items > 0])
        return exact, *bca_ends(drawn, exact, without, effective)
    return exact, *percentile_ends(drawn, None if chosen is Rule.PERCENTILE else effective)
