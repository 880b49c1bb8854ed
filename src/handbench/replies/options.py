"""What is prepared once for a list of options: folded texts, a pattern that finds them, their telling words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from handbench.replies.folding import fold
from handbench.replies.hands import Part, hand_parts

_MARKUP = re.compile(r"[*~\\${}]|(?<![^\W_])_+|_+(?![^\W_])")
_GAPS = re.compile(r"[\s_\-]+")
_OUTER = " \t\n.,;:!?\"'()[]<>"
_ARTICLE = re.compile(r"(?:the|an?) (?=\S)")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
# Scripts written without blanks between words need no word boundary.
LATIN = "0-9A-Za-z_\u00c0-\u02af\u0370-\u052f"
_STOP = frozenset(
    [
        "a",
        "an",
        "the",
        "is",
        "are",
        "was",
        "were",
        "be",
        "of",
        "to",
        "at",
        "in",
        "on",
        "from",
        "by",
        "with",
        "for",
        "and",
        "or",
        "it",
        "its",
        "this",
        "that",
        "these",
        "those",
        "as",
    ]
)


def plain(text: str) -> str:
    """Folded text with mark-up signs blanked; as long as ``text``."""
    return _MARKUP.sub(lambda found: " " * len(found.group()), fold(text))


def key(text: str) -> str:
    """The form under which a text is looked up: lower case, no outer punctuation, single blanks."""
    return _GAPS.sub(" ", text.lower().strip(_OUTER)).strip(_OUTER)


@dataclass(frozen=True)
class Prepared:
    """An option list, ready to be looked for.

    Attributes:
        count: Number of options.
        exact: Key of an option text to its index; texts that fold alike are left out.
        pattern: Finds option texts in lower-case plain text; None when no text can be told apart.
        words: Per option, its telling words (those that not every option has).
        needed: Per option, the sets of options in which its telling words occur.
        spread: Telling word to the set of options that have it.
        parts: Per option, the hand parts named in it, in order.
        short: Whether every option is a label of at most three words.
        sentences: Whether every option is a text of at least four words.
        letters: Whether some option text is itself a single letter.
    """

    count: int
    exact: dict[str, int]
    pattern: re.Pattern[str] | None
    words: tuple[frozenset[str], ...]
    needed: tuple[frozenset[frozenset[int]], ...]
    spread: dict[str, frozenset[int]]
    parts: tuple[tuple[Part, ...], ...]
    short: bool
    sentences: bool
    letters: bool


def _exact(keys: Sequence[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for index, text in enumerate(keys):
        if text and keys.count(text) == 1:
            found[text] = index
    for index, text in enumerate(keys):
        bare = _ARTICLE.sub("", text, count=1) if _ARTICLE.match(text) else text
        if text in found and bare not in found:
            found[bare] = index
    return found


def _pattern(texts: Sequence[str]) -> re.Pattern[str] | None:
    if not texts:
        return None
    branches = []
    for text in sorted(texts, key=len, reverse=True):
        body = r"[\s_\-]{1,3}".join(re.escape(part) for part in text.split(" "))
        left = f"(?<![{LATIN}])" if re.match(f"[{LATIN}]", text) else ""
        right = f"(?![{LATIN}])" if re.match(f"[{LATIN}]", text[-1]) else ""
        branches.append(f"{left}{body}{right}")
    return re.compile("|".join(branches))


@lru_cache(maxsize=8192)
def prepare(options: tuple[str, ...]) -> Prepared:
    """Prepare an option list; cached, since a question set has few different lists."""
    keys = [key(plain(option)) for option in options]
    exact = _exact(keys)
    tokens = [frozenset(_WORD.findall(text)) for text in keys]
    common = frozenset.intersection(*tokens) if tokens else frozenset()
    telling = [words - common - _STOP for words in tokens]
    if len(set(telling)) < len(telling) or not all(telling):
        telling = [words - common for words in tokens]
    spread = {
        word: frozenset(index for index, words in enumerate(telling) if word in words)
        for word in frozenset().union(*telling)
    }
    return Prepared(
        count=len(options),
        exact=exact,
        pattern=_pattern(list(exact)),
        words=tuple(telling),
        needed=tuple(frozenset(spread[word] for word in words) for words in telling),
        spread=spread,
        parts=tuple(hand_parts(text) for text in keys),
        short=all(len(text.split()) <= 3 for text in keys),
        sentences=all(len(text.split()) > 3 for text in keys),
        letters=any(len(text) == 1 for text in keys),
    )
