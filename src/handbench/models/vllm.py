"""A model in vLLM's offline engine: ``vllm:ID?mode=generate``."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Protocol

import polars as pl

from handbench.errors import HandbenchError
from handbench.models._images import ImagePolicy, load
from handbench.models._outcome import Outcome
from handbench.models._plan import answers, plan
from handbench.models._reply import ChatReply
from handbench.models._request import TOP_LOGPROBS, Ask
from handbench.models._trouble import Patience, Trouble
from handbench.protocols import Model, model
from handbench.specs import Options, Spec

_BATCH: Final = 512
"""Conversations handed over at once; the engine batches them as it sees fit."""


class Engine(Protocol):
    """The part of ``vllm.LLM`` that is used."""

    def chat(self, messages: list[Any], sampling_params: Any, use_tqdm: bool) -> Sequence[Any]:
        """Answer conversations, in their order."""
        ...


@dataclass
class OfflineEngine:
    """A model in vLLM's engine; the questions of an image stand together, so that its prefix is cached.

    Attributes:
        name: the name in the tables.
        engine: ``vllm.LLM``.
        sampling: its sampling parameters.
        by_options: whether the likeliest option's letter is the reply.
        policy: what may happen to images before the engine's own processor.
        system_role: the system text is a message of its own.
        setup: what the engine was made with, for the record.
        root: the folder of the images.
    """

    name: str
    engine: Engine
    sampling: Any
    by_options: bool
    policy: ImagePolicy
    system_role: bool
    setup: dict[str, Any]
    root: Path = Path()
    counts: Counter[str] = field(default_factory=Counter)
    _stopped: bool = False

    def images_at(self, root: Path) -> None:
        """Say where the images are."""
        self.root = root

    def resize_by(self, rule: Callable[[tuple[int, int]], tuple[int, int] | None]) -> None:
        """Take the size that a task prescribes for images."""
        self.policy = replace(self.policy, rule=rule)

    def facts(self) -> dict[str, Any]:
        """What the engine was made with and how images were sent."""
        return {**self.setup, "images": str(self.policy), "counts": dict(self.counts)}

    def stop(self) -> None:
        """Hand over no further batch."""
        self._stopped = True

    def answer(self, questions: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """Answer all questions, image after image.

        Raises:
            HandbenchError: many images in a row cannot be read, or the engine sends no likelihoods.
        """
        patience: Patience[Outcome] = Patience(self.name)
        waiting: list[tuple[Ask, list[dict[str, Any]], tuple[tuple[int, int], ...]]] = []
        for ask in plan(questions):
            try:
                messages, sizes = self._messages(ask)
            except Trouble as trouble:
                self.counts[trouble.kind] += 1
                patience.failed(Outcome(ask, None, trouble, 0.0), trouble, ask.images)
                continue
            waiting.append((ask, messages, sizes))
            if len(waiting) == _BATCH:
                yield self._chat(questions, waiting, patience)
                waiting = []
                if self._stopped:
                    return
        if waiting:
            yield self._chat(questions, waiting, patience)
        if left := [outcome for outcome, _ in patience.ended()]:
            yield answers(questions, left, self.name, self.by_options)

    def _messages(self, ask: Ask) -> tuple[list[dict[str, Any]], tuple[tuple[int, int], ...]]:
        images = [load(self.root / image, self.policy) for image in ask.images]
        parts: list[dict[str, Any]] = [
            {"type": "image_url", "image_url": {"url": image.data_uri.decode()}} for image in images
        ]
        prompt = ask.prompt if self.system_role or not ask.system else f"{ask.system}\n\n{ask.prompt}"
        chat: list[dict[str, Any]] = [{"role": "user", "content": [*parts, {"type": "text", "text": prompt}]}]
        if ask.system and self.system_role:
            chat.insert(0, {"role": "system", "content": ask.system})
        return chat, tuple(image.size for image in images)

    def _chat(self, questions: pl.DataFrame, waiting: list[Any], patience: Patience[Outcome]) -> pl.DataFrame:
        begun = time.perf_counter()
        outputs = self.engine.chat([messages for _, messages, _ in waiting], self.sampling, use_tqdm=False)
        seconds = (time.perf_counter() - begun) / len(waiting)
        outcomes = [outcome for outcome, _ in patience.succeeded()]
        for (ask, _, sizes), output in zip(waiting, outputs, strict=True):
            reply = _reply(output)
            if self.by_options and reply.top is None:
                raise HandbenchError(f"{self.name}: mode=options needs likelihoods, and the engine sent none")
            outcomes.append(Outcome(ask, reply, None, seconds, sizes))
        return answers(questions, outcomes, self.name, self.by_options)


def _reply(output: Any) -> ChatReply:
    said = output.outputs[0]
    first = said.logprobs[0] if said.logprobs else None
    top = tuple((entry.decoded_token, float(entry.logprob)) for entry in first.values()) if first else None
    return ChatReply(
        text=said.text,
        finish=said.finish_reason if said.finish_reason in ("stop", "length") else "unknown",
        tokens_in=len(output.prompt_token_ids),
        tokens_out=len(said.token_ids),
        top=top,
    )


@model("vllm")
def vllm(spec: Spec, options: Options) -> Model:
    """``vllm:ID``: ID is a model folder or a hub name.

    Options: ``mode`` (generate, options), ``dtype``, ``max_tokens``, ``max_model_len``, ``tensor_parallel``,
    ``images`` (most images of a prompt), ``image_max_side``, ``system`` (role, user), ``seed``, ``name``.
    """
    if not spec.name:
        raise HandbenchError(f"{spec}: name the model, as in vllm:Qwen/Qwen2.5-VL-7B-Instruct")
    by_options = options.choice("mode", "generate", ("generate", "options")) == "options"
    max_tokens = options.integer("max_tokens", 128, least=1)
    side = options.integer("image_max_side", 0, least=0)
    length = options.integer("max_model_len", 0, least=0)
    engine: dict[str, Any] = {
        "model": spec.name,
        "dtype": options.text("dtype", "auto"),
        "enable_prefix_caching": True,
        "tensor_parallel_size": options.integer("tensor_parallel", 1, least=1),
        "limit_mm_per_prompt": {"image": options.integer("images", 1, least=1)},
        "seed": options.integer("seed", 0, least=0),
    }
    if length:
        engine["max_model_len"] = length
    sampling: dict[str, Any] = {"temperature": 0.0, "max_tokens": 1 if by_options else max_tokens}
    if by_options:
        sampling["logprobs"] = TOP_LOGPROBS
    system_role = options.choice("system", "role", ("role", "user")) == "role"
    name = options.text("name", str(spec))
    options.done()  # before minutes are spent on loading
    try:
        import vllm as package
    except ImportError as error:
        raise HandbenchError(f"{spec}: {error}; pip install 'handbench[vllm]' brings what is needed") from None
    setup = {"engine": engine, "sampling": sampling, "vllm": package.__version__}
    made, parameters = package.LLM(**engine), package.SamplingParams(**sampling)
    return OfflineEngine(name, made, parameters, by_options, ImagePolicy(side or None), system_role, setup)
