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
    frame = pl.DataFrame(
        {
            "reply": replies.cast(pl.String).fill_null("").str.strip_chars(),
            "descriptor": descriptors.cast(pl.String),
            "labels": option_labels,
        }
    ).with_row_index("row")
    found = [_ranks(part, str(name)) for (name,), part in frame.group_by("descriptor")]
    return pl.concat([*found, pl.DataFrame(schema=_RANKS)]).sort("row")["official_rank"]


_RANKS: Final = {"row": pl.UInt32, "official_rank": pl.Int8}


def _ranks(part: pl.DataFrame, descriptor: str) -> pl.DataFrame:
    """``row, official_rank`` of the replies about one descriptor."""
    labels = _ORDER[descriptor]
    said, rank = pl.col("reply"), pl.lit(None, pl.Int8)
    for place in reversed(range(len(labels))):
        here = said.str.contains(labels[place], literal=True)
        rank = pl.when(here).then(pl.lit(place, pl.Int8)).otherwise(rank)
    letters = {f"{LETTERS[place]}{stop}": place for place in range(len(labels)) for stop in ("", ".")}
    letter = said.replace_strict(letters, default=None, return_dtype=pl.Int8).alias("letter")
    # Replies repeat, and looking through them is the dear part.
    distinct = part.select(said.unique()).with_columns(rank.alias("official_rank"), letter)
    rows = part.join(distinct, on="reply", how="left", maintain_order="left")
    lettered = rows.filter(pl.col("letter").is_not_null())
    chosen = lettered.with_columns(pl.col("labels").list.get(pl.col("letter")).cast(pl.String).alias("label"))
    ranked = {label: place for place, label in enumerate(labels)}
    chosen = chosen.with_columns(
        pl.col("label").replace_strict(ranked, default=None, return_dtype=pl.Int8).alias("official_rank")
    )
    return pl.concat([each.select(*_RANKS) for each in (rows.filter(pl.col("letter").is_null()), chosen)])


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
