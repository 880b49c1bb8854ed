"""Figures of a pointing report: the sweep of τ, and what the data are made of (EgoPoint-Ground, Figs. 2 and 3)."""

from __future__ import annotations

import re
from typing import Final

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from numpy.typing import NDArray

from handbench.reports.caption_figures import scatter
from handbench.reports.captions import plane
from handbench.reports.drawing import colours, style, svg
from handbench.stats.boxes import rejection_sweep
from handbench.tasks.pointing.describe import words
from handbench.tasks.pointing.scoring import box_confidence

MOST_BARS: Final = 20


def sweeps(readings: pl.DataFrame, questions: pl.DataFrame, models: list[str]) -> str:
    """Precision, recall and accuracy of rejection over τ, for models that state how sure they are."""
    key = ["question_id", "variant"]
    about = questions.select(*key, pl.col("truth_box").is_null().alias("rejectable"), pl.col("kind").cast(pl.String))
    rows = readings.join(about, on=key, how="inner").filter(pl.col("kind") == "box")
    shown = [
        (model, part)
        for model in models
        if (part := rows.filter(pl.col("model").cast(pl.String) == model))["confidence"].drop_nulls().n_unique() > 1
        and part["rejectable"].any()
    ]
    if not shown:
        return ""
    colour = colours(models)
    with style():
        figure = Figure(figsize=(9.6, 2.6))
        axes = figure.subplots(1, 3, sharey=True)
        for model, part in shown:
            found = rejection_sweep(part["rejectable"].to_numpy(), box_confidence(part))
            for axis, name in zip(axes, ("precision", "recall", "accuracy"), strict=True):
                axis.step(found["tau"], found[name], where="pre", color=colour[model], label=model, linewidth=1.6)
                axis.set_title(name, loc="left", fontsize=10)
                axis.set_xlabel("τ")
                axis.set_ylim(-0.02, 1.02)
                axis.set_xlim(-0.02, 1.05)
        axes[0].set_ylabel("of rejections")
        axes[2].legend(frameon=False, fontsize=8.5, loc="lower right")
        return svg(figure)


def _bars(axis: object, counted: list[tuple[str, float]], title: str, colour: str) -> None:
    names, values = [name for name, _ in counted][::-1], [value for _, value in counted][::-1]
    axis.barh(names, values, color=colour)  # type: ignore[attr-defined]
    axis.set_title(title, loc="left", fontsize=10)  # type: ignore[attr-defined]
    axis.tick_params(axis="y", labelsize=8.5)  # type: ignore[attr-defined]


def statistics(scenes: pl.DataFrame) -> str:
    """Categories, sources, candidates per image and the commonest words (Fig. 2)."""
    with style():
        figure = Figure(figsize=(10.2, 4.4))
        left, middle, right = figure.subplots(1, 3)
        named = scenes["target_category"].drop_nulls().value_counts(sort=True).head(MOST_BARS)
        _bars(left, [(str(name), count) for name, count in named.iter_rows()], "targets by category", "#1b7f79")
        sizes = scenes["candidate_categories"].list.len()
        counted = sizes.value_counts().sort(sizes.name)
        middle.bar([int(size) for size in counted[sizes.name]], counted["count"].to_list(), color="#5b5ea6")
        middle.set_title("candidates in an image", loc="left", fontsize=10)
        texts = pl.concat(
            [scenes[f"caption_{what}"] for what in ("image", "object", "hand")] + [scenes["referents"].explode()]
        )
        _bars(right, [(word, float(count)) for word, count in words(texts, MOST_BARS)], "commonest words", "#c2a14d")
        figure.tight_layout()
        return svg(figure)


def caption_scatter(scenes: pl.DataFrame) -> str:
    """Captions in two dimensions by the words that they hold (Fig. 3b without an encoder), coloured by category."""
    known = scenes.filter(pl.col("caption_image").is_not_null() & pl.col("target_category").is_not_null())
    if known.height < 3:
        return ""
    return scatter(_plane(known["caption_image"].to_list()), known["target_category"].to_list())


def _plane(texts: list[str]) -> NDArray[np.float64]:
    """(N, 2) first principal components of the texts' word counts, weighted down where a word is common."""
    bags = [re.findall(r"[a-z]+", text.lower()) for text in texts]
    vocabulary = {word: place for place, word in enumerate(sorted({word for bag in bags for word in bag}))}
    counts = np.zeros((len(bags), len(vocabulary)))
    for row, bag in enumerate(bags):
        for word in bag:
            counts[row, vocabulary[word]] += 1
    weighted = counts * np.log(len(bags) / np.maximum((counts > 0).sum(axis=0), 1))
    return plane(weighted)[0]
