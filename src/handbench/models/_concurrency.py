"""How many requests may be under way at one server: more while it pays, half when the server says stop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_WORTH: Final = 0.2
"""A step up is kept when the rate grew by more than this share of what the limit grew by."""
_REST: Final = 16
"""Rounds without a new try after a step up that was not worth it."""


@dataclass
class AdaptiveLimit:
    """Limit on requests under way.

    By Little's law the rate is ``limit / latency`` while the limit is filled.  A step up is tried for a round (as many
    replies as the limit) and kept if the rate grew with it: latency held.  Else the limit goes back and rests, so a
    server that answers one request after the other keeps a short queue.  Steps are by half at first, and by one
    once the server has been too busy.

    Attributes:
        most: the limit never exceeds this.
        limit: requests that may be under way now.
    """

    most: int
    limit: int = 8
    _kept: int = 0
    _rate: float = 0.0
    _rest: int = 0
    _replies: int = 0
    _seconds: float = 0.0
    _was_busy: bool = False
    _cooling: int = 0

    def __post_init__(self) -> None:
        self.limit = self._kept = max(1, min(self.limit, self.most))

    def replied(self, seconds: float) -> None:
        """Count a good reply and the time that it took."""
        self._replies += 1
        self._seconds += seconds
        self._cooling = max(0, self._cooling - 1)
        if self._replies < self.limit:
            return
        rate = self.limit * self._replies / max(self._seconds, 1e-9)
        self._replies, self._seconds = 0, 0.0
        step = self.limit / self._kept - 1
        if step > 0 and rate <= self._rate * (1 + _WORTH * step):
            self.limit, self._rest = self._kept, _REST
            return
        self._kept, self._rate = self.limit, rate
        if self._rest:
            self._rest -= 1
        else:
            self.limit = min(self.most, self.limit + (1 if self._was_busy else max(1, self.limit // 2)))

    def too_busy(self) -> None:
        """Halve; the other requests of the same burst, already under way, do not halve it again."""
        if self._cooling:
            return
        self._cooling = self.limit
        self.limit = self._kept = max(1, self.limit // 2)
        self._was_busy, self._rate, self._rest = True, 0.0, 0
        self._replies, self._seconds = 0, 0.0
