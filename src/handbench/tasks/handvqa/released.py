"""The question files of HandVQA's official release: prompts, options, answers and images as they are.

Eighteen JSONL files, ``{freihand,interhand,fpha}_evaluation_{angle,distance,relative_pos_x,...}.jsonl`` and
``..._training.jsonl``.  A row has ``messages`` (the question with ``<image>`` before it, and the right option
with its letter) and ``images`` (one path).  All hands are right hands.
"""

from __future__ import annotations

import io
import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from handbench.errors import HandbenchError
from handbench.faults import Faults
from handbench.hand.descriptors import PAPER
from handbench.tables import WORD
from handbench.tasks.handvqa.questions import item_name
from handbench.tasks.handvqa.text import LETTERS, sentence

SETS: Final = ("freihand", "interhand", "fpha")
SPLITS: Final = ("evaluation", "training")

SYSTEM: Final = (
    "You are a very helpful assistant. You answer everything accurately. When given a task,you strictly follow the "
    "instructions and definitions provided, without adding any extra information or assumptions."
)
"""What the release's own commands give as the system text."""

MARK: Final = "<image>"
"""Where ms-swift puts the image; the question begins behind it."""

_NAME: Final = re.compile(r"(freihand|interhand|fpha)_(evaluation|training)(?:_\w+)?\.jsonl")
_OPTION: Final = r"(?m)^[ \t]*[A-H]\. .*$"
_LINES: Final = 50_000
_ROW: Final[dict[str, Any]] = {
    "messages": pl.List(pl.Struct({"role": pl.String, "content": pl.String})),
    "images": pl.List(pl.String),
}
_POSES: Final = 32560
_KEYS: Final = {
    "freihand": r"([^/]+)\.[A-Za-z]+$",
    "interhand": r"(Capture\d+/.*)\.[A-Za-z]+$",
    "fpha": r"(Subject_\d+/.*)\.[A-Za-z]+$",
}


@dataclass(frozen=True)
class QuestionFile:
    """One file of the release.

    Attributes:
        path: where it lies.
        dataset: ``freihand``, ``interhand`` or ``fpha``.
        split: ``evaluation`` or ``training``.
    """

    path: Path
    dataset: str
    split: str


def find(path: Path, split: str | None, sets: tuple[str, ...] = SETS) -> list[QuestionFile]:
    """The files of a split, in a fixed order.

    Args:
        path: the folder of the release, or one file of it.
        split: ``evaluation`` (where None) or ``training``; a file's own split where one file is given.
        sets: which datasets.

    Raises:
        HandbenchError: there is none.
    """
    if split is not None and split not in SPLITS:
        raise HandbenchError(f"{path}: no split {split!r} in the release; there are {', '.join(SPLITS)}")
    if unknown := set(sets) - set(SETS):
        raise HandbenchError(f"{path}: no set {sorted(unknown)[0]!r} in the release; there are {', '.join(SETS)}")
    if not path.exists():
        raise HandbenchError(f"{path}: expected the folder of the released question files, found nothing there")
    found = []
    for file in sorted(path.glob("*.jsonl")) if path.is_dir() else [path]:
        named = _NAME.fullmatch(file.name)
        if named and named[1] in sets and (named[2] == (split or "evaluation") or file == path):
            found.append(QuestionFile(file, named[1], named[2]))
    if not found:
        raise HandbenchError(
            f"{path}: no released questions of the split {split or 'evaluation'}; expected files such as "
            f"{sets[0]}_{split or 'evaluation'}_angle.jsonl"
        )
    return found


def read(file: QuestionFile, faults: Faults, rows: tuple[int, int] | None = None) -> Iterator[pl.DataFrame]:
    """The questions of a file, some at a time.

    Args:
        file: which.
        faults: what is done about a line that is no question.
        rows: first line and the one behind the last, all by default.

    Yields:
        Frames of the ``questions`` table.
    """
    seen = np.zeros(0, np.uint64)
    for first, lines in _chunks(file.path, rows):
        frame = _questions(_parse(file.path, first, lines, faults), file, faults)
        whole = pl.concat_str("question_id", pl.col("variant").cast(pl.String))
        ids = frame.select(whole.hash(0)).to_series().to_numpy()
        again = _earlier(ids, seen)
        seen = np.sort(np.concatenate([seen, ids]))
        if again.any():
            suffix = pl.Series(["" if not count else f";again={count}" for count in again])
            frame = frame.with_columns(variant=(pl.col("variant").cast(pl.String) + suffix).cast(WORD))
        yield frame


def _chunks(path: Path, rows: tuple[int, int] | None) -> Iterator[tuple[int, list[bytes]]]:
    """Number of the first line, from 1, and the lines themselves."""
    start, stop = rows or (0, None)
    with path.open("rb") as file:
        lines = itertools.islice(file, start, stop)
        while some := list(itertools.islice(lines, _LINES)):
            yield start + 1, some
            start += len(some)


