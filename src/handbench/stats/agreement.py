"""How far several people agree: Krippendorff's alpha."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray


def krippendorff_alpha(
    unit: NDArray[np.integer], value: NDArray[np.integer], *, level: Literal["nominal", "ordinal"] = "nominal"
) -> float:
    """Krippendorff's alpha (Krippendorff 2011), any number of answers to each unit, gaps allowed.

    Args:
        unit: (N,) number of the question that each answer is to.
        value: (N,) the category answered, from 0; an answer without one is left out by the caller.
        level: ``nominal``, or ``ordinal`` where categories have an order.

    Returns:
        1 where all agree, 0 where they agree as if answers were dealt at random; NaN where no question has two
        answers, 1 where there is one category only.
    """
    if not len(unit):
        return float("nan")
    categories = int(value.max()) + 1
    number = np.unique(unit, return_inverse=True)[1]
    counts = np.bincount(number * categories + value, minlength=(int(number.max()) + 1) * categories)
    table = counts.reshape(-1, categories).astype(np.float64)
    table = table[table.sum(1) > 1]
    if not len(table):
        return float("nan")
    answers = table.sum(1)
    pairs = (table[:, :, None] * table[:, None, :] - np.eye(categories) * table[:, :, None]) / (answers - 1)[
        :, None, None
    ]
    together = pairs.sum(0)
    totals = together.sum(1)
    n = totals.sum()
    apart = _distances(totals, level)
    expected = (np.outer(totals, totals) * apart).sum() / (n - 1)
    if expected == 0:
        return 1.0
    return float(1 - (together * apart).sum() / expected)


def _distances(totals: NDArray[np.float64], level: str) -> NDArray[np.float64]:
    count = len(totals)
    if level == "nominal":
        return 1.0 - np.eye(count)
    middle = np.cumsum(totals) - totals / 2  # mean rank of each category
    return np.asarray((middle[:, None] - middle[None, :]) ** 2)
