"""Scores of choice answers in every slice, with cluster intervals, from one pass of resampling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from handbench.stats.bootstrap import RESAMPLES, group_clusters, percentile_interval, weights
from handbench.stats.counts import Counts, confusion_by_cluster
from handbench.stats.metrics import all_metrics, occurring

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Slice:
    """A set of answers that share their labels.

    Attributes:
        keys: what the scores table says of it: descriptor, slice, slice_value.
        rows: (n,) row numbers of the answers in it.
        labels: number of labels K.
        ordinal: whether ranks have distances.
    """

    keys: tuple[str, str, str]
    rows: NDArray[np.int64]
    labels: int
    ordinal: bool


@dataclass(frozen=True)
class Score:
    """One number with its 95 % cluster interval; None where it is undefined."""

    keys: tuple[str, str, str]
    metric: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    clusters: int


@dataclass
class _Family:
    """The slices with the same labels: their counts side by side, so that each step is one array's work.

    ``counts`` is (groups, K · (K + 1) · S), the slice running fastest.
    """

    labels: int
    ordinal: bool
    slices: list[Slice]
    counts: Counts
    drawn: list[dict[str, Array]] = field(default_factory=list)

    def confusion(self, totals: Array) -> Array:
        """(R, K · (K + 1) · S) summed counts as (K, K + 1, R, S)."""
        shape = (len(totals), self.labels, self.labels + 1, len(self.slices))
        return totals.reshape(shape).transpose(1, 2, 0, 3)

    def metrics(self, totals: Array) -> dict[str, Array]:
        """Name → (R, S) values."""
        return all_metrics(self.confusion(totals), ordinal=self.ordinal, present=self.present)

    @property
    def present(self) -> NDArray[np.bool_]:
        """(K, 1, S) labels that occur in each slice."""
        return occurring(self.confusion(self.whole))

    @property
    def whole(self) -> Array:
        """(1, K · (K + 1) · S) counts of the sample itself."""
        return np.asarray(self.counts.sum(0, dtype=np.float64)[None, :])


def score_slices(
    cluster: NDArray[np.integer],
    truth: NDArray[np.integer],
    chosen: NDArray[np.integer],
    slices: Sequence[Slice],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> list[Score]:
    """Every metric of every slice.

    Args:
        cluster: (N,) cluster number of each answer, dense from 0.
        truth: (N,) rank of the true label.
        chosen: (N,) rank of the chosen label, -1 without a reading.
        slices: what to score; all slices share the same draws of clusters.
        resamples: bootstrap resamples.
        seed: of the draws: the same for every model, so that their difference can be taken draw by draw.
    """
    if not len(cluster) or not slices:
        return []
    group = group_clusters(int(cluster.max()) + 1, seed)[cluster]
    families = _families(group, truth, chosen, slices)
    for weight in weights(int(group.max()) + 1, resamples, seed):
        for family in families:
            family.drawn.append(family.metrics((weight @ family.counts).astype(np.float64)))
    order = {part.keys: place for place, part in enumerate(slices)}
    found = [score for family in families for score in _scores(family, cluster)]
    return sorted(found, key=lambda score: order[score.keys])


def _families(
    group: NDArray[np.integer],
    truth: NDArray[np.integer],
    chosen: NDArray[np.integer],
    slices: Sequence[Slice],
) -> list[_Family]:
    groups = int(group.max()) + 1
    families = []
    for labels, ordinal in sorted({(part.labels, part.ordinal) for part in slices}):
        mine = [part for part in slices if (part.labels, part.ordinal) == (labels, ordinal)]
        counts = np.stack(
            [
                confusion_by_cluster(group[part.rows], truth[part.rows], chosen[part.rows], groups, labels)
                for part in mine
            ],
            axis=-1,
        )
        families.append(_Family(labels, ordinal, mine, counts.reshape(groups, -1)))
    return families


def _scores(family: _Family, cluster: NDArray[np.integer]) -> list[Score]:
    exact = family.metrics(family.whole)
    clusters = [len(np.unique(cluster[part.rows])) for part in family.slices]
    scores = []
    for name, value in exact.items():
        low, high = percentile_interval(np.concatenate([part.pop(name) for part in family.drawn]))
        for place, part in enumerate(family.slices):
            alone = clusters[place] < 2  # one cluster says nothing of how clusters differ
            ends = (None, None) if alone else (_number(low[place]), _number(high[place]))
            found = _number(value[0, place])
            scores.append(Score(part.keys, name, found, *ends, len(part.rows), clusters[place]))
    return scores


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
