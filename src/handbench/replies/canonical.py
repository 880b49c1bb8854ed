"""The forms that a reply is asked to have: a letter, an option's text, both, "the answer is B". Read by comparison."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from handbench.replies.options import key, plain
from handbench.replies.reading import Reading, Status

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_PHRASE = re.compile(
    r"(?i:(?:the |my )?(?:final |correct |right |best )?answer(?: is:?|:)) ?[*(\"]{0,3}([A-Z])[)*\".!]{0,4}"
)
_FORMS = ("{}", "{}.", "{})", "({})", "[{}]", "{}:", "**{}**", '"{}"')
_LETTER_FORMS = {
    form.format(letter): (index, form.index("{"))
    for index, capital in enumerate(LETTERS)
    for letter in (capital, capital.lower())
    for form in _FORMS
}
_LABELS = {
    form.format(letter): index
    for index, capital in enumerate(LETTERS)
    for letter in (capital, capital.lower())
    for form in ("{}. ", "{}) ", "({}) ", "{}: ")
}


@lru_cache(maxsize=65536)
def _texts(options: tuple[str, ...]) -> dict[str, int] | None:
    """Option texts as they stand, with and without a final full stop; None when they could be taken for letters."""
    keys = [key(plain(unicodedata.normalize("NFC", option))) for option in options]
    if any(len(text) < 2 for text in keys) or len(set(keys)) < len(keys):
        return None
    texts: dict[str, int] = {}
    for index, option in enumerate(options):
        text = option.strip()
        texts[text] = texts[text.removesuffix(".")] = index
    return texts


def read_canonical(reply: str, options: tuple[str, ...]) -> Reading | None:
    """Read a reply that has one of the asked forms.

    Args:
        reply: What the model wrote.
        options: Option texts in the order of their letters.

    Returns:
        The reading; None when the reply has another form or the options can not be told apart by it.
    """
    text = reply.strip()
    texts = _texts(options)
    if texts is None or not text:
        return None
    start = reply.index(text[0])
    lettered = _LETTER_FORMS.get(text)
    if lettered is not None and lettered[0] < len(options):
        place = start + lettered[1]
        return Reading(lettered[0], Status.OK, "letter", (place, place + 1))
    index = texts.get(text)
    if index is not None:
        return Reading(index, Status.OK, "text", (start, start + len(text)))
    phrased = _PHRASE.fullmatch(text)
    if phrased is not None and ord(phrased[1]) - 65 < len(options):
        place = start + phrased.start(1)
        return Reading(ord(phrased[1]) - 65, Status.OK, "answer-phrase", (place, place + 1))
    for width in (3, 4):
        label = _LABELS.get(text[:width])
        if label is not None and texts.get(text[width:]) == label:
            return Reading(label, Status.OK, "letter-text", (start, start + len(text)))
    return None


def is_cut_short(text: str, options: tuple[str, ...]) -> bool:
    """Whether a text is the beginning of two options, so that a cut reply may have meant the longer one."""
    said = key(plain(text))
    return sum(key(plain(option)).startswith(said) for option in options) > 1
