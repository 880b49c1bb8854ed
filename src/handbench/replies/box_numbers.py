"""Where four numbers of a reply make a box: lists, pairs of corners, named values, sizes, ranges, location tokens.

Works on folded text of the reply's own length, so every place found is a place in the reply.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from handbench.replies.frames import Layout

NUMBER: Final = r"(?<![\w.])[+-]?(?:\d{1,12}(?:\.\d{0,40})?|\.\d{1,40})(?:e[+-]?\d{1,2})?(?![A-Za-z_]*\d)"
_UNIT = r"(?:\s?(%|percent\b|px\b|pixels?\b|pix\b))?"
_VALUE = re.compile(rf"({NUMBER}){_UNIT}", re.IGNORECASE)
_BETWEEN = re.compile(r"[\s,;|\"'()\[\]{}]+\Z")
_LOC = re.compile(r"(?:<loc_(\d{1,4})>\s*)+")
_LOC_NUMBER = re.compile(r"<loc_(\d{1,4})>")
_OPEN, _CLOSE = "([{", ")]}"

_NAMES: Final = {
    "x1": r"x_?1|x_?min|min_?x|left(?:_x)?|x_?left|x_?start|start_?x|x_?tl|tl_?x",
    "y1": r"y_?1|y_?min|min_?y|top(?:_y)?|y_?top|y_?start|start_?y|y_?tl|tl_?y",
    "x2": r"x_?2|x_?max|max_?x|right(?:_x)?|x_?right|x_?end|end_?x|x_?br|br_?x",
    "y2": r"y_?2|y_?max|max_?y|bottom(?:_y)?|y_?bottom|y_?end|end_?y|y_?br|br_?y",
    "x0": r"x_?0",
    "y0": r"y_?0",
    "cx": r"cx|x_?c|x_?(?:center|centre)|(?:center|centre)_?x",
    "cy": r"cy|y_?c|y_?(?:center|centre)|(?:center|centre)_?y",
    "w": r"w|width|box_?width",
    "h": r"h|height|box_?height",
    "x": r"x",
    "y": r"y",
}
_KEYED = re.compile(
    r"(?<![A-Za-z0-9_])(?:"
    + "|".join(f"(?P<{role}>{names})" for role, names in _NAMES.items())
    + rf")(?![A-Za-z0-9_])[\"']?\s?(?:[:=>]|->|\bis\b|\bof\b|\bat\b|\s)\s*[\"'(\[]?\s*(?P<value>{NUMBER}){_UNIT}"
    r"(?!\s*(?:to\b|-\s*\d|\.\.))",
    re.IGNORECASE,
)
_WIDE = re.compile(
    rf"({NUMBER}){_UNIT}\s*(?:(?P<w>wide|in width|width)|(?P<h>high|tall|in height|height))\b", re.IGNORECASE
)
_SIDE = r"(\d{1,12}(?:\.\d{1,40})?)"
_BY = re.compile(rf"(?<![\w.]){_SIDE}{_UNIT}\s*(?:x|×|by|\*)\s*{_SIDE}{_UNIT}", re.IGNORECASE)
_POINT = re.compile(
    rf"\{{\s*[\"']?x[\"']?\s*[:=]\s*({NUMBER}){_UNIT}\s*,\s*[\"']?y[\"']?\s*[:=]\s*({NUMBER}){_UNIT}\s*\}}",
    re.IGNORECASE,
)
_X_WORD = r"(?:x(?:[- _]?(?:axis|range|coordinates?|values?|extent|span))?|horizontal(?:ly)?|columns?)"
_Y_WORD = r"(?:y(?:[- _]?(?:axis|range|coordinates?|values?|extent|span))?|vertical(?:ly)?|rows?)"
_RANGE = re.compile(
    rf"(?:(?<![A-Za-z0-9_])(?:(?P<x>{_X_WORD})|(?P<y>{_Y_WORD}))[\"']?\s*(?:[:=∈]|\bis\b|\bin\b|\bspans?\b|\bruns?\b|\bgoes\b)?\s*)?"
    rf"(?:\bfrom\s*|\bbetween\s*|[\[(]\s*)*(?:(?:(?P<xi>x)|(?P<yi>y))\s*=\s*)?(?P<one>{NUMBER}){_UNIT}\s*(?:\bto\b|\band\b|-|\.\.+|,|→)\s*(?:[xy]\s*=\s*)?(?P<other>{NUMBER}){_UNIT}\s*[\])]?"
    rf"(?:\s*(?:in|along|on|of)?\s*(?:the\s*)?(?:image(?:'s)?\s*)?(?:(?P<xa>{_X_WORD}|width|across)|(?P<ya>{_Y_WORD}|height|down))(?![A-Za-z0-9_]))?",
    re.IGNORECASE,
)
_FIRST = r"(?:top|upper)[- _]*left|left[- _]*(?:top|upper)|\bfrom\b|\bstarts?\b|\bbegin\w*|\btl\b|\(\s*x_?(?:1|min|0)\s*,\s*y_?(?:1|min|0)\s*\)|左上|\bmin\b"
_SECOND = r"(?:bottom|lower)[- _]*right|right[- _]*(?:bottom|lower)|\bto\b|\bends?\b|\bthrough\b|\buntil\b|\bbr\b|\(\s*x_?(?:2|max)\s*,\s*y_?(?:2|max)\s*\)|右下|\bmax\b"
_ROLES: Final = (
    (
        "size",
        re.compile(
            r"\bsizes?\b|\bdimensions?\b|\bextents?\b|width\W{1,5}(?:and\s)?height|\bw\W{1,3}h\b", re.IGNORECASE
        ),
    ),
    (
        "center",
        re.compile(r"\b(?:center|centre)(?:ed|d)?\b|\bmiddle\b|\bmidpoint\b|\(\s*cx\s*,\s*cy\s*\)|中心", re.IGNORECASE),
    ),
    ("first", re.compile(_FIRST, re.IGNORECASE)),
    ("second", re.compile(_SECOND, re.IGNORECASE)),
    ("corner", re.compile(r"(?:top|upper)[- _]*right|(?:bottom|lower)[- _]*left", re.IGNORECASE)),
    ("ray", re.compile(r"\b(?:ray|direction|vector|line|fingertip|tip|knuckle|arrow)\b", re.IGNORECASE)),
)
_RAY = re.compile(r"\b(?:ray|direction|vector|line|arrow|points?|path)\b[^.\n]*\Z", re.IGNORECASE)
_BOX_NAMED = re.compile(r"\b(?:b?box(?:es)?|bbox\w*|bounding|corners?|rectangle)\b", re.IGNORECASE)
_JOINED = re.compile(
    r"[\s\W]*(?:and|to|through|until)?[\s\W]*(?:the\s)?(?:(?:bottom|lower)[- _]*right)?(?:\s?corner)?[\s\W]*(?:is|at)?[\s\W]*\Z",
    re.IGNORECASE,
)
_BOXISH = re.compile(
    r"\b(?:b?box(?:es)?|bounding|bbox_?\w*|corners?|rectangle|region|spans?|extends?|occup\w+|covers?|coord\w*|location|located|area|answer|output|result|final|target)\b|[:=]\s*\Z|框|坐标",
    re.IGNORECASE,
)
_PLAIN_LINE = re.compile(
    r"(?:[\W_\d]|\b(?:the|final|my|answer|ans|b?box|bbox_?\w*|bounding|coord\w*|output|result|target|object|is|are|at|in|it|its|normali[sz]ed|predicted"
    r"|prediction|location|position|xyxy|xywh|cxcywh|yxyx|px|percent|pixels?|region|pointed|of|being)\b)*\Z",
    re.IGNORECASE,
)
_DIGIT = re.compile(r"(?<!bbox_)\d")
_LEADS_IN = re.compile(r"(?:[:=]|\b(?:is|are|at|be|as)\b)[\s\"']*\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Mention:
    """Four numbers that make a box.

    Attributes:
        values: as written.
        layout: what they are, where the way they are written says it; None for a bare list.
        unit: ``%``, ``px`` or nothing.
        how: ``list``, ``corners``, ``keys``, ``size``, ``ranges`` or ``loc``.
        start: where it starts in the text.
        end: where it ends.
        closed: whether the text says that it is complete (a bracket, a following word).
    """

    values: tuple[float, float, float, float]
    layout: Layout | None
    unit: str
    how: str
    start: int
    end: int
    closed: bool = True


@dataclass(frozen=True, slots=True)
class _Value:
    value: float
    unit: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Pair:
    one: _Value
    other: _Value
    role: str
    start: int
    end: int


def _unit(written: str | None) -> str:
    if not written:
        return ""
    return "%" if written.lower() in ("%", "percent") else "px"


def _shared(values: list[_Value]) -> str | None:
    """The unit of all values, None where only some are percent."""
    found = {value.unit for value in values}
    if len(found) == 1:
        return found.pop()
    return None if "%" in found else "px"


def _mention(
    values: list[_Value], layout: Layout | None, how: str, start: int, end: int, closed: bool = True
) -> list[Mention]:
    unit = _shared(values)
    if unit is None:
        return []
    a, b, c, d = (value.value for value in values)
    return [Mention((a, b, c, d), layout, unit, how, start, end, closed)]


def find(text: str) -> list[Mention]:
    """All boxes that a text states, in order, none inside another.

    Args:
        text: folded, its box tags turned into brackets.
    """
    found = [*_loc(text)]
    lists, pairs = _lists(text)
    found += lists
    found += _keys(text)
    found += _ranges(text)
    pairs += _points(text)
    pairs.sort(key=lambda pair: pair.start)
    found += _corners(text, pairs)
    # Of two that overlap the one that says more (the longer) stands.
    found.sort(key=lambda mention: (mention.start - mention.end, mention.start))
    kept: list[Mention] = []
    for mention in found:
        if all(mention.end <= other.start or mention.start >= other.end for other in kept):
            kept.append(mention)
    return sorted(kept, key=lambda mention: mention.start)


def _loc(text: str) -> Iterator[Mention]:
    for run in _LOC.finditer(text):
        numbers = [
            (float(number[1]), number.start(), number.end()) for number in _LOC_NUMBER.finditer(text, *run.span())
        ]
        if len(numbers) % 4:
            continue
        for first in range(0, len(numbers), 4):
            four = numbers[first : first + 4]
            a, b, c, d = (value for value, _, _ in four)
            yield Mention((a, b, c, d), None, "", "loc", four[0][1], four[3][2])


def _runs(text: str) -> Iterator[list[_Value]]:
    """Numbers with nothing but brackets, commas and blanks between them."""
    run: list[_Value] = []
    for found in _VALUE.finditer(text):
        value = _Value(float(found[1]), _unit(found[2]), found.start(1), found.end())
        if run and not _BETWEEN.match(text, run[-1].end, value.start):
            yield run
            run = []
        run.append(value)
    if run:
        yield run


def _lists(text: str) -> tuple[list[Mention], list[_Pair]]:
    mentions: list[Mention] = []
    pairs: list[_Pair] = []
    for run in _runs(text):
        groups = [[run[0]]]
        for before, value in pairwise(run):
            between = text[before.end : value.start]
            if any(sign in between for sign in _OPEN + _CLOSE):
                groups.append([])
            groups[-1].append(value)
        sizes = [len(group) for group in groups]
        if sizes == [2, 2]:
            values = [*groups[0], *groups[1]]
            if _opened(text, values[0].start) and not _goes_on(text, values[-1].end):
                mentions += _mention(
                    values,
                    None,
                    "corners",
                    _back(text, values[0].start),
                    _ahead(text, values[-1].end),
                    _shut(text, values[-1].end),
                )
            continue
        if set(sizes) == {2} and len(sizes) > 2:
            continue  # a polygon
        for group in groups:
            start, end = group[0].start, group[-1].end
            if len(group) == 4 and not _goes_on(text, end):
                if _opened(text, start):
                    mentions += _mention(group, None, "list", _back(text, start), _ahead(text, end), _shut(text, end))
                elif len(groups) == 1 and _stands_alone(text, start, end):
                    mentions += _mention(group, None, "list", start, end, bool(text[end:].strip(" '\"")))
            elif len(group) == 2 and _opened(text, start) and _shut(text, end):
                pairs.append(
                    _Pair(group[0], group[1], _role(text, _back(text, start)), _back(text, start), _ahead(text, end))
                )
    return mentions, pairs


def _opened(text: str, start: int) -> bool:
    return text[:start].rstrip(" \n\"'")[-1:] in tuple(_OPEN)


def _shut(text: str, end: int) -> bool:
    return text[end:].lstrip(" \n\"'")[:1] in tuple(_CLOSE)


def _goes_on(text: str, end: int) -> bool:
    """Whether a list has another element that is no number."""
    return re.match(r"[\s\"']*[,;]\s*[^\s\])}]", text[end : end + 40]) is not None and not re.match(
        r"[\s\"']*,\s*(?:[\"']|\n|\w+[\s\"']*[:=]|and\b|or\b|but\b|which\b|with\b|so\b|where\b)", text[end : end + 40]
    )


def _back(text: str, start: int) -> int:
    while start and text[start - 1] in " \n\"'([{":
        start -= 1
    while text[start] in " \n":
        start += 1
    return start


def _ahead(text: str, end: int) -> int:
    last = end
    while end < len(text) and text[end] in " \n\"')]}":
        end += 1
        if text[end - 1] in _CLOSE:
            last = end
    return last


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Four bare numbers count where their line holds nothing else, or words that lead in to a box."""
    line = text.rfind("\n", 0, start) + 1
    stop = text.find("\n", end)
    stop = len(text) if stop < 0 else stop
    before, after = text[line:start], text[end:stop]
    if _PLAIN_LINE.fullmatch(before) and _PLAIN_LINE.fullmatch(after) and not _DIGIT.search(before + after):
        return True
    commas = text[start:end].count(",") == 3
    return (
        commas
        and bool(_BOXISH.search(before[-60:]))
        and bool(_LEADS_IN.search(before))
        and bool(re.match(r"[\s.;!)\"']|\Z", after))
    )