def _parse(path: Path, first: int, lines: list[bytes], faults: Faults) -> pl.DataFrame:
    """``line, question, answer, image`` of each line."""
    try:
        rows = pl.read_ndjson(io.BytesIO(b"".join(lines)), schema=_ROW)
        whole = rows.height == len(lines)
    except (pl.exceptions.PolarsError, UnicodeDecodeError):
        whole = False
    if whole:
        part = pl.col("messages").list
        frame = rows.select(
            pl.int_range(first, first + len(lines)).alias("line"),
            part.get(0, null_on_oob=True).struct.field("content").alias("question"),
            part.get(1, null_on_oob=True).struct.field("content").alias("answer"),
            pl.col("images").list.get(0, null_on_oob=True).alias("image"),
        )
        if not any(frame.null_count().row(0)):
            return frame
    places, found = faults.each(range(len(lines)), lambda row: _one(path, first + row, lines[row]))
    schema = {"question": pl.String, "answer": pl.String, "image": pl.String}
    frame = pl.DataFrame(found, schema=schema, orient="row")
    return frame.with_columns(line=pl.Series([first + place for place in places], dtype=pl.Int64))


def _one(path: Path, number: int, line: bytes) -> tuple[str, str, str]:
    try:
        row = json.loads(line)
        question, answer = (message["content"] for message in row["messages"][:2])
        image = row["images"][0]
        texts = (question, answer, image if isinstance(image, str) else image["path"])
    except (ValueError, KeyError, TypeError, IndexError, RecursionError):
        texts = (None, None, None)
    if not all(isinstance(text, str) for text in texts):
        raise HandbenchError(
            f"{path}, line {number}: expected messages with a question and an answer, and images with one path",
            "damaged line",
        )
    return texts


def _earlier(ids: NDArray[np.uint64], seen: NDArray[np.uint64]) -> NDArray[np.int64]:
    """How often each id came before, in earlier chunks (sorted) and earlier in this one."""
    before = np.searchsorted(seen, ids, "right") - np.searchsorted(seen, ids, "left")
    here = pl.DataFrame({"id": ids}).select(pl.int_range(pl.len()).over("id")).to_series().to_numpy()
    return np.asarray(before + here, np.int64)


def _known_sentences() -> dict[str, int]:
    """Option sentence of the paper → 4 x item + rank."""
    known = {}
    for item, (index, a, b) in enumerate(PAPER.items):
        for rank, label in enumerate(PAPER.descriptors[index].asked_labels):
            known[sentence(label, a, b)] = 4 * item + rank
    return known


_KNOWN: Final = _known_sentences()
_COUNT: Final = np.array([len(PAPER.descriptors[index].asked_labels) for index, _, _ in PAPER.items])


def _questions(rows: pl.DataFrame, file: QuestionFile, faults: Faults) -> pl.DataFrame:
    options = rows["question"].str.extract_all(_OPTION).list.eval(pl.element().str.strip_chars())
    shown = [options.list.get(place, null_on_oob=True) for place in range(4)]
    codes = np.stack([_codes(column, place) for place, column in enumerate(shown)], axis=1)
    answer = rows["answer"].str.strip_chars()
    right = np.stack([(column == answer).fill_null(False).to_numpy() for column in shown], axis=1)
    good = _offers_every_label(codes, options.list.len().to_numpy()) & (right.sum(axis=1) == 1)
    lines = rows["line"].to_list()
    keep = faults.good(
        good,
        "question not of the release's form",
        lambda row: (
            f"{file.path}, line {lines[row]}: expected lettered option sentences of the paper and one of them "
            f"as the answer, found {str(rows['answer'][row])[:80]!r}"
        ),
    )
    return _table(rows.filter(keep), codes[keep], right[keep].argmax(axis=1), options.filter(keep), file)


def _codes(column: pl.Series, place: int) -> NDArray[np.int64]:
    """What each option says, -1 where there is none and -2 where its letter or its sentence is not known."""
    told = column.str.strip_prefix(f"{LETTERS[place]}. ").str.strip_chars()
    code = told.replace_strict(_KNOWN, default=-2, return_dtype=pl.Int64)
    return pl.select(pl.when(column.is_null()).then(-1).otherwise(code)).to_series().to_numpy()


