"""What is in questions and scenes: categories, sources, candidates, words (EgoPoint-Ground, section 2.1, Fig. 2)."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

import numpy as np
import polars as pl

_STOP: Final = frozenset(
    [
        "a",
        "an",
        "the",
        "of",
        "is",
        "are",
        "at",
        "on",
        "in",
        "it",
        "to",
        "and",
        "with",
        "by",
        "this",
        "that",
        "one",
        "i",
        "am",
        "what",
        "its",
        "from",
        "for",
    ]
)


def describe(questions: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Counts of target categories and of negatives, by sub-task."""
    categories = questions.group_by("about_descriptor", "about_category", maintain_order=True).len("questions")
    found = {"categories": categories.sort("about_descriptor", "questions", descending=[False, True])}
    if "factor_negative" in questions.columns:
        found["negatives"] = questions.group_by("about_descriptor", "factor_negative", maintain_order=True).len(
            "questions"
        )
    return found


def words(texts: pl.Series, most: int = 40) -> list[tuple[str, int]]:
    """The commonest words of texts (Fig. 2c), function words left out."""
    counts: Counter[str] = Counter()
    for text in texts.drop_nulls():
        counts.update(word for word in re.findall(r"[a-z]+", text.lower()) if word not in _STOP)
    return counts.most_common(most)


def statistics(scenes: pl.DataFrame) -> dict[str, float]:
    """The numbers of section 2.1, as fractions and means.

    Args:
        scenes: the ``scenes`` table.

    Returns:
        ``images``, ``negatives`` (share), ``candidates`` (mean), ``same_category`` (share of images with two or more
        candidates of one category), ``occluded`` (share of targets hidden by more than a quarter, of those known),
        ``categories``, ``caption_words`` (mean of the image's caption).
    """
    names = scenes["candidate_categories"].to_list()
    doubled = [len(set(one)) < len(one) for one in names]
    hidden = scenes["occluded"].drop_nulls().to_numpy()
    lengths = scenes["caption_image"].drop_nulls().str.split(" ").list.len().to_numpy()
    return {
        "images": float(scenes.height),
        "negatives": float(scenes["negative"].is_not_null().to_numpy().mean()),
        "candidates": float(np.mean([len(one) for one in names])) if names else float("nan"),
        "same_category": float(np.mean(doubled)) if doubled else float("nan"),
        "occluded": float((hidden > 0.25).mean()) if len(hidden) else float("nan"),
        "categories": float(scenes["target_category"].drop_nulls().n_unique()),
        "caption_words": float(lengths.mean()) if len(lengths) else float("nan"),
    }
