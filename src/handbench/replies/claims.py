"""Statements in other words: a sentence that says what one option says, about the asked joints."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from handbench.replies import judging
from handbench.replies.hands import hand_parts, names_asked_parts
from handbench.replies.options import Prepared, key

_TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)?|[,:;()\"]")
_NEGATORS = frozenset(
    [
        "not",
        "never",
        "no",
        "neither",
        "nor",
        "without",
        "isn't",
        "aren't",
        "doesn't",
        "don't",
        "wasn't",
        "cannot",
        "can't",
        "n't",
        "unlike",
        "hardly",
    ]
)
_BREAKS = frozenset([",", ":", ";", "(", ")", '"', "but", "so", "it", "is", "they", "rather", "instead"])
_SAME = {
    "extended": "straight", "unbent": "straight", "straightened": "straight",
    "under": "below", "beneath": "below", "underneath": "below", "lower": "below", "over": "above", "higher": "above",
    "near": "close", "nearby": "close", "fully": "completely", "entirely": "completely", "totally": "completely",
    "mildly": "slightly", "gently": "slightly", "bended": "bent", "curled": "bent", "flexed": "bent",
    "widely": "wide", "forefinger": "index", "pinky": "little", "pinkie": "little",
    "0": "zero", "1": "one", "2": "two", "3": "three", "4": "four", "5": "five", "6": "six", "7": "seven", "8": "eight",
    "9": "nine", "10": "ten",
}  # fmt: skip
_DEGREE = frozenset(
    [
        "almost",
        "nearly",
        "partly",
        "partially",
        "very",
        "quite",
        "fairly",
        "somewhat",
        "moderately",
        "extremely",
        "more",
        "less",
        "half",
        "barely",
        "mostly",
        "maybe",
        "perhaps",
        "possibly",
        "might",
        "could",
        "would",
        "may",
        "either",
        "or",
        "both",
    ]
)
NUMBERS = frozenset(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"])
_UNCLAIMED = re.compile(
    r"\?|\b(?:if|whether|which|who|please|compare|option|says?|claims?|states?|asks? (?:whether|if|about)|example|question|consider|first thought|look like|unless|while|although|though|initially|between|next to|versus|used to|seems to|supposed|would be)\b"
)
_LABEL_LEFT = re.compile(
    r"(?:(?:is|are|was|'s|means|shows?|forms?|makes?|making|showing|depicts?|displays?|performs?|performing|signals?|represents?|denotes?|gives?|giving|signs?"
    r"|indicates?|points? (?:directly )?(?:at|to|towards?)|pointing (?:directly )?(?:at|to|towards?)|asks? for|called|call (?:it|this|that)|known as|label|class|gesture|sign|category)"
    r"[\s:]*(?:clearly |definitely |obviously |most likely |probably )?(?:the |a |an |their |its |classic |typical |called )*|\A(?:the |a |an )?)[\"'(]*\Z"
)
_I_WOULD = re.compile(r"\bi(?:'d| would)(?: rather)? (?=call|say|describe|classify|label|name)")
_COUNTED = frozenset(
    ["finger", "fingers", "digit", "digits", "are", "is", "raised", "extended", "visible", "shown", "up", "of"]
)
_SMALL = frozenset([",", "but", "and", "a", "an", "the", "with", "it", "is", "this", "that's", "it's"])
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
    has_parts = any(prepared.parts)
    return choice if complete or (has_parts and not weaker) else None


def read_claim(sentence: str, prepared: Prepared) -> Claim:
    """The option that a sentence claims.

    Args:
        sentence: One lower-case sentence of plain text.
        prepared: The options.

    Returns:
        The claim; without a choice when the sentence is a question or supposition, names other joints, mixes telling
        words of several options, or grades them with a word that no option has.
    """
    sentence = _I_WOULD.sub("i ", sentence)
    if _UNCLAIMED.search(sentence):
        return _NO_CLAIM
    raw = [
        _SAME.get(t, t) if _SAME.get(t) in prepared.spread and t not in prepared.spread else t
        for t in _TOKEN.findall(sentence.replace("-", " "))
    ]
    kept, _ = _said(raw, prepared.spread)
    present = {token for token in kept if token in prepared.spread}
    if not present:
        return _NO_CLAIM
    if any(token in _DEGREE and token not in prepared.spread for token in kept):
        return Claim(None, "graded")
    choice = _matching(present, prepared)
    if choice is None and prepared.short:
        return _label_claim(sentence, kept, None, prepared)
    if choice is None:
        return Claim(None, "mixed-claim")
    said = hand_parts(key(" ".join(kept)))
    if any(prepared.parts):
        if not names_asked_parts(said, prepared.parts[choice]):
            return Claim(None, "other-joints")
        if not said and len(kept) > 12:
            return _NO_CLAIM
        return Claim(choice, "claim")
    if prepared.short:
        return _label_claim(sentence, kept, choice, prepared)
    return Claim(choice, "claim")


def _label_claim(sentence: str, kept: list[str], choice: int | None, prepared: Prepared) -> Claim:
    """A label counts where a sentence presents it: "it is the call gesture", "points at the laptop"."""
    if choice is not None and prepared.words[choice] <= NUMBERS:
        alone = len(kept) == 1 or (len(kept) == 2 and kept[1] in ("fingers", "finger"))
        counts = [after for number, after in pairwise(kept) if number in NUMBERS]
        fits = _SEEN.search(sentence) is not None and all(after in _COUNTED for after in counts)
        return Claim(choice, "number-claim") if alone or fits else _NO_CLAIM
    if prepared.pattern is None:
        return _NO_CLAIM
    places = list(prepared.pattern.finditer(sentence))
    if (
        choice is not None
        and len(kept) <= len(prepared.words[choice]) + 2
        and set(kept) - prepared.words[choice] <= _SMALL
    ):
        return Claim(choice, "words")
    presented = set()
    for place in places:
        left, right = sentence[: place.start()], sentence[place.end() :]
        quoted = left.endswith(("(", '"')) and judging.NOTHING_RIGHT.match(right) is not None
        ends = judging.NOTHING_RIGHT.match(right) or judging.NOMINAL_RIGHT.match(right) or right.startswith((",", " ("))
        if quoted or (_LABEL_LEFT.search(left) and ends):
            found = prepared.exact[key(place.group())]
            if any(found not in prepared.spread.get(word, (found,)) for word in _TOKEN.findall(right)):
                return Claim(None, "mixed-claim")
            presented.add(found)
    if len(presented) != 1 or judging.DENY_LEFT.search(sentence[: places[-1].start()]):
        return _NO_CLAIM
    return Claim(presented.pop(), "label-claim")
