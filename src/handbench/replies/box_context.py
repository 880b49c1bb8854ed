"""What the words and keys around a box say of it: the hand's, a draft, denied, another thing, the answer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from handbench.replies.box_numbers import Mention
from handbench.replies.frames import Layout


class Role(IntEnum):
    """What a box is said to be; the higher the nearer to the answer."""

    DENIED = 0
    HAND = 1
    EXAMPLE = 2
    OTHER = 3
    DRAFT = 4
    PLAIN = 5
    TARGET = 6
    FINAL = 7


@dataclass(frozen=True, slots=True)
class Context:
    """A box among its surroundings.

    Attributes:
        role: what it is said to be.
        layout: what its numbers are said to be; None where nothing says so.
        unit: ``%`` or ``px`` where the words say so, else nothing; ``norm`` where they speak of normalised numbers.
        joined: whether it is only listed beside the box before it ("or", a comma, the next of a list).
        structured: it stands in an object, in tags, or alone on its line.
    """

    role: Role
    layout: Layout | None
    unit: str
    joined: bool
    structured: bool


_HAND = r"(?:hands?|fingers?|fingertips?|index|thumb|palm|wrist|arm|手|手指|手部|指尖)"
_POINTS = (
    r"point\w*|aim\w*|target\w*|toward\w*|object\w*|indicat\w*|direct\w*|reach\w*|referr?\w*|select\w*|show\w*|touch\w*"
)
_IS_HAND = re.compile(
    rf"(?:(?:b?box|bbox\w*|bounding box|coord\w*|location|position|region|area) (?:of|for|around) (?:the |this |my |your |a )?(?:\w+ ){{0,2}}?{_HAND}"
    rf"|(?<!near )(?<!near the )(?<!by the )(?<!under the )(?<!from the )(?<!to the )(?<!beside the )(?<!below the )(?<!above the )(?<!in the )(?<!with the )(?<!behind the )(?<!of the )(?<!than the )(?<!following the )(?<!along the )(?<!past the )(?<!tracing the )(?<!extending the )(?<!follow the )(?<!beyond the )"
    rf"(?<!\w){_HAND}(?!\w)(?!-))(?!(?:[^.\n]*\W)?(?:{_POINTS}))[^.\n]{{0,60}}\Z",
    re.IGNORECASE,
)
_HAND_AFTER = re.compile(
    rf"[\s)\]\"'*]*(?:\(|-|:|is|for|=)?\s*(?:is |the |this )*(?:pointing )?{_HAND}(?:'s)?(?: b?box| region| location)?\s*(?:\)|[.,;\n]|and\b|\Z)",
    re.IGNORECASE,
)
_EXAMPLE = re.compile(
    r"\b(?:example|e\.g\.?|for instance|such as|like this|template|placeholder)\W{0,6}(?:\w+\W+){0,3}\Z", re.IGNORECASE
)
_DRAFT = re.compile(
    r"\b(?:first (?:guess|thought|attempt|estimate|try|impression|look|glance)|initial\w*|at first|draft|rough\w*|preliminary|tentative\w*|originally|before(?:hand)?|earlier"
    r"|considered|thought it was|was going to|started with|previous\w*|old)\b[^.\n]{0,60}\Z",
    re.IGNORECASE,
)
_OTHER = re.compile(
    r"\b(?:distractors?|the other|others?|another|background|nearby|neighbou?r\w*|alternativ\w*|candidates?|not the target|also (?:see|visible|a|an|in)|image (?:size|is)|runner-up|second choice)\b[^.\n]{0,60}\Z",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"(?:\b(?:not|isn't|isn t|wasn't|rather than|instead of|no longer|excluding|exclude[sd]?|ruled? out|reject(?:ed|ing)?|discard\w*|wrong|incorrect\w*|nor)\b)[\s\"'(]*(?:(?:at|the|in|box|bbox|one|region)\b[\s:\"'(]*){0,4}\Z",
    re.IGNORECASE,
)
_DENIED_AFTER = re.compile(
    r"[\s)\]\"'*,]*(?:(?:is|was|would be|seems?|looks?|which is|that's|that is)(?:n't| not| (?:\w+ )?(?:wrong|incorrect|too|off\b|inaccurate|another|a distractor|a different|just a|only a|the wrong))"
    r"|\((?:wrong|incorrect|not|distractor|rejected|discarded|no)\b|does(?:n't| not) (?:fit|match|lie|meet|contain)|can be (?:ruled out|excluded|discarded))",
    re.IGNORECASE,
)
_FINAL = re.compile(
    r"\b(?:final\w*|answer|output|result|therefore|thus|hence|conclu\w*|correct(?:ed|ion)?|revis\w*|updated?|refin\w*|after (?:checking|looking|re\w+|closer|verif\w+)|on (?:second thought|reflection|closer)|instead|actually"
    r"|adjust\w*|tighter|in the end|wait|oops|i meant|should be|better|the best|most likely|i (?:choose|pick|select|go with)|so,? (?:the|it|my))\b[^\n]{0,80}\Z|最终|答案|因此|所以",
    re.IGNORECASE,
)
_TARGET = re.compile(
    r"\b(?:targets?|pointed[- ]?(?:at|to|out)?|pointing (?:at|to|towards?)|points (?:at|to|towards?)|referent|referred|refers to|prediction|predicted|selected|chosen|indicated|object box|the object(?:'s)?|object is|b?box is|bounding box is)\b[^.\n]{0,80}\Z|目标|指向|所指",
    re.IGNORECASE,
)
_JOINS = re.compile(
    r"[\s\"'\]\)\}*~]*(?:[,;/&|+]|or\b|and\b|oder\b|ou\b|或|和|以及|,\s*(?:or|and)\b)[\s\"'\[({*]*(?:(?:also|possibly|maybe|perhaps|alternatively|else|the|at)\b[\s,:\"'\[(]*)*\Z|[\s\]\[,;~]*\Z",
    re.IGNORECASE,
)

_ANNOUNCED = re.compile(r":\s*\n\s*")
_KEY_BEFORE = re.compile(r"[\"']?([A-Za-z_][\w .-]{0,40}?)[\"']?\s*[:=]\s*[\"'\[({\s]*\Z")
_LABEL = re.compile(
    r"[\"']?(?:label|name|category|class|type|object|role|description|desc|text)[\"']?\s*:\s*[\"']([^\"'\n]{0,80})[\"']",
    re.IGNORECASE,
)
_FLAG = re.compile(
    r"[\"']?(?:is_?)?(?:target|pointed(?:_at)?|referent|selected|answer)[\"']?\s*:\s*(true|false|yes|no)\b",
    re.IGNORECASE,
)
_HAND_KEY = re.compile(rf"(?:^|[_ ]){_HAND}(?:$|[_ ])(?!.*(?:point|target|object))|^{_HAND}$", re.IGNORECASE)
_FINAL_KEY = re.compile(r"final|answer|referent|target|result|output|predict|pointed|selected", re.IGNORECASE)
_OTHER_KEY = re.compile(
    r"candidate|path|distractor|other|alternativ|considered|rejected|scene|all_|detect|context|draft|initial|input",
    re.IGNORECASE,
)

_NAMES_OF: Final = {
    Layout.XYWH: r"(?<![A-Za-z])(?:xywh|ltwh|tlwh)(?![A-Za-z])|(?<![A-Za-z])(?:x\w{0,6}|left)\s*,\s*(?:y\w{0,6}|top)\s*,?\s*(?:and\s)?\s*w(?:idth)?\s*,?\s*(?:and\s)?\s*h(?:eight)?(?![A-Za-z])|\bcoco[- ](?:format|style|layout)",
    Layout.CXCYWH: r"(?<![A-Za-z])(?:cxcywh|xcycwh)(?![A-Za-z])|(?:c_?x|x_?c(?:ent(?:er|re))?|cent(?:er|re)[_ ]?x)\s*,\s*(?:c_?y|y_?c(?:ent(?:er|re))?|cent(?:er|re)[_ ]?y)\s*,?\s*(?:and\s)?\s*w(?:idth)?\s*,?\s*(?:and\s)?\s*h(?:eight)?(?![A-Za-z])|\byolo[- ](?:format|style|layout)",
    Layout.YXYX: r"(?<![A-Za-z])yxyx(?![A-Za-z])|y_?1_?x_?1_?y_?2_?x_?2|y_?min_?x_?min_?y_?max_?x_?max|y_?(?:1|0|min)\s*,\s*x_?(?:1|0|min)\s*,\s*y_?(?:2|1|max)\s*,\s*x_?(?:2|1|max)|top\s*,\s*left\s*,\s*bottom\s*,\s*(?:and\s)?right|\brow[- ]first|\browmin",
    Layout.XYXY: r"(?<![A-Za-z])(?:xyxy|ltrb)(?![A-Za-z])|x_?(?:1|0|min)\s*,\s*y_?(?:1|0|min)\s*,\s*x_?(?:2|1|max)\s*,\s*y_?(?:2|1|max)|left\s*,\s*top\s*,\s*right\s*,\s*(?:and\s)?bottom",
}
_LAYOUTS: Final = {layout: re.compile(pattern, re.IGNORECASE) for layout, pattern in _NAMES_OF.items()}
_PERCENT = re.compile(
    r"\b(?:in|as|of|are) (?:percent(?:ages?)?\b|%)|\bpercent(?:ages?)?(?: coord\w*| of)|\(%\)|\(percent\w*\)",
    re.IGNORECASE,
)
_PIXELS = re.compile(
    r"\b(?:in|as|absolute|image) (?:pixels?|px)\b|\b(?:pixel|absolute) (?:coord\w*|values?|position)|\((?:px|pixels?)\)",
    re.IGNORECASE,
)
_NORMAL = re.compile(r"\bnormali[sz]ed\b|\brelative coord\w*|\b0\s?(?:-|to)\s?1(?:000|\.0)?\b", re.IGNORECASE)


def describe(text: str, mentions: list[Mention]) -> list[Context]:
    """What is said of each box.

    Args:
        text: the folded text that the boxes were found in.
        mentions: the boxes, in order.
    """
    statements = [
        (found.start(), found.end(), layout) for layout, pattern in _LAYOUTS.items() for found in pattern.finditer(text)
    ]
    contexts = []
    for number, mention in enumerate(mentions):
        last = mentions[number - 1].end if number else 0
        following = mentions[number + 1].start if number + 1 < len(mentions) else len(text)
        contexts.append(_context(text, mention, last, following, statements, number > 0))
    return contexts


def _context(
    text: str, mention: Mention, last: int, following: int, statements: list[tuple[int, int, Layout]], later: bool
) -> Context:
    before = text[max(last, mention.start - 240) : mention.start]
    after = text[mention.end : min(following, mention.end + 90)]
    keys, inside = _keys(text, mention)
    if inside is not None:
        before = before.rsplit("}", 1)[-1]  # what another object says of itself is no word of this one
    before = _ANNOUNCED.sub(": ", before)
    start, end = inside if inside is not None else (mention.start, mention.end)
    sentence = before[max(before.rfind("\n"), before.rfind(". ") + 1, 0) :]
    around = sentence + " " + (text[start:end] if inside is not None else after[:60].split("\n")[0])
    unit = (
        "%" if _PERCENT.search(around) else "px" if _PIXELS.search(around) else "norm" if _NORMAL.search(around) else ""
    )
    structured = (
        inside is not None or mention.how == "loc" or not sentence.strip(" \n*-:>#\"'[({") or "<" in before[-24:]
    )
    role = _role(text, mention, before, sentence, after, keys, inside)
    return Context(
        role, _layout(mention, statements, inside, text), unit, later and _JOINS.match(before) is not None, structured
    )


def _role(
    text: str,
    mention: Mention,
    before: str,
    sentence: str,
    after: str,
    keys: list[str],
    inside: tuple[int, int] | None,
) -> Role:
    labels = _LABEL.findall(text[inside[0] : inside[1]]) if inside is not None and inside[1] - inside[0] < 600 else []
    if any(_HAND_KEY.search(key) for key in keys) or any(
        re.fullmatch(rf"(?:the |a )?(?:\w+ )?{_HAND}(?: b?box)?", label.strip(), re.IGNORECASE) for label in labels
    ):
        return Role.HAND
    flag = _FLAG.search(text[inside[0] : inside[1]]) if inside is not None and inside[1] - inside[0] < 600 else None
    if flag is not None:
        return Role.TARGET if flag[1].lower() in ("true", "yes") else Role.OTHER
    for key in reversed(keys):
        if _OTHER_KEY.search(key):
            return Role.OTHER
        if _FINAL_KEY.search(key):
            return Role.FINAL
    clause = re.split(r"[;]|,\s(?:but|while|and then|so)\b", sentence)[-1]
    if _DENIED.search(sentence) or _DENIED_AFTER.match(after):
        return Role.DENIED
    if _IS_HAND.search(clause) or _HAND_AFTER.match(after):
        return Role.HAND
    if _EXAMPLE.search(sentence):
        return Role.EXAMPLE
    if _FINAL.search(before.rsplit("\n\n", 1)[-1]) and not _FINAL_IS_DRAFT.search(sentence):
        return Role.FINAL
    if _DRAFT.search(sentence):
        return Role.DRAFT
    if _OTHER.search(clause) and not _TARGET.search(clause):
        return Role.OTHER
    return Role.TARGET if _TARGET.search(sentence) else Role.PLAIN


_FINAL_IS_DRAFT = re.compile(
    r"\b(?:first|initial|previous|draft|rough)\w*\s(?:answer|result|output|guess)", re.IGNORECASE
)


def _keys(text: str, mention: Mention) -> tuple[list[str], tuple[int, int] | None]:
    """Keys from the outermost to the box's own, and the innermost object around it."""
    stack: list[int] = []
    for found in re.finditer(r"[\[\]{}]", text[: mention.start]):
        if found.group() in "[{":
            stack.append(found.start())
        elif stack:
            stack.pop()
    places = [*stack, mention.start]
    keys = [named[1] for place in places if (named := _KEY_BEFORE.search(text[max(0, place - 60) : place])) is not None]
    opened = next((place for place in reversed(stack) if text[place] == "{"), None)
    if opened is None and text[mention.start : mention.start + 1] == "{":
        opened = mention.start
    if opened is None:
        return (keys if any('"' in text[max(0, place - 60) : place] for place in places) else []), None
    depth = 0
    for brace in re.finditer(r"[{}]", text[opened:]):
        depth += 1 if brace.group() == "{" else -1
        if depth == 0:
            return keys, (opened, opened + brace.end())
    return keys, (opened, len(text))


def _layout(
    mention: Mention, statements: list[tuple[int, int, Layout]], inside: tuple[int, int] | None, text: str
) -> Layout | None:
    """What the words nearest to a list say its numbers are."""
    if mention.layout is not None:
        return mention.layout
    best, chosen = 400, None
    for start, end, layout in statements:
        if end <= mention.start:
            away = mention.start - end
        elif inside is not None and inside[0] <= start < inside[1]:
            away = abs(start - mention.end)
        elif start >= mention.end and "\n" not in text[mention.end : start]:
            away = start - mention.end + 20
            if away > 80:
                continue
        else:
            continue
        if away < best:
            best, chosen = away, layout
    return chosen
