"""The hand parts that a sentence names, in order: (finger, joint) pairs in one spelling."""

from __future__ import annotations

import re

_FINGER = {
    "thumb": "thumb",
    "index": "index",
    "forefinger": "index",
    "pointer": "index",
    "middle": "middle",
    "ring": "ring",
    "little": "little",
    "pinky": "little",
    "pinkie": "little",
    "small": "little",
}
_JOINT = {
    "tip": "tip",
    "tips": "tip",
    "fingertip": "tip",
    "fingertips": "tip",
    "distal interphalangeal": "dip",
    "dip": "dip",
    "proximal interphalangeal": "pip",
    "pip": "pip",
    "middle joint": "pip",
    "middle knuckle": "pip",
    "metacarpophalangeal": "mcp",
    "mcp": "mcp",
    "knuckle": "mcp",
    "base joint": "mcp",
    "end joint": "dip",
    "interphalangeal": "ip",
    "carpometacarpal": "cmc",
    "cmc": "cmc",
    "wrist": "wrist",
    "palm": "palm",
}
_F = (
    r"thumb|index|forefinger|pointer|pinky|pinkie|ring|middle(?! (?:joint|knuckle|of))"
    r"|(?:little|small)(?= (?:finger|tip|one|joint))"
)
_J = "|".join(sorted(_JOINT, key=len, reverse=True))
_SIDE = r"(?:(?:the|its|your|his|her|a|an) )?(?:(?:left|right) )?"
_PARTS = re.compile(
    rf"\b(?:(?P<j1>{_J})(?: joints?| knuckles?)? (?:of|on) {_SIDE}(?P<f1>{_F})"
    rf"|(?P<f2>{_F})(?: finger)?(?:'s)? (?P<j2>{_J})"
    rf"|(?P<f3>{_F})(?:'s)?|(?P<j3>{_J}))\b"
)

Part = tuple[str | None, str | None]


def hand_parts(text: str) -> tuple[Part, ...]:
    """Hand parts in the order of ``text``.

    Args:
        text: Lower-case text with single blanks, hyphens as blanks.

    Returns:
        Pairs (finger, joint); None where the text leaves one of the two open. Repeats in a row count once.
    """
    parts: list[Part] = []
    for found in _PARTS.finditer(text):
        finger = found["f1"] or found["f2"] or found["f3"]
        joint = found["j1"] or found["j2"] or found["j3"]
        part = (_FINGER[finger] if finger else None, _JOINT[joint] if joint else None)
        if parts and part[0] is None and part[1] not in ("palm", "wrist") and parts[-1][1] is None:
            parts[-1] = (parts[-1][0], part[1])  # "the index finger ... at its middle joint"
        elif not parts or parts[-1] != part:
            parts.append(part)
    return tuple(parts)


def names_asked_parts(said: tuple[Part, ...], asked: tuple[Part, ...]) -> bool:
    """Whether what is said names nothing but the asked parts, in the asked order.

    Args:
        said: Hand parts of the reply's sentence.
        asked: Hand parts of the option.

    Returns:
        True when ``said`` starts as ``asked`` does, each part agreeing wherever both name a finger or joint.
    """
    if len(said) > len(asked):
        return False
    return all(
        finger in (None, option_finger) and joint in (None, option_joint)
        for (finger, joint), (option_finger, option_joint) in zip(said, asked, strict=False)
    )
