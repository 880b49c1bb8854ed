"""Two models on the same questions: the difference of their accuracies, clusters being drawn again for both at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from handbench.stats.bootstrap import RESAMPLES
from handbench.stats.ratios import ratios, sums_by_cluster


@dataclass(frozen=True)
class Difference:
    """Second minus first.

    Attributes:
        first: accuracy of the first model.
        second: accuracy of the second.
        value: their difference.
        low: lower end of its 95 % interval.
        high: upper end.
        n: questions.
        clusters: clusters.
        only_first: questions that the first alone has right.
        only_second: questions that the second alone has right.
    """

    first: float
    second: float
    value: float
    low: float
    high: float
    n: int
    clusters: int
    only_first: int
    only_second: int


def paired_difference(
    first: NDArray[np.bool_],
    second: NDArray[np.bool_],
    cluster: NDArray[np.integer],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Difference:
    """Compare two models question by question.

    Args:
        first: (N,) whether the first model has each question right.
        second: (N,) whether the second has.
        cluster: (N,) cluster of each question.
        resamples: bootstrap resamples of the clusters.
        seed: of the resamples.

    Returns:
        The difference with its interval by the default rule (``docs/statistics.md``).
    """
    number = np.unique(cluster, return_inverse=True)[1]
    gap = second.astype(np.float64) - first.astype(np.float64)
    sums = sums_by_cluster(number, np.stack([gap, np.ones_like(gap)], axis=1), seed)
    found = ratios(sums[:, :1], sums[:, 1:], resamples=resamples, seed=seed)
    return Difference(
        float(first.mean()), float(second.mean()), float(found.value[0]), float(found.low[0]), float(found.high[0]),
        len(first), int(number.max()) + 1, int((first & ~second).sum()), int((second & ~first).sum()),
    )  # fmt: skip
