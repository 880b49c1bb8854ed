"""What became of one request."""

from __future__ import annotations

from typing import NamedTuple

from handbench.models._reply import ChatReply
from handbench.models._request import Ask
from handbench.models._trouble import Trouble


class Outcome(NamedTuple):
    """A reply, or the trouble that a request ended in.

    A request that a content filter stopped has both: a reply without text, and what the filter said.

    Attributes:
        ask: the request.
        reply: what the model said.
        trouble: why it said nothing.
        seconds: how long the last try took.
        sizes: width and height of each image as sent, pixels.
    """

    ask: Ask
    reply: ChatReply | None
    trouble: Trouble | None
    seconds: float | None
    sizes: tuple[tuple[int, int], ...] = ()
