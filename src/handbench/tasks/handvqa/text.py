"""What the questions say: the paper's sentences, and our own instruction around them.

Sentences are the paper's templates to the letter (HandVQA, section 3.2 and Table 1); other words for them are
in :mod:`handbench.tasks.handvqa.wording`.  The instruction and the system text are ours; their version is part
of every question's ``variant``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

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

ANSWER_STYLES: Final = ("sentence", "letter", "likelihoods")
"""``sentence`` (the paper's way: the whole lettered sentence), ``letter``, or ``likelihoods``: a number for each
letter, as in the paper's section 8.3.4, whose own words are not published; these are ours."""


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


def sentence(label: str, joint_a: str, joint_b: str | None) -> str:
    """One option sentence of the paper, without its letter."""
    if joint_b is None:
        return f"The {finger_name(joint_a)} is {label} at the {joint_name(joint_a)} joint."
    first = noun(joint_a)
    return f"T{first[1:]} is {label} {noun(joint_b)}."


def lettered(options: Sequence[str]) -> list[str]:
    """``A. first``, ``B. second`` and so on."""
    return [f"{LETTERS[index]}. {option}" for index, option in enumerate(options)]


@dataclass(frozen=True)
class _Instruction:
    """What stands around the options; ``{whose}`` is the hand that is meant."""

    question: str
    note: str
    heading: str
    sentence: str
    letter: str


_INSTRUCTIONS: Final = (
    _Instruction(
        "Look at the {whose} in the image. Which one of these sentences is true of it?",
        "Left, right, above and below are meant as they look in the image; in front is nearer to the camera.",
        "Options:",
        "Answer with the one sentence that is true, letter and words, and with nothing else.",
        "Answer with the letter of the one sentence that is true, and with nothing else.",
    ),
    _Instruction(
        "The image shows a {whose}. Just one of the sentences below describes it correctly.",
        "Left, right, above and below are those of the image; what is nearer to the camera is in front.",
        "Sentences:",
        "Reply with the correct sentence and its letter. Write nothing else.",
        "Reply with the letter of the correct sentence. Write nothing else.",
    ),
    _Instruction(
        "How is the {whose} in this image held? Pick the statement that fits what you see.",
        "Directions are as you see them in the image; in front means closer to the camera.",
        "Statements:",
        "Give the letter and the words of the statement that you pick, and no explanation.",
        "Give only the letter of the statement that you pick, and no explanation.",
    ),
)


def _likelihoods(count: int) -> str:
    shape = ", ".join(f'"{letter}": P' for letter in LETTERS[:count])
    return (
        "Answer with how likely each sentence is to be the true one, and with nothing else: a JSON object "
        f"{{{shape}}}, where each P is a number from 0 to 1 and all of them add up to 1."
    )


def prompt(options: Sequence[str], side: str, answer: str, phrase: int = 1) -> str:
    """The user turn that goes with the image.

    Args:
        options: the sentences in the order shown.
        side: ``left`` or ``right``, the person's own, or ``unknown``: the hand that is meant.
        answer: a key of :data:`ANSWER_STYLES`.
        phrase: which way of saying it, from 1.
    """
    words = _INSTRUCTIONS[phrase - 1]
    whose = "person's hand" if side == "unknown" else f"person's {side} hand"
    lines = [
        words.question.format(whose=whose),
        words.note,
        "",
        words.heading,
        *lettered(options),
        "",
        _likelihoods(len(options))
        if answer == "likelihoods"
        else (words.sentence if answer == "sentence" else words.letter),
    ]
    return "\n".join(lines)
