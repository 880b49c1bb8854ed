"""Figures of captions beside their images (EgoPoint-Ground, Fig. 3): how similar they are, and where captions lie."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from handbench.reports.captions import Floats, own_and_others, plane, sample, vectors
from handbench.reports.drawing import colours, style, svg

MAP_SIDE: Final = 24
MOST_CATEGORIES: Final = 8


def similarity(captions: pl.DataFrame) -> str:
    """The similarities of some images and captions as a map (Fig. 3a), and of all as histograms."""
    some = sample(captions, MAP_SIDE)
    own, others = own_and_others(captions)
    with style():
        figure = Figure(figsize=(9.6, 3.6))
        left, right = figure.subplots(1, 2, width_ratios=(1, 1.5))
        shown = left.imshow(vectors(some, "image") @ vectors(some, "caption").T, cmap="viridis")
        left.set_title("cosine similarity, its own on the diagonal", loc="left", fontsize=10)
        left.set_xlabel("caption")
        left.set_ylabel("image")
        left.set_xticks([])
        left.set_yticks([])
        figure.colorbar(shown, ax=left, fraction=0.046)
        every = np.concatenate([own, others])
        edges = np.linspace(every.min(), max(every.max(), every.min() + 1e-6), 41)
        for values, name, colour in ((others, "another's caption", "#b9bec5"), (own, "its own caption", "#1b7f79")):
            if len(values):
                right.hist(
                    values, edges, weights=np.full(len(values), 1 / len(values)), color=colour, alpha=0.75, label=name
                )
        right.set_title("cosine similarity of an image and", loc="left", fontsize=10)
        right.set_ylabel("share of pairs")
        right.legend(frameon=False, fontsize=8.5)
        figure.tight_layout()
        return svg(figure)


def scatter(places: Floats, categories: list[str], axes: tuple[str, str] = ("", "")) -> str:
    """Captions in two dimensions (Fig. 3b), coloured by category.

    Args:
        places: (N, 2).
        categories: of each caption's target; those beyond the commonest ones are grey.
        axes: what is written at the axes.
    """
    counted = pl.Series("category", categories).value_counts(sort=True)["category"].to_list()
    shown = counted[:MOST_CATEGORIES]
    colour = colours(shown)
    with style():
        figure = Figure(figsize=(5.6, 3.8))
        axis = figure.subplots()
        groups = [(name, [name], colour[name]) for name in shown]
        if rest := counted[MOST_CATEGORIES:]:
            groups.insert(0, ("others", rest, "#c5c9ce"))
        for name, held, paint in groups:
            mine = np.isin(categories, held)
            axis.scatter(places[mine, 0], places[mine, 1], s=14, color=paint, label=name, alpha=0.8)
        axis.set_xticks([])
        axis.set_yticks([])
        axis.set_xlabel(axes[0])
        axis.set_ylabel(axes[1])
        axis.legend(frameon=False, fontsize=8, ncols=1, loc="center left", bbox_to_anchor=(1, 0.5))
        return svg(figure)


def encoded(captions: pl.DataFrame) -> str:
    """Encoded captions in the plane of their first two principal components; "" where they are too few."""
    known = captions.filter(pl.col("target_category").is_not_null())
    if known.height < 3:
        return ""
    places, share = plane(vectors(known, "caption"))
    names = (f"component 1 ({share[0]:.0%} of variance)", f"component 2 ({share[1]:.0%})")
    return scatter(places, known["target_category"].to_list(), names)
