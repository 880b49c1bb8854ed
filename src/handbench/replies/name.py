"""Reply text → a name in plain form: lower case, without articles, punctuation or an introduction.  Never a guess."""

from __future__ import annotations

import re
from typing import Final

from handbench.replies.box import BoxStatus
from handbench.replies.box_words import refuses, rejects
from handbench.replies.envelope import END_TOKEN, without_roles, without_thinking
from handbench.replies.folding import fold

NOTHING: Final = "none"
"""What stands for "nothing is pointed at" among categories."""

_KEYED = re.compile(
    r"[\"'](?:answer|category|category_name|label|name|object|class)[\"']\s*:\s*(?:\"([^\"]*)\"|'([^']*)'|(null|none))",
    re.IGNORECASE,
)
_LEADS = re.compile(
    r"^(?:(?:the )?(?:final )?(?:answer|category(?: name)?|label|object|target)(?: (?:is|being pointed at is|pointed at is))?\s*:?\s+"
    r"|(?:it|this|that|he|she|the (?:pointed[- ](?:at )?)?(?:object|thing|item|target)(?: (?:being )?(?:pointed|referred)(?: (?:at|to))?)?"
    r"|(?:the |my |your )?(?:hand|finger|person|user) is pointing (?:at|to)|you are pointing (?:at|to))(?:'s| is| looks like| appears to be| seems to be)?\s+"
    r"|(?:a|an|the|some|one)\s+|:\s*)",
    re.IGNORECASE,
)
_PLAIN = re.compile(r"[^\w\s'&/-]+")


def plain(text: str) -> str:
    """A name in lower case, without articles, quotes, punctuation or an introduction; blanks single."""
    found = text.strip()
    for _ in range(4):
        shorter = _LEADS.sub("", found, count=1)
        if shorter == found:
            break
        found = shorter
    found = _PLAIN.sub(" ", found.lower().replace("_", " ").replace("-", " "))
    return " ".join(found.split()).strip("'\" ")


def read_name(reply: str | None, finish: str = "stop") -> tuple[str | None, BoxStatus, str]:
    """Read an answer in words.

    The last line of the visible reply counts, or the value of an answer key in an object.

    Args:
        reply: what the model wrote.
        finish: ``length`` where the reply was cut.

    Returns:
        The plain form, None where there is none; the status; the rule.
    """
    if reply is None or not reply.strip():
        return (None, BoxStatus.REFUSED, finish) if finish == "content_filter" else (None, BoxStatus.EMPTY, "blank")
    text, thought, unfinished = without_thinking(fold(reply))
    text = without_roles(END_TOKEN.sub(" ", text)).replace("*", " ").strip(" \n'\"")
    if not text:
        if unfinished:
            return None, BoxStatus.TRUNCATED if finish == "length" else BoxStatus.UNPARSED, "unfinished-thinking"
        return None, BoxStatus.UNPARSED if thought else BoxStatus.EMPTY, "nothing-said"
    keyed = _KEYED.search(text)
    if keyed is not None:
        said = keyed[1] or keyed[2] or ""
        if not said or rejects(said) is not None:
            return NOTHING, BoxStatus.REJECTED, "key"
        return plain(said), BoxStatus.OK, "key"
    if rejects(text) is not None:
        return NOTHING, BoxStatus.REJECTED, "nothing-there"
    if refuses(text) is not None:
        return None, BoxStatus.REFUSED, "refusal"
    if finish == "length":
        return None, BoxStatus.TRUNCATED, "cut"
    line = [line for line in text.splitlines() if line.strip()][-1]
    found = plain(line.rsplit("nswer:", 1)[-1])
    return (found, BoxStatus.OK, "line") if found else (None, BoxStatus.UNPARSED, "no-word")
