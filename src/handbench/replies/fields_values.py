"""What a value says: a label by exact match after folding, or a name by its aliases."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from handbench.replies.folding import fold

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_WORD = re.compile(r"[^\W_]+")
_JOINERS = str.maketrans("- ", "__")
_ARTICLES: Final = frozenset({"a", "an", "the", "his", "her", "their", "its"})
_NEGATIONS: Final = frozenset({"not", "no", "never", "neither", "nor", "without", "isn", "non"})
_BLANK = re.compile(r"\s*(?:\.{2,}|…+|[<\[{(][^<>\[\]{}()]{0,80}[>\]})]+|string|text|str|[_?-]*)\s*", re.IGNORECASE)


def words(text: str) -> list[str]:
    """Lower-case words of a text; underscores, hyphens, signs and humps of camel case divide them."""
    return _WORD.findall(_CAMEL.sub(" ", fold(text)).lower())


def is_blank(text: str | None) -> bool:
    """Whether a value only holds the place of one: nothing, dots, ``<label>``, ``string``."""
    return text is None or _BLANK.fullmatch(fold(text)) is not None


@dataclass(frozen=True)
class Field:
    """One thing that a reply is to tell.

    Attributes:
        name: what it is called in the reading, and the key that is asked for.
        keys: words any of which make a key of the reply mean this field (``safety``).
        fillers: words that such a key may have besides (``label``); any other word makes it another key.
        labels: the values allowed, matched whole: trimmed, one final full stop dropped, case, blanks and
            hyphens folded.
        aliases: alias → value, found inside the text between word borders, the longest first; two
            different values in one text are none.  Empty for a field that is matched whole.
        free: any text will do; it is kept as written.
    """

    name: str
    keys: frozenset[str]
    fillers: frozenset[str] = frozenset()
    labels: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict, hash=False)
    free: bool = False

    def names(self, key: str) -> bool:
        """Whether a key of a reply means this field."""
        spoken = words(key)
        if "".join(spoken) in self.keys:  # "Task 1" is task1
            return True
        found = frozenset(spoken) - _ARTICLES
        return bool(found & self.keys) and found <= self.keys | self.fillers

    def is_exact(self, key: str) -> bool:
        """Whether a key is the very one that is asked for."""
        return words(key) == words(self.name)

    def resolve(self, texts: Iterable[str | None]) -> str | None:
        """The value that texts agree on, None where they do not or say nothing."""
        found = {self._one(text) for text in texts}
        return found.pop() if len(found) == 1 else None

    def _one(self, text: str | None) -> str | None:
        if text is None or self.free:
            return text
        if self.aliases:
            return self._mentioned(text)
        return self._whole.get(_folded(text))

    @cached_property
    def _whole(self) -> dict[str, str]:
        return {_folded(label): label for label in self.labels}

    @cached_property
    def _names(self) -> tuple[re.Pattern[str], dict[str, str]]:
        """One pattern of all aliases, the longest first, over words joined by single blanks."""
        table = {" ".join(words(alias)): value for alias, value in self.aliases.items()}
        table |= {" ".join(words(label)): label for label in self.labels}
        longest_first = sorted(table, key=lambda alias: (-len(alias), alias))
        return re.compile(rf"(?<!\S)(?:{'|'.join(map(re.escape, longest_first))})(?!\S)"), table

    def _mentioned(self, text: str) -> str | None:
        spoken = [word for word in words(text) if word not in _ARTICLES]
        if not _NEGATIONS.isdisjoint(spoken):
            return None
        pattern, table = self._names
        found = {table[name] for name in pattern.findall(" ".join(spoken))}
        return found.pop() if len(found) == 1 else None


def _folded(text: str) -> str:
    plain = fold(text).strip()
    return plain.removesuffix(".").strip().upper().translate(_JOINERS)
