"""Result files of HandVQA's own tools as answers: ``results:PATH?name=NAME``.

ms-swift writes one JSON object for each question: ``response``, ``labels``, ``messages`` (the question, and the
response again) and ``images``.  A result belongs to the question with the same image and the same words.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import polars as pl

from handbench import tables
from handbench.errors import HandbenchError
from handbench.protocols import Model, model
from handbench.specs import Options, Spec

_MARK: Final = "<image>"
_SUFFIXES: Final = (".jsonl", ".jsonl.gz")
_TAIL: Final = 5
"""Folders and name of an image that must agree; what stands before them is the machine's."""

_KEY: Final = ["_image", "_prompt", "_again"]


class Results:
    """Answers taken from one result file, or from all of a folder."""

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        self.path = path

    def _files(self) -> list[Path]:
        if self.path.is_file():
            return [self.path]
        found = sorted(path for path in self.path.glob("*") if path.name.endswith(_SUFFIXES))
        if not found:
            raise HandbenchError(f"{self.path}: expected result files ending in {' or '.join(_SUFFIXES)}")
        return found

    def _load(self) -> pl.DataFrame:
        rows = [row for path in self._files() for row in _rows(path)]
        schema = {"_image": pl.String, "_prompt": pl.String, "reply": pl.String}
        frame = pl.DataFrame(rows, schema=schema, orient="row")
        return frame.with_columns(pl.int_range(pl.len()).over("_image", "_prompt").alias("_again"))

    def answer(self, questions: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """Hand out the results; a question without one stays unanswered.

        Raises:
            HandbenchError: a file cannot be read, or no result fits a question.
        """
        given = self._load()
        variant = pl.col("variant").cast(pl.String)
        image = pl.col("images").list.get(0, null_on_oob=True)
        ours = questions.select(
            "question_id",
            variant,
            image.map_elements(_tail, return_dtype=pl.String).alias("_image"),
            pl.col("prompt").cast(pl.String).alias("_prompt"),
            variant.str.extract(r";again=(\d+)", 1).cast(pl.Int64).fill_null(0).alias("_again"),
        )
        rows = ours.join(given.with_columns(found=True), on=_KEY, how="left", maintain_order="left")
        if questions.height and rows["found"].null_count() == rows.height:
            raise HandbenchError(
                f"{self.path}: none of its {given.height} results fits a question here by image and words; the "
                "questions must be the released ones that were answered (--questions released:PATH)"
            )
        yield tables.conform(
            rows.select(
                "question_id",
                "variant",
                "reply",
                pl.when(pl.col("reply").is_null()).then(pl.lit("none")).otherwise(pl.lit("stop")).alias("finish"),
                pl.lit(self.name).alias("model"),
                pl.lit(0).alias("repeat"),
                pl.lit(0).alias("turn"),
            ),
            "answers",
            self.path,
        )


def _rows(path: Path) -> Iterator[tuple[str, str, str | None]]:
    """Image, question and response of each line."""
    try:
        with gzip.open(path, "rb") if path.name.endswith(".gz") else path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield _row(path, number, line)
    except (OSError, EOFError) as error:
        raise HandbenchError(f"{path}: cannot be read: {error}") from None


def _row(path: Path, number: int, line: bytes) -> tuple[str, str, str | None]:
    try:
        row: Any = json.loads(line)
        messages, image = row["messages"], row["images"][0]
        image = image if isinstance(image, str) else image["path"]
        prompt = messages[0]["content"]
        reply = row["response"] if "response" in row else messages[1]["content"]
        if not (isinstance(image, str) and isinstance(prompt, str) and isinstance(reply, str | None)):
            raise TypeError
    except (ValueError, KeyError, TypeError, IndexError, RecursionError):
        raise HandbenchError(
            f"{path}, line {number}: expected a result with messages, images and response, as ms-swift writes them"
        ) from None
    return _tail(image), prompt.removeprefix(_MARK), reply


def _tail(image: str) -> str:
    """What of an image's path is the dataset's own."""
    parts = image.replace("\\", "/").replace("FreiHAND-002", "FreiHAND").split("/")
    return "/".join([part for part in parts if part not in ("", ".")][-_TAIL:])


@model("results")
def results(spec: Spec, options: Options) -> Model:
    """``results:PATH?name=NAME``: a result file of HandVQA's own tools, or a folder of such files."""
    if not spec.name:
        raise HandbenchError(f"{spec}: name the file or folder, as in results:freihand_evaluation_angle_result.jsonl")
    path = Path(spec.name).expanduser()
    if not path.exists():
        raise HandbenchError(f"{path}: expected result files, found nothing there")
    return Results(options.text("name", str(spec)), path)
