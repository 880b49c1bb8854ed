"""Options in another order: text, truth and variant go along."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import polars as pl

from handbench.controls.names import tagged
from handbench.errors import HandbenchError
from handbench.schemas import WORD

Lettered = Callable[[Sequence[str]], list[str]]
"""Options → the lines that a prompt shows them in."""


def rotations(questions: pl.DataFrame, lettered: Lettered) -> Iterator[pl.DataFrame]:
    """Every other rotation of the options, so that each option stands once in each place.

    Args:
        questions: rows of the ``questions`` table whose prompts show ``lettered(options)`` as one block of lines.
        lettered: how the prompt shows options.

    Yields:
        The rows rotated by 1, by 2 and so on, of those that have so many options; ``order=`` in the variant tells the
        new order.

    Raises:
        HandbenchError: a prompt does not show its options in one block.
    """
    most = questions.select(pl.col("options").list.len().max()).item() or 0
    for step in range(1, most):
        part = questions.filter(pl.col("options").list.len() > step)
        yield _rotated(part, step, lettered)


def _rotated(part: pl.DataFrame, step: int, lettered: Lettered) -> pl.DataFrame:
    count = pl.col("options").list.len().cast(pl.Int64)
    texts = _texts(part, step, lettered)
    shown = part.select(pl.col("prompt").cast(pl.String), pl.col("options").cast(pl.List(pl.String)))
    prompts = shown.join(texts, on=["prompt", "options"], how="left", maintain_order="left")["rotated"]
    place = (pl.col("truth_index").cast(pl.Int64) - step) % count
    return part.with_columns(
        prompts.cast(WORD).alias("prompt"),
        *(_turned(name, step) for name in ("options", "option_labels") if name in part.columns),
        place.cast(pl.Int8).alias("truth_index"),
        _new_order(part["variant"], step).alias("variant"),
    ).with_columns(tagged(pl.col("variant"), f"rotation-{step}").alias("variant"))


def _turned(name: str, step: int) -> pl.Expr:
    column = pl.col(name)
    return pl.concat_list(column.list.slice(step), column.list.head(step)).alias(name)


def _texts(part: pl.DataFrame, step: int, lettered: Lettered) -> pl.DataFrame:
    """The new prompt of every distinct text: there are few, whatever the number of questions."""
    distinct = part.select(pl.col("prompt").cast(pl.String), pl.col("options").cast(pl.List(pl.String))).unique()
    rotated = []
    for prompt, options in distinct.iter_rows():
        block = "\n".join(lettered(options))
        if prompt.count(block) != 1:
            raise HandbenchError(f"controls: rotations: a prompt does not show its options as one block: {prompt!r}")
        rotated.append(prompt.replace(block, "\n".join(lettered(options[step:] + options[:step]))))
    return distinct.with_columns(pl.Series("rotated", rotated, dtype=pl.String))


def _new_order(variants: pl.Series, step: int) -> pl.Series:
    known = variants.unique()
    table = {}
    for variant in known.cast(pl.String).to_list():
        head, mark, rest = variant.partition("order=")
        digits, semicolon, tail = rest.partition(";")
        table[variant] = head + mark + digits[step:] + digits[:step] + semicolon + tail
    return variants.cast(pl.String).replace_strict(table, return_dtype=pl.String)
