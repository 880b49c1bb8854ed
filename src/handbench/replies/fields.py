"""Reply text → named fields: JSON and what models write in its place.  Never a guess."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from handbench.replies.envelope import END_TOKEN, without_thinking
from handbench.replies.fields_lines import read_lines
from handbench.replies.fields_objects import Pair, Record, Value, find_records
from handbench.replies.fields_turns import dismissed, illustrates, takes_back
from handbench.replies.fields_values import Field, declines, is_blank, owner, words
from handbench.replies.reading import Status, nothing_said

LONGEST: Final = 200_000
"""Characters of a reply that are looked at."""

_INNER_KEYS: Final = frozenset({"label", "name", "value", "answer", "class", "type", "prediction"})
_ASIDES: Final = frozenset(
    [
        "alternative",
        "alternatives",
        "other",
        "others",
        "example",
        "examples",
        "rejected",
        "considered",
        "draft",
        "initial",
        "previous",
        "not",
        "wrong",
        "incorrect",
        "guess",
        "reasoning",
        "explanation",
        "rationale",
        "thoughts",
    ]
)
"""A key with such a word holds objects that are talked about, not answered."""

_ESCAPED_OBJECT = re.compile(r"[^{]*\{\s{0,40}(?:\\[nrt]\s{0,40}){0,4}\\+[\"']")
_UNESCAPE = re.compile(r"\\(\\*[\"'nrt/\\])")
_NEEDLESS_ESCAPE = re.compile(r"(?<!\\)\\(?=[{}_])")
_QUOTED_LINE = re.compile(r"^> ?", re.MULTILINE)
_STRUCK = re.compile(r"(?<!~)~~(?!~)[^~]{1,2000}~~(?!~)")
_WIDE = str.maketrans("｛｝：，［］", "{}:,[]")
_WORST_FIRST: Final = (Status.TRUNCATED, Status.REFUSED, Status.UNPARSED, Status.OFF_LIST, Status.HEDGED)


@dataclass(frozen=True)
class FieldsReading:
    """A reply, understood field by field.

    Attributes:
        values: a value for every field, None where it is not readable.
        status: ``ok`` when every field that has labels is readable; else what hinders most, of ``truncated`` (cut
            before it), ``refused``, ``unparsed`` (its key is missing or empty), ``off_list`` (it holds something
            else), ``hedged`` (it holds two labels or more); ``empty`` where there is nothing at all.
        rule: what decided: ``object``, ``repaired`` (an object with slips), ``lines`` or ``nothing-usable``.
        written: what stood in each field, to be shown beside the reply.
    """

    values: dict[str, str | None]
    status: Status
    rule: str
    written: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Told:
    """What one object or group of lines tells.

    Attributes:
        texts: of each field that it names, except where the reply broke off inside.
        broken: fields whose value is not whole.
        rule: how it was read.
    """

    texts: dict[str, list[str | None]]
    broken: frozenset[str]
    rule: str

    @property
    def named(self) -> frozenset[str]:
        """All fields that it names."""
        return self.broken | self.texts.keys()

    def filled(self, fields: Sequence[Field]) -> bool:
        """Whether no field that is named holds a placeholder or lists what could stand there."""
        for one in fields:
            texts = self.texts.get(one.name, ())
            if any(is_blank(text) or one.names(text or "") for text in texts) or one.lists(texts):
                return False
        return True


_NOTHING: Final = _Told({}, frozenset(), "nothing-usable")


def read_fields(reply: str | None, fields: Sequence[Field], *, finish: str = "stop") -> FieldsReading:
    """Read named fields out of a reply.

    Thinking is left out.  Of several objects the first with filled values counts, unless the words between
    them take it back; where there is no object, keys on lines of their own count, in the same way.  Labels in free
    prose never do.

    Args:
        reply: what the model wrote, None where nothing came back.
        fields: what it was asked to tell.
        finish: ``length`` where the reply was cut, and a value that it broke off in is not read; ``error`` and
            ``content_filter`` tell why there is no text.
    """
    cut = finish == "length"
    visible, thought, _ = without_thinking((reply or "")[:LONGEST])
    text = _STRUCK.sub(" ", END_TOKEN.sub(" ", visible)).lstrip().rstrip(" \t")  # a last line break ends the last value
    if not text:
        ended = nothing_said(finish)
        status = ended if not thought else Status.TRUNCATED if cut else Status.UNPARSED
        rule = _NOTHING.rule if ended is Status.EMPTY else finish
        return FieldsReading({one.name: None for one in fields}, status, rule)
    text = _NEEDLESS_ESCAPE.sub("", _plain(text))
    if text.startswith(">"):
        text = _QUOTED_LINE.sub("", text)
    forms = dict.fromkeys((text, text.translate(_WIDE)))
    told = max((_read(form, fields, cut) for form in forms), key=lambda one: len(one.named))
    values = {one.name: one.resolve(told.texts.get(one.name, [None])) for one in fields}
    written = {name: ", ".join(part or "" for part in texts) for name, texts in told.texts.items()}
    return FieldsReading(values, _status(values, told, fields, cut, text), told.rule, written)


def _read(text: str, fields: Sequence[Field], cut: bool) -> _Told:
    scored = {one.name for one in fields if not one.free}
    records = _records(text, fields)
    objects = _decide([(one, _tell(one, _strict(text, one), fields, cut)) for one in records], text, fields)
    if scored <= objects.named:
        return objects
    outside, text = read_lines(_outside(text, records), fields)
    lines = _decide([(one, _tell(one, "lines", fields, cut)) for one in outside], text, fields)
    return lines if scored <= lines.named or not objects.named else objects


def _records(text: str, fields: Sequence[Field]) -> list[Record]:
    """The objects of a text; where one names no field itself, objects inside its strings are opened."""
    records = find_records(text)
    for record in records:
        if not _values(record.pairs, fields):
            inside = [value.text for pair in record.pairs for value in pair.values if value.text]
            inner = [found for text in inside if "{" in text for found in find_records(text)]
            record.pairs += [pair for found in inner for pair in found.pairs]
    return records


def _status(values: dict[str, str | None], told: _Told, fields: Sequence[Field], cut: bool, text: str) -> Status:
    faults = []
    for one in fields:
        if one.free or values[one.name] is not None:
            continue
        fault = one.fault(told.texts.get(one.name, [None]))
        if fault is Status.UNPARSED:
            fault = Status.TRUNCATED if cut else Status.REFUSED if declines(text) else fault
        faults.append(fault)
    return min(faults, key=_WORST_FIRST.index, default=Status.OK)


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


def _tell(record: Record, rule: str, fields: Sequence[Field], cut: bool) -> _Told:
    values = _values(record.pairs, fields)
    free = {one.name for one in fields if one.free}
    broken = {
        name for name, told in values.items() if cut and name not in free and not all(value.whole for value in told)
    }
    texts = {name: [value.text for value in told] for name, told in values.items() if name not in broken}
    return _Told(texts, frozenset(broken), rule)


def _named(pair: Pair, fields: Sequence[Field]) -> tuple[str, str] | None:
    """The field that a pair belongs to, and its key; ``label`` inside ``gesture`` is the gesture's."""
    outer = owner(pair.path[-1], fields) if pair.path and pair.key.lower() in _INNER_KEYS else None
    if outer is not None:
        return outer.name, pair.path[-1]
    own = owner(pair.key, fields)
    return None if own is None else (own.name, pair.key)


