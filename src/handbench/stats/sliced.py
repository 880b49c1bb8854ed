"""Scores of choice answers in every slice, with cluster intervals, from one pass of resampling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from handbench.stats.bootstrap import RESAMPLES, group_clusters, weights
from handbench.stats.counts import Counts, confusion_by_cluster
from handbench.stats.intervals import (
    FEW,
    Rule,
    bca_ends,
    default_rule,
    effective_clusters,
    percentile_ends,
    unanimous_ends,
)
from handbench.stats.metrics import all_metrics, occurring

Array = NDArray[np.float64]

SHARES: Final = ("accuracy", "accuracy_answered", "answer_rate")
"""Metrics that are shares of answers: at 0 or 1 resampling has nothing to draw from, and a binomial bound stands in."""

_TOTALS_BYTES: Final = 64 << 20
_FEW_ROWS: Final = 2 * FEW


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
    rule: Rule | None = None


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

    def draw(self, weight: Counts) -> None:
        """Take the metrics of some resamples, in pieces of bounded size."""
        step = max(1, _TOTALS_BYTES // (8 * self.counts.shape[1]))
        for start in range(0, len(weight), step):
            self.drawn.append(self.metrics((weight[start : start + step] @ self.counts).astype(np.float64)))

    @property
    def sizes(self) -> Array:
        """(groups, S) answers of each group in each slice."""
        shape = (len(self.counts), self.labels * (self.labels + 1), len(self.slices))
        return np.asarray(self.counts.reshape(shape).sum(1, dtype=np.float64))

    def leave_one_out(self, places: NDArray[np.int64]) -> dict[str, Array]:
        """Name → (G, P) values of P slices without each of their groups, NaN for a group that has no part in one."""
        shape = (len(self.counts), self.labels, self.labels + 1, len(self.slices))
        mine = self.counts.reshape(shape)[..., places].astype(np.float64)
        if len(mine) > _FEW_ROWS:
            mine = _gathered(mine)
        without = (mine.sum(0) - mine).transpose(1, 2, 0, 3)
        found = all_metrics(without, ordinal=self.ordinal, present=self.present[:, :, places])
        absent = mine.sum((1, 2)) == 0
        return {name: np.where(absent, np.nan, values) for name, values in found.items()}

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
    rule: Rule | None = None,
) -> list[Score]:
    """Every metric of every slice.

    Args:
        cluster: (N,) cluster number of each answer, dense from 0.
        truth: (N,) rank of the true label.
        chosen: (N,) rank of the chosen label, -1 without a reading.
        slices: what to score; all slices share the same draws of clusters.
        resamples: bootstrap resamples.
        seed: of the draws: the same for every model, so that their difference can be taken draw by draw.
        rule: how the intervals are found; by default :func:`handbench.stats.intervals.default_rule` of each slice.
    """
    if not len(cluster) or not slices:
        return []
    group = group_clusters(int(cluster.max()) + 1, seed)[cluster]
    families = _families(group, truth, chosen, slices)
    for weight in weights(int(group.max()) + 1, resamples, seed):
        for family in families:
            family.draw(weight)
    order = {part.keys: place for place, part in enumerate(slices)}
    found = [score for family in families for score in _scores(family, cluster, rule)]
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


def _scores(family: _Family, cluster: NDArray[np.integer], rule: Rule | None) -> list[Score]:
    exact = family.metrics(family.whole)
    clusters = np.array([len(np.unique(cluster[part.rows])) for part in family.slices])
    rules = [rule or default_rule(int(count)) for count in clusters]
    sizes = family.sizes
    effective = effective_clusters(sizes)
    few = np.flatnonzero([chosen is Rule.BCA_T for chosen in rules])
    without = family.leave_one_out(few) if len(few) else {}
    scores = []
    for name, value in exact.items():
        drawn = np.concatenate([part.pop(name) for part in family.drawn])
        plain = np.array([chosen is Rule.PERCENTILE for chosen in rules])
        low, high = percentile_ends(drawn, np.where(plain, np.inf, effective))
        if len(few):
            low[few], high[few] = bca_ends(drawn[:, few], value[0, few], without[name], effective[few])
        if name in SHARES and rule is not Rule.PERCENTILE:
            flat = (value[0] == 0) | (value[0] == 1)
            low[flat], high[flat] = (ends[flat] for ends in unanimous_ends(value[0], clusters))
        for place, part in enumerate(family.slices):
            alone = clusters[place] < 2  # one cluster says nothing of how clusters differ
            ends = (None, None) if alone else (_number(low[place]), _number(high[place]))
            found = _number(value[0, place])
            scores.append(Score(part.keys, name, found, *ends, len(part.rows), int(clusters[place]), rules[place]))
    return scores


def _gathered(counts: Array) -> Array:
    """(G, K, K + 1, P) → (most, K, K + 1, P): each slice's own groups first, the many that it has no part in gone."""
    has = counts.sum((1, 2)) > 0
    order = np.argsort(~has, axis=0, kind="stable")[: int(has.sum(0).max(initial=0))]
    return np.asarray(np.take_along_axis(counts, order[:, None, None, :], axis=0))


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
