"""The question sheet: hands with their skeleton, and what was asked, true and answered about each."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from PIL import Image, UnidentifiedImageError

from handbench.hand.skeleton import BONES, JOINT_INDEX
from handbench.reports.drawing import TITLES

LARGEST_SIDE: Final = 360
LONGEST_REPLY: Final = 600

KEY = ["question_id", "variant"]


@dataclass(frozen=True)
class Reply:
    """What one model said to a question."""

    model: str
    text: str
    status: str
    correct: bool


@dataclass(frozen=True)
class Question:
    """One question of a card."""

    descriptor: str
    about: str
    joints: tuple[int, ...]
    options: tuple[str, ...]
    truth: int
    value: str
    margin: str
    replies: tuple[Reply, ...]


@dataclass(frozen=True)
class Card:
    """One hand: the picture, its skeleton in shares of the picture's sides, its questions."""

    hand_id: str
    picture: str | None
    missing: str
    aspect: float
    bones: tuple[tuple[float, float, float, float], ...]
    joints: tuple[tuple[float, float], ...]
    questions: tuple[Question, ...]


def pick(questions: pl.DataFrame, hands: int) -> list[str]:
    """Hands for the sheet, evenly spread over the table's order."""
    ids = questions["hand_id"].unique(maintain_order=True)
    step = max(1, ids.len() // hands)
    return ids.gather_every(step).head(hands).to_list()


def cards(
    root: Path, questions: pl.DataFrame, answers: pl.DataFrame, readings: pl.DataFrame, hands: pl.DataFrame
) -> list[Card]:
    """Cards for the hands given.

    Args:
        root: folder of the images.
        questions: rows of the ``questions`` table of those hands.
        answers: the ``answers`` to them.
        readings: the ``readings`` of those.
        hands: the ``hands`` rows, in the order wanted.
    """
    said = answers.join(readings, on=[*KEY, "model", "repeat"], how="inner").filter(pl.col("repeat") == 0)
    by_key: dict[tuple[Any, ...], list[Reply]] = {}
    for row in said.iter_rows(named=True):
        text = row["reply"] if row["reply"] is not None else ""
        reply = Reply(row["model"], text[:LONGEST_REPLY], row["status"], row["correct"])
        by_key.setdefault(tuple(row[key] for key in KEY), []).append(reply)
    by_hand: dict[str, list[Question]] = {}
    for row in questions.iter_rows(named=True):
        question = _question(row, by_key.get(tuple(row[key] for key in KEY), []))
        by_hand.setdefault(row["hand_id"], []).append(question)
    return [_card(root, row, by_hand.get(row["hand_id"], [])) for row in hands.iter_rows(named=True)]


def _question(row: dict[str, Any], replies: list[Reply]) -> Question:
    a, b = row["about_joint_a"], row["about_joint_b"]
    unit = "°" if row["about_descriptor"] == "angle" else " hand sizes"
    digits = 1 if row["about_descriptor"] == "angle" else 3
    return Question(
        descriptor=row["about_descriptor"],
        about=f"{TITLES[row['about_descriptor']]}: {_plain(a)}" + (f" – {_plain(b)}" if b else ""),
        joints=tuple(JOINT_INDEX[joint] for joint in (a, b) if joint),
        options=tuple(row["options"]),
        truth=row["truth_index"],
        value=_number(row["truth_value"], digits, unit),
        margin=_number(row["truth_margin"], digits, unit),
        replies=tuple(replies),
    )


def _number(value: float | None, digits: int, unit: str) -> str:
    """A measured value; released questions tell none."""
    return "not told" if value is None else f"{value:.{digits}f}{unit}"


def _plain(joint: str) -> str:
    finger, _, segment = joint.partition("_")
    return f"{finger} {segment.upper() if segment != 'tip' else segment}".strip()


def _card(root: Path, row: dict[str, Any], questions: list[Question]) -> Card:
    path = root / row["image"]
    try:
        with Image.open(path) as image:
            width, height = image.size
            picture, missing = thumbnail(image), ""
    except (OSError, UnidentifiedImageError):
        width, height, picture, missing = 1, 1, None, f"image not at hand: {path}"
    shares: list[tuple[float, float]] = []
    if row["joints_px"] is not None and picture:
        points = np.asarray(row["joints_px"], float) / [width, height]
        shares = [(float(x), float(y)) for x, y in np.where(np.isfinite(points), points, -1.0)]
    bones = tuple((*shares[a], *shares[b]) for a, b in BONES if shares and min(*shares[a], *shares[b]) > -1)
    return Card(row["hand_id"], picture, missing, height / width, bones, tuple(shares), tuple(questions))


def thumbnail(image: Image.Image) -> str:
    """An image, made small enough, as a data URL."""
    small = image.convert("RGB")
    small.thumbnail((LARGEST_SIDE, LARGEST_SIDE))
    buffer = io.BytesIO()
    small.save(buffer, format="JPEG", quality=82)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode()
