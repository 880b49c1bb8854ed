"""What each mention of an option says: declared, denied, hedged, or merely mentioned."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from enum import Enum

from handbench.replies import declaring, judging, telling
from handbench.replies.joining import is_filler, strip_glue
from handbench.replies.mentions import CLASH, OFF, Mention, find_mentions, grouped
from handbench.replies.options import Prepared

_REACH = 160
_BOUND = re.compile(r"\n|[.!?](?![0-9a-z.])|[;…]")
_HEADING = re.compile(r"[^\n]*\S[^\n]*\Z")
_EITHER_LEFT = re.compile(r"\b(?:either|entweder|soit|o bien|либо)\W*\Z")
_LIKELIER_RIGHT = re.compile(
    r"\s*(?:is|seems|looks|appears)\s+(?:slightly |much |a bit )?(?:the )?(?:more|most) (?:likely|probable|plausible|fitting)\b"
)
_NO_LEFT = re.compile(r"[\s?!.]*(?:actually,? |wait,? )?(?:no|nope|nein|non|não|нет|nie)\s*[,.:;!-]+\s*\Z")
_TELLING = re.compile(r"[^\W_]+(?:'[^\W_]+)?")

FINAL, DECLARED, BARE, PROBABLE, POSSIBLE = 3.0, 2.0, 1.0, 0.8, 0.4


class Kind(Enum):
    """What a mention says."""

    AFFIRM = "affirm"
    DENY = "deny"
    HEDGE = "hedge"
    NEUTRAL = "neutral"


@dataclass(frozen=True, slots=True)
class Evidence:
    """One mention, or several joined ones, with what it says and how firmly.

    Attributes:
        kind: What it says.
        choices: The options meant.
        strength: How firm the saying is.
        rule: Name of the rule that read it.
        start: Where it starts in the text.
        end: Where it ends.
        verdict: It judges the option ("B is correct") rather than giving the answer.
        letter: A letter is part of it.
        labelled: It is a letter with its option text.
    """

    kind: Kind
    choices: frozenset[int]
    strength: float
    rule: str
    start: int
    end: int
    verdict: bool = False
    letter: bool = True
    labelled: bool = False


def bounds(lower: str) -> list[int]:
    """Ends of sentences and lines, in order."""
    return [found.end() for found in _BOUND.finditer(lower)]


def _left_of(lower: str, ends: list[int], start: int, since: int) -> str:
    place = bisect_right(ends, start)
    edge = ends[place - 1] if place else 0
    left = lower[max(edge, since, start - _REACH) : start]
    if edge > since and edge and lower[edge - 1] == "\n" and not strip_glue(left):
        heading = _HEADING.search(lower[max(since, edge - 80) : edge].rstrip())
        if heading is not None:
            words = heading.group().strip()
            if words.endswith((":", " is", " be", "=", "→")):
                return words + " "
            if declaring.ANSWER_LEFT.search(words + ":") and len(words) < 32 and not words.endswith((".", "!", "?")):
                return words + ": "
    return left


def _right_of(lower: str, ends: list[int], end: int, until: int) -> str:
    place = bisect_right(ends, end)
    edge = ends[place] if place < len(ends) else len(lower)
    right = lower[end : min(edge, until, end + _REACH)]
    if right.strip() in (".", ")", ":"):
        line = lower.find("\n", end, end + 26)
        line = min(until, line if line >= 0 else end + 26, len(lower))
        if line - end < 26 and judging.VERDICT_LINE.match(lower, end, line):
            return lower[end:line]
    return right


def _others_told(right: str, choice: int, prepared: Prepared) -> bool:
    """Whether words of other options stand right of an option's text."""
    return any(choice not in prepared.spread[word] for word in _TELLING.findall(right) if word in prepared.spread)


def _goes_on(group: list[Mention], right: str, prepared: Prepared, *, loose: bool) -> bool:
    """Whether what follows a mention lets it stand: nothing, an explanation, or (loose) any words."""
    if judging.NOTHING_RIGHT.match(right):
        return True
    last = group[-1]
    if last.text:
        if last.choice >= 0 and _others_told(right, last.choice, prepared):
            return False
        return judging.EXPLAIN_RIGHT.match(right) is not None or judging.NOMINAL_RIGHT.match(right) is not None
    if last.choice == 0:
        return judging.EXPLAIN_A_RIGHT.match(right) is not None
    return loose or judging.EXPLAIN_RIGHT.match(right) is not None


def _judge(group: list[Mention], left: str, right: str, ahead: str, prepared: Prepared) -> tuple[Kind, float, str]:
    """Kind, strength and rule of a group from the words around it."""
    if judging.YES_AHEAD.match(ahead):
        return Kind.AFFIRM, DECLARED, "verdict"
    if judging.NO_AHEAD.match(ahead):
        return Kind.DENY, DECLARED, "verdict"
    if judging.QUESTION_RIGHT.match(right):
        return Kind.NEUTRAL, 0, "question"
    if len({mention.choice for mention in group}) > 1 and _EITHER_LEFT.search(left):
        return Kind.HEDGE, PROBABLE, "either"
    if judging.ALL_BUT_LEFT.search(left):
        return (Kind.AFFIRM, DECLARED, "all-but") if judging.DENY_RIGHT.match(right) else (Kind.NEUTRAL, 0, "all-but")
    if len({mention.choice for mention in group}) > 1 and judging.BETWEEN_LEFT.search(left):
        return Kind.HEDGE, PROBABLE, "undecided"
    if _NO_LEFT.match(left) and _goes_on(group, right, prepared, loose=False):
        return Kind.AFFIRM, DECLARED, "after-no"
    if judging.DENY_LEFT.search(left):
        return Kind.DENY, DECLARED, "denied"
    far = bool(left) and judging.denies_far(left)
    if judging.DENY_RIGHT.match(right):
        return (Kind.NEUTRAL, 0, "denied") if far else (Kind.DENY, DECLARED, "denied")
    if judging.CONDITION_RIGHT.match(right) or (left and (far or judging.concedes(left))):
        return Kind.NEUTRAL, 0, "weighed"
    return _affirmed(group, left, right, prepared)


