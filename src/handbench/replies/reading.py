"""What a reader hands back: the choice, how sure the text makes it, and the evidence."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """What became of a reply; only ``ok`` carries a choice."""

    OK = "ok"
    REFUSED = "refused"
    HEDGED = "hedged"
    OFF_LIST = "off_list"
    TRUNCATED = "truncated"
    EMPTY = "empty"
    ERROR = "error"
    UNPARSED = "unparsed"


def nothing_said(finish: str) -> Status:
    """What became of a reply without text, by why it ended.

    Args:
        finish: ``error`` where the request failed, ``content_filter`` where a filter stopped it.
    """
    return {"error": Status.ERROR, "content_filter": Status.REFUSED}.get(finish, Status.EMPTY)


@dataclass(frozen=True, slots=True)
class Reading:
    """One reply, understood.

    Attributes:
        choice: Index into the options; set if and only if ``status`` is ``ok``.
        status: What became of the reply.
        rule: Short name of the rule that decided.
        span: Start and end of the deciding slice of the original reply; None where nothing in it decided.
    """

    choice: int | None
    status: Status
    rule: str
    span: tuple[int, int] | None
