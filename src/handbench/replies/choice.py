"""The multiple-choice reader: reply text and options to one choice, with a status and never a guess."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from handbench.replies import declaring, telling
from handbench.replies.claims import read_claim
from handbench.replies.envelope import Envelope, open_envelope
from handbench.replies.evidence import BARE, CLASH, DECLARED, FINAL, OFF, Evidence, Kind, bounds, distribution, weigh
from handbench.replies.offlist import says_something_else
from handbench.replies.options import Prepared, prepare
from handbench.replies.ranking import ranked_chain
from handbench.replies.reading import Reading, Status

_WEAK = ("claim", "words", "label-claim", "number-claim")
"""Rules that read a statement in other words: half of one may turn out to say something else."""

_EITHER = re.compile(r"\W*(?:either|both|any)(?: of (?:them|these|the two)| one| way| is (?:fine|possible))?\W*")


def read_choice(reply: str, options: Sequence[str], *, finish: str = "stop") -> Reading:
    """Read which option a reply chooses.

    The last declared answer wins; thinking, repeated prompts, quoted and denied options do not count.

    Args:
        reply: What the model wrote.
        options: Option texts in the order of their letters A, B, C, ...
        finish: Why the model stopped; "length" marks a reply that was cut.

    Returns:
        The reading; ``choice`` is set if and only if the status is ``ok``.
    """
    prepared = prepare(tuple(options))
    envelope = open_envelope(reply)
    if envelope.empty:
        return Reading(None, Status.EMPTY, "empty", None)
    status, choice, rule, span = _read(envelope, prepared)
    half_said = rule in _WEAK and not envelope.text.rstrip().endswith((".", "!", "?"))
    if finish == "length" and (status is not Status.OK or half_said):
        status, choice, rule, span = Status.TRUNCATED, None, "length", None
    if envelope.cut is not None:
        rule = f"{rule}-head-and-tail"
    return Reading(choice, status, rule, envelope.place(*span) if span is not None else None)


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
    none = telling.NONE_OF_THEM.search(lower)
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
        if _contradicted(item, lower, prepared):
            return Status.UNPARSED, None, "contradicted", span
        return Status.OK, choice, item.rule, span
    return _without_evidence(lower, prepared)


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
        corrected = declaring.CORRECTION.search(gap) is not None
        if item.strength > current.strength or (corrected and item.kind is Kind.AFFIRM):
            current = item
        elif item.strength < current.strength and (item.kind is Kind.HEDGE or item.strength < BARE):
            continue
        elif item.strength == current.strength >= DECLARED and not item.verdict and len(gap.split()) > 8:
            current = item
        else:
            choices = current.choices | item.choices
            current = Evidence(Kind.HEDGE, choices, current.strength, "several", current.start, item.end)
    return current


def _contradicted(item: Evidence, lower: str, prepared: Prepared) -> bool:
    """Whether the sentence beside a bare letter claims another option or speaks of other joints."""
    if not item.letter or item.strength > BARE:
        return False
    ends = [0, *bounds(lower), len(lower)]
    for start, end in pairwise(ends):
        if end <= start or (start <= item.start < end and not lower[item.end : end].strip(" .)\n:")):
            continue
        sentence = lower[start:end] if not start <= item.start < end else lower[item.end : end]
        claim = read_claim(sentence, prepared)
        if claim.rule == "other-joints" or (claim.choice is not None and claim.choice not in item.choices):
            return True
    return False


def _without_evidence(lower: str, prepared: Prepared) -> Outcome:
    """What a reply without a declared answer amounts to."""
    every = telling.ALL_OF_THEM.search(lower)
    if every is not None:
        return Status.HEDGED, None, "all-of-them", every.span()
    refusal = telling.REFUSAL.search(lower)
    if refusal is not None:
        return Status.REFUSED, None, "refusal", refusal.span()
    ends = [0, *bounds(lower), len(lower)]
    chosen: tuple[int, str, tuple[int, int]] | None = None
    for start, end in pairwise(ends):
        claim = read_claim(lower[start:end], prepared)
        if claim.rule in ("other-joints", "mixed-claim", "graded"):
            return Status.UNPARSED, None, claim.rule, None
        if claim.choice is not None:
            if chosen is not None and chosen[0] != claim.choice:
                return Status.HEDGED, None, "several-claims", (chosen[2][0], end)
            chosen = (claim.choice, claim.rule, (start, end))
    if chosen is not None:
        return Status.OK, chosen[0], chosen[1], chosen[2]
    either = _EITHER.fullmatch(lower)
    if either is not None:
        return Status.HEDGED, None, "either", either.span()
    other = says_something_else(lower, prepared)
    if other is not None:
        return Status.OFF_LIST, None, "other-text", other
    return Status.UNPARSED, None, "nothing-usable", None
