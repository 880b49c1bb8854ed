"""Do 95 % intervals cover 95 %?  Coverage of each rule and level of the paired tests, over designs and cluster counts.

    python benchmarks/coverage.py [--replications 4000] [--clusters 20 48] [--markdown]

Each design draws whole data sets from a population whose true value is known.  The resamples are the product's own:
10,000 draws of the clusters with its fixed seed, the same for every data set, which is what a user gets.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from handbench.stats.bootstrap import LARGEST, RESAMPLES, weights
from handbench.stats.intervals import (
    FEW,
    Rule,
    bca_ends,
    default_rule,
    effective_clusters,
    percentile_ends,
    unanimous_ends,
)
from handbench.stats.metrics import macro_f1, occurring
from handbench.stats.paired import mcnemar_exact, sign_flip

Array = NDArray[np.float64]
CLUSTERS = (20, 48, 100, 200, 500, 5000)
BATCH = 250


@dataclass(frozen=True)
class Sample:
    """Data sets side by side: (G, B) events and items of each cluster, and the population's true ratio."""

    events: Array
    items: Array
    truth: float


Design = Callable[[np.random.Generator, int, int], Sample]


def even(generator: np.random.Generator, clusters: int, count: int) -> Sample:
    """20 questions per cluster, accuracy 0.6, clusters that differ much (intraclass correlation 0.2)."""
    share = generator.beta(2.4, 1.6, (clusters, count))
    items = np.full((clusters, count), 20)
    return Sample(generator.binomial(items, share).astype(float), items.astype(float), 0.6)


def uneven(generator: np.random.Generator, clusters: int, count: int) -> Sample:
    """1 to 200 questions per cluster (lognormal): the largest fifth of the clusters has most of them."""
    share = generator.beta(2.4, 1.6, (clusters, count))
    items = 1 + np.minimum(generator.lognormal(2, 1, (clusters, count)).astype(int), 199)
    return Sample(generator.binomial(items, share).astype(float), items.astype(float), 0.6)


def informative(generator: np.random.Generator, clusters: int, count: int) -> Sample:
    """Clusters with more questions are easier."""
    share = generator.beta(2.4, 1.6, (clusters, count))
    items = 1 + generator.poisson(30 * share)
    mean, square = 0.6, 0.6**2 + 0.6 * 0.4 / 5
    truth = (mean + 30 * square) / (1 + 30 * mean)
    return Sample(generator.binomial(items, share).astype(float), items.astype(float), truth)


def nearly_right(generator: np.random.Generator, clusters: int, count: int) -> Sample:
    """5 questions per cluster, accuracy 0.95: few clusters hold an error at all."""
    share = generator.beta(5.7, 0.3, (clusters, count))
    items = np.full((clusters, count), 5)
    return Sample(generator.binomial(items, share).astype(float), items.astype(float), 0.95)


def rare(generator: np.random.Generator, clusters: int, count: int) -> Sample:
    """Recall of a class that 3 % of 40 questions per cluster belong to."""
    share = generator.beta(1.6, 2.4, (clusters, count))
    items = generator.binomial(40, 0.03, (clusters, count))
    return Sample(generator.binomial(items, share).astype(float), items.astype(float), 0.4)


def difference(generator: np.random.Generator, clusters: int, count: int) -> Sample:
    """Paired difference of two models that share the clusters' effects; the second is 6 points better."""
    base = generator.beta(2.4, 1.6, (clusters, count)) * 0.9
    items = 5 + generator.poisson(15, (clusters, count))
    better = generator.binomial(items, base + 0.06)
    return Sample((better - generator.binomial(items, base)).astype(float), items.astype(float), 0.06)


DESIGNS: dict[str, Design] = {
    "even": even,
    "uneven sizes": uneven,
    "sizes tell": informative,
    "95 % right": nearly_right,
    "rare class": rare,
    "difference": difference,
}


def _divide(events: Array, items: Array) -> Array:
    return np.divide(events, items, out=np.full(events.shape, np.nan), where=items > 0)


def _draws(groups: int) -> NDArray[np.float32]:
    return np.concatenate(list(weights(groups, RESAMPLES, 0)))


