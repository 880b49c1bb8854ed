"""Short statements that name something which no option says."""

from __future__ import annotations

import re

from handbench.replies.claims import NUMBERS, SAME
from handbench.replies.options import Prepared, key
from handbench.replies.patterns import words

_LONGEST = 12
_NOUN = (
    "gesture|label|object|item|sign|action|activity|class|category|answer|emotion|pose|meaning|hand sign|thing|target"
    "|number|expression|intent|intention|state|choice|option|relation|symbol"
)
_NAMED = re.compile(
    rf"(?:the |this |my |its |correct |final |right )*(?:{_NOUN})"
    r"(?: (?:shown|displayed|depicted|seen|here|in the (?:image|picture)|is being shown))?"
    r"\s*(?:is|was|means|:|=|would be|seems to be|appears to be)\s*(?:called |labelled |a |an |the )*[\"'(]*"
    r"(?P<name>[^\W_][\w '\-]{1,40})"
)
_KIND = re.compile(
    r"(?:it|this|that|the (?:image|picture|photo|hand|person))(?:'s| is| shows| makes| seems to be| looks like)"
    r"(?: making| showing| giving)?"
    rf" (?:a|an|the) (?P<name>[^\W_][\w '\-]{{1,30}}?) (?:{_NOUN})\b"
)
_THING = re.compile(
    r"(?:(?:it|this|that)(?:'s| is)|(?:the|a|one) (?:\w+ )?(?:finger|hand|person|arrow)(?: is)? point(?:s|ing) (?:at|to|towards?))"
    r" (?:a|an|the) (?P<name>[^\W\d_]{3,}(?: [^\W\d_]{3,})?)\Z"
)
_COUNT = re.compile(
    r"(?:(?:there (?:are|is)|i (?:see|count)|(?:it|the (?:image|picture|hand|person)) (?:shows|has|holds up))\s+)?"
    r"(?P<name>[a-z]+|\d{1,2})(?: (?:raised|extended|visible))?(?: (?:fingers?|digits?))?"
    r"(?: (?:are |is )?(?:visible|raised|extended|shown|up))?"
)
_PREDICATE = re.compile(
    r"(?:the |this |that )?(?:\w+ )?(?:finger|thumb|joint|hand)(?: joint)? (?:is|are|appears|looks|seems) "
    r"(?P<name>\w+(?:ed|en|ing)\b(?: \w+)?)"
)
_NEITHER = re.compile(r"neither (?P<one>[\w ]{2,30}) nor (?P<two>[\w ]{2,30})")
_BARE = re.compile(r"[^\W\d_]{3,}(?:[ _\-][^\W\d_]{2,})?")
_DENIED = re.compile(r"\b(?:not|no|never|neither|nor)\b|n't\b")
_ARTICLE = re.compile(r"\A(?:the|an?|some) ")
_TALK = words(
    "understood noted agreed fine welcome bye goodbye cheers ready next text explanation reasoning analysis example json "
    "null nan undefined yes no ok okay sure maybe hello hi thanks thank assistant user system none unknown unclear image "
    "picture photo hand hands answer option options choice see look please sorry right wrong true "
    "false correct incorrect either both any good great done well hmm question finger fingers person "
    "i you the a an and or not"
)
_VAGUE = words("unclear unknown hidden occluded blurry visible hand unsure uncertain ambiguous")
_NO_NAME = words("it not here being made too very in on at also")


def says_something_else(lower: str, prepared: Prepared) -> tuple[int, int] | None:
    """Where a short statement names what no option says; None where it does not.

    Args:
        lower: Lower-case plain text of a reply in which no option was found.
        prepared: The options.
    """
    text = lower.strip().strip(".!\"'“”()[]").strip()
    start = lower.find(text)
    if not text or len(text.split()) > _LONGEST or re.search(r"[?\n]|[.!;] \w", text):
        return None
    span = (start, start + len(text))
    if _NEITHER.fullmatch(text) is not None:
        return span if _options_told(text, prepared) == prepared.count else None
    if prepared.short:
        return span if _other_label(text, prepared) else None
    if not prepared.hands:
        return span if _same_start(text, prepared) else None
    predicate = _PREDICATE.fullmatch(text)
    told = predicate is not None and not any(word in prepared.spread for word in predicate["name"].split())
    return span if told and prepared.hands and _own_finger(text, prepared) else None


def _same_start(text: str, prepared: Prepared) -> bool:
    """Whether a statement begins as an option does and says something else."""
    if _DENIED.search(text):
        return False
    return any(text.split()[:2] == option.split()[:2] for option in prepared.exact)


def _options_told(text: str, prepared: Prepared) -> int:
    told: set[int] = set()
    for said in text.split():
        word = SAME.get(said, said)
        if word in prepared.spread:
            told |= prepared.spread[word]
    return len(told)


def _own_finger(text: str, prepared: Prepared) -> bool:
    """Whether the statement names no finger but those of the options."""
    named = {word for word in text.split() if word in ("thumb", "index", "middle", "ring", "little")}
    asked = {word for option in prepared.exact for word in option.split()}
    return named <= asked


def _is_vague(name: str) -> bool:
    words_said = name.split()
    return len(name) < 2 or words_said[0] in _NO_NAME or (len(words_said) == 1 and name in _VAGUE)


def _other_label(text: str, prepared: Prepared) -> bool:
    if all(words <= NUMBERS for words in prepared.words):
        count = _COUNT.fullmatch(text)
        return count is not None and (count["name"] in NUMBERS or count["name"].isdigit())
    for pattern in (_NAMED, _KIND, _THING):
        found = pattern.match(text)
        if found is not None:
            name = key(found["name"])
            return name not in prepared.exact and not _is_vague(name)
    text = _ARTICLE.sub("", text)
    bare = _BARE.fullmatch(text)
    if any(word in prepared.spread for word in re.split(r"[ _\-]", text)):
        return False
    return bare is not None and text.isascii() and not _TALK & set(re.split(r"[ _\-]", text))
