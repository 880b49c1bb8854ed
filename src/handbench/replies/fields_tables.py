"""Tables in a reply: Markdown, tabs or commas, keys across the top or down a column."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from handbench.replies.fields_objects import Pair, Record, Value
from handbench.replies.fields_values import Field, owner

_RULE = re.compile(r"[\s|:+-]*-[\s|:+-]*")
_EDGES: Final = " \t\r*`\"'“”‘’_"


def read_tables(text: str, fields: Sequence[Field]) -> list[Record]:
    """One record of the first table that names the fields, else none.

    Rows that disagree leave a field with several values, which is no answer.

    Args:
        text: the text outside of objects.
        fields: what the cells may name.
    """
    scored = {field.name for field in fields if not field.free}
    lines = text.split("\n")
    start = 0
    for number, line in enumerate(lines):
        for separator in ("|", "\t", ","):
            columns = _columns(line, separator, fields)
            if scored <= set(columns.values()):
                pairs, end = _under(lines, number + 1, separator, columns, len(_cells(line, separator)), start)
                if pairs:
                    return [Record(start, start + end, True, pairs)]
        start += len(line) + 1
    pairs = [pair for line in lines if (pair := _row(line, fields)) is not None]
    return [Record(0, len(text), True, pairs)] if pairs else []


def _cells(line: str, separator: str) -> list[str]:
    inner = line.strip().removeprefix(separator).removesuffix(separator) if separator == "|" else line.strip()
    return [cell.strip(_EDGES) for cell in inner.split(separator)]


def _columns(line: str, separator: str, fields: Sequence[Field]) -> dict[int, str]:
    """Column → field of a line that heads a table; a line of commas is one where every cell names a field."""
    if separator not in line:
        return {}
    cells = _cells(line, separator)
    owners = [owner(cell, fields) if cell else None for cell in cells]
    if separator == "," and None in owners:
        return {}
    return {place: found.name for place, found in enumerate(owners) if found is not None}


def _under(
    lines: Sequence[str], number: int, separator: str, columns: dict[int, str], width: int, start: int
) -> tuple[list[Pair], int]:
    """The values below a heading, by field."""
    found: dict[str, list[Value]] = {}
    length = 0
    for place in range(number, len(lines)):
        line = lines[place]
        if separator not in line:
            break
        if _RULE.fullmatch(line):
            continue
        cells = _cells(line, separator)
        cells = [*cells[: width - 1], separator.join(cells[width - 1 :])]  # the last may hold the separator itself
        if len(cells) < width:
            break
        length += len(line) + 1
        for column, name in columns.items():
            found.setdefault(name, []).append(Value(cells[column], place + 1 < len(lines)))
    return [Pair(name, (), 0, values) for name, values in found.items()], length


def _row(line: str, fields: Sequence[Field]) -> Pair | None:
    """A row of three cells or more, one of which names a field: its value is the next."""
    cells = _cells(line, "|") if line.count("|") > 1 else []
    named = [place for place, cell in enumerate(cells) if cell and owner(cell, fields) is not None]
    if len(cells) < 3 or len(named) != 1 or named[0] + 1 >= len(cells):
        return None
    return Pair(cells[named[0]], (), 0, [Value(cells[named[0] + 1])])