def _values(pairs: Sequence[Pair], fields: Sequence[Field]) -> dict[str, list[Value]]:
    """Values by field, of the object that names most fields and of others what it lacks.

    Within an object the very key asked for comes first, then any other; a key given twice counts last, as in JSON.
    """
    objects: dict[tuple[int, int], dict[str, dict[str, list[Value]]]] = {}
    for pair in pairs:
        named = _named(pair, fields)
        if named is None or not pair.values or any(not _ASIDES.isdisjoint(words(key)) for key in pair.path):
            continue
        name, key = named
        keyed = objects.setdefault((len(pair.path), pair.level), {}).setdefault(name, {})
        keyed[" ".join(words(key))] = pair.values
    scored = {one.name for one in fields if not one.free}
    chosen: dict[str, list[Value]] = {}
    for place in sorted(objects, key=lambda place: (-len(scored & objects[place].keys()), place)):
        for one in fields:
            keyed = objects[place].get(one.name, {})
            if keyed and one.name not in chosen:
                exact = [values for key, values in keyed.items() if one.is_exact(key)]
                chosen[one.name] = next(iter([*exact, *keyed.values()]))
    return chosen


def _decide(found: Sequence[tuple[Record, _Told]], text: str, fields: Sequence[Field]) -> _Told:
    """What counts of several objects: the first that names all that is scored, unless it is taken back."""
    found = [pair for pair in found if pair[1].named]
    edges = [0, *(record.end for record, _ in found)]
    offered = [
        (record, told)
        for (record, told), end in zip(found, edges, strict=False)
        if not dismissed(text[end : record.start], text[record.end : record.end + 40])
    ]
    if not offered:
        return _NOTHING
    scored = {one.name for one in fields if not one.free}
    filled = [pair for pair in offered if pair[1].filled(fields)] or offered
    whole = [pair for pair in filled if scored <= pair[1].named]
    first = filled.index((whole or filled)[0])
    record, chosen = filled[first]
    for place, (later, after) in enumerate(filled[first + 1 :]):
        introduced = place == first == 0 and illustrates(text[max(0, record.start - 60) : record.start])
        if introduced or takes_back(text[record.end : later.start]):
            kept = {} if introduced else {name: said for name, said in chosen.texts.items() if name not in after.broken}
            chosen = _Told({**kept, **after.texts}, after.broken, after.rule)
        record = later
    texts = dict(chosen.texts)
    for _, other in offered:
        if chosen.named.isdisjoint(other.texts):
            texts |= other.texts
    return _Told(texts, chosen.broken, chosen.rule)
