"""Reply → gesture and safety label (SafeGesture, section 3.5)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any, Final

import polars as pl

from handbench.errors import HandbenchError
from handbench.replies import Field, Status, read_fields
from handbench.replies.fields_values import OTHER, words
from handbench.tasks.safegesture.cells import Cells
from handbench.tasks.safegesture.cells_file import GESTURES, LABELS, PAPER

KEY: Final = ["question_id", "variant"]

GESTURE: Final = "gesture"
SAFETY: Final = "safety_label"
FREE: Final = ("system_behavior", "explanation")
"""Fields that are kept as written and not scored (Tasks 3 and 4)."""


@dataclass(frozen=True)
class SafetyReading:
    """One reply, understood.

    Attributes:
        gesture: the gesture named, None where it is not readable.
        safety: the safety label, None where it is not readable (INVALID).
        behavior: what the system should do, in the reply's own words.
        explanation: in the reply's own words.
        status: as in :class:`handbench.replies.FieldsReading`.
        rule: the rule that decided.
        written: what stood in each field.
    """

    gesture: str | None
    safety: str | None
    behavior: str | None
    explanation: str | None
    status: Status
    rule: str
    written: dict[str, str]


@cache
def _data() -> dict[str, Any]:
    text = (files(__package__) / "fields.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


@cache
def fields(gestures: tuple[str, ...] = GESTURES, labels: tuple[str, ...] = LABELS) -> tuple[Field, ...]:
    """The four fields of a reply.

    Args:
        gestures: names that count as an answer; aliases of others name something else.
        labels: safety labels that count as an answer.
    """
    made = []
    for name, entry in _data().items():
        aliases = {
            alias: value if value in ("", *gestures) else OTHER for alias, value in entry.get("aliases", {}).items()
        }
        made.append(Field(name, frozenset(entry["key_words"]), frozenset(entry["fillers"]), aliases=aliases))
    gesture, safety, *free = made
    named = {name.replace("_", " "): name for name in gestures}
    named |= {" ".join(words(label)): OTHER for label in labels}  # "CRITICAL_STOP" is no stop gesture
    gesture = replace(gesture, labels=gestures, aliases={**gesture.aliases, **named})
    return gesture, replace(safety, labels=labels), *(replace(field, free=True) for field in free)


def read_reply(reply: str | None, *, finish: str = "stop", asked: Sequence[Field] | None = None) -> SafetyReading:
    """Read a reply.

    Args:
        reply: what the model wrote.
        finish: ``length`` where the reply was cut.
        asked: the fields, those of the paper by default.
    """
    found = read_fields(reply, asked or fields(), finish=finish)
    values = found.values
    return SafetyReading(
        values.get(GESTURE),
        values.get(SAFETY),
        values.get(FREE[0]),
        values.get(FREE[1]),
        found.status,
        found.rule,
        found.written,
    )


def read(questions: pl.DataFrame, answers: pl.DataFrame, cells: Cells = PAPER) -> pl.DataFrame:
    """Read the replies to SafeGesture items.

    Where an item was asked in several turns, gesture and label are those of the last turn that tells them; only the
    last turn may tell the label.

    Args:
        questions: the ``questions`` table.
        answers: the ``answers`` table, any number of models, repeats and turns.
        cells: gestures and labels that count as an answer.

    Returns:
        The ``readings`` table, one row per item, model and repeat in the order of their last turns; ``correct`` is of
        the safety label.

    Raises:
        HandbenchError: an answer belongs to no question.
    """
    key = [*KEY, "model", "repeat"]
    rows = answers.join(
        questions.select(*KEY, "about_gesture", "truth_category", "images"), on=KEY, how="left", maintain_order="left"
    ).with_columns((pl.col("turn") == pl.col("turn").max().over(key)).alias("last"))
    stray = rows.filter(pl.col("truth_category").is_null())
    if stray.height:
        raise HandbenchError(f"{stray.height} answers belong to no question here, the first to {stray[0, KEY[0]]!r}")
    rows = rows.with_columns((pl.col("images").list.len() > 0).alias("shown"))
    rows = _with_readings(rows, fields(cells.gesture_ids, cells.label_ids))
    before = (
        rows.filter(~pl.col("last") & pl.col("named").is_not_null())
        .sort("turn")
        .group_by(key, maintain_order=True)
        .agg(pl.col("named").last().alias("named_before"))
    )
    rows = rows.filter("last").join(before, on=key, how="left", maintain_order="left")
    gesture = pl.coalesce("named", "named_before")
    ok = pl.col("label").is_not_null() & (gesture.is_not_null() | ~pl.col("shown"))
    return rows.select(
        *key,
        pl.when(ok).then(pl.lit(Status.OK.value)).otherwise("status").alias("status"),
        "rule",
        (pl.col("label") == pl.col("truth_category").cast(pl.String)).fill_null(False).alias("correct"),
        pl.when("shown").then(gesture).alias("gesture"),
        pl.when("shown")
        .then((gesture == pl.col("about_gesture").cast(pl.String)).fill_null(False))
        .alias("gesture_correct"),
        "label",
    )


def _with_readings(rows: pl.DataFrame, asked: Sequence[Field]) -> pl.DataFrame:
    """Add ``status, rule, label`` and ``named``; equal replies, most of a run's, are read once."""
    said = [*rows.select("reply", pl.col("finish").cast(pl.String), "shown").iter_rows()]
    known = {
        (reply, finish, shown): read_reply(reply, finish=finish, asked=asked if shown else asked[1:])
        for reply, finish, shown in set(said)
    }
    found = [known[one] for one in said]
    return rows.with_columns(
        pl.Series("status", [one.status.value for one in found], dtype=pl.String),
        pl.Series("rule", [one.rule for one in found], dtype=pl.String),
        pl.Series("label", [one.safety for one in found], dtype=pl.String),
        pl.Series("named", [one.gesture for one in found], dtype=pl.String),
    )
