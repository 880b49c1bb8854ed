"""Keys outside of any object: ``gesture: stop`` on a line, headings with the value below them, tags.

Tables are read by :mod:`handbench.replies.fields_tables`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from handbench.replies.fields_objects import Pair, Record, Value
from handbench.replies.fields_tables import read_tables
from handbench.replies.fields_values import Field, owner

_MARKS: Final = r"[ \t>|*_`\"'“”‘’#~\[({]{0,8}"
_OPENING: Final = r"[^\w\n]{0,12}"
_BULLET: Final = r"(?:[-•▪‣◦+](?=[ \t])|\(?\d{1,2}[.)])?"
_COLON: Final = r"(?:[:=|：]|=>|->|→|⇒|[ \t][-–—](?=[ \t]))"
_PAIR = re.compile(
    rf"{_OPENING}{_BULLET}{_MARKS}(?P<key>[^\W_][\w .()-]{{0,40}}?)(?:[ \t]+(?:is|would be))?[*_`\"'“”‘’ \t\])]{{0,8}}"
    rf"{_COLON}{_MARKS}"
)
_LEAD = re.compile(
    r"[\w '’]{0,30}\b(?:answer|result|output|response|prediction|json|final)\b[\w ]{0,12}?(?: is|:|=)[ \t]*"
    r"|[\w. =]{0,30}\w\(",
    re.IGNORECASE,
)
_INNER_COLON = re.compile(r"[:=：]")
_WORD = re.compile(r"[\w()]+")
_COMMENT = re.compile(r"[ \t]#[ \t].*")
_BLOCK = re.compile(r"[|>]?[+-]?")
_RULE = re.compile(r"[ \t]*[-=_*~]{3,}[ \t]*")
_BULLET_LINE = re.compile(r"[ \t]*(?:[-•▪‣◦+*]|\d{1,2}[.)])[ \t]+")
_TAG = re.compile(r"</?(?P<name>[A-Za-z][\w:-]{0,40})(?P<rest>(?:\s[^<>]{0,400})?)/?>")
_INLINE_TAGS: Final = frozenset({"b", "i", "strong", "em", "span", "u", "code", "mark"})
_EDGES: Final = " \t\r{}[]*`\"'“”‘’|,;｛｝，"


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of the reply, where it starts, and whether the reply goes on behind it."""

    text: str
    start: int
    whole: bool

    @property
    def indent(self) -> int:
        return len(self.text) - len(self.text.lstrip(" \t"))


@dataclass(frozen=True, slots=True)
class _Told:
    """A key with its value and where the two end."""

    field: Field
    key: str
    values: list[Value]
    start: int
    end: int


def read_lines(text: str, fields: Sequence[Field]) -> tuple[list[Record], str]:
    """Records of a text that writes each key in its own words, each key once per record.

    Args:
        text: the text outside of objects.
        fields: only keys that mean one of these are taken.

    Returns:
        The records and the text that their places are in (as long as ``text``, tags turned into keys).
    """
    text = _TAG.sub(lambda tag: _untagged(tag, fields), text) if "<" in text else text
    tables = read_tables(text, fields)
    if tables:
        return tables, text
    return _grouped(_told(_lines(text), fields)), text


def _untagged(tag: re.Match[str], fields: Sequence[Field]) -> str:
    """A tag as as many characters: ``<gesture>`` → a key, attributes → keys, any other → blanks."""
    whole, name, attributes = tag.group(), tag["name"], tag["rest"].rstrip("/")
    if attributes.strip():
        return ("\n".ljust(tag.start("rest") - tag.start()) + attributes).ljust(len(whole))
    if not whole.startswith("</") and owner(name, fields) is not None:
        return f"\n{name}:".ljust(len(whole))
    return " " * len(whole) if name.lower() in _INLINE_TAGS else "\n".ljust(len(whole))


