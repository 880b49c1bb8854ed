"""What is prepared once for a list of options: folded texts, the parts of the hand they name, their telling words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from handbench.replies.folding import fold
from handbench.replies.hands import Part, hand_parts
from handbench.replies.patterns import words

_MARKUP = re.compile(r"[*~\\${}]|(?<![^\W_])_+|_+(?![^\W_])")
_GAPS = re.compile(r"[\s_\-]+")
_OUTER = " \t\n.,;:!?\"'()[]<>"
_ARTICLE = re.compile(r"(?:the|an?) (?=\S)")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
# Scripts written without blanks between words need no word boundary.
LATIN = "0-9A-Za-z_\u00c0-\u02af\u0370-\u052f"
_PART_WORDS = words("finger fingers joint joints distal proximal little middle small left right other no")
_LETTER = re.compile(f"[{LATIN}]")
_RUN = re.compile(r"[\s_\-]{2,}")
_BLANKS = str.maketrans("_-\n", "   ")
STOP_WORDS = words("a an the is are was were be of to at in on from by with for and or it its this that these those as")


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
        words: Per option, its telling words (those that not every option has).
        every: Per option, all its words.
        needed: Per option, the sets of options in which its telling words occur.
        spread: Telling word to the set of options that have it.
        parts: Per option, the hand parts named in it, in order.
        predicate: Beginnings of the words that say what all options of a hand question state ("touches").
        hands: Whether every option is a sentence about named hand parts.
        short: Whether every option is a label of at most three words.
        sentences: Whether every option is a text of at least four words.
        letters: Whether some option text is itself a single letter.
    """

    count: int
    exact: dict[str, int]
    words: tuple[frozenset[str], ...]
    every: tuple[frozenset[str], ...]
    needed: tuple[frozenset[frozenset[int]], ...]
    spread: dict[str, frozenset[int]]
    parts: tuple[tuple[Part, ...], ...]
    predicate: frozenset[str]
    hands: bool
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


def find_texts(lower: str, prepared: Prepared) -> list[tuple[int, int, int]]:
    """Option texts in a text, longest first where they overlap.

    Comparing strings needs no pattern per option list, of which a question set has thousands.

    Args:
        lower: Lower-case plain text.
        prepared: The options.

    Returns:
        (start, end, option) in order of start.
    """
    flat, places = _flatten(lower)
    found: list[tuple[int, int, int]] = []
    for text, option in prepared.exact.items():
        start = flat.find(text)
        while start >= 0:
            end = start + len(text)
            first, last = (start, end) if places is None else (places[start], places[end - 1] + 1)
            if _stands_alone(lower, first, last):
                found.append((first, last, option))
            start = flat.find(text, end)
    found.sort(key=lambda span: (span[0], -span[1]))
    clean: list[tuple[int, int, int]] = []
    for span in found:
        if not clean or span[0] >= clean[-1][1]:
            clean.append(span)
    return clean


def _flatten(lower: str) -> tuple[str, list[int] | None]:
    """Text with single blanks between words, and where each character was (None: where it is)."""
    if _RUN.search(lower) is None:
        return lower.translate(_BLANKS), None
    parts: list[str] = []
    places: list[int] = []
    since = 0
    for run in _RUN.finditer(lower):
        parts.append(lower[since : run.start()].translate(_BLANKS))
        parts.append(" " if run.end() - run.start() <= 3 else "\n")
        places.extend(range(since, run.start() + 1))
        since = run.end()
    parts.append(lower[since:].translate(_BLANKS))
    places.extend(range(since, len(lower)))
    return "".join(parts), places


def _stands_alone(lower: str, start: int, end: int) -> bool:
    """Whether a text is no part of a longer word; scripts without blanks have no such parts."""
    before = start > 0 and _LETTER.match(lower[start]) and _LETTER.match(lower[start - 1])
    after = end < len(lower) and _LETTER.match(lower[end - 1]) and _LETTER.match(lower[end])
    return not before and not after


@lru_cache(maxsize=8192)
def prepare(options: tuple[str, ...]) -> Prepared:
    """Prepare an option list; cached, since a question set has few different lists."""
    keys = [key(plain(unicodedata.normalize("NFC", option))) for option in options]
    exact = _exact(keys)
    tokens = [frozenset(_WORD.findall(text)) for text in keys]
    common = frozenset.intersection(*tokens) if tokens else frozenset()
    telling = [words - common - STOP_WORDS for words in tokens]
    if len(set(telling)) < len(telling) or not all(telling):
        telling = [words - common for words in tokens]
    spread = {
        word: frozenset(index for index, words in enumerate(telling) if word in words)
        for word in frozenset().union(*telling)
    }
    parts = tuple(hand_parts(text) for text in keys)
    short = all(len(text.split()) <= 3 for text in keys)
    return Prepared(
        count=len(options),
        exact=exact,
        words=tuple(telling),
        every=tuple(tokens),
        needed=tuple(frozenset(spread[word] for word in words) for words in telling),
        spread=spread,
        parts=parts,
        predicate=frozenset(
            word[:5] for word in common - STOP_WORDS if not hand_parts(word) and word not in _PART_WORDS
        ),
        hands=not short and all(parts),
        short=short,
        sentences=all(len(text.split()) > 3 for text in keys),
        letters=any(len(text) == 1 for text in keys),
    )
