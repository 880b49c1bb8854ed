"""A question → the body of a chat request, and the key under which equal requests are one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final, NamedTuple

from handbench.models._images import ImagePolicy, SentImage

TOP_LOGPROBS: Final = 20
"""How many likely tokens are asked for where the options' likelihoods are wanted; the most that servers give."""


class Ask(NamedTuple):
    """One request to be sent.

    Attributes:
        rows: the questions that it answers, as row numbers.
        images: paths below the root, in the order of the question.
        system: the system text.
        prompt: the user's text.
        options: the options shown, without letters; empty where there are none.
    """

    rows: tuple[int, ...]
    images: tuple[str, ...]
    system: str
    prompt: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Decoding:
    """How the model is to answer: all of it is part of the request and of its key.

    Attributes:
        model: the model's name at the server.
        max_tokens: most tokens of a reply.
        temperature: 0 takes the likeliest token each time.
        seed: sent where given.
        option_logprobs: ask for one token and its likeliest alternatives.
        system_role: the system text is a message of its own; else it stands before the user's text.
        limit_name: the field that holds ``max_tokens``; newer hosted models want ``max_completion_tokens``.
        extra: further fields of the body, sent as they are.
    """

    model: str
    max_tokens: int = 128
    temperature: float = 0.0
    seed: int | None = None
    option_logprobs: bool = False
    system_role: bool = True
    limit_name: str = "max_tokens"
    extra: dict[str, Any] = field(default_factory=dict)

    def fields(self) -> dict[str, Any]:
        """The body's fields, messages aside."""
        fields: dict[str, Any] = {
            "model": self.model,
            "temperature": self.temperature,
            self.limit_name: 1 if self.option_logprobs else self.max_tokens,
        }
        if self.seed is not None:
            fields["seed"] = self.seed
        if self.option_logprobs:
            fields |= {"logprobs": True, "top_logprobs": TOP_LOGPROBS}
        return fields | self.extra


class Renderer:
    """Puts bodies together; what all requests share is encoded once."""

    def __init__(self, decoding: Decoding, policy: ImagePolicy) -> None:
        self._system_role = decoding.system_role
        self._head = _json(decoding.fields())[:-1] + b',"messages":['
        self._shared = sha256(self._head + b"\0" + str(policy).encode())

    def body(self, ask: Ask, images: Sequence[SentImage]) -> bytes:
        """The JSON body: images first, then the text, so that a server can share an image's prefix."""
        pieces = [self._head]
        prompt = ask.prompt
        if ask.system and self._system_role:
            pieces += [b'{"role":"system","content":', _json(ask.system), b"},"]
        elif ask.system:
            prompt = f"{ask.system}\n\n{prompt}"
        if not images:
            pieces += [b'{"role":"user","content":', _json(prompt), b"}]}"]
            return b"".join(pieces)
        pieces.append(b'{"role":"user","content":[')
        for image in images:
            pieces += [b'{"type":"image_url","image_url":{"url":"', image.data_uri, b'"}},']
        pieces += [b'{"type":"text","text":', _json(prompt), b"}]}]}"]
        return b"".join(pieces)

    def key(self, ask: Ask, images: Sequence[SentImage]) -> bytes:
        """Sha256 over messages, image bytes, model, decoding and image policy."""
        digest = self._shared.copy()
        digest.update(_json([self._system_role, ask.system, ask.prompt, len(images)]))
        for image in images:
            digest.update(image.digest)
        return digest.digest()


_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
"""Made once: ``json.dumps`` makes one for every call that asks for something unusual."""


def _json(value: Any) -> bytes:
    return _ENCODER.encode(value).encode("utf-8", "replace")
