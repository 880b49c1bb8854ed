"""What people's answers show: their accuracy and how far they agree."""

from __future__ import annotations

import numpy as np
import polars as pl

from handbench.reports.board import Cell
from handbench.stats.agreement import krippendorff_alpha
from handbench.stats.ratios import ratios, sums_by_cluster

KEY = ["question_id", "variant"]


def _beside(readings: pl.DataFrame, questions: pl.DataFrame) -> pl.DataFrame:
    about = questions.select(
        "question_id", pl.col("variant").cast(pl.String), "cluster", pl.col("about_descriptor").cast(pl.String)
    )
    return readings.with_columns(pl.col("variant").cast(pl.String)).join(about, on=KEY, how="inner")


def accuracy_of(readings: pl.DataFrame, questions: pl.DataFrame) -> Cell:
    """Share of right answers, every respondent's counted, with its cluster interval."""
    rows = _beside(readings, questions)
    if rows.is_empty():
        return Cell(None)
    cluster = rows["cluster"].rank("dense").to_numpy().astype(np.int64) - 1
    right = rows["correct"].to_numpy().astype(np.float64)
    sums = sums_by_cluster(cluster, np.stack([right, np.ones_like(right)], axis=1))
    found = ratios(sums[:, :1], sums[:, 1:], share=True)
    value, low, high = (None if np.isnan(end[0]) else float(end[0]) for end in (found.value, found.low, found.high))
    return Cell(value, low, high)


def agreement_of(readings: pl.DataFrame, questions: pl.DataFrame) -> float | None:
    """Krippendorff's alpha of the labels chosen, nominal; None where no question has two answers.

    A label is a category of its descriptor, so that questions about other descriptors do not share any.
    """
    rows = _beside(readings, questions).filter(pl.col("chosen_rank").is_not_null())
    if rows.is_empty():
        return None
    unit = rows.select(pl.concat_str("question_id", "variant").rank("dense")).to_series().to_numpy().astype(np.int64)
    label = pl.concat_str(pl.col("about_descriptor").fill_null(""), pl.col("chosen_rank").cast(pl.String))
    value = rows.select(label.rank("dense")).to_series().to_numpy().astype(np.int64) - 1
    alpha = krippendorff_alpha(unit, value)
    return None if np.isnan(alpha) else alpha
