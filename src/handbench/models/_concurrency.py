"""How many requests may be under way at one server: more while it pays, half when the server says stop."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

_WORTH: Final = 1.05
"""A step up is kept when the rate grew by this factor."""
_FORGET: Final = 0.98
"""How fast the best rate fades, so that a server that became faster is noticed."""


@dataclass
class AdaptiveLimit:
    """Limit on requests under way.

    By Little's law the rate is ``limit / latency`` while the limit is filled.  After each round (as many
    replies as the limit) the rate is compared with the best one so far: as long as it grows, latency holds
    and the limit goes up, by half at first and by one once the server has been too busy.  A server that
    answers one request after the other shows latency growing with the limit, and the limit stays.

    Attributes:
        most: the limit never exceeds this.
        limit: requests that may be under way now.
    """

    most: int
    limit: int = 8
    _best: float = 0.0
    _replies: int = 0
    _seconds: float = 0.0
    _was_busy: bool = False
    _cooling: int = field(default=0)

    def __post_init__(self) -> None:
        self.limit = max(1, min(self.limit, self.most))

    def replied(self, seconds: float) -> None:
        """Count a good reply and the time that it took."""
        self._replies += 1
        self._seconds += seconds
        self._cooling = max(0, self._cooling - 1)
        if self._replies < self.limit:
            return
        rate = self.limit * self._replies / max(self._seconds, 1e-9)
        if rate > self._best * _WORTH:
            self._best = rate
            step = 1 if self._was_busy else max(1, self.limit // 2)
            self.limit = min(self.most, self.limit + step)
        else:
            self._best *= _FORGET
        self._replies, self._seconds = 0, 0.0

    def too_busy(self) -> None:
        """Halve; the other requests of the same burst, already under way, do not halve it again."""
        if self._cooling:
            return
        self._cooling = self.limit
        self.limit = max(1, self.limit // 2)
        self._best *= 0.5
        self._was_busy = True
        self._replies, self._seconds = 0, 0.0