def _role(text: str, start: int) -> str:
    """What a pair of numbers is, by the nearest words before it in its sentence."""
    before = text[max(0, start - 40) : start]
    cut = max(before.rfind(")"), before.rfind("]"), before.rfind("\n"), before.rfind(". "))
    named = re.search(r"\(\s*(?:c?x|x_?\w{1,3})\s*,\s*(?:c?y|y_?\w{1,3})\s*\)[^()\d]*\Z", before)
    clause = named.group() if named else before[cut + 1 :]
    best, role = -1, ""
    for name, pattern in _ROLES:
        for found in pattern.finditer(clause):
            if found.end() > best:
                best, role = found.end(), name
    return role


def _points(text: str) -> list[_Pair]:
    made = []
    for found in _POINT.finditer(text):
        one = _Value(float(found[1]), _unit(found[2]), found.start(1), found.end(1))
        other = _Value(float(found[3]), _unit(found[4]), found.start(3), found.end(3))
        made.append(_Pair(one, other, _role(text, found.start()), found.start(), found.end()))
    return made


def _keys(text: str) -> Iterator[Mention]:
    """Named values, in any order: corners, corner and size, centre and size."""
    tokens: list[tuple[str, _Value]] = []
    for found in _KEYED.finditer(text):
        role = next(name for name in _NAMES if found[name])
        tokens.append((role, _Value(float(found["value"]), _unit(found.groups()[-1]), found.start(), found.end())))
    for found in _WIDE.finditer(text):
        tokens.append(
            ("w" if found["w"] else "h", _Value(float(found[1]), _unit(found[2]), found.start(), found.end()))
        )
    tokens.sort(key=lambda token: token[1].start)
    held: dict[str, _Value] = {}
    for role, value in tokens:
        if held and not _near(text, max(one.end for one in held.values()), value.start):
            held = {}
        if role in held and role in ("x", "y"):
            role += "'"
        if role in held:
            held = {}
        held[role] = value
        complete = _complete(held)
        if complete is not None:
            layout, values = complete
            start, end = min(one.start for one in values), max(one.end for one in values)
            yield from _mention(values, layout, "keys", start, end)
            held = {}


