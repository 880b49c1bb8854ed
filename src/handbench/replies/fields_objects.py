"""Objects in a reply: a forgiving reader of JSON and its usual slips, in one pass over the text.

Every text that strict JSON reads is read in the same way.  Besides: single and curly quotes, keys and values
without quotes, commas that are missing or too many, comments, raw line breaks, quotes inside a string that
nobody escaped, and objects that are never closed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

_DOUBLE: Final = '"“”„‟″＂«»「」'
_SINGLE: Final = "'‘’‚‛′`´＇"
_CLOSERS: Final = {quote: quote if quote in "\"'`" else family for family in (_DOUBLE, _SINGLE) for quote in family}
_SEARCH: Final = {quote: re.compile(f"[\\\\{re.escape(closers)}]") for quote, closers in _CLOSERS.items()}

_FILL = re.compile(r"(?:[\s,;]|//[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/|\Z)|\#[^\n]*)*")
_COLON = re.compile(r"\s{0,40}(?::|=>?)")
_QUOTES = re.escape(_DOUBLE + _SINGLE)
_QUOTED_KEY = rf"[{_QUOTES}][\w .()-]{{1,40}}[{_QUOTES}]\s{{0,40}}[:=]"
_BARE_KEY = rf"[^\W\d]\w{{0,40}}[{_QUOTES}]?\s{{0,40}}[:=]"
_BARE_WORDS = r"[^\W\d]\w{0,40}(?: \w{1,20}){0,2}\s{0,40}[:=]"
# What may stand behind the quote that ends a value: the end of the text or line, a bracket, a comma and more of the
# object, a comment, or the next key where the comma was forgotten.
_AFTER_VALUE = re.compile(
    rf"[^\S\r\n]{{0,40}}(?:\Z|[\r\n}}\]]|//|/\*|\#|`{{3}}|\)\s{{0,40}}(?:\Z|[,;}}])|{_QUOTED_KEY}"
    rf"|[,;]\s{{0,40}}(?:\Z|[{_QUOTES}{{\[}}\]\d,-]|true|false|null|None|//|/\*|\#|\.{{3}}|…|{_BARE_KEY}))"
)
_AFTER_ITEM = re.compile(r"\s{0,40}(?:\Z|[,;}\]])")
_OPENS_KEY = re.compile(rf"[\w .()-]{{1,40}}[{_QUOTES}]\s{{0,40}}[:=]")
_BEFORE_KEY = re.compile(r"[,;\n]\s{0,40}\Z")
_BARE_END = re.compile(
    rf"[\n{{}}\[\]]|[ \t](?={_QUOTED_KEY})|[,;](?=\s{{0,40}}(?:\Z|\n|[}}\]]|{_QUOTED_KEY}|{_BARE_WORDS}))"
)
_BARE_ITEM_END = re.compile(r"[\n,;{}\[\]]")
_CLOSED_WITHOUT_QUOTE = re.compile(r"\s{0,40}\n\s{0,40}[}\]]{1,4}[\s`]{0,40}\Z")
_LONGEST_KEY: Final = 100
_NO_KEY = re.compile(r"[{}\n]")
_BARE_KEY_END = re.compile(r"[\n:={}\[\],;]")
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_DEEPEST: Final = 8
"""Keys of a path that are kept, so that a reply of brackets alone stays cheap."""
_HEX = re.compile(r"[0-9a-fA-F]{4}")
_MARKUP: Final = " \t\r" + _DOUBLE + _SINGLE + "*"


@dataclass(frozen=True, slots=True)
class Value:
    """One value as written.

    Attributes:
        text: what it says; None for ``null``.
        whole: False where the reply broke off inside it.
    """

    text: str | None
    whole: bool = True


@dataclass(slots=True)
class Pair:
    """A key with its values: one, or those of a list.

    Attributes:
        key: as written.
        path: the last keys on the way from the record to the object that this pair stands in; empty at the top.
        level: number of that object within its record; pairs of one object share it.
        values: empty where the value is an object.
    """

    key: str
    path: tuple[str, ...]
    level: int
    values: list[Value] = field(default_factory=list)


@dataclass(slots=True)
class Record:
    """An outermost object with the pairs of all objects inside it, in the order written.

    ``start`` and ``end`` are its place in the text; ``closed`` tells whether its last bracket is there.
    """

    start: int
    end: int = 0
    closed: bool = False
    pairs: list[Pair] = field(default_factory=list)


@dataclass(slots=True)
class _Open:
    """A bracket that waits for its partner."""

    bracket: str
    level: int
    path: tuple[str, ...]
    pair: Pair | None = None  # the pair whose value is being read


def find_records(text: str) -> list[Record]:
    """All outermost objects of a text, in order.

    Args:
        text: any text; what stands outside of curly brackets is passed over.
    """
    records = []
    place = text.find("{")
    while place >= 0:
        record = read_record(text, place)
        records.append(record)
        place = text.find("{", record.end)
    return records


def read_record(text: str, start: int) -> Record:
    """Read one object.

    Args:
        text: the text.
        start: place of its bracket.
    """
    record = Record(start)
    stack = [_Open("{", 0, ())]
    levels = 1
    place = start + 1
    while stack:
        filled = _FILL.match(text, place)
        place = filled.end() if filled else place
        if place >= len(text):
            break
        sign, top = text[place], stack[-1]
        if sign in "}]":
            place += 1
            _close(stack, sign)
        elif sign in "{[":
            place += 1
            path = (*top.path, top.pair.key)[-_DEEPEST:] if top.pair is not None and top.bracket == "{" else top.path
            stack.append(_Open(sign, levels if sign == "{" else top.level, path, top.pair if sign == "[" else None))
            levels += sign == "{"
        elif top.bracket == "{" and top.pair is None:
            place = _read_key(text, place, top, record)
        else:
            place = _read_value(text, place, top)
    record.end, record.closed = max(place, start + 1), not stack
    return record


def _close(stack: list[_Open], sign: str) -> None:
    """Close the innermost bracket of this kind and what is open inside it; without one, nothing."""
    partner = "{" if sign == "}" else "["
    if stack[-1].bracket != partner:
        if partner == "[" or len(stack) == 1:
            return
        while stack[-1].bracket != partner:
            stack.pop()
    stack.pop()
    if stack and stack[-1].bracket == "{":
        stack[-1].pair = None


def _read_key(text: str, place: int, top: _Open, record: Record) -> int:
    """Read a key; a word that no colon follows is none."""
    quoted = _key_string(text, place) if text[place] in _CLOSERS else None
    if quoted is not None:
        key, end = quoted
    else:
        found = _BARE_KEY_END.search(text, place)
        end = found.start() if found else len(text)
        key = text[place:end].strip(_MARKUP)
        if found and found.group() in "\n,;":
            return end + 1
    colon = _COLON.match(text, end)
    if colon is None:
        return max(end, place + 1)
    top.pair = Pair(key, top.path, top.level)
    record.pairs.append(top.pair)
    return colon.end()


def _key_string(text: str, start: int) -> tuple[str, int] | None:
    """Read a quoted key: short, on one line, a colon behind it; else None."""
    search = _SEARCH[text[start]]
    stop = min(len(text), start + _LONGEST_KEY)
    place = start + 1
    while found := search.search(text, place, stop):
        place = found.end()
        if found.group() == "\\":
            place += 1
        elif _COLON.match(text, place):
            key = text[start + 1 : place - 1]
            return None if _NO_KEY.search(key) else (key.replace("\\", ""), place)
    return None


def _read_value(text: str, place: int, top: _Open) -> int:
    in_list = top.bracket == "["
    if text[place] in _CLOSERS:
        value, place = _string(text, place, _AFTER_ITEM if in_list else _AFTER_VALUE)
    else:
        end = (_BARE_ITEM_END if in_list else _BARE_END).search(text, place)
        stop = end.start() if end else len(text)
        word = text[place:stop].strip(_MARKUP)
        value = Value(None if word in ("null", "None", "") else word, end is not None)
        place = max(stop, place + 1)
    if top.pair is not None:
        top.pair.values.append(value)
    if not in_list:
        top.pair = None
    return place


def _string(text: str, start: int, follows: re.Pattern[str]) -> tuple[Value, int]:
    """Read a quoted string; a quote ends it where what follows may stand behind a string."""
    search = _SEARCH[text[start]]
    parts: list[str] = []
    place = begun = start + 1
    while found := search.search(text, place):
        here = found.start()
        if found.group() == "\\":
            parts.append(text[begun:here])
            sign, place = _escape(text, here)
            parts.append(sign)
            begun = place
            continue
        if follows.match(text, here + 1):
            return Value("".join([*parts, text[begun:here]])), here + 1
        place = here + 1
        if follows is _AFTER_VALUE and _begins_key(text, start, here):
            return Value("".join([*parts, text[begun:here]]).rstrip(" \t\r\n,;")), here
    rest = "".join([*parts, text[begun:]])
    closed = _CLOSED_WITHOUT_QUOTE.search(rest)
    return Value(rest if closed is None else rest[: closed.start()], closed is not None), len(text)


def _begins_key(text: str, start: int, here: int) -> bool:
    """Whether a quote inside a string begins the next key, the quote that should have ended it being forgotten."""
    before = _BEFORE_KEY.search(text, max(start + 1, here - 42), here)
    return before is not None and _OPENS_KEY.match(text, here + 1) is not None


def _escape(text: str, place: int) -> tuple[str, int]:
    sign = text[place + 1 : place + 2]
    if sign == "u" and _HEX.match(text, place + 2):
        code = int(text[place + 2 : place + 6], 16)
        if 0xD800 <= code < 0xDC00 and text[place + 6 : place + 8] == "\\u" and _HEX.match(text, place + 8):
            low = int(text[place + 8 : place + 12], 16)
            if 0xDC00 <= low < 0xE000:
                return chr(0x10000 + ((code - 0xD800) << 10) + low - 0xDC00), place + 12
        return chr(code), place + 6
    return _ESCAPES.get(sign, sign), place + 2