def _offers_every_label(codes: NDArray[np.int64], counts: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Rows whose options are all labels of one item, each once."""
    item, rank = codes[:, 0] // 4, codes % 4
    given = codes != -1
    same = np.where(given, codes // 4 == item[:, None], True).all(axis=1)
    wanted = np.where(codes[:, 0] >= 0, _COUNT[np.clip(item, 0, None)], -1)
    ranks = np.where(given, 1 << rank, 0).sum(axis=1)
    return np.asarray(same & (counts == wanted) & (given.sum(axis=1) == wanted) & (ranks == (1 << wanted.clip(0)) - 1))


def _table(
    rows: pl.DataFrame, codes: NDArray[np.int64], right: NDArray[np.intp], options: pl.Series, file: QuestionFile
) -> pl.DataFrame:
    item, rank = codes[:, 0] // 4, codes % 4
    truth = rank[np.arange(len(rank)), right]
    names = pl.DataFrame(
        {
            "about_descriptor": [PAPER.descriptors[index].name for index, _, _ in PAPER.items],
            "about_joint_a": [a for _, a, _ in PAPER.items],
            "about_joint_b": [b for _, _, b in PAPER.items],
            "item": [item_name(PAPER.descriptors[index].name, a, b) for index, a, b in PAPER.items],
        }
    )[item]
    four = [(*PAPER.descriptors[index].asked_labels, "", "")[:4] for index, _, _ in PAPER.items]
    labels = pl.Series([label for row in four for label in row], dtype=WORD)
    key = _key(rows["image"], file.dataset)
    frame = pl.concat(
        [
            names,
            rows.select("image", "question"),
            _origin(rows["image"], key, file),
            pl.DataFrame({f"rank {place}": rank[:, place] for place in range(4)}),
            pl.DataFrame({f"label {place}": labels[np.clip(codes[:, place], 0, None)] for place in range(4)}),
            pl.DataFrame({"key": key, "count": (codes != -1).sum(axis=1), "options": options}),
        ],
        how="horizontal",
    )
    hand = pl.concat_str(pl.lit(f"{file.dataset}/{file.split}/"), "key", pl.lit("/right"))
    order = pl.concat_str(pl.col("^rank .$").cast(pl.String)).str.head(pl.col("count"))
    return frame.select(
        pl.concat_str(pl.lit("handvqa/"), hand, pl.lit("/"), "item").alias("question_id"),
        pl.concat_str(pl.lit("released;sentence;order="), order).cast(WORD).alias("variant"),
        pl.lit("handvqa", WORD).alias("task"),
        pl.lit("choice", WORD).alias("kind"),
        pl.concat_list("image").alias("images"),
        pl.lit(SYSTEM, WORD).alias("system"),
        pl.col("question").str.strip_prefix(MARK).cast(WORD).alias("prompt"),
        pl.col("options").list.eval(pl.element().str.slice(3).str.strip_chars()).cast(pl.List(WORD)),
        pl.concat_list("^label .$").list.head(pl.col("count")).alias("option_labels"),
        pl.Series("truth_index", right, dtype=pl.Int8),
        pl.Series("truth_category", labels[4 * item + truth]),
        pl.Series("truth_rank", truth, dtype=pl.Int8),
        pl.col("about_descriptor", "about_joint_a", "about_joint_b").cast(WORD),
        pl.lit("right", WORD).alias("about_side"),
        hand.alias("hand_id"),
        pl.lit(file.dataset, WORD).alias("dataset"),
        pl.lit(file.split, WORD).alias("split"),
        "subject",
        "sequence",
        "cluster",
    )


def _key(image: pl.Series, dataset: str) -> pl.Series:
    """What identifies an image, as the dataset's own reader says it."""
    plain = image.str.strip_prefix("./").str.replace(r"\.[A-Za-z]+$", "")
    key = image.str.extract(_KEYS[dataset], 1)
    return pl.select(pl.coalesce(key, plain).str.replace("/color/", "/", literal=True).alias("key")).to_series()


def _origin(image: pl.Series, key: pl.Series, file: QuestionFile) -> pl.DataFrame:
    """``subject, sequence, cluster`` of each image, null where its path does not tell."""
    if file.dataset == "freihand":
        # The four versions of a training image share their pose.
        number = key.str.extract(r"^(\d+)$", 1).cast(pl.Int64)
        pose = (number % _POSES).cast(pl.String).str.zfill(8)
        subject = sequence = pl.Series([None] * len(key), dtype=pl.String)
        cluster = pl.select(pl.coalesce(pose, key)).to_series()
    elif file.dataset == "interhand":
        subject = pl.Series([None] * len(key), dtype=pl.String)
        sequence = key.str.extract(r"^Capture(\d+/[^/]+)/", 1)
        frame = key.str.extract(r"image(\d+)$", 1).cast(pl.Int64).cast(pl.String)
        cluster = pl.select(pl.coalesce(sequence + "/" + frame, key)).to_series()
    else:
        subject = key.str.extract(r"^Subject_(\d+)/", 1)
        sequence = key.str.extract(r"^(Subject_\d+/[^/]+/[^/]+)/", 1)
        cluster = pl.select(pl.coalesce(sequence, key)).to_series()
    return pl.DataFrame({"subject": subject.cast(WORD), "sequence": sequence.cast(WORD), "cluster": cluster})
