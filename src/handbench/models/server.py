"""Any chat endpoint that speaks like OpenAI's: ``server:NAME?base_url=http://localhost:8000/v1``."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from handbench.errors import HandbenchError
from handbench.models._dispatch import Dispatcher, Pace
from handbench.models._http import Endpoint
from handbench.models._images import ImagePolicy
from handbench.models._plan import answers, plan, without_logprobs
from handbench.models._request import Decoding, Renderer
from handbench.models._sending import in_background
from handbench.protocols import Model, model
from handbench.specs import Options, Spec


@dataclass
class Server:
    """A model behind one server or several that serve the same model.

    Attributes:
        name: the name in the tables.
        endpoints: where to ask.
        decoding: how it is to answer.
        policy: what may happen to images.
        pace: how hard to try.
        counts: requests ``sent``, ``retried``, ``shared`` and failures by kind.
        root: the folder of the images.
    """

    name: str
    endpoints: list[Endpoint]
    decoding: Decoding
    policy: ImagePolicy = field(default_factory=ImagePolicy)
    pace: Pace = field(default_factory=Pace)
    counts: Counter[str] = field(default_factory=Counter)
    root: Path = Path()
    _dispatcher: Dispatcher | None = field(default=None, repr=False)

    def images_at(self, root: Path) -> None:
        """Say where the images are."""
        self.root = root

    def resize_by(self, rule: Callable[[tuple[int, int]], tuple[int, int] | None]) -> None:
        """Take the size that a task prescribes for images."""
        self.policy = replace(self.policy, rule=rule)

    def facts(self) -> dict[str, Any]:
        """What was asked of whom, for the record; the key is not in it."""
        return {
            "endpoints": [place.base_url for place in self.endpoints],
            "request": self.decoding.fields(),
            "system_role": self.decoding.system_role,
            "images": str(self.policy),
            "counts": dict(self.counts),
        }

    def stop(self) -> None:
        """Send no more; what is under way is waited for."""
        if self._dispatcher is not None:
            self._dispatcher.finish()

    def answer(self, questions: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """Ask the server all questions, many at once; answers come as they arrive.

        Raises:
            HandbenchError: the server cannot be used: wrong key, wrong model name, not there, no
                likelihoods where they are needed.  What was answered before that has been yielded.
        """
        renderer = Renderer(self.decoding, self.policy)
        self._dispatcher = sender = Dispatcher(self.endpoints, renderer, self.policy, self.root, self.pace, self.counts)
        by_options = self.decoding.option_logprobs
        with closing(in_background(lambda outbox: sender.send(plan(questions), outbox))) as batches:
            for outcomes in batches:
                if by_options:
                    lacking, first = without_logprobs(outcomes)
                    if first is not None:
                        raise HandbenchError(
                            f"{self.name}: mode=options needs likelihoods, and the server sent {lacking} "
                            f"replies without them, though asked (first: {first.text[:60]!r}); "
                            "ask with mode=generate"
                        )
                yield answers(questions, outcomes, self.name, by_options)


def read_key(options: Options, spec: Spec) -> str:
    """The API key: from the variable ``key_env`` or the file ``key_file``; empty where none is named.

    Raises:
        HandbenchError: the variable is not set, or the file cannot be read or is empty.
    """
    variable, file = options.text("key_env", ""), options.text("key_file", "")
    if "key" in spec.options:
        raise HandbenchError(f"{spec.kind}:{spec.name}: no key on the command line; use key_env or key_file")
    if variable and file:
        raise HandbenchError(f"{spec}: give key_env or key_file, not both")
    if file:
        try:
            key = Path(file).expanduser().read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            raise HandbenchError(f"{spec}: key_file {file}: cannot be read") from None
        where = f"key_file {file}"
    elif variable:
        key, where = os.environ.get(variable, "").strip(), f"the variable {variable}"
    else:
        return ""
    if not key:
        raise HandbenchError(f"{spec}: {where} holds no key")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise HandbenchError(f"{spec}: {where} holds more than one printable word; is it the right one?")
    return key


def _extra(options: Options, spec: Spec) -> dict[str, Any]:
    text = options.text("extra", "{}")
    try:
        extra = json.loads(text)
    except ValueError:
        extra = None
    if not isinstance(extra, dict) or "messages" in extra:
        raise HandbenchError(f"{spec}: extra must be a JSON object of further fields of the request's body")
    return extra


@model("server")
def server(spec: Spec, options: Options) -> Model:
    """``server:NAME?base_url=URL``: NAME is the model's name at the server.

    Options: ``base_url`` (several with commas), ``key_env`` or ``key_file``, ``mode`` (generate, options),
    ``max_tokens``, ``temperature``, ``seed``, ``image_max_side``, ``system`` (role, user), ``limit_name``,
    ``extra`` (JSON), ``concurrency``, ``tries``, ``timeout``, ``proxy``.
    """
    key = read_key(options, spec)
    if not spec.name:
        raise HandbenchError(f"{spec}: name the model, as in server:NAME?base_url=http://localhost:8000/v1")
    urls = [url.strip() for url in options.text("base_url", "").split(",") if url.strip()]
    if not urls:
        raise HandbenchError(f"{spec}: base_url is missing, as in server:NAME?base_url=http://localhost:8000/v1")
    seed = options.integer("seed", -1)
    side = options.integer("image_max_side", 0, least=0)
    timeout = options.number("timeout", 300.0)
    if timeout <= 0:
        raise HandbenchError(f"{spec}: timeout must be more than 0 seconds")
    decoding = Decoding(
        model=spec.name,
        max_tokens=options.integer("max_tokens", 128, least=1),
        temperature=options.number("temperature", 0.0),
        seed=None if seed < 0 else seed,
        option_logprobs=options.choice("mode", "generate", ("generate", "options")) == "options",
        system_role=options.choice("system", "role", ("role", "user")) == "role",
        limit_name=options.choice("limit_name", "max_tokens", ("max_tokens", "max_completion_tokens")),
        extra=_extra(options, spec),
    )
    pace = Pace(
        concurrency=options.integer("concurrency", 64, least=1),
        tries=options.integer("tries", 8, least=1),
        timeout=timeout,
        through_proxy=options.flag("proxy"),
    )
    endpoints = [Endpoint(url, key) for url in urls]
    return Server(options.text("name", str(spec)), endpoints, decoding, ImagePolicy(side or None), pace)
