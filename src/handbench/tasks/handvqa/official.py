"""What HandVQA's own evaluator makes of a reply, so that its published figures can be compared.

Its rule (``evaluators.py`` of the release): a reply that is just a letter, or a letter and a full stop, is that
option; else the first category, in the order of the ranks, whose words stand anywhere in the reply.  Replies
without one are dropped, and their number is then taken from a percentage, so that what it prints is the share
of right answers under no policy.  It is given here under a name of its own and stands beside the others.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from handbench.hand.descriptors import DESCRIPTORS
from handbench.tasks.handvqa.text import LETTERS

_ORDER: Final = {descriptor.name: descriptor.asked_labels for descriptor in DESCRIPTORS}


def ranks(replies: pl.Series, descriptors: pl.Series, option_labels: pl.Series) -> pl.Series:
    """The rank that the evaluator takes from each reply.

    Args:
        replies: N replies, null where nothing came back.
        descriptors: what is asked about.
        option_labels: the category that each option stands for.

    Returns:
        Int8, null where it takes none.
    """
    reply = replies.cast(pl.String).fill_null("").str.strip_chars().alias("reply")
    about = descriptors.cast(pl.String).cast(pl.Enum(list(_ORDER))).alias("descriptor")
    frame = pl.DataFrame([reply, about])
    # Replies repeat, and looking through them is the dear part.
    distinct = frame.unique().with_columns(_first_category().alias("official_rank"), _letter().alias("letter"))
    found = frame.join(distinct, on=frame.columns, how="left", maintain_order="left")
    if found["letter"].null_count() == found.height:
        return found["official_rank"]
    label = option_labels.list.get(found["letter"], null_on_oob=True).cast(pl.String).alias("label")
    by_letter = pl.coalesce(*(_when(name, _rank_of(labels)) for name, labels in _ORDER.items()))
    chosen = pl.when(pl.col("letter").is_not_null()).then(by_letter).otherwise("official_rank")
    return found.with_columns(label).select(chosen.alias("official_rank")).to_series()


def _when(descriptor: str, value: pl.Expr) -> pl.Expr:
    """A value for one descriptor's rows, null for others."""
    return pl.when(pl.col("descriptor") == descriptor).then(value)


def _rank_of(labels: tuple[str, ...]) -> pl.Expr:
    """The rank of ``label``."""
    ranked = {label: place for place, label in enumerate(labels)}
    return pl.col("label").replace_strict(ranked, default=None, return_dtype=pl.Int8)


def _first_category() -> pl.Expr:
    """The first category, in the order of the ranks, whose words stand in ``reply``."""
    said = pl.col("reply")
    found = [
        _when(name, pl.when(said.str.contains(label, literal=True)).then(pl.lit(place, pl.Int8)))
        for name, labels in _ORDER.items()
        for place, label in enumerate(labels)
    ]
    return pl.coalesce(*found)


def _letter() -> pl.Expr:
    """The place of the option that ``reply`` names by its letter alone, null where the descriptor has none there."""
    places = {f"{letter}{stop}": place for place, letter in enumerate(LETTERS) for stop in ("", ".")}
    place = pl.col("reply").replace_strict(places, default=None, return_dtype=pl.Int8)
    return pl.coalesce(*(_when(name, pl.when(place < len(labels)).then(place)) for name, labels in _ORDER.items()))


def figures(truth: NDArray[np.integer], taken: NDArray[np.integer], ordinal: bool) -> dict[str, tuple[float, int]]:
    """What the evaluator prints of one descriptor.

    Args:
        truth: (N,) true rank.
        taken: (N,) rank that it takes, -1 where it takes none.
        ordinal: whether it prints a mean error of ranks (three categories or more).

    Returns:
        Name → (value, replies that it counts); the accuracy as a fraction.  Empty where it counts none.
    """
    valid = taken >= 0
    kept, dropped = int(valid.sum()), int((~valid).sum())
    if not kept:
        return {}
    percent = 100 * float((truth[valid] == taken[valid]).mean())
    found = {"accuracy_official": ((percent * kept - dropped) / kept / 100, kept)}
    if ordinal:
        found["mae_official"] = (float(np.abs(truth[valid] - taken[valid]).mean()), kept)
    return found
