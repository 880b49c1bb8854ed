"""Likelihoods of the options: told in words (a number for each letter or label), or given as log-probabilities.

A reply counts only if it gives one number, in one unit, for every option and for nothing else; what is missing is not
filled in.  Numbers that do not add up to 1 (or to 100 %) are told as shares of their sum, and the rule says so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from handbench.replies.reading import Status

LETTERS: Final = "ABCDEFGH"

_THOUGHT = re.compile(r"\A.*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_OBJECT = re.compile(r"\{[^{}]*\}")
_NUMBER = r"(?:about\s+|approximately\s+|~\s*)?([0-9]*\.?[0-9]+(?:[eE]-?[0-9]+)?)\s*(%|percent\b)?"
_VALUE = re.compile(rf"\A\s*{_NUMBER}\s*\Z")
_SLACK: Final = 0.011


@dataclass(frozen=True, slots=True)
class Likelihoods:
    """What a reply says of the options.

    Attributes:
        shares: one number for each option, adding up to 1; None where the reply has no reading.
        status: what became of the reply.
        rule: which shape it had, or what was wrong.
    """

    shares: tuple[float, ...] | None
    status: Status
    rule: str

    @property
    def choice(self) -> int | None:
        """The likeliest option; None where two are equally likely or nothing was read."""
        if self.shares is None:
            return None
        best = max(self.shares)
        return self.shares.index(best) if self.shares.count(best) == 1 else None


def read_likelihoods(reply: str, labels: Sequence[str], *, finish: str = "stop") -> Likelihoods:
    """Read the likelihoods of options.

    Args:
        reply: the model's text.
        labels: the category of each option, in the order shown; a reply may name them by letter or by label.
        finish: why the reply ended.
    """
    text = _THOUGHT.sub("", reply).strip()
    if not text:
        return Likelihoods(None, Status.REFUSED if finish == "content_filter" else Status.EMPTY, "empty")
    names = _names(labels)
    objects = [pairs for match in _OBJECT.finditer(text) if (pairs := _pairs(match.group())) is not None]
    if objects:
        return _read(objects[-1], names, len(labels), "json")
    lines = [pair for line in text.splitlines() if (pair := _line(line)) is not None]
    if lines:
        return _read(lines, names, len(labels), "lines")
    return Likelihoods(None, Status.TRUNCATED if finish == "length" else Status.UNPARSED, "no_numbers")


def _names(labels: Sequence[str]) -> dict[str, int]:
    names = {LETTERS[place].lower(): place for place in range(len(labels))}
    return names | {_plain(label): place for place, label in enumerate(labels)}


def _plain(name: str) -> str:
    words = re.sub(r"[\"'`*_.()\[\]:]+", " ", name.lower())
    return re.sub(r"\A(?:option|sentence|statement|choice)\s+", "", " ".join(words.split()))


def _pairs(text: str) -> list[tuple[str, str]] | None:
    """An object's names and values in their order, doubles kept; None where it is no JSON object of plain values."""
    try:
        found: Any = json.loads(text, object_pairs_hook=list)
    except ValueError:
        return None
    if not isinstance(found, list) or any(not isinstance(value, int | float | str) for _, value in found):
        return None
    return [(str(name), str(value)) for name, value in found]


def _line(line: str) -> tuple[str, str] | None:
    name, colon, value = re.sub(r"\A[\s>*#-]+", "", line).strip().strip("*").partition(":")
    if not colon:
        name, colon, value = line.partition("=")
    value = value.strip().strip("*.,")
    return (name, value) if colon and _VALUE.match(value) else None


def _read(pairs: list[tuple[str, str]], names: dict[str, int], count: int, shape: str) -> Likelihoods:
    given: dict[int, tuple[float, bool]] = {}
    for name, value in pairs:
        place, number = names.get(_name(name, names)), _VALUE.match(value)
        if place is None:
            return Likelihoods(None, Status.OFF_LIST, f"{shape}_unknown_name")
        if number is None:
            return Likelihoods(None, Status.UNPARSED, f"{shape}_no_number")
        if place in given:
            return Likelihoods(None, Status.HEDGED, f"{shape}_twice")
        given[place] = (float(number[1]), number[2] is not None)
    if len(given) < count:
        return Likelihoods(None, Status.UNPARSED, f"{shape}_missing")
    if len({percent for _, percent in given.values()}) > 1:
        return Likelihoods(None, Status.UNPARSED, f"{shape}_two_units")
    numbers = [given[place][0] for place in range(count)]
    total = sum(numbers)
    if not 0 < total < float("inf"):
        return Likelihoods(None, Status.UNPARSED, f"{shape}_no_total")
    whole = 100.0 if total > 1 + _SLACK else 1.0
    rule = shape if abs(total / whole - 1) <= _SLACK else f"{shape}_rescaled"
    shares = tuple(number / total for number in numbers)
    found = Likelihoods(shares, Status.OK, rule)
    return found if found.choice is not None else Likelihoods(shares, Status.HEDGED, f"{shape}_tied")


