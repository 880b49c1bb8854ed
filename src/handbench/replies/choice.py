"""The multiple-choice reader: reply text and options to one choice, with a status and never a guess."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from handbench.replies import declaring, judging, telling
from handbench.replies.canonical import is_cut_short, read_canonical
from handbench.replies.claims import read_claim, restates
from handbench.replies.envelope import Envelope, open_envelope
from handbench.replies.evidence import BARE, DECLARED, FINAL, POSSIBLE, PROBABLE, Evidence, Kind
from handbench.replies.folding import compose
from handbench.replies.joining import ADDED
from handbench.replies.mentions import CLASH, OFF, Mention
from handbench.replies.offlist import says_something_else
from handbench.replies.options import Prepared, prepare
from handbench.replies.ranking import ranked_chain
from handbench.replies.reading import Reading, Status, nothing_said
from handbench.replies.weighing import bounds, distribution, weigh

_WEAK = ("claim", "words", "label-claim", "number-claim")
"""Rules that read a statement in other words: half of one may turn out to say something else."""

_GOES_ON = re.compile(r"[^\W_]|[.!?。]")
_WEIGHED = re.compile(r"\b(?:but|however|yet|though|although|while|first|glance|seem\w*|look\w*|not|instead|than)\b")
_CONCEDED = re.compile(r"\bat first glance\b|\b(?:might|may|could|would) (?:say|think)\b")
_SHOWN = re.compile(r"[:=→>]\W*\Z")
_EITHER = re.compile(r"\W*(?:either|both|any)(?: of (?:them|these|the two)| one| way| is (?:fine|possible))?\W*")


def read_choice(reply: str, options: Sequence[str], *, finish: str = "stop") -> Reading:
    """Read which option a reply chooses.

    The last declared answer wins; thinking, repeated prompts, quoted and denied options do not count.

    Args:
        reply: What the model wrote.
        options: Option texts in the order of their letters A, B, C, ...
        finish: Why the model stopped; "length" marks a reply that was cut, "error" a request that failed,
            "content_filter" one that a filter stopped.

    Returns:
        The reading; ``choice`` is set if and only if the status is ``ok``.
    """
    texts = tuple(options)
    reading = read_canonical(reply, texts) or _read_freely(reply, texts)
    if reading.status is Status.EMPTY:
        ended = nothing_said(finish)
        return reading if ended is Status.EMPTY else Reading(None, ended, finish, None)
    if finish != "length":
        return reading
    if reading.status is Status.OK and not _may_go_on(reading, reply, texts):
        return reading
    return Reading(None, Status.TRUNCATED, "length", None)


def _may_go_on(reading: Reading, reply: str, options: tuple[str, ...]) -> bool:
    """Whether a cut reply that ends with the deciding words may have been about to say something else."""
    if reading.span is None or _GOES_ON.search(reply, reading.span[1]) is not None:
        return False
    said = reply[slice(*reading.span)]
    if reading.rule.split("-head")[0] in _WEAK:
        return not said.rstrip().endswith((".", "!", "?"))
    return reading.rule == "text" and is_cut_short(said, options)


def _read_freely(reply: str, options: tuple[str, ...]) -> Reading:
    prepared = prepare(options)
    composed, places = compose(reply)
    envelope = open_envelope(composed)
    if envelope.empty:
        return Reading(None, Status.EMPTY, "empty", None)
    status, choice, rule, span = _read(envelope, prepared)
    if envelope.cut is not None:
        rule = f"{rule}-head-and-tail"
    if span is not None:
        span = envelope.place(*span)
        span = span if places is None else (places[span[0]], places[span[1]])
    return Reading(choice, status, rule, span)


Outcome = tuple[Status, int | None, str, tuple[int, int] | None]


def _read(envelope: Envelope, prepared: Prepared) -> Outcome:
    text = envelope.text
    if not text.strip():
        if envelope.thought or envelope.unfinished:
            return Status.UNPARSED, None, "only-thinking", None
        return Status.UNPARSED, None, "only-markers", None
    lower = text.lower()
    found, mentions = weigh(text, lower, prepared)
    chain = ranked_chain(text, prepared.count)
    if chain is not None:
        found = [item for item in found if item.strength >= FINAL and item.start > chain.start]
        found.insert(0, chain)
    shares = distribution(lower, mentions) if len(mentions) > 1 else None
    if shares is not None:
        found = [item for item in found if item.strength >= 3 and item.start > shares.start]
        found.insert(0, shares)
    veiled = _veil(lower, mentions)
    none = telling.NONE_OF_THEM.search(veiled)
    if none is not None:
        item = Evidence(Kind.AFFIRM, frozenset((OFF,)), DECLARED, "none-of-them", *none.span())
        found = sorted([*found, item], key=lambda evidence: evidence.start)
    decided = _decide(found, lower)
    if decided is not None:
        item = decided
        span = (item.start, item.end)
        if item.kind is Kind.HEDGE:
            return Status.HEDGED, None, item.rule, span
        (choice,) = item.choices
        if choice == OFF:
            return Status.OFF_LIST, None, item.rule, span
        if choice == CLASH:
            return Status.UNPARSED, None, "clash", span
        if declaring.is_taken_back(lower[item.end : item.end + 200]):
            return Status.UNPARSED, None, "taken-back", span
        if _contradicted(item, lower, prepared):
            return Status.UNPARSED, None, "contradicted", span
        return Status.OK, choice, item.rule, span
    if len(mentions) > 1 and all(mention.letter and mention.text for mention in mentions):
        return Status.UNPARSED, None, "only-options", None
    denied = frozenset[int]().union(*(item.choices for item in found if item.kind is Kind.DENY))
    return _without_evidence(lower, veiled, prepared, mentions, denied)


def _veil(lower: str, mentions: list[Mention]) -> str:
    """The text with option texts blacked out, whose own words ("no other finger") say nothing about the answer."""
    for mention in mentions:
        if mention.text:
            lower = lower[: mention.start] + "\x00" * (mention.end - mention.start) + lower[mention.end :]
    return lower


def _decide(found: list[Evidence], lower: str) -> Evidence | None:
    """The evidence that stands at the end."""
    current: Evidence | None = None
    for item in found:
        if item.kind is Kind.NEUTRAL:
            continue
        if item.kind is Kind.DENY:
            if current is not None and current.choices <= item.choices:
                current = None
            continue
        if current is None or item.choices == current.choices:
            if current is None or item.strength >= current.strength:
                current = item
            continue
        gap = lower[current.end : item.start]
        if len(gap) > 400:
            gap = gap[:200] + gap[-200:]
        corrected = item.strength > POSSIBLE and declaring.CORRECTION.search(gap) is not None
        added = (
            ADDED.match(gap) is not None and declaring.RETRACTION.search(gap) is None and current.kind is Kind.AFFIRM
        )
        if added and item.strength < FINAL:
            current = _both(current, item)
            continue
        settled = current.kind is Kind.HEDGE and item.kind is Kind.AFFIRM and item.choices < current.choices
        if (
            item.strength > current.strength
            or (settled and item.strength >= PROBABLE)
            or (corrected and item.kind is Kind.AFFIRM)
        ):
            current = item
        elif item.strength == POSSIBLE and current.strength <= BARE and not re.search(r"[.\n;]", gap):
            current = _both(current, item)
        elif item.strength < current.strength and (item.kind is Kind.HEDGE or item.strength < BARE):
            continue
        elif item.strength == current.strength >= DECLARED and not item.verdict and len(gap.split()) > 8:
            current = item
        else:
            current = _both(current, item)
    return current


def _claims_other(before: str, item: Evidence, prepared: Prepared) -> bool:
    """Whether the words before an answer in its sentence conclude another: "it is the knife, so B"."""
    if _SHOWN.search(before) is not None or _WEIGHED.search(before) is not None:
        return False
    claim = read_claim(before, prepared)
    return claim.choice is not None and claim.choice not in item.choices


def _both(current: Evidence, item: Evidence) -> Evidence:
    return Evidence(
        Kind.HEDGE, current.choices | item.choices, max(current.strength, BARE), "several", current.start, item.end
    )


def _contradicted(item: Evidence, lower: str, prepared: Prepared) -> bool:
    """Whether what stands beside a letter claims another option, or repeats an option with other joints.

    A bare letter is held against every sentence, a declared one against what follows it at once.
    """
    if not item.letter or item.verdict:
        return False
    ends = [0, *bounds(lower), len(lower)]
    following = 0
    for start, end in pairwise(ends):
        own = start <= item.start < end
        if own and _claims_other(lower[start : item.start], item, prepared):
            return True
        sentence = lower[item.end : end] if own else lower[start:end]
        words_said = sentence.strip(" .)\n:")
        if end <= item.start and _CONCEDED.search(sentence):
            continue
        if not words_said or (own and item.labelled):
            continue
        following += start >= item.end or own
        if item.strength > BARE and (start + 1 < item.start or following > 2) and not own:
            continue
        claim = read_claim(sentence, prepared)
        if claim.choice is not None and claim.choice not in item.choices:
            return True
        if claim.choice is None and (
            (item.strength <= BARE and claim.rule == "other-joints") or restates(sentence, prepared)
        ):
            return True
    return False


def _is_own_label(mentions: list[Mention], start: int, end: int, choice: int, lower: str) -> bool:
    """Whether a letter in a claiming sentence, if there is one, only labels it with the option it claims."""
    letters = [mention for mention in mentions if mention.letter and start <= mention.start < end]
    return not letters or (
        len(letters) == 1 and letters[0].choice == choice and not lower[start : letters[0].start].strip(" ([\"'")
    )


def _without_evidence(
    lower: str, veiled: str, prepared: Prepared, mentions: list[Mention], denied: frozenset[int]
) -> Outcome:
    """What a reply without a declared answer amounts to."""
    every = telling.ALL_OF_THEM.search(veiled)
    if every is not None:
        return Status.HEDGED, None, "all-of-them", every.span()
    refusal = telling.REFUSAL.search(veiled)
    if refusal is not None:
        return Status.REFUSED, None, "refusal", refusal.span()
    ends = [0, *bounds(lower), len(lower)]
    chosen: tuple[int, str, tuple[int, int]] | None = None
    for start, end in pairwise(ends):
        sentence = lower[start:end]
        if sentence.rstrip().endswith("?") and judging.YES_START.match(lower[end : end + 12]):
            sentence = sentence.rstrip().rstrip("?")
        claim = read_claim(sentence, prepared)
        if claim.rule == "mixed-claim" and not prepared.short and not prepared.hands:
            continue
        if claim.rule in ("other-joints", "joints-missing", "mixed-claim", "graded"):
            return Status.UNPARSED, None, claim.rule, None
        if claim.choice is not None:
            if claim.choice in denied or not _is_own_label(mentions, start, end, claim.choice, lower):
                return Status.UNPARSED, None, "denied-or-labelled-otherwise", None
            if chosen is not None and chosen[0] != claim.choice:
                return Status.HEDGED, None, "several-claims", (chosen[2][0], end)
            chosen = (claim.choice, claim.rule, (start, end))
    if chosen is not None:
        return Status.OK, chosen[0], chosen[1], chosen[2]
    either = _EITHER.fullmatch(lower)
    if either is not None:
        return Status.HEDGED, None, "either", either.span()
    other = None if mentions else says_something_else(lower, prepared)
    if other is not None:
        return Status.OFF_LIST, None, "other-text", other
    return Status.UNPARSED, None, "nothing-usable", None
