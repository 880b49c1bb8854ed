"""What a mention of an option says, and how firmly."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

FINAL, DECLARED, BARE, PROBABLE, POSSIBLE = 3.0, 2.0, 1.0, 0.8, 0.4


class Kind(Enum):
    """What a mention says."""

    AFFIRM = "affirm"
    DENY = "deny"
    HEDGE = "hedge"
    NEUTRAL = "neutral"


@dataclass(frozen=True, slots=True)
class Evidence:
    """One mention, or several joined ones, with what it says and how firmly.

    Attributes:
        kind: What it says.
        choices: The options meant.
        strength: How firm the saying is.
        rule: Name of the rule that read it.
        start: Where it starts in the text.
        end: Where it ends.
        verdict: It judges the option ("B is correct") rather than giving the answer.
        letter: A letter is part of it.
        labelled: It is a letter with its option text.
    """

    kind: Kind
    choices: frozenset[int]
    strength: float
    rule: str
    start: int
    end: int
    verdict: bool = False
    letter: bool = True
    labelled: bool = False
