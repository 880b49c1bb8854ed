"""Options put in order with signs: ``C > B > A``, or ``1. A 2. B`` behind the word ranking."""

from __future__ import annotations

import re

from handbench.replies.evidence import DECLARED, Evidence, Kind

_CHAIN = re.compile(r"(?<![^\W_])(?P<first>[A-H])(?:\s*[>≻›»]\s*[A-H](?![^\W_])){1,7}")
_NUMBERED = re.compile(
    r"\brank(?:ing|ed)?\b[^\n]{0,40}?:\s*1\s*[.):]\s*(?P<first>[A-H])\b[\s,;]*(?:\d\s*[.):]\s*[A-H]\b[\s,;]*)+",
    re.IGNORECASE,
)
_PLACED = re.compile(
    r"\b(?:1st|first)(?: place| choice)?\s*[:.)-]\s*(?P<first>[A-H])\b[\s,;]*"
    r"(?:(?:\d(?:nd|rd|th)|second|third|fourth|fifth)(?: place| choice)?\s*[:.)-]\s*[A-H]\b[\s,;]*)+",
    re.IGNORECASE,
)
_LETTERS = "ABCDEFGH"


def ranked_chain(text: str, count: int) -> Evidence | None:
    """The first option of an order of options, best first.

    Args:
        text: Plain visible text, case kept.
        count: Number of options; an order with a letter beyond them is none.
    """
    for pattern in (_CHAIN, _NUMBERED, _PLACED):
        found = pattern.search(text)
        if found is None:
            continue
        letters = re.findall(r"(?<![^\W_])[A-H](?![^\W_])", found.group())
        if len(set(letters)) == len(letters) > 1 and all(_LETTERS.index(letter) < count for letter in letters):
            choice = frozenset((_LETTERS.index(found["first"].upper()),))
            return Evidence(Kind.AFFIRM, choice, DECLARED, "ranking", *found.span())
    return None
