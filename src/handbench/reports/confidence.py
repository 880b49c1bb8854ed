"""The calibration page: reliability, histograms, selective accuracy, and what a temperature mends (HandVQA, 8.3.4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from handbench.replies.likelihoods import matrix
from handbench.reports.drawing import style, svg
from handbench.stats.calibration import (
    BINS,
    Number,
    Reliability,
    Selective,
    auroc,
    bin_of,
    brier,
    calibration_error,
    fit_temperature,
    halves,
    log_loss,
    reliability,
    selective,
    tempered,
)

FEWEST: Final = 20
"""Answers with a confidence that it takes to say anything."""

_GOOD, _BAD, _INK = "#1b7f4d", "#b3402a", "#3f5b9a"


@dataclass(frozen=True)
class Confidence:
    """What is to be told of one model's confidence.

    Attributes:
        source: told in words, or by the likelihoods of the options.
        count: answers with a confidence.
        without: answers that have none.
        mean: mean confidence.
        accuracy: share of these answers that are right.
        numbers: name → value with interval.
        temperature: fitted on one half of the clusters.
        tempered: (name, before, after) judged on the other half.
        figure: the three pictures.
    """

    source: str
    count: int
    without: int
    mean: float
    accuracy: float
    numbers: tuple[tuple[str, Number], ...]
    temperature: float
    tempered: tuple[tuple[str, Number, Number], ...]
    figure: Markup


def of_model(rows: pl.DataFrame) -> Confidence | None:
    """The calibration of one model; None where too few answers have a confidence.

    Args:
        rows: its main readings with ``cluster`` and ``truth_index``.
    """
    told = rows.filter(pl.col("likelihoods").is_not_null() & pl.col("choice").is_not_null())
    if told.height < FEWEST:
        return None
    likelihoods = matrix(told["likelihoods"])
    likelihoods /= np.nansum(likelihoods, axis=1, keepdims=True)  # stored in single precision
    confidence = np.nanmax(likelihoods, axis=1)
    right = told["correct"].to_numpy()
    truth = told["truth_index"].to_numpy().astype(np.int64)
    cluster = told["cluster"].rank("dense").to_numpy().astype(np.int64) - 1
    numbers = (
        ("ECE, 10 bins", calibration_error(confidence, right, cluster)),
        ("Brier score", brier(likelihoods, truth, cluster)),
        ("log loss", log_loss(likelihoods, truth, cluster)),
        ("AUROC of right against wrong", auroc(confidence, right, cluster)),
    )
    temperature, mended = _mended(likelihoods, right, truth, cluster)
    curve, drawn = selective(confidence, right, cluster), reliability(confidence, right, cluster)
    by_words = told["rule"].cast(pl.String).str.starts_with("likelihoods_").all()
    return Confidence(
        source="told in words" if by_words else "likelihoods of the options",
        count=told.height,
        without=rows.height - told.height,
        mean=float(confidence.mean()),
        accuracy=float(right.mean()),
        numbers=numbers,
        temperature=temperature,
        tempered=mended,
        figure=Markup(_figure(confidence, right, drawn, curve)),
    )


def _mended(
    likelihoods: NDArray[np.float64],
    right: NDArray[np.bool_],
    truth: NDArray[np.int64],
    cluster: NDArray[np.int64],
) -> tuple[float, tuple[tuple[str, Number, Number], ...]]:
    first = halves(cluster)
    if first.sum() < FEWEST or (~first).sum() < FEWEST:
        return float("nan"), ()
    temperature = fit_temperature(likelihoods[first], truth[first])
    rest = ~first
    mine = np.unique(cluster[rest], return_inverse=True)[1]
    pairs = (likelihoods[rest], tempered(likelihoods[rest], temperature))
    ece = [calibration_error(np.nanmax(one, axis=1), right[rest], mine) for one in pairs]
    score = [brier(one, truth[rest], mine) for one in pairs]
    loss = [log_loss(one, truth[rest], mine) for one in pairs]
    return temperature, (
        ("ECE, 10 bins", ece[0], ece[1]),
        ("Brier score", score[0], score[1]),
        ("log loss", loss[0], loss[1]),
    )


def _figure(confidence: NDArray[np.float64], right: NDArray[np.bool_], drawn: Reliability, curve: Selective) -> str:
    with style():
        figure = Figure(figsize=(9.6, 2.7), layout="constrained")
        first, second, third = (figure.add_subplot(1, 3, place) for place in (1, 2, 3))
        _histogram(first, confidence, right)
        _diagram(second, drawn)
        _curve(third, curve)
        return svg(figure)


def _histogram(axes: Axes, confidence: NDArray[np.float64], right: NDArray[np.bool_]) -> None:
    edges = np.linspace(0, 1, BINS + 1)
    place = bin_of(confidence)
    middle, width = (edges[:-1] + edges[1:]) / 2, 0.042
    for shift, name, mine, colour in ((-1, "right", right, _GOOD), (1, "wrong", ~right, _BAD)):
        counts = np.bincount(place[mine], minlength=BINS)
        axes.bar(middle + shift * width / 2, counts, width=width, color=colour, label=name)
    axes.set_title("How sure, right and wrong", fontsize=10, loc="left")
    axes.set_xlabel("confidence in the answer given")
    axes.set_ylabel("answers")
    axes.set_xlim(0, 1)
    axes.legend(fontsize=8.5, frameon=False)


def _diagram(axes: Axes, drawn: Reliability) -> None:
    filled = drawn.count > 0
    axes.plot([0, 1], [0, 1], color="#9aa0a6", linewidth=0.9, linestyle=(0, (3, 3)))
    x, y = drawn.confidence[filled], drawn.accuracy[filled]
    low, high = (np.where(np.isnan(end[filled]), y, end[filled]) for end in (drawn.low, drawn.high))
    axes.vlines(x, low, high, color=_INK, alpha=0.45, linewidth=2)
    axes.plot(x, y, "o-", color=_INK, markersize=4.5, linewidth=1.3)
    axes.set_title("Reliability", fontsize=10, loc="left")
    axes.set_xlabel("confidence")
    axes.set_ylabel("share right")
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1.02)


def _curve(axes: Axes, curve: Selective) -> None:
    axes.fill_between(curve.coverage, curve.low, curve.high, color=_INK, alpha=0.15, linewidth=0)
    axes.plot(curve.coverage, curve.accuracy, color=_INK, linewidth=1.6)
    axes.axhline(curve.accuracy[-1], color="#9aa0a6", linewidth=0.9, linestyle=(0, (3, 3)))
    axes.set_title("Keeping only the surest answers", fontsize=10, loc="left")
    axes.set_xlabel("share of answers kept")
    axes.set_ylabel("share right")
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1.02)
