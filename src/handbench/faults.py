"""Bad rows of outside data: the first one stops the work, or each is left out and counted by its reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from handbench.errors import HandbenchError

Item = TypeVar("Item")
Value = TypeVar("Value")


class Faults:
    """What is done about a bad row, and a count of those left out.

    Attributes:
        keep_going: whether a bad row is left out; else its error is raised.
        counts: rows left out, by reason.
        firsts: what the first error of each reason said.
    """

    def __init__(self, keep_going: bool = False) -> None:
        self.keep_going = keep_going
        self.counts: dict[str, int] = {}
        self.firsts: dict[str, str] = {}

    def bad(self, error: HandbenchError, rows: int = 1) -> None:
        """Leave rows out for an error, or raise it."""
        if not self.keep_going:
            raise error
        self.counts[error.reason] = self.counts.get(error.reason, 0) + rows
        self.firsts.setdefault(error.reason, str(error))

    def each(self, items: Iterable[Item], read: Callable[[Item], Value]) -> tuple[list[int], list[Value]]:
        """Read items one by one.

        Args:
            items: N things to read, such as paths.
            read: reads one, or raises :class:`HandbenchError`.

        Returns:
            The places, of 0 to N - 1, of the good ones, and what was read there.
        """
        places: list[int] = []
        values: list[Value] = []
        for place, item in enumerate(items):
            try:
                values.append(read(item))
            except HandbenchError as error:
                self.bad(error)
                continue
            places.append(place)
        return places, values

    def good(self, good: NDArray[np.bool_], reason: str, tell: Callable[[int], str]) -> NDArray[np.bool_]:
        """Which rows may stay.

        Args:
            good: (N,) what is known of each row.
            reason: a few words for the count.
            tell: row number → the one line that is said of the first bad row.

        Returns:
            ``good`` itself.

        Raises:
            HandbenchError: a row is bad and bad rows are not to be left out.
        """
        bad = np.flatnonzero(~good)
        if len(bad):
            self.bad(HandbenchError(tell(int(bad[0])), reason), len(bad))
        return good

    def take(self) -> tuple[dict[str, int], list[str]]:
        """Counts by reason and a line for the first of each; both begin anew."""
        counts, firsts = self.counts, self.firsts
        self.counts, self.firsts = {}, {}
        return counts, [f"left out, {counts[reason]} for {reason}: {first}" for reason, first in firsts.items()]
