"""Batch files as hosted APIs take them at half the price: one JSON line per request out, one per reply back.

The format is OpenAI's: ``{"custom_id", "method", "url", "body"}`` out, and ``{"custom_id", "response": {"status_code",
"body"}, "error"}`` back.  A ``custom_id`` is the key of a request; ``requests.parquet`` beside the batch files keeps
which questions it answers.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

import polars as pl

from handbench.errors import HandbenchError
from handbench.models._images import load
from handbench.models._outcome import Outcome
from handbench.models._plan import answers, plan
from handbench.models._reply import ChatReply, error_words, is_filtered, read_reply
from handbench.models._request import Ask, Renderer
from handbench.models._trouble import FATAL, Trouble
from handbench.models.server import Server
from handbench.protocols import ReadContext
from handbench.runs.answering import KEY, enlist, image_root
from handbench.runs.asking import ensure_images
from handbench.runs.controls import located
from handbench.runs.folder import RunFolder
from handbench.runs.log import AnswerLog, read_log
from handbench.runs.parts import Answerer, make_model

MOST_LINES: Final = 50_000
MOST_BYTES: Final = 190_000_000
"""Hosted APIs take files of 50,000 lines and 200 MB."""

_INDEX = "requests.parquet"


@dataclass(frozen=True)
class Exported:
    """What was written.

    Attributes:
        files: the batch files.
        requests: how many requests they hold.
        questions: how many questions those answer.
        left_out: questions that could not be asked, counted by reason.
    """

    files: list[Path]
    requests: int
    questions: int
    left_out: dict[str, int]


@dataclass(frozen=True)
class Imported:
    """What was read.

    Attributes:
        answered: questions that got a reply.
        errors: questions whose request failed.
        known: questions that were answered before; they keep their answers.
        missing: questions of the batch for which nothing came back.
    """

    answered: int
    errors: int
    known: int
    missing: int


def _server(spec: str) -> tuple[Answerer, Server]:
    who = Answerer.parse(spec)
    if who.strategy is not None:
        raise HandbenchError(f"{who}: a strategy asks turn by turn, which batch files cannot; leave it out")
    made = make_model(str(who.model))
    if not isinstance(made, Server):
        raise HandbenchError(f"{spec}: batch files are for server: models, e.g. server:NAME?base_url=URL")
    made.name = who.name
    return who, made


def export_batch(folder: RunFolder, spec: str, out: Path, context: ReadContext) -> Exported:
    """Write the requests for all questions that a model has not answered yet.

    Args:
        folder: a run with questions.
        spec: a ``server:`` model; its options decide what is asked, its ``base_url`` is not called.
        out: a folder for ``batch-00001.jsonl`` and so on; it must not hold an earlier export.
        context: how to render images, and whom to tell about progress.

    Raises:
        HandbenchError: the model is no server, or the folder holds a batch already.
    """
    _, server = _server(spec)
    if (out / _INDEX).exists():
        raise HandbenchError(f"{out}: holds an earlier export ({_INDEX}); take another folder")
    questions = located(folder, folder.read("questions"))
    kept = read_log(folder.log(server.name), server.name).filter(pl.col("finish").cast(pl.String) != "error")
    left = questions.join(kept.select(KEY), on=KEY, how="anti", maintain_order="left")
    ensure_images(folder, left["images"].explode().drop_nulls().unique().to_list(), context)
    server.images_at(image_root(folder, folder.manifest()))
    out.mkdir(parents=True, exist_ok=True)
    left_out: Counter[str] = Counter()
    rows: dict[str, list[int]] = {}
    with _Lines(out) as lines:
        for item, key, body in _requests(server, left, left_out):
            if key not in rows:
                lines.add(_line(key, body))
            rows.setdefault(key, []).extend(item.rows)
            context.progress(lines.count, None, "writing requests")
    index = pl.DataFrame(
        {"custom_id": list(rows), "row": list(rows.values())},
        schema={"custom_id": pl.String, "row": pl.List(pl.UInt32)},
    ).explode("row")
    keys = left.select(KEY)[index["row"].to_list()]
    index.drop("row").hstack(keys).with_columns(pl.lit(server.name).alias("model")).write_parquet(out / _INDEX)
    return Exported(lines.files, len(rows), index.height, dict(left_out))


def _requests(server: Server, questions: pl.DataFrame, left_out: Counter[str]) -> Iterator[tuple[Ask, str, bytes]]:
    renderer = Renderer(server.decoding, server.policy)
    for item in plan(questions):
        try:
            images = [load(server.root / image, server.policy) for image in item.images]
        except Trouble as trouble:
            left_out[trouble.words] += len(item.rows)
            continue
        yield item, renderer.key(item, images).hex(), renderer.body(item, images)


def _line(key: str, body: bytes) -> bytes:
    head = f'{{"custom_id":"{key}","method":"POST","url":"/v1/chat/completions","body":'
    return head.encode() + body + b"}\n"


class _Lines:
    """Lines in numbered files, none larger than is taken."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files: list[Path] = []
        self.count = 0
        self._file: IO[bytes] | None = None
        self._lines = self._bytes = 0

    def __enter__(self) -> _Lines:
        return self

    def add(self, line: bytes) -> None:
        """Write a line, into the next file where this one is full."""
        if self._file is None or self._lines == MOST_LINES or self._bytes + len(line) > MOST_BYTES:
            self.__exit__()
            self.files.append(self.folder / f"batch-{len(self.files) + 1:05d}.jsonl")
            self._file = self.files[-1].open("wb")
            self._lines = self._bytes = 0
        self._file.write(line)
        self._lines += 1
        self._bytes += len(line)
        self.count += 1

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()