def _affirmed(group: list[Mention], left: str, right: str, prepared: Prepared) -> tuple[Kind, float, str]:
    firm = FINAL if left and declaring.FINAL_LEFT.search(left) else DECLARED
    stripped = strip_glue(left)
    if judging.AFFIRM_RIGHT.match(right) and not declaring.POSSIBLE_LEFT.search(stripped):
        return Kind.AFFIRM, firm, "verdict"
    if _LIKELIER_RIGHT.match(right):
        return Kind.AFFIRM, PROBABLE, "likelier"
    if left:
        for pattern, strength, rule, loose in (
            (declaring.ANSWER_LEFT, firm, "answer-phrase", True),
            (declaring.POSSIBLE_LEFT, POSSIBLE, "possible", False),
            (declaring.PROBABLE_LEFT, PROBABLE, "probable", False),
            (declaring.CHOOSE_LEFT, firm, "choose-phrase", False),
        ):
            if (pattern.search(left) or pattern.search(stripped)) and _goes_on(group, right, prepared, loose=loose):
                return Kind.AFFIRM, strength, rule
        if declaring.leads_with_colon(left) and judging.NOTHING_RIGHT.match(right):
            return Kind.AFFIRM, firm, "colon"
    if is_filler(stripped) and _goes_on(group, right, prepared, loose=False):
        last = group[-1]
        rule = "letter-text" if last.letter and last.text else "letter" if last.letter else "text"
        return Kind.AFFIRM, BARE, rule
    return Kind.NEUTRAL, 0, "mentioned"


def _is_listing(group: list[Mention], prepared: Prepared) -> bool:
    return len(group) == prepared.count > 1 and all(mention.letter and mention.text for mention in group)


_PLAIN = ("letter-text", "letter", "text", "mentioned")


def _without_listing(found: list[Evidence], count: int) -> list[Evidence]:
    """Drop a repeated option list: every option in order, bare and with its text."""
    out: list[Evidence] = []
    place = 0
    while place < len(found):
        run = found[place : place + count]
        if (
            count > 1
            and len(run) == count
            and all(
                item.choices == {index} and (item.rule in _PLAIN or (index == 0 and item.labelled))
                for index, item in enumerate(run)
            )
        ):
            place += count
            continue
        out.append(found[place])
        place += 1
    return out


def weigh(text: str, lower: str, prepared: Prepared) -> tuple[list[Evidence], list[Mention]]:
    """Evidence of all mentions, in order.

    Args:
        text: Plain visible text, case kept.
        lower: The same in lower case.
        prepared: The options.
    """
    mentions = find_mentions(text, lower, prepared)
    if not mentions:
        return [], []
    ends = bounds(lower)
    groups = grouped(mentions, lower)
    found: list[Evidence] = []
    for place, group in enumerate(groups):
        start, end = group[0].start, group[-1].end
        since = groups[place - 1][-1].end if place else 0
        until = groups[place + 1][0].start if place + 1 < len(groups) else len(lower)
        left, right = _left_of(lower, ends, start, since), _right_of(lower, ends, end, until)
        kind, strength, rule = _judge(group, left, right, lower[end : min(until, end + 24)], prepared)
        choices = frozenset(mention.choice for mention in group)
        if kind is Kind.AFFIRM and len(choices) > 1:
            ranking = declaring.RANKING_LEFT.search(left)
            if ranking is not None and len(group) > 1:
                turned = declaring.ranks_upwards(ranking.group())
                chosen = group[-1] if turned else group[0]
                found.append(Evidence(kind, frozenset((chosen.choice,)), DECLARED, "ranking", chosen.start, chosen.end))
                continue
            if _is_listing(group, prepared):
                continue
            kind = Kind.HEDGE
        letter = any(mention.letter for mention in group)
        found.append(
            Evidence(kind, choices, strength, rule, start, end, rule == "verdict", letter, letter and group[-1].text)
        )
    return _without_listing(found, prepared.count), mentions


def distribution(lower: str, mentions: list[Mention]) -> Evidence | None:
    """The evidence of probabilities given to two or more options; None when there are none."""
    given: dict[int, tuple[float, Mention]] = {}
    leading: bool | None = None
    for place, mention in enumerate(mentions):
        until = mentions[place + 1].start if place + 1 < len(mentions) else len(lower)
        since = mentions[place - 1].end if place else 0
        left = telling.SHARE_LEFT.search(lower[max(since, mention.start - 48) : mention.start])
        right = telling.SHARE_RIGHT.match(lower[mention.end : min(until, mention.end + 60)])
        if leading is None and (left or right):
            leading = left is not None
        number = left if leading else right
        if number is not None and mention.choice >= 0:
            given[mention.choice] = (float(number[1]), mention)
    if len(given) < 2:
        return None
    best = max(value for value, _ in given.values())
    top = [(choice, mention) for choice, (value, mention) in given.items() if value == best]
    start, end = min(m.start for _, m in top), max(m.end for _, m in top)
    kind = Kind.AFFIRM if len(top) == 1 else Kind.HEDGE
    return Evidence(kind, frozenset(choice for choice, _ in top), DECLARED, "probabilities", start, end)


__all__ = ["BARE", "CLASH", "DECLARED", "FINAL", "OFF", "Evidence", "Kind", "bounds", "distribution", "weigh"]
