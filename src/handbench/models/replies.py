"""Replies that were got elsewhere: ``replies:FILE?name=NAME``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import polars as pl

from handbench import tables
from handbench.errors import HandbenchError
from handbench.protocols import Model, model
from handbench.specs import Options, Spec


def _read_csv(path: Path) -> pl.DataFrame:
    return pl.read_csv(path, infer_schema=False)


def _read_lines(path: Path) -> pl.DataFrame:
    return pl.read_ndjson(path, infer_schema_length=None)


_READERS: Final[dict[str, Callable[[Path], pl.DataFrame]]] = {
    ".parquet": pl.read_parquet,
    ".csv": _read_csv,
    ".jsonl": _read_lines,
    ".ndjson": _read_lines,
}


class Replies:
    """Answers taken from a file with ``question_id`` and ``reply`` (``variant``, ``finish``)."""

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        self.path = path

    def _load(self) -> pl.DataFrame:
        reader = _READERS.get(self.path.suffix)
        if reader is None:
            known = ", ".join(_READERS)
            raise HandbenchError(f"{self.path}: expected a file of replies ending in {known}")
        try:
            frame = reader(self.path)
        except (pl.exceptions.PolarsError, OSError) as error:
            raise HandbenchError(f"{self.path}: cannot be read: {str(error).splitlines()[0]}") from None
        for column in ("question_id", "reply"):
            if column not in frame.columns:
                raise HandbenchError(f"{self.path}: column {column!r} is missing (question_id, reply needed)")
        if "finish" not in frame.columns:
            frame = frame.with_columns(pl.lit("stop").alias("finish"))
        return frame.with_columns(pl.col("question_id", "reply", "finish").cast(pl.String))

    def answer(self, questions: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """Hand out the replies; a question without one stays unanswered.

        Raises:
            HandbenchError: the file cannot be read, a question has two replies, or none fits.
        """
        given = self._load()
        key = ["question_id", "variant"] if "variant" in given.columns else ["question_id"]
        if twice := given.filter(given.select(key).is_duplicated()).height:
            raise HandbenchError(f"{self.path}: {twice} rows share a {' and '.join(key)} with another row")
        ours = questions.select("question_id", pl.col("variant").cast(pl.String))
        rows = ours.join(given.select(*key, "reply", "finish"), on=key, how="left", maintain_order="left")
        if questions.height and rows["reply"].null_count() == rows.height:
            first = given["question_id"][0] if given.height else "no row"
            raise HandbenchError(f"{self.path}: no reply fits a question here (its first is for {first!r})")
        yield tables.conform(
            rows.with_columns(
                pl.when(pl.col("reply").is_null()).then(pl.lit("none")).otherwise(pl.col("finish")).alias("finish"),
                pl.lit(self.name).alias("model"),
                pl.lit(0).alias("repeat"),
                pl.lit(0).alias("turn"),
            ),
            "answers",
            self.path,
        )


@model("replies")
def replies(spec: Spec, options: Options) -> Model:
    """``replies:FILE?name=NAME``: Parquet, CSV or JSONL with ``question_id`` and ``reply``."""
    if not spec.name:
        raise HandbenchError(f"{spec}: name the file, as in replies:answers.jsonl")
    return Replies(options.text("name", str(spec)), Path(spec.name))
