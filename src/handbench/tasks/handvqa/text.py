"""What the questions say: the paper's sentences, and our own instruction around them.

Sentences are the paper's templates to the letter (HandVQA, section 3.2 and Table 1).  The instruction and
the system text are ours; their version is part of every question's ``variant``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from handbench.hand.descriptors import Descriptor

VERSION: Final = "1"
"""Version of the instruction; a change of any word is another version."""

LETTERS: Final = "ABCDEFGH"

SYSTEM: Final = (
    "You look at pictures of hands and judge how their joints lie. "
    "Follow the instruction to the letter and add nothing to it."
)

_SEGMENT_NAMES: Final = {
    "cmc": "carpometacarpal",
    "mcp": "metacarpophalangeal",
    "pip": "proximal interphalangeal",
    "dip": "distal interphalangeal",
    "ip": "interphalangeal",
    "tip": "tip",
}

_ANSWER_LINES: Final = {
    "sentence": "Answer with the one sentence that is true, letter and words, and with nothing else.",
    "letter": "Answer with the letter of the one sentence that is true, and with nothing else.",
}

ANSWER_STYLES: Final = tuple(_ANSWER_LINES)
"""``sentence`` (the paper's way: the whole lettered sentence) or ``letter``."""


def finger_name(joint: str) -> str:
    """``thumb``, or ``index finger`` and so on."""
    finger = joint.partition("_")[0]
    return finger if finger == "thumb" else f"{finger} finger"


def joint_name(joint: str) -> str:
    """The anatomical name, e.g. ``proximal interphalangeal``; the wrist is its own joint."""
    return _SEGMENT_NAMES[joint.partition("_")[2]]


def noun(joint: str) -> str:
    """``the tip joint of the thumb``."""
    if joint == "wrist":
        return "the wrist"
    return f"the {joint_name(joint)} joint of the {finger_name(joint)}"


def sentence(descriptor: Descriptor, label: str, joint_a: str, joint_b: str | None) -> str:
    """One option sentence, without its letter."""
    if joint_b is None:
        return f"The {finger_name(joint_a)} is {label} at the {joint_name(joint_a)} joint."
    first = noun(joint_a)
    return f"T{first[1:]} is {label} {noun(joint_b)}."


def lettered(options: Sequence[str]) -> list[str]:
    """``A. first``, ``B. second`` and so on."""
    return [f"{LETTERS[index]}. {option}" for index, option in enumerate(options)]


def prompt(options: Sequence[str], side: str, answer: str) -> str:
    """The user turn that goes with the image.

    Args:
        options: the sentences in the order shown.
        side: ``left`` or ``right``, the person's own, or ``unknown``: the hand that is meant.
        answer: a key of :data:`ANSWER_STYLES`.
    """
    whose = "person's hand" if side == "unknown" else f"person's {side} hand"
    lines = [
        f"Look at the {whose} in the image. Which one of these sentences is true of it?",
        "Left, right, above and below are meant as they look in the image; in front is nearer to the camera.",
        "",
        "Options:",
        *lettered(options),
        "",
        _ANSWER_LINES[answer],
    ]
    return "\n".join(lines)
