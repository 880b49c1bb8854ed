"""Ratios of per-cluster sums with their intervals: accuracies, differences, Brier scores, shares of any kind."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from handbench.stats.bootstrap import RESAMPLES, group_clusters, weights
from handbench.stats.intervals import (
    Rule,
    bca_ends,
    default_rule,
    effective_clusters,
    percentile_ends,
    unanimous_ends,
)

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Ratios:
    """(S,) values, lower and upper ends of their 95 % intervals (NaN where undefined) and cluster counts."""

    value: Array
    low: Array
    high: Array
    clusters: NDArray[np.int64]


def sums_by_cluster(cluster: NDArray[np.integer], values: Array, seed: int = 0) -> Array:
    """Add up values in every cluster, or in every group where there are very many clusters.

    Args:
        cluster: (N,) cluster number of each answer, dense from 0.
        values: (N, S).
        seed: of the grouping, see :func:`handbench.stats.bootstrap.group_clusters`.

    Returns:
        (G, S).
    """
    if not len(cluster):
        return np.zeros((0, values.shape[1]))
    group = group_clusters(int(cluster.max()) + 1, seed)[cluster]
    count = int(group.max()) + 1
    return np.stack([np.bincount(group, column, minlength=count) for column in values.T], axis=1)


def _divide(events: Array, items: Array) -> Array:
    shape = np.broadcast_shapes(events.shape, items.shape)
    return np.asarray(np.divide(events, items, out=np.full(shape, np.nan), where=items > 0))


def ratios(
    events: Array,
    items: Array,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
    rule: Rule | None = None,
    share: bool = False,
) -> Ratios:
    """Ratios of sums over clusters, each with a 95 % cluster interval.

    Args:
        events: (G, S) what is counted, by cluster; a difference of counts is welcome.
        items: (G, S) what it is counted among, never negative.
        resamples: how often the clusters are drawn again.
        seed: of the draws; equal seeds give equal draws.
        rule: percentile, percentile-t or bca-t; by default what suits the number of clusters of each column.
        share: whether the ratios are shares (0 to 1), so that 0 and 1 get the binomial bound over clusters.
    """
    events, items = np.asarray(events, np.float64), np.broadcast_to(np.asarray(items, np.float64), events.shape)
    whole, total = events.sum(0), items.sum(0)
    value = _divide(whole, total)
    clusters = (items > 0).sum(0)
    both = np.concatenate([events, items], axis=1)
    width = events.shape[1]
    drawn = np.concatenate(
        [
            _divide(sums[:, :width], sums[:, width:])
            for sums in (weight.astype(np.float64) @ both for weight in weights(len(events), resamples, seed))
        ]
    )
    effective = effective_clusters(items)
    chosen = [rule or default_rule(int(count)) for count in clusters]
    plain = np.array([one is Rule.PERCENTILE for one in chosen])
    low, high = percentile_ends(drawn, np.where(plain, np.inf, effective))
    few = np.array([one is Rule.BCA_T for one in chosen])
    if few.any():
        without = _divide(whole[few] - events[:, few], total[few] - items[:, few])
        without[items[:, few] == 0] = np.nan  # a cluster without answers is no cluster of this column
        low[few], high[few] = bca_ends(drawn[:, few], value[few], without, effective[few])
    if share:
        flat = (value == 0) | (value == 1)
        low[flat], high[flat] = (ends[flat] for ends in unanimous_ends(value, clusters))
    alone = clusters < 2
    low[alone] = high[alone] = np.nan
    return Ratios(value, low, high, clusters)