def _grouped(values: Array) -> Array:
    """Clusters dealt into at most 4,096 groups, as the product does; these are drawn independently, so any will do."""
    if len(values) <= LARGEST:
        return values
    out = values[:LARGEST].copy()
    out[: len(values) - LARGEST] += values[LARGEST:]
    return out


def ends(sample: Sample, draws: NDArray[np.float32]) -> dict[str, tuple[Array, Array]]:
    """Interval of every rule for each data set, as :func:`handbench.stats.ratios.ratios` finds it."""
    events, items = _grouped(sample.events), _grouped(sample.items)
    whole, total = events.sum(0), items.sum(0)
    value = _divide(whole, total)
    drawn = _divide((draws @ events.astype(np.float32)).astype(float), (draws @ items.astype(np.float32)).astype(float))
    without = _divide(whole - events, total - items)
    signed = bool((events < 0).any())
    found = _all_rules(drawn, value, without, items, signed)
    return {**found, "studentised": _studentised(events, items, draws, drawn, value, signed)}


def _studentised(
    events: Array, items: Array, draws: NDArray[np.float32], drawn: Array, value: Array, signed: bool
) -> tuple[Array, Array]:
    """:func:`handbench.stats.intervals.studentised_ends` for all data sets at once; NaN where few clusters have any."""
    groups = len(events)
    squares = [part.astype(np.float32) for part in (events**2, events * items, items**2)]
    first, both, second = (draws @ part for part in squares)
    total = draws @ items.astype(np.float32)
    scale = np.sqrt(groups / (groups - 1))
    errors = scale * np.sqrt(np.maximum(first - 2 * drawn * both + drawn**2 * second, 0)) / np.maximum(total, 1)
    own = (events**2 - 2 * value * events * items + value**2 * items**2).sum(0)
    spread = scale * np.sqrt(np.maximum(own, 0)) / items.sum(0)
    pivots = np.divide(drawn - value, errors, out=np.full(drawn.shape, np.nan), where=errors > 1e-9)
    high, low = np.nanquantile(pivots, [0.025, 0.975], axis=0)
    few = (events != 0).sum(0) < 8
    ends = (value - low * spread, value - high * spread)
    least = -1.0 if signed else 0.0
    return tuple(np.where(few, np.nan, np.clip(end, least, 1.0)) for end in ends)  # type: ignore[return-value]


def _all_rules(
    drawn: Array, value: Array, without: Array, items: Array, signed: bool
) -> dict[str, tuple[Array, Array]]:
    effective = effective_clusters(items)
    found = {
        "percentile": percentile_ends(drawn),
        "percentile-t": percentile_ends(drawn, effective),
        "bca": bca_ends(drawn, value, without),
        "bca-t": bca_ends(drawn, value, without, effective),
    }
    if not signed:
        flat = (value == 0) | (value == 1)
        bound = unanimous_ends(value, (items > 0).sum(0))
        for name in ("percentile-t", "bca-t"):
            for end, wanted in zip(found[name], bound, strict=True):
                end[flat] = wanted[flat]
    return found


def coverage(name: str, clusters: int, replications: int) -> dict[str, float]:
    """Share of data sets whose interval holds the truth, by rule."""
    generator = np.random.default_rng([clusters, len(name)])
    draws = _draws(min(clusters, LARGEST))
    hits: dict[str, list[NDArray[np.bool_]]] = {}
    for _ in range(0, replications, BATCH):
        sample = DESIGNS[name](generator, clusters, BATCH)
        for rule, (low, high) in ends(sample, draws).items():
            hits.setdefault(rule, []).append((low <= sample.truth) & (sample.truth <= high))
    return _with_default({rule: float(np.concatenate(found).mean()) for rule, found in hits.items()}, clusters)


def _with_default(found: dict[str, float], clusters: int) -> dict[str, float]:
    return {**found, "default": found[str(default_rule(clusters))]}


SHARES = np.array([0.6, 0.25, 0.1, 0.05])
"""How often each of four labels is true."""
MIX = np.array([[0.7, 0.2, 0.05, 0.0], [0.3, 0.5, 0.1, 0.05], [0.1, 0.3, 0.4, 0.1], [0.1, 0.2, 0.2, 0.4]])
"""What is answered to each; the rest of a row has no reading."""


