"""How the word tables of the replies room become regular expressions."""

from __future__ import annotations

from collections.abc import Mapping

# A word starts here: scripts with blanks between words only.
START = r"(?<![^\W_])"
# A word ends here.
STOP = r"(?![^\W_])"
# From the last word of a phrase to the mention it presents: quotes, brackets, a colon, an arrow.
LEAD = r"[\s\"'(\[<]*(?:[:=→⇒—–]|-{1,2}>|=>|-|>|,)?[\s\"'(\[<:]*\Z"


def any_of(table: Mapping[str, str]) -> str:
    """One group of all alternatives of a table (language → alternatives joined by ``|``)."""
    return "(?:" + "|".join(table.values()) + ")"


def whole(table: Mapping[str, str]) -> str:
    """Like ``any_of``, as whole words."""
    return START + any_of(table) + STOP


def words(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(text.split())
