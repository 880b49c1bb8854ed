"""The body of a chat reply → text, reason to stop, token counts, likelihoods.  The body is not trusted."""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final, NamedTuple

from handbench.models._trouble import MALFORMED, Trouble

LETTERS: Final = "ABCDEFGHIJKLMNOP"

_FINISHES: Final = {
    "stop": "stop",
    "length": "length",
    "content_filter": "content_filter",
    "eos": "stop",
    "eos_token": "stop",
    "stop_sequence": "stop",
    "end_turn": "stop",
    "max_tokens": "length",
    "safety": "content_filter",
}
_FILTERED = re.compile(r"content[_ ]?(?:filter|policy)|responsible_?ai|moderation_blocked", re.IGNORECASE)
_TAGS = re.compile(r"<(?:script|style)\b.*?</(?:script|style)\s*>|<[^>]*>", re.IGNORECASE | re.DOTALL)
_LETTER = re.compile(r"[\s(\[\"'*]*([A-P])[\s).:\]\"'*,]*\Z")
_MOST_TOKENS: Final = 2**31 - 1


class ChatReply(NamedTuple):
    """What a model said.

    Attributes:
        text: the reply; empty where it said nothing.
        finish: ``stop``, ``length``, ``content_filter`` or ``unknown``.
        tokens_in: tokens read, where told.
        tokens_out: tokens written, where told.
        top: the likeliest first tokens and their log-likelihoods; None where the server sent none.
    """

    text: str
    finish: str
    tokens_in: int | None = None
    tokens_out: int | None = None
    top: tuple[tuple[str, float], ...] | None = None

    def free(self) -> ChatReply:
        """The same reply to an equal question, whose tokens another request has paid for."""
        return self if self.tokens_in is None else self._replace(tokens_in=0, tokens_out=0)

    def option_logprobs(self, count: int) -> list[float | None] | None:
        """Log-likelihood of each option's letter as the first token.

        Ways to write a letter (``A``, `` A``, ``A.``) are added up; None stands for a letter that is not
        among the tokens sent.
        """
        if self.top is None:
            return None
        shares = [0.0] * count
        for token, logprob in self.top:
            match = _LETTER.fullmatch(token)
            place = LETTERS.index(match[1]) if match else count
            if place < count:
                shares[place] += math.exp(min(logprob, 0.0))
        return [math.log(share) if share > 0 else None for share in shares]


def read_reply(body: bytes) -> ChatReply:
    """Read a chat completion.

    Raises:
        Trouble: the body is no JSON, or no chat completion.
    """
    try:
        reply = json.loads(body)
    except (ValueError, RecursionError):
        raise Trouble(MALFORMED, f"the reply is no JSON: {excerpt(body)}") from None
    try:
        choice = reply["choices"][0]
        message = choice["message"]
        content = message.get("content")
        refusal = message.get("refusal")
    except (KeyError, IndexError, TypeError, AttributeError):
        raise Trouble(MALFORMED, f"the reply has no choices[0].message: {excerpt(body)}") from None
    finish = _FINISHES.get(str(choice.get("finish_reason")).lower(), "unknown")
    if refusal and not content:
        content, finish = refusal, "content_filter"
    usage = reply.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    return ChatReply(
        text=_text(content),
        finish=finish,
        tokens_in=_count(usage.get("prompt_tokens")),
        tokens_out=_count(usage.get("completion_tokens")),
        top=_top(choice.get("logprobs")),
    )


def _text(content: Any) -> str:
    if content is None:
        return ""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(part for part in parts if isinstance(part, str))
    if not isinstance(content, str):
        raise Trouble(MALFORMED, f"the reply's content is no text but {type(content).__name__}")
    # a lone surrogate, which JSON may hold, has no UTF-8 and could not be stored
    return content if content.isascii() else content.encode("utf-8", "replace").decode("utf-8")


def _count(value: Any) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS
    return value if whole else None


def _top(logprobs: Any) -> tuple[tuple[str, float], ...] | None:
    try:
        first = logprobs["content"][0]["top_logprobs"]
        pairs = [(str(entry["token"]), float(entry["logprob"])) for entry in first]
    except (KeyError, IndexError, TypeError, ValueError):
        return None
    return tuple((token, value) for token, value in pairs if not math.isnan(value)) or None


def error_words(body: bytes) -> str:
    """What the server says in the body of an error, on one line."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return excerpt(body)
    for key in ("error", "detail", "message"):
        if isinstance(value, dict) and value.get(key):
            value = value[key]
    return _line(value if isinstance(value, str) else json.dumps(value))


def is_filtered(body: bytes) -> bool:
    """Whether the body of an error says that a content filter stopped the request."""
    return bool(_FILTERED.search(body[:4000].decode("utf-8", "replace")))


def excerpt(body: bytes) -> str:
    """The beginning of a body, tags taken out, on one line."""
    return _line(_TAGS.sub(" ", body[:4000].decode("utf-8", "replace"))) or "(nothing)"


def _line(text: str) -> str:
    return " ".join(text.encode("utf-8", "replace").decode().split())[:200]
