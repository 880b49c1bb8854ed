"""Questions → what is to be said: one image with all that is asked about it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from handbench.errors import HandbenchError
from handbench.models._plan import plan
from handbench.models._request import Ask
from handbench.replies.speak import right_replies


@dataclass(frozen=True)
class Lesson:
    """What is asked about the same images, and what is to be answered.

    Attributes:
        asks: the questions.
        replies: the right reply to each.
    """

    asks: tuple[Ask, ...]
    replies: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.asks)

    def single(self) -> Iterator[Lesson]:
        """Each question by itself."""
        for ask, reply in zip(self.asks, self.replies, strict=True):
            yield Lesson((ask,), (reply,))

    def few(self, count: int) -> Lesson:
        """The first questions."""
        return Lesson(self.asks[:count], self.replies[:count])


def lessons(questions: pl.DataFrame) -> list[Lesson]:
    """Group questions by what they show.

    Args:
        questions: rows of the ``questions`` table with a truth.

    Raises:
        HandbenchError: a question has no right reply.
    """
    replies = right_replies(questions)
    if replies.null_count():
        row = questions.filter(replies.is_null()).row(0, named=True)
        raise HandbenchError(f"tune: {row['question_id']}: its right answer is not among its options")
    made: list[Lesson] = []
    group: list[Ask] = []
    for ask in plan(questions):
        if group and (ask.images, ask.system) != (group[0].images, group[0].system):
            made.append(_lesson(group, replies))
            group = []
        group.append(ask)
    if group:
        made.append(_lesson(group, replies))
    return made


def _lesson(asks: list[Ask], replies: pl.Series) -> Lesson:
    return Lesson(tuple(asks), tuple(str(replies[ask.rows[0]]) for ask in asks))


def read_mix(path: Path) -> list[Lesson]:
    """Read an instruction-alignment set: JSON lines as ms-swift has them, images being absolute or beside the file.

    Args:
        path: each line ``{"messages": [{"role": "user", "content": ...}, {"role": "assistant", ...}],
            "images": [...]}``.

    Raises:
        HandbenchError: a line is not of that form.
    """
    made = []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise HandbenchError(f"--mix {path}: {error}") from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            made.append(_mixed(json.loads(line), path))
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise HandbenchError(
                f'{path}, line {number}: expected {{"messages": [user, assistant], "images": [...]}}: {error}'
            ) from None
    if not made:
        raise HandbenchError(f"--mix {path}: holds no line")
    return made


def _mixed(row: dict[str, Any], path: Path) -> Lesson:
    roles = [message["role"] for message in row["messages"]]
    if roles not in (["user", "assistant"], ["system", "user", "assistant"]):
        raise ValueError(f"one question and one answer, not {', '.join(map(str, roles))}")
    said = {message["role"]: message["content"] for message in row["messages"]}
    if not all(isinstance(text, str) and text.strip() for text in said.values()):
        raise ValueError("contents must be text, and not empty")
    shown = row.get("images") or []
    if not isinstance(shown, list):
        raise ValueError("images must be a list")
    places = tuple(str(path.parent / image) for image in shown)  # an absolute path stays as it is
    if missing := [place for place in places if not Path(place).is_file()]:
        raise ValueError(f"no image {missing[0]}")
    prompt = said["user"].replace("<image>", "").strip()
    return Lesson((Ask((0,), places, said.get("system", ""), prompt),), (said["assistant"],))
