"""Reply text → named fields: JSON and what models write in its place.  Never a guess."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from handbench.replies.envelope import _END_TOKEN, _without_thinking
from handbench.replies.fields_lines import read_lines
from handbench.replies.fields_objects import Pair, Record, Value, find_records
from handbench.replies.fields_values import Field, is_blank
from handbench.replies.reading import Status

LONGEST: Final = 200_000
"""Characters of a reply that are looked at."""

_INNER_KEYS: Final = frozenset({"label", "name", "value", "answer", "class", "type", "prediction"})
_CORRECTS = re.compile(
    r"\b(?:correction|correct(?:ed|ing)|wrong|mistaken?|incorrect|actually|revis(?:e|ed|ing|ion)|final(?:ly)?|instead"
    r"|second thought|reflection|reconsider\w*|scratch that|fix(?:ed|ing)?|sorry|oops|meant|should (?:be|have)|rather"
    r"|disregard|ignore|updated?|changed? my mind|not right|amend\w*|replaces?|rectif\w*|wait|hold on|hmm|improved|better"
    r"|error|no[,.!:]|(?:let me|to|must|i'll) correct|mis(?:read|judg|identif|interpret)\w*|(?:second|2nd|new) (?:attempt|try|answer)"
    r"|retry|look(?:ing)? again|re-?check\w*|re-?exam\w*|re-?evaluat\w*|re-?think\w*|closer|not correct|isn't (?:right|correct)|korrektur|falsch|endgültig|corrección|definitiva|corrig\w+|erreur)|修正|更正|错|最终|訂正|最終",
    re.IGNORECASE,
)
_ILLUSTRATES = re.compile(
    r"\b(?:example|e\.g\.|format|template|schema|such as|structure|first attempt|initial(?:ly)?|draft|considered)\b",
    re.IGNORECASE,
)
_ESCAPED_OBJECT = re.compile(r"[^{]*\{\s{0,40}(?:\\[nrt]\s{0,40}){0,4}\\+[\"']")
_UNESCAPE = re.compile(r"\\(\\*[\"'nrt/\\])")


@dataclass(frozen=True)
class FieldsReading:
    """A reply, understood field by field.

    Attributes:
        values: a value for every field, None where it is not readable.
        status: ``ok`` when every field that has labels is readable; ``truncated`` when the reply was cut before
            one, ``off_list`` when one holds something else, ``unparsed`` when a key is missing, ``empty``.
        rule: what decided: ``object``, ``repaired`` (an object with slips), ``lines`` or ``nothing-usable``.
        written: what stood in each field, to be shown beside the reply.
    """

    values: dict[str, str | None]
    status: Status
    rule: str
    written: dict[str, str] = field(default_factory=dict)


def read_fields(reply: str | None, fields: Sequence[Field], *, finish: str = "stop") -> FieldsReading:
    """Read named fields out of a reply.

    Thinking is left out.  Of several objects the first with filled values counts, unless the words between
    them take it back; where there is no object, keys on lines of their own count.  Labels in free prose never do.

    Args:
        reply: what the model wrote, None where nothing came back.
        fields: what it was asked to tell.
        finish: ``length`` where the reply was cut; a value that it broke off in is then not read.
    """
    seen = _END_TOKEN.sub(" ", _without_thinking((reply or "")[:LONGEST])[0]).strip()
    if not seen:
        return FieldsReading(dict.fromkeys(_names(fields)), Status.EMPTY, "nothing-usable")
    text = _plain(seen)
    cut = finish == "length"
    records = _records(text, fields)
    found = [_Found.of(record, _strict(text, record), fields, cut) for record in records]
    told = _merge([one for one in found if one.texts], text)
    if told is None:
        pairs = read_lines(_outside(text, records), fields)
        told = _Found.of(Record(0, pairs=pairs), "lines", fields, cut)
    values = {field.name: field.resolve(told.texts.get(field.name, [None])) for field in fields}
    return FieldsReading(
        values,
        _status(values, told, fields, cut),
        told.rule if told.texts else "nothing-usable",
        {name: ", ".join(text or "" for text in texts) for name, texts in told.texts.items()},
    )


def _records(text: str, fields: Sequence[Field]) -> list[Record]:
    """The objects of a text; where one names no field itself, objects inside its strings are opened."""
    records = find_records(text)
    for record in records:
        if not _values(record.pairs, fields):
            inside = [value.text for pair in record.pairs for value in pair.values if value.text]
            inner = [found for text in inside if "{" in text for found in find_records(text)]
            record.pairs += [pair for found in inner for pair in found.pairs]
    return records


def _names(fields: Sequence[Field]) -> Iterator[str]:
    return (field.name for field in fields)


def _status(values: dict[str, str | None], told: _Found, fields: Sequence[Field], cut: bool) -> Status:
    lacking = [field.name for field in fields if not field.free and values[field.name] is None]
    if not lacking:
        return Status.OK
    if all(name in told.texts for name in lacking):
        return Status.OFF_LIST
    return Status.TRUNCATED if cut else Status.UNPARSED


def _plain(text: str) -> str:
    """Undo the quoting of an object that was sent as a string."""
    for _ in range(3):
        if not _ESCAPED_OBJECT.match(text):
            return text
        try:
            inner = json.loads(text)
        except (ValueError, RecursionError):
            inner = None
        text = inner if isinstance(inner, str) else _UNESCAPE.sub(_unescape, text)
    return text


def _unescape(found: re.Match[str]) -> str:
    sign = found[1]
    return {"n": "\n", "r": "\n", "t": " "}.get(sign, sign)


def _strict(text: str, record: Record) -> str:
    if not record.closed:
        return "repaired"
    try:
        json.loads(text[record.start : record.end])
    except (ValueError, RecursionError):
        return "repaired"
    return "object"


def _outside(text: str, records: Sequence[Record]) -> str:
    edges = [0, *(place for record in records for place in (record.start, record.end)), len(text)]
    return "\n".join(text[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True))


@dataclass(frozen=True)
class _Found:
    """What one object tells: the texts of each field that it names, and where it stands."""

    texts: dict[str, list[str | None]]
    rule: str
    start: int
    end: int

    @classmethod
    def of(cls, record: Record, rule: str, fields: Sequence[Field], cut: bool) -> _Found:
        free = {one.name for one in fields if one.free}
        texts = {
            name: [value.text for value in values]
            for name, values in _values(record.pairs, fields).items()
            if name in free or not cut or all(value.whole for value in values)
        }
        return cls(texts, rule, record.start, record.end)

    @property
    def filled(self) -> bool:
        """Whether every field that is named has more than a placeholder."""
        return all(not is_blank(text) for texts in self.texts.values() for text in texts)


def _owner(pair: Pair, fields: Sequence[Field]) -> tuple[str, str] | None:
    """The field that a pair belongs to, and its key; ``label`` inside ``gesture`` is the gesture's."""
    outer = next((one.name for one in fields if pair.parent and one.names(pair.parent)), None)
    if outer is not None and pair.key.lower() in _INNER_KEYS:
        return outer, pair.parent
    return next(((one.name, pair.key) for one in fields if one.names(pair.key)), None)