def _lines(text: str) -> list[_Line]:
    lines, start = [], 0
    for part in text.split("\n"):
        lines.append(_Line(part, start, start + len(part) < len(text)))
        start += len(part) + 1
    return lines


def _told(lines: Sequence[_Line], fields: Sequence[Field]) -> list[_Told]:
    told: list[_Told] = []
    number = 0
    while number < len(lines):
        line = lines[number]
        number += 1
        place = 0
        while found := _key_at(line.text, place, fields):
            owning, key, value_start = found
            following = None if owning.free else _next_key(line.text, value_start, fields)
            end = len(line.text) if following is None else following
            text = _trim(line.text[value_start:end])
            values = [Value(text, following is not None or line.whole)]
            if following is None and (not text or owning.names(text) or _BLOCK.fullmatch(text)):
                values, number = _below(lines, number, line, owning, fields)
            told.append(_Told(owning, key, values, line.start + place, line.start + end))
            if following is None:
                break
            place = following
    return told


def _key_at(line: str, place: int, fields: Sequence[Field]) -> tuple[Field, str, int] | None:
    """The field that a line tells from this place on, its key, and where the value starts."""
    lead = _LEAD.match(line, place)
    for start in (place, *([lead.end()] if lead else [])):
        pair = _PAIR.match(line, start)
        owning = owner(pair["key"], fields) if pair else None
        if pair is None or owning is None:
            continue
        inner = _PAIR.match(line, pair.end())  # "Task 2 - Safety label: ..."
        if inner is not None and owning.names(inner["key"]):
            pair = inner
        return owning, pair["key"], pair.end()
    heading = line[place:].strip(_EDGES + "#:>_~-•").lstrip("0123456789.) ")
    owning = owner(heading, fields) if place == 0 and len(heading) <= 40 else None
    return None if owning is None else (owning, heading, len(line))


def _next_key(line: str, start: int, fields: Sequence[Field]) -> int | None:
    """Where the next key of a line begins: up to four words before a colon that mean a field."""
    for colon in _INNER_COLON.finditer(line, start):
        spoken = [*_WORD.finditer(line, max(start, colon.start() - 45), colon.start())][-4:]
        if not spoken or line[spoken[-1].end() : colon.start()].strip(" \t*_`\"'"):
            continue
        for word in spoken:
            if word.start() > start and owner(line[word.start() : colon.start()], fields) is not None:
                return word.start()
    return None


def _below(
    lines: Sequence[_Line], number: int, line: _Line, owning: Field, fields: Sequence[Field]
) -> tuple[list[Value], int]:
    """The value under a heading: the next line, all items of a list, or a block that is indented."""
    while number < len(lines) and (not lines[number].text.strip() or _RULE.fullmatch(lines[number].text)):
        number += 1
    values: list[Value] = []
    while number < len(lines):
        below = lines[number]
        item = _BULLET_LINE.match(below.text)
        if owning.free:
            if below.text.strip() and below.indent <= line.indent:
                break
        elif (values and item is None) or _key_at(below.text, 0, fields) is not None:
            break
        text = _trim(below.text[item.end() :] if item else below.text)
        if text:
            values.append(Value(text, below.whole))
        number += 1
        if item is None and not owning.free:
            break
    return values, number


def _trim(text: str) -> str:
    """A value without quotes, emphasis and a comment behind it."""
    plain = _COMMENT.sub("", text).strip(_EDGES)
    return plain.rstrip(")" + _EDGES) if plain.count(")") > plain.count("(") else plain


def _grouped(told: Sequence[_Told]) -> list[Record]:
    """Records in which no field is told twice."""
    records: list[Record] = []
    seen: set[str] = set()
    for one in told:
        if not records or one.field.name in seen:
            records.append(Record(one.start))
            seen = set()
        seen.add(one.field.name)
        records[-1].pairs.append(Pair(one.key, (), 0, one.values))
        records[-1].end = one.end
    return records
