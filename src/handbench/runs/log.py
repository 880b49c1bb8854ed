"""The append-only log of answers: one JSON line each, safe against being cut off anywhere."""

from __future__ import annotations

import fcntl
import io
import json
import os
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import polars as pl

from handbench import tables
from handbench.errors import HandbenchError

_SYNC_SECONDS = 1.0

_KEY = ["question_id", "variant", "repeat", "turn"]

_LINE: Any = {  # the types of a line in JSON, which knows no short numbers
    "question_id": pl.String,
    "variant": pl.String,
    "repeat": pl.Int64,
    "turn": pl.Int64,
    "respondent": pl.String,
    "reply": pl.String,
    "finish": pl.String,
    "error": pl.String,
    "option_logprobs": pl.List(pl.Float64),
    "seconds": pl.Float64,
    "tokens_in": pl.Int64,
    "tokens_out": pl.Int64,
    "sent_sizes": pl.List(pl.List(pl.Int64)),
}


class AnswerLog:
    """Answers of one model, as they come in.

    Opening it takes a lock, cuts off a last line that was not written to its end, and reads what is there
    (:attr:`done`).  Use as a context manager.
    """

    def __init__(self, path: Path, model: str) -> None:
        self.path = path
        self.model = model
        self.done = tables.empty("answers")
        self.torn_bytes = 0
        self._file: io.FileIO | None = None
        self._synced = 0.0

    def __enter__(self) -> Self:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = open(self.path, "ab+", buffering=0)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise HandbenchError(f"{self.path}: another process is answering here; wait for it or stop it") from None
        try:
            self._recover(self._file)
        except BaseException:
            self._file.close()
            raise
        return self

    def _recover(self, file: io.FileIO) -> None:
        file.seek(0)
        data = file.readall()
        whole = data.rfind(b"\n") + 1
        self.torn_bytes = len(data) - whole
        if self.torn_bytes:
            file.truncate(whole)
        self.done = _latest(data[:whole], self.path, self.model)

    def append(self, answers: pl.DataFrame) -> None:
        """Add answers; they are on disk within a second or when the log is closed."""
        assert self._file is not None, "the log is not open"
        frame = tables.conform(answers, "answers", self.path).drop("model")
        kept = [column.name for column in frame if column.null_count() < frame.height]
        view = memoryview(frame.select(kept).write_ndjson().encode())
        try:
            while view:
                view = view[self._file.write(view) :]
            if time.monotonic() - self._synced > _SYNC_SECONDS:
                os.fsync(self._file.fileno())
                self._synced = time.monotonic()
        except OSError as failed:
            raise self._unwritable(failed) from None

    def _unwritable(self, error: OSError) -> HandbenchError:
        return HandbenchError(f"{self.path}: cannot be written ({error.strerror}); what was answered before is kept")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is None:
            return
        file, self._file = self._file, None
        try:
            os.fsync(file.fileno())
        except OSError as failed:
            if error is None:  # else the error that ended the block tells more
                raise self._unwritable(failed) from None
        finally:
            file.close()


def read_log(path: Path, model: str) -> pl.DataFrame:
    """The answers in a log as it stands, whoever may be writing to it; none where there is no log."""
    data = path.read_bytes() if path.exists() else b""
    return _latest(data[: data.rfind(b"\n") + 1], path, model)


def _latest(lines: bytes, path: Path, model: str) -> pl.DataFrame:
    """Of a question that was asked again after an error there are two lines: the later one counts."""
    if not lines:
        return tables.empty("answers")
    return parse(lines, path, model).unique(_KEY, keep="last", maintain_order=True)


def parse(data: bytes, path: Path, model: str) -> pl.DataFrame:
    """Read whole lines of a log.

    Raises:
        HandbenchError: a line is damaged; its number is named.
    """
    try:
        frame = pl.read_ndjson(io.BytesIO(data), schema=_LINE)
    except (pl.exceptions.PolarsError, ValueError) as error:
        raise HandbenchError(f"{path}, line {_damaged_line(data)}: damaged; delete the line ({error})") from None
    return tables.conform(frame.with_columns(pl.lit(model).alias("model")), "answers", path)


def _damaged_line(data: bytes) -> int:
    for number, line in enumerate(data.splitlines(), 1):
        try:
            json.loads(line)
        except ValueError:
            return number
    return 0
