"""What a value says: a label by exact match after folding, or a name by its aliases."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from handbench.replies.folding import fold
from handbench.replies.reading import Status
from handbench.replies.telling import REFUSAL

OTHER: Final = "-"
"""As an alias's value: a name that is none of those asked for, so that a text with it names two things."""

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_WORD = re.compile(r"[^\W_]+")
_NUMBERED = re.compile(r"\btask (\d)\b")
_JOINERS = str.maketrans("- ", "__")
_BETWEEN = re.compile(r"[/|,;&+\n]|->|→|\b(?:or|and|vs|versus)\b", re.IGNORECASE)
_ARTICLE: Final = r"(?:(?:a|an|the|his|her|their|its) )?"
_ARTICLES: Final = frozenset({"a", "an", "the", "his", "her", "their", "its"})
_NEGATIONS: Final = frozenset(
    {"not", "no", "never", "neither", "nor", "without", "non", "cannot", "unlike", "except", "instead", "hardly"}
    | {"isn", "wasn", "aren", "doesn", "don", "didn", "nothing", "anything"}
)
_BLANK = re.compile(
    r"\s*(?:\.{2,}|…+|[<\[{(][^<>\[\]{}()]{0,80}[>\]})]+|string|text|str|value|tbd|x{2,}|[_?-]*"
    r"|(?:your|insert|enter|fill in|put)\b[^\n]{0,40})\s*",
    re.IGNORECASE,
)


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
            different values in one text are none.  ``*`` in an alias stands for up to six words; an empty value
            makes an alias say nothing (``like`` in "looks like"), :data:`OTHER` makes it say something else.
            Empty for a field that is matched whole.
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
        spoken = _NUMBERED.sub(r"task\1", " ".join(words(key))).split()
        if "".join(spoken) in self.keys:
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

    def lists(self, texts: Sequence[str | None]) -> bool:
        """Whether texts put two values or more side by side."""
        told = [text for text in texts if text is not None]
        if self.aliases:
            return len({name for text in told for name in self._mentions(text)} - {OTHER}) > 1
        parts = [part for text in told for part in _BETWEEN.split(text) if part.strip()]
        named = {self._whole.get(_folded(part.strip().removeprefix("either "))) for part in parts}
        return len(named) > 1 and None not in named

    def fault(self, texts: Sequence[str | None]) -> Status:
        """Why texts that do not resolve say nothing.

        Returns:
            ``unparsed`` where they are placeholders, ``hedged`` where they list several values, ``refused`` where
            they decline, else ``off_list``.
        """
        if all(is_blank(text) for text in texts):
            return Status.UNPARSED
        if self.lists(texts):
            return Status.HEDGED
        return Status.REFUSED if declines(" ".join(text or "" for text in texts)) else Status.OFF_LIST

    def _one(self, text: str | None) -> str | None:
        if text is None or self.free:
            return text
        if not self.aliases:
            return self._whole.get(_folded(text))
        if not _NEGATIONS.isdisjoint(words(text)):
            return None
        found = self._mentions(text)
        return found.pop() if len(found) == 1 and OTHER not in found else None

    @cached_property
    def _whole(self) -> dict[str, str]:
        return {_folded(label): label for label in self.labels}

    @cached_property
    def _names(self) -> tuple[re.Pattern[str], list[str]]:
        """One pattern of all aliases, a group each, the longest first, over words joined by single blanks."""
        table = {" ".join(alias.split()): value for alias, value in self.aliases.items()}
        table |= {" ".join(words(label)): label for label in self.labels}
        longest_first = sorted(table, key=lambda alias: (-len(alias), alias))
        patterns = (f"({_alias_pattern(alias)})" for alias in longest_first)
        return re.compile(rf"(?<!\S)(?:{'|'.join(patterns)})(?!\S)"), [table[alias] for alias in longest_first]

    def _mentions(self, text: str) -> set[str]:
        pattern, values = self._names
        said = {values[(found.lastindex or 1) - 1] for found in pattern.finditer(" ".join(words(text)))}
        return said - {""}


def _alias_pattern(alias: str) -> str:
    """Words of an alias, an article allowed between them; ``*`` is up to six words."""
    parts = (r"(?:\S+ ){0,6}?" if word == "*" else re.escape(word) + " " for word in alias.split())
    return _ARTICLE.join(parts).removesuffix(" ")


def owner(key: str, fields: Sequence[Field]) -> Field | None:
    """The first field that a key of a reply means."""
    return next((one for one in fields if one.names(key)), None)


def declines(text: str) -> bool:
    """Whether a text refuses to answer or says that nothing can be seen; its first 4,000 characters are looked at."""
    return REFUSAL.search(fold(text[:4000]).lower()) is not None


def _folded(text: str) -> str:
    plain = fold(text).strip()
    return plain.removesuffix(".").strip().upper().translate(_JOINERS)
