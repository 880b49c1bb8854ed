"""A repeated option list, which says nothing about the answer."""

from __future__ import annotations

from handbench.replies.evidence import Evidence

_PLAIN = ("letter-text", "letter", "text", "mentioned")


def without_listing(found: list[Evidence], lower: str, count: int) -> list[Evidence]:
    """Drop a repeated option list: every option in order, each labelled with its text or on a line of its own."""
    out: list[Evidence] = []
    place = 0
    while place < len(found):
        if _lists_all(found[place : place + count], lower, count):
            place += count
            continue
        out.append(found[place])
        place += 1
    return out


def _lists_all(run: list[Evidence], lower: str, count: int) -> bool:
    if len(run) < count or count < 2 or any(item.choices != {index} for index, item in enumerate(run)):
        return False
    if any(item.rule not in _PLAIN and not (index == 0 and item.labelled) for index, item in enumerate(run)):
        return False
    if all(item.labelled for item in run):
        return True
    lettered = all(item.letter and not item.labelled for item in run)
    return lettered and all(_has_own_line(item, lower) for item in run)


def _has_own_line(item: Evidence, lower: str) -> bool:
    """Whether a letter starts a line and words follow on it."""
    before = lower[max(0, item.start - 6) : item.start].rsplit("\n", 1)
    line = lower[item.end : item.end + 40].split("\n", 1)[0]
    starts = (len(before) > 1 or item.start < 6) and not before[-1].strip(" ([-")
    return starts and any(sign.isalpha() for sign in line)
