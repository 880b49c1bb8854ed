"""Replies → boxes and words: one reader, the declared frame, the recorded size; chains by their own steps."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from handbench import tables
from handbench.errors import HandbenchError
from handbench.replies.box import Box, BoxReading, BoxStatus, read_box
from handbench.replies.families import Family
from handbench.replies.frames import Placement, Size
from handbench.replies.name import NOTHING, read_name
from handbench.stats.boxes import iou
from handbench.tasks.pointing.options import seen_by, speaks_of
from handbench.tasks.pointing.svcot import SpatialChain, read_chain, told_by

KEY: Final = ["question_id", "variant"]
RIGHT: Final = 0.5
"""A box whose IoU is at least this counts as ``correct``."""

_NEEDED: Final = ("kind", "image_size", "hand_box", "truth_box", "truth_text", "options")
_CONFIDENCE = re.compile(
    r"[\"']?(?:confidence|score)[\"']?\s*[:=]\s*[\"']?(0?\.\d{1,40}|0|1(?:\.0{0,40})?)(?![\d.])", re.IGNORECASE
)


@dataclass(frozen=True)
class _Read:
    """What a reply came to."""

    status: BoxStatus
    rule: str
    span: tuple[int, int] | None = None
    box: Box | None = None
    written: Box | None = None
    confidence: float | None = None
    text: str | None = None


def read(questions: pl.DataFrame, answers: pl.DataFrame) -> pl.DataFrame:
    """Read the replies to pointing questions.

    Args:
        questions: the ``questions`` table.
        answers: the ``answers`` table, every turn, any number of models and repeats.

    Returns:
        The ``readings`` table, a row for each question, model and repeat, in the order of the answers.

    Raises:
        HandbenchError: an answer belongs to no question.
    """
    rows = answers.join(questions.select(*KEY, *_NEEDED), on=KEY, how="left", maintain_order="left")
    stray = rows.filter(pl.col("kind").is_null())
    if stray.height:
        raise HandbenchError(f"{stray.height} answers belong to no question here, the first to {stray[0, KEY[0]]!r}")
    turns: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows.sort("turn", maintain_order=True).iter_rows(named=True):
        turns.setdefault(tuple(row[name] for name in (*KEY, "model", "repeat")), []).append(row)
    order = rows.select(*KEY, "model", "repeat").unique(maintain_order=True)
    families: dict[str, Family] = {}
    chains: dict[str, SpatialChain | None] = {}
    found, last = [], []
    for key in order.iter_rows():
        said = turns[key]
        _, variant, model, _ = (str(part) for part in key)
        speaks = families.setdefault(variant, speaks_of(variant))
        chain = chains.setdefault(model, told_by(model)) if model not in chains else chains[model]
        found.append(_read(said, speaks, chain))
        last.append(said[-1])
    return _table(order, found, last, _labels(found, last, families))


def _labels(found: list[_Read], last: list[dict[str, Any]], families: dict[str, Family]) -> list[str | None]:
    """What each answer points out, by the candidate's place in the scene, so that controls can be compared."""
    known: dict[tuple[Any, ...], NDArray[np.float64]] = {}
    labels: list[str | None] = []
    for one, row in zip(found, last, strict=True):
        if str(row["kind"]) == "text":
            labels.append(one.text)
        elif one.box is None:
            labels.append(NOTHING if one.status is BoxStatus.REJECTED else None)
        else:
            speaks, size = families[str(row["variant"])], tuple(row["image_size"])
            key = (str(row["variant"]), size, tuple(row["options"]))
            boxes = known.setdefault(key, _candidates(row["options"], speaks, size)) if key not in known else known[key]
            overlap = iou(np.array(one.box), boxes)
            best = int(overlap.argmax()) if len(overlap) else -1
            labels.append(f"candidate {best + 1}" if best >= 0 and overlap[best] >= RIGHT else "elsewhere")
    return labels


def _candidates(options: list[str], speaks: Family, size: Size) -> NDArray[np.float64]:
    """(T, 4) boxes of the candidates, from the replies that would say them."""
    lies = speaks.placement(size)
    read = [read_box(option, speaks.frame, size, lies, layout=speaks.layout).box for option in options]
    return np.array([box for box in read if box is not None], np.float64).reshape(-1, 4)