def f1_coverage(clusters: int, replications: int, batch: int = 50) -> dict[str, float]:
    """The same for macro-F1 over four labels, the rarest true of 1 question in 20, easy and hard clusters."""
    generator = np.random.default_rng(clusters)
    easy, hard = np.eye(4), MIX * 2 - np.eye(4)
    hard = np.clip(hard, 0, None)
    hard /= np.maximum(hard.sum(1, keepdims=True), 1)
    mixes = np.stack([0.6 * easy + 0.4 * MIX, 0.4 * MIX + 0.6 * hard])
    mixes = np.concatenate([mixes, 1 - mixes.sum(2, keepdims=True)], axis=2)
    cells = (SHARES[:, None] * mixes).reshape(2, 20)
    expected = cells.mean(0).reshape(4, 5)
    truth = float(macro_f1(expected, occurring(expected)))
    draws = _draws(min(clusters, LARGEST))
    hits: dict[str, list[bool]] = {}
    for _ in range(0, replications, batch):
        kind = generator.integers(0, 2, (clusters, batch))
        counts = _grouped(generator.multinomial(20, cells[kind]).astype(float))  # (G, batch, 20)
        whole = counts.sum(0)  # (batch, 20)
        for one in range(batch):
            matrix = whole[one].reshape(4, 5)
            present = occurring(matrix)
            mine = counts[:, one]
            drawn = macro_f1(_confusion(draws @ mine.astype(np.float32)), present[:, None])[:, None]
            without = macro_f1(_confusion(whole[one] - mine), present[:, None])[:, None]
            value = np.array([macro_f1(matrix, present)])
            for rule, (low, high) in _all_rules(drawn, value, without, mine.sum(1)[:, None], True).items():
                hits.setdefault(rule, []).append(bool(low[0] <= truth <= high[0]))
    return _with_default({rule: float(np.mean(found)) for rule, found in hits.items()}, clusters)


def _confusion(totals: NDArray[np.floating]) -> Array:
    return totals.astype(float).reshape(len(totals), 4, 5).transpose(1, 2, 0)


def levels(clusters: int, replications: int) -> dict[str, float]:
    """Share of comparisons of two equally good models that a test at 5 % calls different.

    Each image has an effect of its own on each model (one finds it easy, the other hard), so the questions of an
    image are not independent; McNemar's test takes them for independent and is shown for that.
    """
    generator = np.random.default_rng(clusters)
    flip, naive = [], []
    for _ in range(0, replications, BATCH):
        items = 5 + generator.poisson(15, (clusters, BATCH))
        shares = generator.beta(2.4, 1.6, (2, clusters, BATCH))
        first, second = (generator.binomial(items, share) for share in shares)
        flip.append(sign_flip((first - second).astype(float)))
        either = np.minimum(np.minimum(first, second), np.minimum(items - first, items - second)) // 2
        naive.append(mcnemar_exact((first - either).sum(0), (second - either).sum(0)))
    return {"sign-flip": _share(flip), "McNemar by question": _share(naive)}


def _share(p_values: list[Array]) -> float:
    return float((np.concatenate(p_values) <= 0.05).mean())


def rows(replications: int, counts: tuple[int, ...] = CLUSTERS) -> Iterator[dict[str, object]]:
    """Everything that is measured, row by row."""
    for clusters in counts:
        for name in DESIGNS:
            yield {"design": name, "clusters": clusters, **coverage(name, clusters, replications)}
        yield {"design": "macro-F1", "clusters": clusters, **f1_coverage(clusters, min(replications, 2000))}
    for clusters in counts:
        yield {"design": "test level", "clusters": clusters, **levels(clusters, replications)}


def main() -> None:
    """Print a row as soon as it is measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replications", type=int, default=4000)
    parser.add_argument("--clusters", type=int, nargs="+", default=CLUSTERS)
    parser.add_argument("--markdown", action="store_true")
    arguments = parser.parse_args()
    print(f"default below {FEW} clusters: {default_rule(FEW - 1)}; from there on: {default_rule(FEW)}; rules {[*Rule]}")
    for row in rows(arguments.replications, tuple(arguments.clusters)):
        numbers = {key: f"{100 * value:.1f}" if isinstance(value, float) else value for key, value in row.items()}
        print(
            "| " + " | ".join(map(str, numbers.values())) + " |" if arguments.markdown else json.dumps(numbers),
            flush=True,
        )


if __name__ == "__main__":
    main()
