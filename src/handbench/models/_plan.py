"""Questions → requests, and outcomes → answers: tables on one side, single requests on the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from handbench import tables
from handbench.models._outcome import Outcome
from handbench.models._reply import LETTERS, ChatReply
from handbench.models._request import Ask

_SLAB = 2_000


def plan(questions: pl.DataFrame) -> Iterator[Ask]:
    """Requests for questions: equal ones once, those about the same images next to each other.

    Args:
        questions: rows of the ``questions`` table.
    """
    about = questions.select(
        pl.col("images").list.join("\0").fill_null("").alias("about"), "system", "prompt", "images", "options"
    ).with_row_index("row")
    groups = (
        about.group_by("about", "system", "prompt", maintain_order=True)
        .agg("row", pl.col("images").first(), pl.col("options").first())
        .with_columns(pl.col("row").list.first().min().over("about").alias("first"))
        .sort("first", maintain_order=True)
    )
    for start in range(0, groups.height, _SLAB):
        slab = groups[start : start + _SLAB].select(
            "row", "images", pl.col("system", "prompt").cast(pl.String), "options"
        )
        for rows, images, system, prompt, options in slab.iter_rows():
            yield Ask(tuple(rows), tuple(images or ()), system, prompt, tuple(options or ()))


def answers(questions: pl.DataFrame, outcomes: Sequence[Outcome], model: str, by_options: bool) -> pl.DataFrame:
    """The ``answers`` table of a batch of outcomes.

    A failure has no reply, ``finish`` is ``error`` and ``error`` tells why.  Tokens are counted where they were spent:
    of questions that one request answers, the first has them and the others have 0.

    Args:
        questions: the questions that were planned.
        outcomes: what became of some of the requests.
        model: the name that the answers carry.
        by_options: the reply is the likeliest option, where likelihoods came.
    """
    rows = [row for outcome in outcomes for row in outcome.ask.rows]
    places = [place for place, outcome in enumerate(outcomes) for _ in outcome.ask.rows]
    cells = zip(*(_cells(outcome, by_options) for outcome in outcomes), strict=True)
    said = pl.DataFrame(
        [pl.Series(name, list(column), dtype=_TYPES[name].dtype) for name, column in zip(_CELLS, cells, strict=True)]
        + [_sizes(outcomes)]
    )
    if len(places) > len(outcomes):
        spent = pl.Series([number == 0 for outcome in outcomes for number in range(len(outcome.ask.rows))])
        tokens = pl.col("tokens_in", "tokens_out")
        said = said[places].with_columns(pl.when(spent | tokens.is_null()).then(tokens).otherwise(0))
    same = {"model": model, "repeat": 0, "turn": 0}
    return pl.DataFrame(
        [
            *(questions[name].gather(rows) for name in ("question_id", "variant")),
            *(
                pl.Series(name, [value], dtype=_TYPES[name].dtype).new_from_index(0, len(rows))
                for name, value in same.items()
            ),
            *said,
        ]
    )


_TYPES = tables.SCHEMAS["answers"]
_CELLS = (
    "reply", "finish", "error", "option_logprobs", "seconds", "tokens_in", "tokens_out",
)  # fmt: skip


def _cells(outcome: Outcome, by_options: bool) -> tuple[object, ...]:
    reply, error = outcome.reply, str(outcome.trouble) if outcome.trouble is not None else None
    if reply is None:
        return None, "error", error, None, outcome.seconds, None, None
    logprobs = reply.option_logprobs(len(outcome.ask.options)) if by_options else None
    text = likeliest(outcome.ask.options, logprobs) if logprobs else None
    return (
        reply.text if text is None else text, reply.finish if text is None else "stop", error, logprobs,
        outcome.seconds, reply.tokens_in, reply.tokens_out,
    )  # fmt: skip


def _sizes(outcomes: Sequence[Outcome]) -> pl.Series:
    """The ``sent_sizes`` column."""
    counts = {len(outcome.sizes) for outcome in outcomes}
    dtype = tables.SCHEMAS["answers"]["sent_sizes"].dtype
    if len(counts) == 1 and (count := counts.pop()):  # the usual case, many times faster as one array
        flat = np.array([outcome.sizes for outcome in outcomes], np.int32)
        return pl.Series("sent_sizes", flat).reshape((-1, count, 2)).arr.to_list().cast(dtype)
    rows = [[list(size) for size in outcome.sizes] or None for outcome in outcomes]
    return pl.Series("sent_sizes", rows, dtype=dtype)


def likeliest(options: Sequence[str], logprobs: Sequence[float | None]) -> str | None:
    """The likeliest option with its letter; None where no likelihood is known or two are equal."""
    known = sorted((value, place) for place, value in enumerate(logprobs) if value is not None)
    if not known or (len(known) > 1 and known[-1][0] == known[-2][0]):
        return None
    place = known[-1][1]
    return f"{LETTERS[place]}. {options[place]}"


def without_logprobs(outcomes: Sequence[Outcome]) -> tuple[int, ChatReply | None]:
    """How many replies lack the likelihoods that were asked for, and the first of them."""
    lacking = [
        outcome.reply
        for outcome in outcomes
        if outcome.reply is not None and outcome.reply.top is None and outcome.reply.finish != "content_filter"
    ]
    return len(lacking), lacking[0] if lacking else None
