"""Where a reply mentions options: by letter, by text, by ordinal; neighbours joined into groups."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

from handbench.replies import judging, telling
from handbench.replies.joining import CONJUNCTION, LINK, ORDINAL, ordinal_index
from handbench.replies.options import LATIN, Prepared, find_texts

OFF = -1  # a letter or ordinal beyond the list
CLASH = -2  # a letter next to the text of another option

_LETTER = re.compile(
    rf"(?<![{LATIN}])(?<![{LATIN}]['.])(?<![0-9a-z]-)(?<![A-Z][A-Z]-)(?<!\d )(?<!°)(?<![Nn]/)(N(?!/[Aa](?![{LATIN}]))|[A-MO-Z])"
    rf"(?![{LATIN}#°&]|\+(?![A-Z])|-[a-z]|'(?!d[ıiuü]r)[a-z]{{2}}|\.[A-Za-z](?![A-Za-z]))"
)
_SMALL = re.compile(
    r"(?:\A|(?<=[\n(\[<\"':=])|(?<=[:=-] )|(?<=\bis )|(?<=\boption )|(?<=\bchoice )|(?<=\banswer )|(?<=\bletter ))"
    r" {0,6}([a-z])(?=[ )\]>.,;:!\"']*(?:\n|\Z)|[)\].:][ \"'])"
)
_NAMED_I = re.compile(r"(?:[Aa]nswer|[Oo]ption|[Cc]hoice)(?: is)?:? ?[\"'(]?\Z")
_WORD_BEHIND = re.compile(
    r" (?!(?:mà|mais|sino|sondern|ma|maar|lecz|ale|melainkan|utan|men|pero|mas|bal|değil)\b)[a-zà-ɏ]{2,}"
)
_APPOSITION = re.compile(r"[\s)\].:\"'>=,(\[-]{1,12}\Z")
_IN_BRACKETS = re.compile(r"[\s\"',.]{0,3}[(\[]\s?(?:option |choice |answer )?\Z")
_HOMOGLYPHS = dict(zip("АВСЕНΑΒΕΗ", "ABCEHABEH", strict=True))
_LONE_HOMOGLYPH = re.compile(r"(?:\A|:)[\s\"'(\[]*([АВСЕНΑΒΕΗ])[\s\"')\].!]*\Z")


@dataclass(frozen=True, slots=True)
class Mention:
    """One mention: its place, its option (or ``OFF`` or ``CLASH``), and whether letter, text or ordinal gave it."""

    start: int
    end: int
    choice: int
    letter: bool
    text: bool
    ordinal: bool = False


def _letters(text: str, prepared: Prepared) -> list[Mention]:
    found = []
    for match in _LETTER.finditer(text):
        index = ord(match[1]) - 65
        if (
            match[1] == "I"
            and prepared.count < 9
            and _NAMED_I.search(text[max(0, match.start() - 16) : match.start()]) is None
        ):
            continue
        found.append(Mention(match.start(1), match.end(1), index if index < prepared.count else OFF, True, False))
    for match in _SMALL.finditer(text):
        index = ord(match[1]) - 97
        found.append(Mention(match.start(1), match.end(1), index if index < prepared.count else OFF, True, False))
    if not found:
        lone = _LONE_HOMOGLYPH.search(text)
        if lone is not None:
            index = ord(_HOMOGLYPHS[lone[1]]) - 65
            found.append(Mention(lone.start(1), lone.end(1), index if index < prepared.count else OFF, True, False))
    return found


def _ordinals(lower: str, prepared: Prepared) -> list[Mention]:
    found = []
    for match in ORDINAL.finditer(lower):
        index = ordinal_index(match, prepared.count)
        choice = index if 0 <= index < prepared.count else OFF
        found.append(Mention(match.start(), match.end(), choice, True, True, ordinal=True))
    return found


def _is_article(mention: Mention, gap: str, text: str) -> bool:
    return (
        gap == " "
        and text[mention.start] in "Aa"
        and not re.match(r"(?:the|an?|it|they) ", text[mention.end + 1 :].lower())
    )


def _joined(mentions: list[Mention], text: str) -> list[Mention]:
    """A letter and the text it labels (or a text and the letter behind it in brackets) are one mention."""
    out: list[Mention] = []
    for mention in mentions:
        if out:
            last = out[-1]
            gap = text[last.end : mention.start]
            label = last.letter and not last.text and mention.text and not mention.letter
            behind = last.text and not last.letter and mention.letter and not mention.text
            if label and _is_article(last, gap, text):
                out[-1] = mention
                continue
            if (label and _APPOSITION.match(gap)) or (behind and _IN_BRACKETS.match(gap)):
                choice = mention.choice if mention.choice == last.choice else CLASH
                out[-1] = Mention(last.start, mention.end, choice, True, True)
                continue
        out.append(mention)
    return out


def find_mentions(text: str, lower: str, prepared: Prepared) -> list[Mention]:
    """All mentions in order, none overlapping another.

    Args:
        text: Plain text of the visible answer, case kept.
        lower: The same in lower case.
        prepared: The options.
    """
    found: list[Mention] = []
    for start, end, option in find_texts(lower, prepared):
        choice = option
        if prepared.letters and end - start == 1 and "a" <= lower[start] <= "z":
            index = ord(lower[start]) - 97  # an option that is a letter: text and label must agree
            choice = choice if index == choice or index >= prepared.count else CLASH
        found.append(Mention(start, end, choice, False, True))
    others = _ordinals(lower, prepared) + _letters(text, prepared)
    taken = [(mention.start, mention.end) for mention in found]
    found.extend(other for other in others if not _overlaps(other, taken))
    found.sort(key=lambda mention: (mention.start, -mention.end))
    clean: list[Mention] = []
    for mention in found:
        if not clean or mention.start >= clean[-1].end:
            clean.append(mention)
    return [mention for mention in _joined(clean, text) if not _is_word(mention, text, lower)]


def _is_word(mention: Mention, text: str, lower: str) -> bool:
    """Whether an "A" is the article or the preposition of some language: a word follows that can not follow a letter."""
    if mention.text or text[mention.start] not in "AEIOY" or not _WORD_BEHIND.match(lower, mention.end):
        return False
    right = lower[mention.end : mention.end + 60]
    return not any(
        pattern.match(right)
        for pattern in (
            judging.EXPLAIN_A_RIGHT,
            judging.DENY_RIGHT,
            judging.AFFIRM_RIGHT,
            judging.CONDITION_RIGHT,
            judging.NOTHING_RIGHT,
            judging.BOTH_RIGHT,
            CONJUNCTION,
            telling.SHARE_RIGHT,
        )
    )


def _overlaps(mention: Mention, taken: list[tuple[int, int]]) -> bool:
    place = bisect_right(taken, (mention.start, 1 << 30))
    return (place > 0 and taken[place - 1][1] > mention.start) or (place < len(taken) and taken[place][0] < mention.end)


def grouped(mentions: list[Mention], lower: str) -> list[list[Mention]]:
    """Mentions joined by nothing but "or", "and", commas, slashes or blanks form one group."""
    groups: list[list[Mention]] = []
    for mention in mentions:
        if groups and _joins(groups[-1], mention) and LINK.fullmatch(lower, groups[-1][-1].end, mention.start):
            groups[-1].append(mention)
        else:
            groups.append([mention])
    return groups


def _joins(group: list[Mention], mention: Mention) -> bool:
    """Whether a mention may belong to a list: one that names an option again takes up the list anew."""
    choices = {member.choice for member in group}
    return len(choices) == 1 or mention.choice not in choices
