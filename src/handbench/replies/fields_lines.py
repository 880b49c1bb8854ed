"""Keys that stand on lines of their own, without any object around them: ``gesture: stop``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from handbench.replies.fields_objects import Pair, Value
from handbench.replies.fields_values import Field

_MARKS: Final = r"[ \t>|*_`\"'“”‘’#~]{0,8}"
_BULLET: Final = r"(?:[-•▪‣◦+]|\(?\d{1,2}[.)])?"
_LINE = re.compile(
    rf"(?:^|(?<=[\n;,|])){_MARKS}{_BULLET}{_MARKS}"
    rf"(?P<key>[^\W\d_][\w ()-]{{0,40}}?){_MARKS}(?P<colon>[:=|]|->|→|：){_MARKS}(?P<value>[^\n]*)"
)
_TAG = re.compile(r"<(?P<key>[A-Za-z][\w-]{0,40})>(?P<value>[^<>]{0,400})</(?P=key)>")
_NEXT_KEY = re.compile(rf"[,;|]{_MARKS}(?P<key>[^\W\d_][\w ()-]{{0,40}}?){_MARKS}[:=]")
_EDGES: Final = " \t\r{}[]*`\"'“”‘’|,;"


def read_lines(text: str, fields: Sequence[Field]) -> list[Pair]:
    """Pairs of a text that writes each key at the start of a line, in a table row, or in a tag of its own.

    Args:
        text: the text outside of objects.
        fields: only keys that mean one of these are taken.
    """
    pairs: list[Pair] = []
    for tag in _TAG.finditer(text):
        _keep(pairs, tag["key"], Value(tag["value"].strip()), fields)
    if pairs:
        return pairs
    lines = text.split("\n")
    for number, line in enumerate(lines):
        place = 0
        while found := _LINE.match(line, place):
            rest = line[found.start("value") :]
            following = _next_known(rest, fields)
            value = rest if following is None else rest[:following]
            whole = following is not None or number + 1 < len(lines)
            _keep(pairs, found["key"], Value(value.strip(_EDGES), whole), fields)
            if following is None:
                break
            place = found.start("value") + following + 1
    return pairs


def _next_known(rest: str, fields: Sequence[Field]) -> int | None:
    for found in _NEXT_KEY.finditer(rest):
        if any(field.names(found["key"]) for field in fields):
            return found.start()
    return None


def _keep(pairs: list[Pair], key: str, value: Value, fields: Sequence[Field]) -> None:
    if any(field.names(key) for field in fields):
        pairs.append(Pair(key, "", 0, [value]))
