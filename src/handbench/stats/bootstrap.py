"""The cluster bootstrap: clusters are drawn again, not answers, and everything follows from their counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from handbench.stats.counts import Counts

RESAMPLES: Final = 10_000
LARGEST: Final = 4096
"""More clusters than this are dealt at random into so many groups, which are then drawn as wholes: the
interval stays right (a group of clusters is a cluster) and its cost stays bounded."""

_CHUNK_BYTES = 32 << 20


def group_clusters(clusters: int, seed: int = 0, largest: int = LARGEST) -> NDArray[np.int64]:
    """Group of each cluster: itself where there are few, else one of ``largest`` equal-sized random groups.

    Returns:
        (clusters,) group numbers.
    """
    if clusters <= largest:
        return np.arange(clusters)
    return np.random.default_rng(seed).permutation(clusters) % largest


def weights(groups: int, resamples: int = RESAMPLES, seed: int = 0) -> Iterator[Counts]:
    """How often each group is drawn in each resample, in chunks of bounded size.

    Args:
        groups: number of clusters or groups G.
        resamples: how many resamples in all.
        seed: of the draws; equal seeds give equal draws, so that models can be compared pair by pair.

    Yields:
        (chunk, G) float32 counts whose rows sum to G.
    """
    generator = np.random.default_rng(seed)
    step = max(1, _CHUNK_BYTES // (8 * max(groups, 1)))
    share = np.full(groups, 1.0 / max(groups, 1))
    for start in range(0, resamples, step):
        yield generator.multinomial(groups, share, size=min(step, resamples - start)).astype(np.float32)


def resample(
    counts: Counts,
    statistic: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> NDArray[np.float64]:
    """Values of a statistic over cluster resamples.

    Args:
        counts: (G, M) counts per cluster.
        statistic: takes (R, M) summed counts and gives (R, S) values.
        resamples: how many resamples.
        seed: of the draws.

    Returns:
        (resamples, S) values.
    """
    chunks = [statistic((weight @ counts).astype(np.float64)) for weight in weights(len(counts), resamples, seed)]
    return np.concatenate(chunks)


def percentile_interval(
    values: NDArray[np.float64], level: float = 0.95
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Percentile interval of resampled values, resamples in which the value is undefined left out.

    Args:
        values: (R, S) values over R resamples.
        level: coverage aimed at.

    Returns:
        (S,) lower and (S,) upper ends; NaN where no resample has a value.
    """
    tail = (1 - level) / 2
    ends = np.full((2, values.shape[1]), np.nan)
    whole = ~np.isnan(values).any(axis=0)
    if whole.any():
        ends[:, whole] = np.quantile(values[:, whole], [tail, 1 - tail], axis=0)
    for column in np.flatnonzero(~whole & ~np.isnan(values).all(axis=0)):
        known = values[:, column]
        ends[:, column] = np.quantile(known[~np.isnan(known)], [tail, 1 - tail])
    return ends[0], ends[1]
