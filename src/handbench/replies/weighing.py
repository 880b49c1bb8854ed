"""Weighing each mention by the words around it: declared, denied, hedged, or merely mentioned."""

from __future__ import annotations

import re
from bisect import bisect_right

from handbench.replies import declaring, judging, telling
from handbench.replies.evidence import BARE, DECLARED, FINAL, POSSIBLE, PROBABLE, Evidence, Kind
from handbench.replies.joining import ADDED, is_filler, strip_glue
from handbench.replies.listing import without_listing
from handbench.replies.mentions import OFF, Mention, find_mentions, grouped
from handbench.replies.options import Prepared

_REACH = 160
_BOUND = re.compile(r"\n|[.!?](?![0-9a-z.])|[;…]")
_HEADING = re.compile(r"[^\n]*\S[^\n]*\Z")
_NO_LEFT = re.compile(r"[\s?!.]*(?:actually,? |wait,? )?(?:no|nope|nein|non|não|нет|nie)\s*[,.:;!-]+\s*\Z")
_NO_OPTION = re.compile(r"[)\].:]+ ?[\"']?(?:none|both|neither|all|either)(?![^\W_])")
_TAIL = re.compile(r"\w{0,3}[\s,]*")
_OR_ELSE = re.compile(r"[\s\"'.,]*or (?:possibly|maybe|perhaps) ")
_TELLING = re.compile(r"[^\W_]+(?:'[^\W_]+)?")


def bounds(lower: str) -> list[int]:
    """Ends of sentences and lines, in order."""
    return [found.end() for found in _BOUND.finditer(lower)]


def _edge(ends: list[int], start: int) -> int:
    """Where the sentence of a place begins."""
    place = bisect_right(ends, start)
    return ends[place - 1] if place else 0


def _left_of(lower: str, ends: list[int], start: int, since: int) -> str:
    edge = _edge(ends, start)
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
    if group[-1].choice != OFF and _NO_OPTION.match(right):
        return False
    last = group[-1]
    if last.text:
        if _OR_ELSE.match(right):
            return False
        if judging.NOMINAL_RIGHT.match(right):
            return True
        if last.choice >= 0 and _others_told(right, last.choice, prepared):
            return False
        return judging.EXPLAIN_RIGHT.match(right) is not None
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
    several = len({mention.choice for mention in group}) > 1
    if judging.CONDITIONAL_LEFT.match(left) or (several and judging.ASKING_LEFT.search(left)):
        return Kind.NEUTRAL, 0, "weighed"
    if judging.ALL_BUT_LEFT.search(left):
        others_wrong = judging.DENY_RIGHT.match(right) or judging.WRONG_BEFORE_BUT.search(left)
        return (Kind.AFFIRM, DECLARED, "all-but") if others_wrong else (Kind.NEUTRAL, 0, "all-but")
    if judging.NONE_BUT_LEFT.search(left):
        confirmed = judging.AFFIRM_RIGHT.match(right) is not None
        return (Kind.AFFIRM, DECLARED, "all-but") if confirmed else (Kind.NEUTRAL, 0, "all-but")
    if several and judging.BETWEEN_LEFT.search(left):
        return Kind.HEDGE, PROBABLE, "undecided"
    if _NO_LEFT.match(left) and _goes_on(group, right, prepared, loose=False):
        return Kind.AFFIRM, DECLARED, "after-no"
    if judging.DENY_LEFT.search(left):
        return Kind.DENY, DECLARED, "denied"
    far = bool(left) and judging.denies_far(left)
    if judging.DENY_RIGHT.match(right):
        return (Kind.NEUTRAL, 0, "denied") if far else (Kind.DENY, DECLARED, "denied")
    if several and (judging.BOTH_LEFT.search(left) or judging.BOTH_RIGHT.match(right)):
        return Kind.HEDGE, PROBABLE, "either"
    if judging.CONDITION_RIGHT.match(right) or (left and (far or judging.concedes(left))):
        return Kind.NEUTRAL, 0, "weighed"
    return _affirmed(group, left, right, prepared)


