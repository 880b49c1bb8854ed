"""Measures → the ``scores`` table, with intervals that draw whole videos again, and ranks per metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import polars as pl

from handbench.stats.bootstrap import RESAMPLES, group_clusters, percentile_interval, weights
from handbench.tasks.handpose.arrays import Floats
from handbench.tasks.handpose.evaluation import Evaluation, evaluate_hands
from handbench.tasks.handpose.measures import Measure, Stratum, Summing, measure, strata
from handbench.tasks.handpose.oks import oks_average_precision
from handbench.tasks.handpose.rates import ratio

TASK: Final = "handpose"
SWEEP: Final = (0.3, 0.5, 0.7)
"""Gates that detection and Pose-F1 are told for, besides the protocol's own."""


@dataclass(frozen=True)
class Scored:
    """An evaluation with its name.

    Attributes:
        model: the estimator.
        stage: ``raw``, ``spatial``, ``temporal``, ``both`` or ``majority``.
        evaluation: the matches.
        measures: the numbers as ratios of sums over videos.
    """

    model: str
    stage: str
    evaluation: Evaluation
    measures: list[Measure]


def scored(model: str, stage: str, evaluation: Evaluation, *, oks: bool = True, sweep: bool = True) -> Scored:
    """Measure an evaluation on all axes.

    Args:
        model: the estimator's name.
        stage: of cleanup.
        evaluation: the matches.
        oks: whether OKS-AP is wanted (it needs faster-coco-eval).
        sweep: whether detection and Pose-F1 are also wanted at the gates of :data:`SWEEP`.
    """
    found = measure(evaluation)
    if sweep:
        found += _sweep(evaluation)
    if oks:
        found += _oks(evaluation)
    return Scored(model, stage, evaluation, found)


def _sweep(evaluation: Evaluation) -> list[Measure]:
    found = []
    for gate in SWEEP:
        protocol = evaluation.protocol.at_iou(gate)
        other = (
            evaluation
            if gate == evaluation.protocol.iou
            else evaluate_hands(evaluation.truth, evaluation.everywhere, protocol)
        )
        sums = Summing(other)
        whole = strata(other)[0]
        found += [
            replace(each, slice="iou", slice_value=f"{gate:g}", metric=each.metric.partition("@")[0] + "@iou")
            for each in _overall(sums, whole)
        ]
    return found


def _overall(sums: Summing, whole: Stratum) -> list[Measure]:
    e = sums.evaluation
    hands = sums.hands(whole.hands)
    n = len(e.truth.hands)
    hit = sums.hands(e.matches.any_label >= 0)
    passed = sums.hands(e.passed & (e.matches.same_label >= 0))
    said = sums.predictions(whole, "any")
    return [
        Measure("det_f1@", "detection", "all", "all", 2 * hit, said + hands, n),
        Measure("pose_f1@", "joint", "all", "all", 2 * passed, said + hands, n),
    ]


def _oks(evaluation: Evaluation) -> list[Measure]:
    truth = evaluation.truth
    values = oks_average_precision(truth.hands, evaluation.predicted, truth.boxes, len(truth.frames))
    none = np.zeros(len(truth.frames.videos))
    count = len(truth.hands)
    return [
        Measure(f"{name}/wholebody,box_area", "localization", "all", "all", none, none, count, fixed=value)
        for name, value in values.items()
    ]


