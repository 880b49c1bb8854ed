"""Whole columns of replies at once: every distinct reply is read once, by :func:`read_choice`."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from handbench.replies.choice import read_choice

_READING: Final[Any] = {
    "choice": pl.Int8,
    "status": pl.Categorical(),
    "rule": pl.Categorical(),
    "span_start": pl.Int32,
    "span_end": pl.Int32,
}


def read_choices(replies: pl.Series, options: pl.Series, finish: pl.Series) -> pl.DataFrame:
    """Read many replies.

    Args:
        replies: text, null where nothing came back, which counts as empty.
        options: lists of options, as text or categories.
        finish: why each reply ended: ``length`` where it was cut.

    Returns:
        ``choice`` (Int8, null where there is none), ``status``, ``rule``, ``span_start``, ``span_end``: row
        by row what :func:`read_choice` gives.
    """
    code, lists = _option_codes(options)
    said, ended = replies.cast(pl.Categorical), finish.cast(pl.Categorical)
    # One number per (options, reply, finish): equal numbers are equal rows, and numbers sort fast.
    key = (code * _span(said) + _numbers(said)) * _span(ended) + _numbers(ended)
    _, first, row = np.unique(key, return_index=True, return_inverse=True)
    readings = [_reading(said[at] or "", lists[code[at]] or [], ended[at] or "stop") for at in first.tolist()]
    distinct: pl.DataFrame = pl.DataFrame(readings, schema=_READING)
    rows: pl.DataFrame = distinct[row]
    return rows


def _numbers(words: pl.Series) -> NDArray[np.uint64]:
    """The category number of each word plus one; 0 stands for null."""
    return (words.to_physical().cast(pl.UInt64) + 1).fill_null(0).to_numpy()


def _span(words: pl.Series) -> np.uint64:
    return np.uint64(int(_numbers(words).max(initial=0)) + 1)


def _reading(reply: str, options: list[str], finish: str) -> dict[str, object]:
    found = read_choice(reply, options, finish=finish)
    start, end = found.span or (None, None)
    return {
        "choice": found.choice,
        "status": str(found.status),
        "rule": found.rule,
        "span_start": start,
        "span_end": end,
    }


def _option_codes(options: pl.Series) -> tuple[NDArray[np.uint64], list[list[str]]]:
    """A number for every distinct list, and the lists by number.

    Tables repeat a few thousand lists; comparing the numbers of their categories is much cheaper than
    comparing their text.
    """
    place = options.cast(pl.List(pl.Categorical)).list.eval(pl.element().to_physical())
    width = max(place.list.len().drop_nulls().unique().to_list(), default=0) or 1
    fields = pl.DataFrame({"place": place}).select(
        pl.col("place").list.get(index, null_on_oob=True).alias(str(index)) for index in range(width)
    )
    names = fields.columns
    first = fields.with_row_index("row").unique(names, keep="first", maintain_order=True)
    numbered = first.select(*names, pl.int_range(pl.len(), dtype=pl.UInt64).alias("code"))
    codes = fields.join(numbered, on=names, how="left", nulls_equal=True, maintain_order="left")["code"]
    return codes.to_numpy(), options.gather(first["row"]).cast(pl.List(pl.String)).to_list()