def _affirmed(group: list[Mention], left: str, right: str, prepared: Prepared) -> tuple[Kind, float, str]:
    firm = FINAL if left and declaring.FINAL_LEFT.search(left) else DECLARED
    stripped = strip_glue(left)
    letter = any(mention.letter for mention in group)
    confirmed = judging.AFFIRM_RIGHT if letter else judging.AFFIRM_TEXT_RIGHT
    verdict = confirmed.match(right)
    if verdict is not None and judging.TURNED_RIGHT.match(right, verdict.end()):
        return Kind.DENY, DECLARED, "denied"
    if (
        verdict is not None
        and not _is_option_word(verdict.group(), prepared)
        and not declaring.POSSIBLE_LEFT.search(stripped)
    ):
        return Kind.AFFIRM, firm, "verdict"
    if left:
        for pattern, strength, rule, loose in (
            (declaring.ANSWER_LEFT, firm, "answer-phrase", True),
            (declaring.POSSIBLE_LEFT, POSSIBLE, "possible", False),
            (declaring.PROBABLE_LEFT, PROBABLE, "probable", False),
            (declaring.CHOOSE_LEFT if letter else declaring.CHOOSE_TEXT_LEFT, firm, "choose-phrase", False),
        ):
            if (pattern.search(left) or pattern.search(stripped)) and _goes_on(group, right, prepared, loose=loose):
                return Kind.AFFIRM, strength, rule
        if declaring.leads_with_colon(left) and judging.NOTHING_RIGHT.match(right):
            return Kind.AFFIRM, firm, "colon"
    if not letter and not prepared.short and left.endswith(("(", '"')) and judging.NOTHING_RIGHT.match(right):
        return Kind.AFFIRM, PROBABLE, "quoted"
    if letter and left.rstrip().endswith(",") and judging.NOTHING_RIGHT.match(right) and not judging.weighs(left):
        return Kind.AFFIRM, BARE, "comma"
    if letter and left and ADDED.fullmatch(left) and judging.NOTHING_RIGHT.match(right):
        return Kind.AFFIRM, POSSIBLE, "alternative"
    corrected = len(left) < 48 and declaring.RETRACTION.search(left) is not None
    if right.rstrip().endswith("?"):
        return Kind.NEUTRAL, 0, "question"
    if (corrected or is_filler(stripped)) and _goes_on(group, right, prepared, loose=False):
        last = group[-1]
        rule = (
            "ordinal"
            if last.ordinal
            else "letter-text"
            if last.letter and last.text
            else "letter"
            if last.letter
            else "text"
        )
        return Kind.AFFIRM, BARE, rule
    return Kind.NEUTRAL, 0, "mentioned"


def _is_option_word(verdict: str, prepared: Prepared) -> bool:
    """Whether a verdict ends in a word that tells options apart: "B. Right" of left and right."""
    said = _TELLING.findall(verdict)
    return len(said) == 1 and said[0] in prepared.spread


def _is_listing(group: list[Mention], prepared: Prepared) -> bool:
    return len(group) == prepared.count > 1 and all(mention.letter and mention.text for mention in group)


_BARE_RULES = ("letter", "ordinal", "text", "letter-text", "colon")


def _since(groups: list[list[Mention]], place: int, lower: str) -> int:
    """Where the words left of a group begin: behind the last mention that can not be a plain word of the sentence."""
    if any(mention.letter for mention in groups[place]):
        for earlier in reversed(groups[:place]):
            last = earlier[-1]
            if last.letter or not lower[last.start : last.end].isalpha():
                return last.end
        return 0
    return groups[place - 1][-1].end if place else 0


def _contrasts(gap: str, right: str) -> bool:
    """Whether a denial right of the mention before leads on to this one: "Aではなく、Bです"."""
    denial = judging.DENY_RIGHT.match(gap)
    return denial is not None and _TAIL.fullmatch(gap, denial.end()) is not None and _ends(right)


def _ends(right: str) -> bool:
    return judging.NOTHING_RIGHT.match(right) is not None


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
        since = _since(groups, place, lower)
        until = groups[place + 1][0].start if place + 1 < len(groups) else len(lower)
        left, right = _left_of(lower, ends, start, since), _right_of(lower, ends, end, until)
        kind, strength, rule = _judge(group, left, right, lower[end : min(until, end + 24)], prepared)
        choices = frozenset(mention.choice for mention in group)
        line = lower[lower.rfind("\n", max(0, start - 12), start) + 1 : start]
        if judging.YES_SIGN_LINE.match(line):
            kind, strength, rule = Kind.AFFIRM, DECLARED, "verdict"
        elif judging.NO_SIGN_LINE.match(line):
            kind, strength, rule = Kind.DENY, DECLARED, "denied"
        elif (
            kind is Kind.NEUTRAL
            and found
            and found[-1].kind is Kind.DENY
            and _contrasts(lower[found[-1].end : start], right)
        ):
            kind, strength, rule = Kind.AFFIRM, DECLARED, "contrast"
        weighed = found and found[-1].kind is Kind.NEUTRAL and found[-1].choices != choices
        if rule in _BARE_RULES and weighed and found[-1].end > _edge(ends, start):
            kind, strength, rule = Kind.NEUTRAL, 0, "mentioned"
        if kind is Kind.DENY and len(group) > 1 and judging.INSTEAD_LEFT.search(left) and _ends(right):
            last = group[-1]
            found.append(Evidence(Kind.AFFIRM, frozenset((last.choice,)), DECLARED, "instead", last.start, last.end))
            continue
        if len(choices) > 1 and judging.CHANGED_LEFT.search(left):
            last = group[-1]
            found.append(Evidence(Kind.AFFIRM, frozenset((last.choice,)), FINAL, "changed", last.start, last.end))
            continue
        if kind is Kind.AFFIRM and found and found[-1].kind is Kind.AFFIRM and judging.SECOND_LEFT.search(left):
            kind, strength, rule = Kind.NEUTRAL, 0, "second"
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
            Evidence(
                kind,
                choices,
                strength,
                rule,
                start,
                end,
                rule == "verdict",
                letter,
                letter and group[-1].text and not group[-1].ordinal,
            )
        )
    return without_listing(found, lower, prepared.count), mentions


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