def score_rows(
    runs: Sequence[Scored], *, resamples: int = RESAMPLES, seed: int = 0, intervals: bool = True
) -> pl.DataFrame:
    """The ``scores`` table of scored evaluations of one set.

    Args:
        runs: estimators and stages, all on the same frames.
        resamples: draws of videos; the same for every run, so that runs can be compared draw by draw.
        seed: of the draws.
        intervals: whether intervals are wanted.
    """
    rows: list[dict[str, Any]] = []
    for run in runs:
        low, high = _intervals(run, resamples, seed) if intervals else (None, None)
        for place, each in enumerate(run.measures):
            value = each.fixed if each.fixed is not None else float(ratio(each.top.sum(), each.bottom.sum()))
            clusters = int(((each.bottom > 0) | (each.top > 0)).sum())
            apart = clusters > 1 and each.fixed is None and low is not None and high is not None
            rows.append(
                {
                    "task": TASK,
                    "model": run.model,
                    "stage": run.stage,
                    "metric": each.metric,
                    "descriptor": each.axis,
                    "slice": each.slice,
                    "slice_value": each.slice_value,
                    "value": _number(value),
                    "low": _number(low[place]) if apart and low is not None else None,
                    "high": _number(high[place]) if apart and high is not None else None,
                    "n": each.n,
                    "clusters": clusters,
                    "protocol": run.evaluation.protocol.words,
                }
            )
    return pl.DataFrame(rows, infer_schema_length=None)


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _stacked(run: Scored, seed: int) -> tuple[Floats, Floats]:
    """(G, M) numerators and (G, M) denominators by group of videos."""
    videos = len(run.evaluation.truth.frames.videos)
    group = group_clusters(videos, seed)
    groups = int(group.max(initial=-1)) + 1
    both = []
    for part in ("top", "bottom"):
        stack = np.stack([getattr(each, part) for each in run.measures], axis=1)
        if groups < videos:
            merged = np.zeros((groups, stack.shape[1]))
            np.add.at(merged, group, stack)
            stack = merged
        both.append(stack)
    return both[0], both[1]


def _intervals(run: Scored, resamples: int, seed: int) -> tuple[Floats, Floats]:
    top, bottom = _stacked(run, seed)
    drawn = np.concatenate([ratio(w @ top, w @ bottom) for w in weights(len(top), resamples, seed)])
    return percentile_interval(drawn)


@dataclass(frozen=True)
class Rank:
    """The rank of an estimator on a metric, 1 being best.

    Attributes:
        model: the estimator.
        metric: the metric.
        value: what it scored, None where undefined.
        rank: its place, None where undefined.
        low: lower end of the 95 % interval of the rank over draws of videos.
        high: upper end.
        first: share of the draws in which it is first.
    """

    model: str
    metric: str
    value: float | None
    rank: float | None
    low: float | None
    high: float | None
    first: float | None


def ranks(runs: Sequence[Scored], metric: str, *, larger: bool, where: tuple[str, str] = ("all", "all"),
          resamples: int = RESAMPLES, seed: int = 0) -> list[Rank]:  # fmt: skip
    """Ranks of several estimators on one metric, with intervals clustered by video.

    Args:
        runs: one run per estimator, all on the same frames.
        metric: its full name.
        larger: whether larger is better.
        where: slice and slice value.
        resamples: draws.
        seed: of the draws: equal draws for all estimators.
    """
    chosen = [
        next((e for e in run.measures if e.metric == metric and (e.slice, e.slice_value) == where), None)
        for run in runs
    ]
    known = [place for place, each in enumerate(chosen) if each is not None and each.bottom.sum() > 0]
    found = [Rank(run.model, metric, None, None, None, None, None) for run in runs]
    if not known:
        return found
    parts = [each for each in (chosen[place] for place in known) if each is not None]
    top, bottom = np.stack([e.top for e in parts], axis=1), np.stack([e.bottom for e in parts], axis=1)
    sign = -1.0 if larger else 1.0
    value = ratio(top.sum(0), bottom.sum(0))
    place_of = _places(sign * value[None])[0]
    drawn = np.concatenate([_places(sign * ratio(w @ top, w @ bottom)) for w in weights(len(top), resamples, seed)])
    alone = len(top) < 2
    for column, place in enumerate(known):
        low, high = np.quantile(drawn[:, column], [0.025, 0.975])
        found[place] = Rank(
            runs[place].model,
            metric,
            float(value[column]),
            float(place_of[column]),
            None if alone else float(low),
            None if alone else float(high),
            None if alone else float((drawn[:, column] < 1.5).mean()),
        )
    return found


def _places(values: Floats) -> Floats:
    """(R, E) rank of each value in its row from the smallest, ties sharing the mean; an undefined one is last."""
    filled = np.where(np.isnan(values), np.inf, values)
    below = (filled[:, None, :] < filled[:, :, None]).sum(axis=2)
    equal = (filled[:, None, :] == filled[:, :, None]).sum(axis=2)
    return np.asarray(below + (equal + 1) / 2)
