"""Folding of text, one character to one character, so that positions stay those of the reply."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

# Blocks whose compatibility form is one plain letter, digit or sign: full width, circled, mathematical, squared.
_COMPATIBILITY = (
    range(0xFF01, 0xFF5F),
    range(0x1D400, 0x1D800),
    range(0x24B6, 0x24EA),
    range(0x2460, 0x2469),
    range(0x1F130, 0x1F14A),
    range(0x2102, 0x214A),
    range(0x2080, 0x208A),
    range(0x0660, 0x066A),
    range(0x06F0, 0x06FA),
    range(0x0966, 0x0970),
)
_INVISIBLE = "\u00ad\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufe0e\ufe0f\ufeff\u061c"
_SPACES = "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000\t\x0b\x0c\r"
_SIGNS = {
    "'": "‘’‚‛′ʼ`´",
    '"': "“”„‟″«»‹›「」『』《》〈〉",
    "-": "‐‑‒–—―−",
    "/": "⁄∕",
    ".": "。｡．",
    ",": "、،",
    ":": "：︰꞉",
    ";": "؛",
    "?": "؟",
    "(": "（❨",
    ")": "）❩",
    "[": "【〔［",
    "]": "】〕］",
}


def _pairs() -> Iterable[tuple[int, str]]:
    for block in _COMPATIBILITY:
        for code in block:
            plain = unicodedata.normalize("NFKC", chr(code))
            if unicodedata.decimal(chr(code), None) is not None:
                plain = str(unicodedata.decimal(chr(code)))
            if len(plain) == 1 and plain.isascii():
                yield code, plain
    for number in range(26):
        letter = chr(ord("A") + number)
        yield 0x249C + number, letter.lower()  # parenthesised
        yield 0x1F110 + number, letter
        yield 0x1F150 + number, letter  # white on black circle
        yield 0x1F170 + number, letter  # white on black square
        yield 0x1F1E6 + number, letter  # regional indicator
    for plain, signs in _SIGNS.items():
        for sign in signs:
            yield ord(sign), plain
    for sign in _INVISIBLE + _SPACES:
        yield ord(sign), " "
    yield 0x130, "I"  # the one letter whose lower case is two characters long


_TABLE = dict(_pairs())
_ASCII_SPACES = str.maketrans({"\t": " ", "\r": " ", "\x0b": " ", "\x0c": " ", "`": "'"})


def fold(text: str) -> str:
    """Plain form of ``text`` with as many characters: compatibility letters, quotes, dashes, blanks.

    Args:
        text: Any text.

    Returns:
        Text of the same length, case kept; ``fold(text).lower()`` has that length too.
    """
    return text.translate(_ASCII_SPACES if text.isascii() else _TABLE)


def compose(text: str) -> tuple[str, list[int] | None]:
    """Letters and the accents behind them as one character each.

    Args:
        text: Any text.

    Returns:
        The composed text, and for each of its characters and its end the place in ``text``; None where nothing moved.
    """
    if text.isascii() or unicodedata.is_normalized("NFC", text):
        return text, None
    parts: list[str] = []
    places: list[int] = []
    start = 0
    for end in range(1, len(text) + 1):
        if end < len(text) and unicodedata.combining(text[end]):
            continue
        part = unicodedata.normalize("NFC", text[start:end])
        parts.append(part)
        places.extend([start] * len(part))
        start = end
    return "".join(parts), [*places, len(text)]
