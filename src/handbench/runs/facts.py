"""What is known of a model besides its answers: one JSON line for each time that it was asked."""

from __future__ import annotations

import json
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from handbench.errors import HandbenchError
from handbench.protocols import TellsFacts

IDENTITY = "identity"
"""The entry of a model's facts that must stay the same while its answers are one row of the tables."""


def refuse_another(path: Path, name: str, model: TellsFacts) -> None:
    """Make sure that a model is the one that gave the answers there are: same weights, same chat template.

    Raises:
        HandbenchError: it is another, though its name is the same.
    """
    now = model.facts().get(IDENTITY, {})
    for session in sessions(path):
        before = session.get(IDENTITY, now)
        if changed := [key for key in now if key in before and before[key] != now[key]]:
            raise HandbenchError(
                f"{name}: its {changed[0]} is not the one that gave the answers in {path.parent} "
                f"({now[changed[0]]} now, {before[changed[0]]} then); another name= makes it a row of its own"
            )


class Session:
    """One time of asking a model: its facts and the seconds spent are written when the block ends, however."""

    def __init__(self, path: Path, model: TellsFacts | None) -> None:
        self.path = path
        self.model = model
        self._begun = time.monotonic()

    def __enter__(self) -> Self:
        self._begun = time.monotonic()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.model is None:
            return
        seconds = round(time.monotonic() - self._begun, 3)
        line = json.dumps({**self.model.facts(), "wall_seconds": seconds, "ended": kind is None})
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
        except OSError as failed:
            if error is None:  # else the error that ended the block tells more
                raise HandbenchError(f"{self.path}: cannot be written ({failed.strerror})") from None


def sessions(path: Path) -> list[dict[str, Any]]:
    """All sessions of a model, the earliest first; lines that were not written to their end are left out."""
    if not path.exists():
        return []
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return [session for session in found if isinstance(session, dict)]