def import_batch(folder: RunFolder, spec: str, batch: Path, results: Sequence[Path]) -> Imported:
    """Read the replies to a batch into the run's answers.

    Args:
        folder: the run that was exported from.
        spec: the same model as at export.
        batch: the folder of the export.
        results: files of results, in any order.

    Raises:
        HandbenchError: the batch is another model's, or a line is damaged, unknown or comes twice.
    """
    who, server = _server(spec)
    try:
        index = pl.read_parquet(batch / _INDEX)
    except (OSError, pl.exceptions.PolarsError):
        raise HandbenchError(f"{batch}: no batch of ours: {_INDEX} is missing or damaged") from None
    if index.height and index["model"][0] != server.name:
        raise HandbenchError(f"{batch}: was exported for {index['model'][0]}, not for {server.name}")
    replies = _replies(results, set(index["custom_id"]))
    questions = folder.read("questions").with_row_index("_row")
    asked = index.with_columns(pl.col("variant").cast(questions["variant"].dtype)).join(questions, on=KEY, how="left")
    if stray := asked["_row"].null_count():
        raise HandbenchError(f"{batch}: {stray} of its questions are not in {folder.root}; was it another run's?")
    with AnswerLog(folder.log(server.name), server.name) as log:
        done = log.done.filter(pl.col("finish").cast(pl.String) != "error").select(KEY)
        fresh = asked.join(done, on=KEY, how="anti", maintain_order="left")
        come = fresh.filter(pl.col("custom_id").is_in(list(replies)))
        outcomes = _outcomes(come, replies)
        if outcomes:
            log.append(answers(questions.drop("_row"), outcomes, server.name, server.decoding.option_logprobs))
    enlist(folder, who)
    errors = sum(outcome.reply is None for outcome in outcomes)
    return Imported(len(outcomes) - errors, errors, asked.height - fresh.height, fresh.height - come.height)


def _outcomes(come: pl.DataFrame, replies: dict[str, Outcome]) -> list[Outcome]:
    made = []
    for row, key, options in come.select("_row", "custom_id", "options").iter_rows():
        said = replies[key]
        ask = Ask((row,), (), "", "", tuple(options or ()))
        made.append(Outcome(ask, said.reply, said.trouble, said.seconds))
    return made


def _replies(files: Sequence[Path], known: set[str]) -> dict[str, Outcome]:
    found: dict[str, Outcome] = {}
    for path in files:
        try:
            lines = path.open("rb")
        except OSError as error:
            raise HandbenchError(f"{path}: cannot be read ({error.strerror})") from None
        with lines:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                try:
                    entry = json.loads(line)
                    key = str(entry["custom_id"])
                except (ValueError, RecursionError, KeyError, TypeError):
                    raise HandbenchError(f"{path}, line {number}: expected a batch result with a custom_id") from None
                if key not in known:
                    raise HandbenchError(f"{path}, line {number}: custom_id {key[:70]!r} is not of this batch")
                if key in found:
                    raise HandbenchError(f"{path}, line {number}: custom_id {key!r} comes a second time")
                found[key] = _outcome(entry)
    return found


def _outcome(entry: dict[str, Any]) -> Outcome:
    ask = Ask((), (), "", "")
    response = entry.get("response")
    response = response if isinstance(response, dict) else {}
    body = json.dumps(response.get("body") or entry.get("error") or {"error": "no response"}).encode()
    status = response.get("status_code")
    if status == 200 and not entry.get("error"):
        try:
            return Outcome(ask, read_reply(body), None, None)
        except Trouble as malformed:
            return Outcome(ask, None, malformed, None)
    failed = Trouble(FATAL, error_words(body), status if isinstance(status, int) else None)
    return Outcome(ask, ChatReply("", "content_filter") if is_filtered(body) else None, failed, None)
