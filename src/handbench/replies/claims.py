"""Statements in other words: a sentence that says what one option says, about the asked joints."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from handbench.replies import judging
from handbench.replies.hands import hand_parts, names_asked_parts
from handbench.replies.options import STOP_WORDS, Prepared, find_texts, key
from handbench.replies.patterns import words

_TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)?|[,:;()\"]")
_NEGATORS = words("not never no neither nor without isn't aren't doesn't don't wasn't cannot can't n't unlike hardly")
_BREAKS = words(', : ; ( ) " but so it is they rather instead')
SAME = {
    "extended": "straight", "unbent": "straight", "straightened": "straight",
    "under": "below", "beneath": "below", "underneath": "below", "lower": "below", "over": "above", "higher": "above",
    "near": "close", "nearby": "close", "fully": "completely", "entirely": "completely", "totally": "completely",
    "mildly": "slightly", "gently": "slightly", "bended": "bent", "curled": "bent", "flexed": "bent",
    "widely": "wide", "forefinger": "index", "pinky": "little", "pinkie": "little",
    "0": "zero", "1": "one", "2": "two", "3": "three", "4": "four", "5": "five", "6": "six", "7": "seven", "8": "eight",
    "9": "nine", "10": "ten",
}  # fmt: skip
_DEGREE = words(
    "almost nearly partly partially very quite fairly somewhat moderately extremely more less half barely mostly maybe "
    "perhaps possibly might could may either or both completely fully entirely totally slightly mildly strongly sharply "
    "heavily deeply widely wide far"
)
NUMBERS = words("zero one two three four five six seven eight nine ten")
_UNCLAIMED = re.compile(
    r"\?|\b(?:if|whether|which|who|please|compare|option|says?|claims?|states?|asks? (?:whether|if|about)|example|question|consider|first thought|at first glance|(?:might|may|could|would) (?:say|think)|look like|unless|while|although|though|initially|between|next to|versus|used to|seems to|supposed|would be|false|wrong|incorrect|untrue|not (?:true|correct|right|the case)|untrue)\b"
)
_LABEL_LEFT = re.compile(
    r"(?:(?:is|are|was|'s|means|shows?|forms?|makes?|making|showing|depicts?|displays?|performs?|performing|signals?|represents?|denotes?|gives?|giving|signs?"
    r"|indicates?|points? (?:directly )?(?:at|to|towards?)|pointing (?:directly )?(?:at|to|towards?)|asks? for|directed (?:at|to|towards?)|aimed at|called|call (?:it|this|that)(?: one)?|known as|label|class|gesture|sign|category)"
    r"[\s:]*(?:clearly |definitely |obviously |most likely |probably )?(?:the |a |an |their |its |classic |typical |called )*|\A(?:the |a |an )?)[\"'(]*\Z"
)
_I_WOULD = re.compile(r"\bi(?:'d| would)(?: rather)? (?=call|say|describe|classify|label|name)")
# "Right" as a word of agreement, and what only introduces a label.
_RIGHT_TALK = re.compile(
    r"\b(?:that|you|this|which|it|i|they|he|she)(?:'s| is|'re| are|'m| am|s)? (?:\w+ly )?right\b(?! (?:of|side|hand))"
    r"|\b(?:the )?right (?:answer|option|one|choice|statement|away|now|here|there|after|before)\b|\ball right\b|\A\W*right(?=,)"
)
# Sides of a picture, a body or a page, not of a joint.
_OTHER_SIDE = re.compile(
    r"\b(?:left|right)[ -](?:hand(?!s? (?:touch|point))|hands|arm|half|corner|edge|border|part|foot|leg|eye|palm|wrist|person|picture|image|photo)\b(?! side of)"
    r"|\b(?:left|right)[ -](?:hand )?side\b(?! of (?:the|its|your|his|her) (?:\w+ ){0,5}(?:finger|thumb|joint|tip|fingertip|knuckle)s?\b)"
    r"|\b(?:from|see|seen|stated|listed|(?:option|choice|answer|statement|sentence|candidate)s?|image|picture|as|shown|mentioned|question|described|given) (?:from )?(?:above|below)\b"
    r"|\b(?:in front of|behind|above|below) (?:the |a |an )?(?:camera|viewer|body|person|face|background|table|image|picture|head|chest|wall)\b"
)
_VERB = re.compile(r"\b(?:is|are|was|were|stands?|looks?|has|have|holds?|held|shows?|lies|points?|sits?)\b|'s\b")
_FINGER_SUBJECT = re.compile(
    r"\b(?:it|they|these|both|(?:the|this|that|its) (?:\w+ )?(?:fingers?|joints?|tips?|fingertips?|digits?|bend|angle|distance))\b"
    r"|\bi (?:describe|call|see)"
)
_SUBJECT = words(
    "gesture sign hand person it this that she he they woman man someone somebody signal lady user we see can image picture photo shows show means just i think clearly here"
)
_ANSWER_IS = re.compile(r"\A\W*(?:the |my )?(?:final |correct )?(?:answer|choice|label|category)\s*(?: is|:|=)\s*")
_PRONOUN = re.compile(r"\W*(?:it|this|they|which) ")
_COUNTED = words("finger fingers digit digits are is raised extended visible shown up of")
_SMALL = words(", but and a an the with it is this that's it's that the one gesture sign hand pose")
_SEEN = re.compile(
    r"\b(?:extended|raised|visible|up|shown|held|open|stretched|showing|shows|show|raises|raising|extends|extending|stands?|standing|counted|count)\b"
)


@dataclass(frozen=True, slots=True)
class Claim:
    """What one sentence claims: an option, or nothing usable (``choice`` None) for the reason given."""

    choice: int | None
    rule: str


_NO_CLAIM = Claim(None, "no-claim")


def _said(tokens: list[str], vocabulary: dict[str, frozenset[int]]) -> tuple[list[str], list[str]]:
    """Tokens outside and inside denials."""
    kept: list[str] = []
    denied: list[str] = []
    left = 0
    for token in tokens:
        if token in _BREAKS:
            left = 0
        if (token in _NEGATORS or token.endswith("n't")) and token not in vocabulary:
            left = 8 if token in ("neither", "nor") else 5
            continue
        if left:
            denied.append(token)
            left -= 1
        else:
            kept.append(token)
    return kept, denied


def _matching(present: set[str], prepared: Prepared) -> int | None:
    """The one option whose telling words are those present."""
    sets = frozenset(prepared.spread[word] for word in present)
    fits = [index for index, needed in enumerate(prepared.needed) if needed == sets]
    if len(fits) != 1:
        return None
    choice = fits[0]
    complete = prepared.words[choice] <= present
    weaker = any(sets < other for other in prepared.needed)
    ungraded = not (prepared.words[choice] - present) & _DEGREE
    return choice if complete or (prepared.hands and not weaker and ungraded) else None


def read_claim(sentence: str, prepared: Prepared) -> Claim:
    """The option that a sentence claims.

    Args:
        sentence: One lower-case sentence of plain text.
        prepared: The options.

    Returns:
        The claim; without a choice when the sentence is a question or supposition, names other joints, mixes telling
        words of several options, or grades them with a word that no option has.
    """
    sentence = _RIGHT_TALK.sub(" ", _ANSWER_IS.sub("", _I_WOULD.sub("i ", sentence)))
    if prepared.hands:
        sentence = _OTHER_SIDE.sub(" ", sentence)
    if _UNCLAIMED.search(sentence):
        return _NO_CLAIM
    raw = [
        SAME.get(t, t) if SAME.get(t) in prepared.spread and t not in prepared.spread else t
        for t in _TOKEN.findall(sentence.replace("-", " "))
    ]
    kept, denied = _said(raw, prepared.spread)
    present = {token for token in kept if token in prepared.spread}
    if not present:
        return _NO_CLAIM
    if any(token in _DEGREE and token not in prepared.spread for token in kept):
        return Claim(None, "graded")
    choice = _matching(present, prepared)
    if choice is None and prepared.short:
        return _label_claim(sentence, kept, denied, None, prepared)
    if choice is None:
        return Claim(None, "mixed-claim")
    said = hand_parts(key(" ".join(kept)))
    if prepared.hands:
        asked = prepared.parts[choice]
        if _PRONOUN.match(sentence) or len(kept) <= 4:
            asked = (
                asked[max(0, len(asked) - len(said)) :]
                if len(said) < len(asked) and not names_asked_parts(said, asked)
                else asked
            )
        if not names_asked_parts(said, asked):
            return Claim(None, "other-joints")
        named = [part for part in said if part[0] is not None or part[1] in ("palm", "wrist")]
        count = sum(token[0].isalnum() for token in kept)
        if (
            len(named) < len(prepared.parts[choice]) > 1
            and not (named and asked is not prepared.parts[choice])
            and (named or count > 10)
        ):
            return Claim(None, "joints-missing") if named else _NO_CLAIM
        said_so = any(token.startswith(stem) for token in kept for stem in prepared.predicate)
        if prepared.predicate and not said_so and (count > 4 or _VERB.search(sentence)):
            return Claim(None, "other-relation")
        if not said and (count > 12 or not _is_about_fingers(sentence)):
            return _NO_CLAIM
        return Claim(choice, "claim")
    if prepared.short:
        return _label_claim(sentence, kept, denied, choice, prepared)
    if set(kept) - set(',:;()"') - STOP_WORDS - prepared.every[choice] - _SUBJECT:
        return Claim(None, "more-said")
    return Claim(choice, "claim")


def _is_about_fingers(sentence: str) -> bool:
    """Whether a sentence that names no joint has the fingers for its subject, or no subject at all."""
    return _VERB.search(sentence) is None or _FINGER_SUBJECT.search(sentence) is not None


def restates(sentence: str, prepared: Prepared) -> bool:
    """Whether a sentence repeats most of an option's words without being any option."""
    if not prepared.sentences:
        return False
    said = frozenset(_TOKEN.findall(sentence.replace("-", " "))) - set(',:;()"')
    if len(said) < 3 or key(sentence) in prepared.exact:
        return False
    return any(2 * len(said & option) >= len(said | option) for option in prepared.every)


