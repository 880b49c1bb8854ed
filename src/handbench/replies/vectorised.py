"""Whole columns of replies at once: every distinct reply is read once, by :func:`read_choice`."""

from __future__ import annotations

from typing import Final

import polars as pl

from handbench.replies.choice import read_choice

_READING: Final = {
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
    codes, distinct = _option_codes(options)
    rows = pl.DataFrame({"reply": replies.cast(pl.String), "code": codes, "finish": finish.cast(pl.Categorical)})
    known = rows.unique(maintain_order=True)
    lists = distinct.to_list()
    readings = [
        _reading(reply or "", lists[code], ended or "stop")
        for reply, code, ended in known.with_columns(pl.col("finish").cast(pl.String)).iter_rows()
    ]
    table = known.hstack(pl.DataFrame(readings, schema=_READING))
    joined = rows.join(table, on=["reply", "code", "finish"], how="left", nulls_equal=True, maintain_order="left")
    return joined.select(list(_READING))


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


def _option_codes(options: pl.Series) -> tuple[pl.Series, pl.Series]:
    """A number for every distinct list, and the lists by number.

    Tables repeat a few thousand lists; comparing the numbers of their categories is much cheaper than their
    text.
    """
    words = options.cast(pl.List(pl.Categorical))
    place = words.list.eval(pl.element().to_physical())
    width = max(place.list.len().unique().to_list(), default=0)
    fields = pl.DataFrame({"place": place}).select(
        pl.col("place").list.get(index, null_on_oob=True).alias(str(index)) for index in range(width)
    )
    names = fields.columns
    first = fields.with_row_index("row").unique(names, keep="first", maintain_order=True)
    numbered = first.select(*names, pl.int_range(pl.len(), dtype=pl.UInt32).alias("code"))
    codes = fields.join(numbered, on=names, how="left", nulls_equal=True, maintain_order="left")["code"]
    return codes, options.gather(first["row"]).cast(pl.List(pl.String))
