"""Other words for the same options: paraphrases of the paper's sentences, and everyday names of the joints.

The category stands in every sentence as the paper writes it ("bent inward", "at the left of"), so a wording
changes how a question is said and never what is asked.  Paraphrase 1 of ``anatomical`` is the paper's own
sentence (HandVQA, section 3.2).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from handbench.tasks.handvqa.text import finger_name, joint_name, noun, sentence

Sentence = Callable[[str, str, str | None], str]
"""(label, first joint, second joint or None) → the option sentence."""

_PLAIN_JOINTS: Final = {
    "mcp": "knuckle",
    "pip": "middle joint",
    "dip": "end joint",
    "tip": "tip",
    # Of the thumb, which has one joint fewer.
    "thumb_cmc": "base",
    "thumb_mcp": "middle joint",
    "thumb_ip": "end joint",
}


def plain_joint(joint: str) -> str:
    """The everyday name: ``middle joint`` for ``index_pip``, ``base`` for ``thumb_cmc``."""
    return _PLAIN_JOINTS.get(joint) or _PLAIN_JOINTS[joint.partition("_")[2]]


def plain_noun(joint: str) -> str:
    """``the tip of the thumb``."""
    return "the wrist" if joint == "wrist" else f"the {plain_joint(joint)} of the {finger_name(joint)}"


def _owned(joint: str, part: str) -> str:
    return "the wrist" if joint == "wrist" else f"the {finger_name(joint)}'s {part}"


def _anatomical_part(joint: str) -> str:
    return "" if joint == "wrist" else f"{joint_name(joint)} joint"


def _plain_part(joint: str) -> str:
    return "" if joint == "wrist" else plain_joint(joint)


def _paper(label: str, a: str, b: str | None) -> str:
    return sentence(label, a, b)


def _paper_turned(label: str, a: str, b: str | None) -> str:
    if b is None:
        return f"At the {joint_name(a)} joint, the {finger_name(a)} is {label}."
    return f"T{noun(a)[1:]} lies {label} {noun(b)}."


def _paper_owned(label: str, a: str, b: str | None) -> str:
    first = f"T{_owned(a, _anatomical_part(a))[1:]} is {label}"
    return f"{first}." if b is None else f"{first} {_owned(b, _anatomical_part(b))}."


def _plain(label: str, a: str, b: str | None) -> str:
    if b is None:
        return f"The {finger_name(a)} is {label} at its {plain_joint(a)}."
    return f"T{plain_noun(a)[1:]} is {label} {plain_noun(b)}."


def _plain_owned(label: str, a: str, b: str | None) -> str:
    first = f"T{_owned(a, _plain_part(a))[1:]} is {label}"
    return f"{first}." if b is None else f"{first} {_owned(b, _plain_part(b))}."


def _plain_turned(label: str, a: str, b: str | None) -> str:
    if b is None:
        return f"At its {plain_joint(a)}, the {finger_name(a)} is {label}."
    return f"In the image, {plain_noun(a)} is {label} {plain_noun(b)}."


SENTENCES: Final[dict[str, tuple[Sentence, ...]]] = {
    "anatomical": (_paper, _paper_turned, _paper_owned),
    "plain": (_plain, _plain_owned, _plain_turned),
}
"""The paraphrases of each wording, the first at 0."""

WORDINGS: Final = tuple(SENTENCES)
PHRASES: Final = 3
"""Paraphrases of each wording; each has an instruction of its own besides its sentences."""
