"""Intervals by drawing whole cells again (SafeGesture, section 3.6 and Appendix H)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from handbench.stats.bootstrap import RESAMPLES, percentile_interval, weights
from handbench.stats.intervals import studentised_ends

Array = NDArray[np.float64]

SEED: Final = 42
FEWEST: Final = 8
"""Cells that must carry an event: with fewer, the error of a resample is luck and its pivot means nothing."""


@dataclass(frozen=True)
class Interval:
    """Lower and upper end of a 95 % interval; NaN where there is none."""

    low: float
    high: float


def cell_draws(cells: int, resamples: int = RESAMPLES, seed: int = SEED) -> Array:
    """(resamples, cells) how often each cell is drawn; equal for every model, so that models can be paired."""
    return np.concatenate(list(weights(cells, resamples, seed))).astype(np.float64)


def percentile(values: Array) -> Interval:
    """Percentile interval of (R,) resampled values."""
    low, high = percentile_interval(values[:, None])
    return Interval(float(low[0]), float(high[0]))


def studentised(events: Array, items: Array, draws: Array, level: float = 0.95) -> Interval:
    """Bootstrap-t interval of a share: better coverage than percentiles when there are few cells.

    Args:
        events: (C,) what is counted, by cell; a difference of counts is welcome.
        items: (C,) items of each cell.
        draws: (R, C) how often each cell is drawn.
        level: coverage aimed at.

    Returns:
        The interval, within what a share (or a difference of shares) can be; NaN ends where fewer than
        :data:`FEWEST` cells carry an event.
    """
    return Interval(*studentised_ends(events, items, draws, fewest=FEWEST, level=level))


@dataclass(frozen=True)
class Difference:
    """A paired difference of Decoupling Scores, and the share of resamples in which it is above zero."""

    value: float
    interval: Interval
    above_zero: float


def paired_difference(first: Array, second: Array, items: Array, draws: Array) -> Difference:
    """Difference of two shares over the same cells, drawn together (Table 19).

    Args:
        first: (C,) events of one model by cell.
        second: (C,) events of the other.
        items: (C,) items of each cell.
        draws: (R, C) how often each cell is drawn.
    """
    gap = first - second
    total = draws @ items
    resampled = np.divide(draws @ gap, total, out=np.zeros(len(draws)), where=total > 0)
    return Difference(float(gap.sum() / items.sum()), percentile(resampled), float((resampled > 0).mean()))