def _near(text: str, end: int, start: int) -> bool:
    between = text[end:start]
    return len(between) <= 60 and not re.search(r"\}\s*,?\s*\{|\n\s*\n", between)


_SETS: Final = (
    (("x0", "y0", "x1", "y1"), Layout.XYXY),
    (("x1", "y1", "x2", "y2"), Layout.XYXY),
    (("x", "y", "x2", "y2"), Layout.XYXY),
    (("x", "y", "x'", "y'"), Layout.XYXY),
    (("x", "y", "w", "h"), Layout.XYWH),
    (("x1", "y1", "w", "h"), Layout.XYWH),
    (("x0", "y0", "w", "h"), Layout.XYWH),
    (("cx", "cy", "w", "h"), Layout.CXCYWH),
)


def _complete(held: dict[str, _Value]) -> tuple[Layout, list[_Value]] | None:
    for names, layout in _SETS:
        if all(name in held for name in names):
            if names == ("x", "y", "x'", "y'"):
                first = sorted((held["x"], held["x'"]), key=lambda value: value.start)
                second = sorted((held["y"], held["y'"]), key=lambda value: value.start)
                return layout, [first[0], second[0], first[1], second[1]]
            return layout, [held[name] for name in names]
    return None


def _ranges(text: str) -> Iterator[Mention]:
    """One range across and one down."""
    held: dict[str, tuple[_Value, _Value, int, int]] = {}
    for found in _RANGE.finditer(text):
        across = found["x"] or found["xi"] or found["xa"]
        axis = "x" if across else "y" if found["y"] or found["yi"] or found["ya"] else ""
        if not axis:
            continue
        places = [_RANGE.groupindex[name] for name in ("one", "other")]
        one, other = (
            _Value(float(found[place]), _unit(found[place + 1]), found.start(place), found.end(place))
            for place in places
        )
        if one.unit != other.unit == "%":
            one = replace(one, unit="%")  # "10-30 %"
        if held and not _near(text, max(entry[3] for entry in held.values()), found.start()):
            held = {}
        held[axis] = (one, other, found.start(), found.end())
        if len(held) == 2:
            (x1, x2, start, end), (y1, y2, start2, end2) = held["x"], held["y"]
            yield from _mention([x1, y1, x2, y2], Layout.XYXY, "ranges", min(start, start2), max(end, end2))
            held = {}