def _name(name: str, names: dict[str, int]) -> str:
    plain = _plain(name)
    if plain in names:
        return plain
    held = [known for known in names if len(known) > 1 and re.search(rf"\b{re.escape(known)}\b", plain)]
    letter = re.match(r"\A([a-h])\b", plain)
    if letter and letter[1] in names and all(names[known] == names[letter[1]] for known in held):
        return letter[1]  # "A. The thumb is straight ..."
    return held[0] if len({names[known] for known in held}) == 1 else plain


def read_many(replies: pl.Series, labels: pl.Series, finish: pl.Series) -> pl.DataFrame:
    """Read a column of replies; every distinct one is read once.

    Returns:
        ``likelihoods``, ``choice``, ``status``, ``rule``.
    """
    rows = pl.DataFrame(
        {
            "reply": replies.cast(pl.String).fill_null(""),
            "labels": labels.cast(pl.List(pl.String)),
            "finish": finish.cast(pl.String),
        }
    )
    distinct = rows.unique(maintain_order=True)
    read = [read_likelihoods(reply, names, finish=ended) for reply, names, ended in distinct.iter_rows()]
    found = distinct.with_columns(
        pl.Series("likelihoods", [one.shares for one in read], dtype=pl.List(pl.Float32)),
        pl.Series("choice", [one.choice for one in read], dtype=pl.Int8),
        pl.Series("status", [str(one.status) for one in read], dtype=pl.Categorical),
        pl.Series("rule", [f"likelihoods_{one.rule}" for one in read], dtype=pl.Categorical),
    )
    joined = rows.join(found, on=["reply", "labels", "finish"], how="left", maintain_order="left")
    return joined.select("likelihoods", "choice", "status", "rule")


def from_logprobs(logprobs: pl.Series) -> pl.Series:
    """Likelihoods of the options among themselves from their log-probabilities.

    Args:
        logprobs: lists in the order of the options; null where there are none.  A list with a gap gives none: what is
            missing is less than what was told, and no one knows how much.

    Returns:
        Lists that add up to 1.
    """
    known = logprobs.cast(pl.List(pl.Float64))
    whole = known.is_not_null() & known.list.eval(pl.element().is_finite() & pl.element().is_not_null()).list.all()
    usable = pl.DataFrame({"row": np.arange(known.len()), "logprob": known}).filter(whole.fill_null(False))
    if usable.is_empty():
        return pl.Series("likelihoods", [None] * known.len(), dtype=pl.List(pl.Float32))
    shares = (
        usable.with_columns(pl.int_ranges(0, pl.col("logprob").list.len()).alias("place"))
        .explode("logprob", "place")
        .with_columns((pl.col("logprob") - pl.col("logprob").max().over("row")).exp().alias("share"))
        .with_columns(pl.col("share") / pl.col("share").sum().over("row"))
        .group_by("row", maintain_order=True)
        .agg(pl.col("share").cast(pl.Float32))
    )
    rows = pl.DataFrame({"row": np.arange(known.len())})
    return rows.join(shares, on="row", how="left", maintain_order="left")["share"].alias("likelihoods")


def matrix(likelihoods: pl.Series) -> NDArray[np.float64]:
    """(N, K) likelihoods, NaN beyond an option list's end and in rows that have none."""
    width = int(likelihoods.list.len().max() or 0)  # type: ignore[arg-type]
    columns = [likelihoods.list.get(place, null_on_oob=True).to_numpy() for place in range(width)]
    return np.stack(columns, axis=1).astype(np.float64) if columns else np.zeros((likelihoods.len(), 0))