def _label_claim(sentence: str, kept: list[str], denied: list[str], choice: int | None, prepared: Prepared) -> Claim:
    """A label counts where a sentence presents it: "it is the call gesture", "points at the laptop"."""
    if choice is not None and prepared.words[choice] <= NUMBERS:
        alone = len(kept) == 1 or (len(kept) == 2 and kept[1] in ("fingers", "finger"))
        counts = [after for number, after in pairwise(kept) if number in NUMBERS]
        fits = _SEEN.search(sentence) is not None and all(after in _COUNTED for after in counts)
        return Claim(choice, "number-claim") if alone or fits else _NO_CLAIM
    places = find_texts(sentence, prepared)
    if (
        choice is not None
        and len(kept) <= len(prepared.words[choice]) + 4
        and set(kept) - prepared.words[choice] <= _SMALL
    ):
        return Claim(choice, "words")
    presented = set()
    for start, end, found in places:
        left, right = sentence[:start], sentence[end:]
        quoted = left.endswith(("(", '"')) and judging.NOTHING_RIGHT.match(right) is not None
        ends = judging.NOTHING_RIGHT.match(right) or judging.NOMINAL_RIGHT.match(right) or right.startswith((",", " ("))
        if quoted or (_LABEL_LEFT.search(left) and ends):
            told = [word for word in _TOKEN.findall(right) if word not in denied]
            if any(found not in prepared.spread.get(word, (found,)) for word in told):
                return Claim(None, "mixed-claim")
            presented.add(found)
    if len(presented) != 1 or judging.DENY_LEFT.search(sentence[: places[-1][0]]):
        return _NO_CLAIM
    return Claim(presented.pop(), "label-claim")