def _values(pairs: Sequence[Pair], fields: Sequence[Field]) -> dict[str, list[Value]]:
    """Values by field: of the very key asked for first, then of any other; a key given twice counts last."""
    by_key: dict[str, dict[tuple[int, str], list[Value]]] = {}
    for pair in pairs:
        owner = _owner(pair, fields)
        if owner is not None and pair.values:
            by_key.setdefault(owner[0], {})[pair.level, owner[1]] = pair.values
    chosen = {}
    for one in fields:
        keyed = by_key.get(one.name, {})
        exact = [values for (_, key), values in keyed.items() if one.is_exact(key)]
        if keyed:
            chosen[one.name] = next(iter([*exact, *keyed.values()]))
    return chosen


def _merge(found: list[_Found], text: str) -> _Found | None:
    """The object that counts, with the fields that only other objects name beside it."""
    if not found:
        return None
    filled = [one for one in found if one.filled] or found
    chosen = filled[0]
    for before, after in pairwise(filled):
        takes_back = _CORRECTS.search(text, before.end, after.start)
        illustrates = before is filled[0] and _ILLUSTRATES.search(text, max(0, before.start - 60), before.start)
        if takes_back or illustrates:
            chosen = after
    texts = dict(chosen.texts)
    for other in found:
        if other is not chosen and texts.keys().isdisjoint(other.texts):
            texts |= other.texts
    return _Found(texts, chosen.rule, chosen.start, chosen.end)