def _corners(text: str, pairs: list[_Pair]) -> Iterator[Mention]:
    """Two opposite corners, or a corner or centre and a size, with words between."""
    used = -1
    for number, pair in enumerate(pairs):
        if pair.start < used or pair.role in ("size", "ray"):
            continue
        following = pairs[number + 1] if number + 1 < len(pairs) else None
        if following is not None and following.start - pair.end <= 80:
            between = text[pair.end : following.start]
            before = text[max(0, pair.start - 60) : pair.start]
            after = text[following.end : following.end + 40]
            alone = not before.strip(" \n:") and not after.strip(" \n.")
            if _RAY.search(before) and not _BOX_NAMED.search(before + after):
                continue
            values = [pair.one, pair.other, following.one, following.other]
            if following.role == "size":
                yield from _mention(
                    values, Layout.CXCYWH if pair.role == "center" else Layout.XYWH, "size", pair.start, following.end
                )
                used = following.end
                continue
            opposite = (pair.role, following.role) in (("first", "second"), ("second", "first"), ("corner", "corner"))
            joined = pair.role in ("", "first") and _JOINED.match(between) is not None and between.strip(" ,;\n") != ""
            if opposite or (joined and (alone or _BOXISH.search(before) or _BOX_NAMED.search(after))):
                yield from _mention(values, Layout.XYXY, "corners", pair.start, following.end)
                used = following.end
                continue
        size = _size_after(text, pair.end)
        if size is not None:
            values = [pair.one, pair.other, size[0], size[1]]
            layout = Layout.CXCYWH if pair.role == "center" else Layout.XYWH
            yield from _mention(values, layout, "size", pair.start, size[2])
            used = size[2]


