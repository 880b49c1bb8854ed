"""Answers that people gave: ``people:NAME?file=FILE``, several people to a question."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import polars as pl

from handbench import tables
from handbench.errors import HandbenchError
from handbench.protocols import Model, model
from handbench.specs import Options, Spec

UNASKED: Final = "unasked"
"""``finish`` of a question that nobody was given: it is no wrong answer and is counted nowhere."""

_NEEDED: Final = ("question_id", "respondent", "reply")


class People:
    """Answers from a Parquet or CSV file with ``question_id``, ``respondent`` and ``reply`` (``variant``).

    A reply is what a person wrote or clicked: the letter or the whole option.  Each person's answer to a question is a
    row, ``repeat`` counting the people.
    """

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        self.path = path

    def _load(self) -> pl.DataFrame:
        try:
            if self.path.suffix == ".csv":
                frame = pl.read_csv(self.path, infer_schema=False)
            elif self.path.suffix == ".parquet":
                frame = pl.read_parquet(self.path)
            else:
                raise HandbenchError(f"{self.path}: expected people's answers as .csv or .parquet")
        except (pl.exceptions.PolarsError, OSError) as error:
            raise HandbenchError(f"{self.path}: cannot be read: {str(error).splitlines()[0]}") from None
        for column in _NEEDED:
            if column not in frame.columns:
                raise HandbenchError(f"{self.path}: column {column!r} is missing ({', '.join(_NEEDED)} needed)")
        key = [*_NEEDED[:2], *(["variant"] if "variant" in frame.columns else [])]
        kept = frame.select(*key, "reply").with_columns(pl.all().cast(pl.String))
        for column in key:
            if kept[column].null_count():
                row = int(kept[column].is_null().arg_max() or 0)
                raise HandbenchError(f"{self.path}, row {row}: {column} is missing and must be given")
        if twice := int(kept.select(key).is_duplicated().sum()):
            first = kept.filter(kept.select(key).is_duplicated()).row(0, named=True)
            raise HandbenchError(
                f"{self.path}: {twice} rows are a second answer of one person to one question, the first of "
                f"{first['respondent']!r} to {first['question_id']!r}"
            )
        return kept.sort("respondent")

    def answer(self, questions: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """Hand out the answers; a question that nobody was given has one row that says so.

        Raises:
            HandbenchError: the file cannot be read, a person answered a question twice, or no answer fits.
        """
        given = self._load()
        key = ["question_id", "variant"] if "variant" in given.columns else ["question_id"]
        ours = questions.select("question_id", pl.col("variant").cast(pl.String))
        if "variant" not in given.columns:
            # Without a variant an answer is to the plain question, not to its controls.
            plain = ours.filter(~pl.col("variant").str.contains(";control="))
            fits = plain.join(given, on=key, how="inner", maintain_order="left_right")
        else:
            fits = ours.join(given, on=key, how="inner", maintain_order="left_right")
        if questions.height and fits.is_empty():
            first = given["question_id"][0] if given.height else "no row"
            raise HandbenchError(f"{self.path}: no answer fits a question here (its first is to {first!r})")
        both = ["question_id", "variant"]
        repeat = pl.int_range(pl.len()).over(both).cast(pl.Int16)
        said = fits.select(*both, "respondent", "reply", repeat.alias("repeat"), pl.lit("stop").alias("finish"))
        unasked = ours.join(fits.select(both), on=both, how="anti").with_columns(
            pl.lit(None, pl.String).alias("respondent"),
            pl.lit(None, pl.String).alias("reply"),
            pl.lit(0, pl.Int16).alias("repeat"),
            pl.lit(UNASKED).alias("finish"),
        )
        rows = pl.concat([said, unasked.select(said.columns)])
        yield tables.conform(
            rows.with_columns(
                pl.when(pl.col("reply").is_null() & (pl.col("finish") == "stop"))
                .then(pl.lit("none"))
                .otherwise(pl.col("finish"))
                .alias("finish"),
                pl.lit(self.name).alias("model"),
                pl.lit(0).alias("turn"),
            ),
            "answers",
            self.path,
        )


@model("people")
def people(spec: Spec, options: Options) -> Model:
    """``people:NAME?file=answers.csv``: Parquet or CSV with ``question_id``, ``respondent`` and ``reply``."""
    path = options.text("file", "")
    if not spec.name or not path:
        raise HandbenchError(f"{spec}: name the people and their file, as in people:students?file=answers.csv")
    return People(options.text("name", str(spec)), Path(path))
