"""What goes wrong when a model is asked, sorted by what is to be done about it."""

from __future__ import annotations

import re
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from handbench.errors import HandbenchError

BUSY: Final = "busy"
"""The server has too much to do: wait, send less, ask again."""
PASSING: Final = "passing"
"""The line broke or the server stumbled: ask again."""
MALFORMED: Final = "malformed"
"""What came back is no chat reply: ask again, a few times."""
FATAL: Final = "fatal"
"""The request itself was refused: asking again is of no use."""
SETUP: Final = "setup"
"""Wrong key, model name or address: no question will fare better."""
AWAY: Final = "away"
"""Nobody answers at the address: ask again; if that stays so, no question will fare better."""
IMAGE: Final = "image"
"""The image is missing, damaged or of an unknown kind: nothing was sent."""

_NOT_THE_QUESTION: Final = {SETUP, AWAY}

IDENTICAL: Final = 5
"""Failures of one kind, with no success between them, after which asking stops."""
ANY: Final = 50
"""Failures of any kind, with no success between them, after which asking stops."""

_VARYING = re.compile(r"\d+|[0-9a-f]{8,}")


class Trouble(Exception):
    """One request failed.

    Attributes:
        kind: one of the kinds above.
        words: what the server, or the line, said.
        status: HTTP status, where there was one.
        wait: seconds that the server asks to wait.
    """

    def __init__(self, kind: str, words: str, status: int | None = None, wait: float | None = None) -> None:
        super().__init__(words)
        self.kind = kind
        self.words = words
        self.status = status
        self.wait = wait

    def __str__(self) -> str:
        code = f" (HTTP {self.status})" if self.status is not None else ""
        return f"{self.kind}{code}: {self.words}"

    @property
    def identity(self) -> Hashable:
        """Equal for failures that say the same: numbers and request ids are left out."""
        return self.kind, self.status, _VARYING.sub("#", self.words) if self.kind != IMAGE else ""


Held = TypeVar("Held")


@dataclass
class Patience(Generic[Held]):
    """Tells failures of single questions from a setup that does not work.

    Failures are held back until a question succeeds.  Then they were the fault of their questions and are
    handed out, to be stored.  Where failures that say the same pile up instead, the questions are not at
    fault: asking stops, and nothing is stored about them.

    A question is counted by what it is about (its images), so that the many questions of one damaged image
    count as one; a failure that cannot be the question's fault counts every time.

    Attributes:
        where: what to call the model's address in the error.
        ever: whether any question has ever succeeded.
    """

    where: str
    ever: bool = False
    _held: list[tuple[Held, Trouble]] = field(default_factory=list)
    _seen: dict[Hashable, set[Hashable]] = field(default_factory=dict)
    _subjects: set[Hashable] = field(default_factory=set)

    def succeeded(self) -> list[tuple[Held, Trouble]]:
        """Note a success; what was held back is handed out."""
        self.ever = True
        if not self._held:
            return []
        held, self._held = self._held, []
        self._seen, self._subjects = {}, set()
        return held

    def failed(self, item: Held, trouble: Trouble, subject: Hashable) -> None:
        """Note a failure.

        Raises:
            HandbenchError: too many failures in a row.
        """
        self._held.append((item, trouble))
        about = len(self._held) if trouble.kind in _NOT_THE_QUESTION else subject
        same = self._seen.setdefault(trouble.identity, set())
        same.add(about)
        self._subjects.add(about)
        if len(same) >= IDENTICAL:
            raise HandbenchError(f"{self.where}: stopped after {len(same)} failures alike: {trouble}")
        if len(self._subjects) >= ANY:
            raise HandbenchError(
                f"{self.where}: stopped after {len(self._subjects)} failures in a row, the last: {trouble}"
            )

    def ended(self) -> list[tuple[Held, Trouble]]:
        """The last question is through: hand out what is held.

        Raises:
            HandbenchError: the setup is at fault, not the questions.
        """
        for _, trouble in self._held:
            if trouble.kind in _NOT_THE_QUESTION:
                raise HandbenchError(f"{self.where}: {trouble}")
        if not self.ever and len(self._held) >= IDENTICAL and len(self._seen) == 1:
            last = self._held[-1][1]
            if last.kind != IMAGE:
                raise HandbenchError(f"{self.where}: all {len(self._held)} questions failed alike: {last}")
        return self.succeeded()