def _size_after(text: str, end: int) -> tuple[_Value, _Value, int] | None:
    """A width and a height told within a few words, both or neither."""
    ahead = text[end : end + 90]
    stop = re.search(
        r"\n\s*\n|\.\s+(?!(?:[Ww]idth|[Hh]eight|[Ss]ize|[Ii]ts|[Ww]ith)\b)[A-Z]|[\[({]\s*[\d.-]+\s*,", ahead
    )
    ahead = ahead[: stop.start()] if stop else ahead
    by = _BY.search(ahead)
    if by is not None and re.search(
        r"\bsizes?\b|\bdimensions?\b|\bmeasur\w+|\bextents?\b|\bwidth\b|\bis\b|\bof\b|\A\W*\Z",
        ahead[: by.start()],
        re.IGNORECASE,
    ):
        return (
            _Value(float(by[1]), _unit(by[2]), end + by.start(1), end + by.end(1)),
            _Value(float(by[3]), _unit(by[4]), end + by.start(3), end + by.end(3)),
            end + by.end(),
        )
    sides: dict[str, _Value] = {}
    last = 0
    for found in (*_WIDE.finditer(ahead), *_KEYED.finditer(ahead)):
        role = next((name for name in ("w", "h") if found.groupdict().get(name)), None)
        if role is not None and role not in sides:
            value = found.groupdict().get("value") or found[1]
            sides[role] = _Value(
                float(value),
                _unit(found.groups()[-1] if "value" in found.groupdict() else found[2]),
                end + found.start(),
                end + found.end(),
            )
            last = max(last, end + found.end())
    return (sides["w"], sides["h"], last) if len(sides) == 2 else None