def placement(row: dict[str, Any], speaks: Family) -> tuple[Size, Placement]:
    """Size of the original image and how it lay in what the model got, by an answer joined to its question."""
    size = int(row["image_size"][0]), int(row["image_size"][1])
    sizes = row.get("sent_sizes")
    sent = sizes[0] if sizes else None
    return size, seen_by(speaks, size, None if sent is None else (int(sent[0]), int(sent[1])))


def _read(said: list[dict[str, Any]], speaks: Family, chain: SpatialChain | None) -> _Read:
    row = said[-1]
    if str(row["kind"]) == "text":
        text, status, rule = read_name(row["reply"], str(row["finish"]))
        return _Read(status, rule, text=text)
    size, lies = placement(row, speaks)
    if chain is not None:
        return _chained(said, speaks, chain, size, lies)
    one: BoxReading = read_box(row["reply"], speaks.frame, size, lies, finish=str(row["finish"]), layout=speaks.layout)
    stated = _CONFIDENCE.search(row["reply"] or "")
    confidence = None if stated is None else float(stated[1])
    return _Read(one.status, one.rule, one.span, one.box, one.written, confidence)


def _chained(said: list[dict[str, Any]], speaks: Family, chain: SpatialChain, size: Size, lies: Placement) -> _Read:
    replies = [row["reply"] or "" for row in said]
    if not replies[-1].strip() or str(said[-1]["finish"]) == "length":
        plain = read_box(said[-1]["reply"], speaks.frame, size, lies, finish=str(said[-1]["finish"]))
        if plain.status in (BoxStatus.EMPTY, BoxStatus.REFUSED, BoxStatus.TRUNCATED):
            return _Read(plain.status, plain.rule)
    made = read_chain(replies, said[0]["hand_box"], speaks, size, lies, chain.tau)
    if made.status is BoxStatus.UNPARSED and not made.candidates:
        plain = read_box(replies[-1], speaks.frame, size, lies, finish=str(said[-1]["finish"]))
        if plain.status in (BoxStatus.REFUSED, BoxStatus.REJECTED):
            return _Read(plain.status, plain.rule)
    return _Read(made.status, f"{chain.name.partition('?')[0]}: {made.rule}", None, made.box, None, made.confidence)


def _table(
    order: pl.DataFrame, found: list[_Read], last: list[dict[str, Any]], labels: list[str | None]
) -> pl.DataFrame:
    nothing = [float("nan")] * 4
    boxes = np.array([one.box or nothing for one in found]).reshape(-1, 4)
    truths = np.array([row["truth_box"] or nothing for row in last]).reshape(-1, 4)
    overlap = iou(boxes, truths)
    asks_box = np.array([str(row["kind"]) == "box" for row in last], dtype=bool)
    positive = np.array([row["truth_box"] is not None for row in last], dtype=bool)
    rejected = np.array([one.status is BoxStatus.REJECTED for one in found], dtype=bool)
    named = [
        (NOTHING if row["truth_text"] is None else read_name(row["truth_text"])[0]) == one.text
        for one, row in zip(found, last, strict=True)
    ]
    correct = np.where(asks_box, np.where(positive, overlap >= RIGHT, rejected), np.array(named, dtype=bool))
    status = [
        BoxStatus.OK if not box and one.status is BoxStatus.REJECTED else one.status
        for box, one in zip(asks_box, found, strict=True)
    ]
    spans = [one.span or (None, None) for one in found]
    columns: dict[str, pl.Series] = {
        "status": pl.Series([str(one) for one in status], dtype=pl.String),
        "rule": pl.Series([one.rule for one in found], dtype=pl.String),
        "span_start": pl.Series([span[0] for span in spans], dtype=pl.Int32),
        "span_end": pl.Series([span[1] for span in spans], dtype=pl.Int32),
        "label": pl.Series(labels, dtype=pl.String),
        "correct": pl.Series(correct, dtype=pl.Boolean),
        "box": pl.Series([None if one.box is None else list(one.box) for one in found], dtype=tables.BOX),
        "written": pl.Series([None if one.written is None else list(one.written) for one in found], dtype=tables.BOX),
        "iou": pl.Series(np.where(asks_box & positive, overlap, np.nan), dtype=pl.Float32).fill_nan(None),
        "confidence": pl.Series([one.confidence for one in found], dtype=pl.Float32),
        "text": pl.Series([one.text for one in found], dtype=pl.String),
    }
    return tables.conform(order.with_columns(**columns), "readings", "the readings")
