"""A local model through transformers: ``hf:PATH?adapter=PATH&mode=generate``."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import polars as pl

from handbench.errors import HandbenchError
from handbench.models import _seen
from handbench.models._hf_inputs import Inputs
from handbench.models._hf_load import DTYPES, Loaded, load
from handbench.models._hf_options import Weigher
from handbench.models._outcome import Outcome
from handbench.models._plan import answers, likeliest, plan
from handbench.models._reply import ChatReply
from handbench.models._request import Ask
from handbench.models._trouble import FATAL, Patience, Trouble
from handbench.protocols import Model, model
from handbench.specs import Options, Spec

Way = Callable[[Inputs, list[Ask]], list[Outcome]]


@dataclass
class LocalModel:
    """A vision-language model in this process.

    Attributes:
        name: the name in the tables.
        loaded: model and processor.
        by_options: whether options are weighed by likelihood instead of a reply being written.
        sentences: whether an option is weighed by its whole sentence, else by its letter.
        batch: questions at once; halved where memory does not suffice.
        max_tokens: most tokens of a reply.
        max_side: images with a longer side are made smaller, None for never.
        system_role: the system text is a message of its own.
        root: the folder of the images.
        counts: failures by kind, and how often memory did not suffice.
        adapter: the folder of the adapter that it has, empty for none.
        allow_overlap: questions that share something with what the adapter was tuned on are counted, not refused.
        overlap: how many such questions there are, by what they share.
    """

    name: str
    loaded: Loaded
    by_options: bool = False
    sentences: bool = False
    batch: int = 8
    max_tokens: int = 128
    max_side: int | None = None
    system_role: bool = True
    root: Path = Path()
    counts: Counter[str] = field(default_factory=Counter)
    adapter: str = ""
    allow_overlap: bool = False
    overlap: dict[str, int] = field(default_factory=dict)
    _sizes: Counter[str] = field(default_factory=Counter)
    _tokens: Counter[int] = field(default_factory=Counter)
    _stopped: bool = False

    def __post_init__(self) -> None:
        self._weigher = Weigher(self.loaded, self.sentences)

    def images_at(self, root: Path) -> None:
        """Say where the images are."""
        self.root = root

    def prepare(self, questions: pl.DataFrame) -> None:
        """See that no question shares an image, recording or person with what the adapter was tuned on.

        Raises:
            HandbenchError: some do, and that was not allowed.
        """
        seen = _seen.read(Path(self.adapter)) if self.adapter else None
        if seen is not None:
            self.overlap = _seen.overlap(questions, seen)
            if not self.allow_overlap:
                _seen.refuse(self.adapter, self.overlap)

    def facts(self) -> dict[str, Any]:
        """Model, versions, the sizes and the visual tokens that the model saw, and how images were shared."""
        return {
            **self.loaded.facts(),
            "mode": "options" if self.by_options else "generate",
            "weighed": "sentences" if self.sentences else "letters",
            "max_tokens": self.max_tokens,
            "system_role": self.system_role,
            "image_max_side": self.max_side or 0,
            "sharing": self._weigher.sharing,
            "seen_sizes": dict(self._sizes),
            "visual_tokens": {str(count): times for count, times in self._tokens.items()},
            "counts": dict(self.counts),
            "overlap_with_tuning": dict(self.overlap),
        }

    def stop(self) -> None:
        """Answer no further batch."""
        self._stopped = True

    def answer(self, questions: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """Answer all questions, image after image.

        Raises:
            HandbenchError: many images in a row cannot be read, or an option's letter is not one token.
        """
        inputs = Inputs(self.loaded, self.root, self.max_side, self.system_role)
        patience: Patience[Outcome] = Patience(self.name)
        for asks in self._batches(plan(questions)):
            if self._stopped:
                break
            done = []
            for outcome in self._outcomes(inputs, asks):
                if outcome.reply is not None:
                    done += [earlier for earlier, _ in patience.succeeded()] + [outcome]
                elif outcome.trouble is not None:
                    self.counts[outcome.trouble.kind] += 1
                    patience.failed(outcome, outcome.trouble, outcome.ask.images or outcome.ask.prompt)
            if done:
                yield answers(questions, done, self.name, by_options=False).with_columns(self._weights(done))
        if left := [outcome for outcome, _ in patience.ended()]:
            yield answers(questions, left, self.name, by_options=False)

    def _weights(self, outcomes: Sequence[Outcome]) -> pl.Series:
        values = [
            [value for _, value in outcome.reply.top] if outcome.reply and outcome.reply.top else None
            for outcome in outcomes
            for _ in outcome.ask.rows
        ]
        return pl.Series("option_logprobs", values, dtype=pl.List(pl.Float32))

    def _batches(self, asks: Iterator[Ask]) -> Iterator[list[Ask]]:
        """Batches; in options mode a batch holds one image's questions and no other's."""
        groups: Iterator[Iterator[Ask]]
        if self.by_options:
            groups = (group for _, group in groupby(asks, key=lambda ask: (ask.images, ask.system)))
        else:
            groups = iter([asks])
        most = 64 if self.by_options else self.batch
        for group in groups:
            waiting: list[Ask] = []
            for ask in group:
                waiting.append(ask)
                if len(waiting) == most:
                    yield waiting
                    waiting = []
            if waiting:
                yield waiting

    def _outcomes(self, inputs: Inputs, asks: list[Ask]) -> list[Outcome]:
        readable, failed = [], []
        for ask in asks:
            try:
                inputs.messages(ask)
            except Trouble as trouble:
                failed.append(Outcome(ask, None, trouble, 0.0))
            else:
                readable.append(ask)
        way = self._weigh if self.by_options else self._write
        return failed + (self._bisect(way, inputs, readable) if readable else [])

    def _bisect(
        self, way: Callable[[Inputs, list[Ask]], list[Outcome]], inputs: Inputs, asks: list[Ask]
    ) -> list[Outcome]:
        """Answer a batch; where memory does not suffice, each half of it by itself."""
        try:
            return way(inputs, asks)
        except RuntimeError as error:
            if not _out_of_memory(error):
                raise
        _free_memory()
        self.counts["out of memory"] += 1
        if len(asks) == 1:
            return [Outcome(asks[0], None, Trouble(FATAL, "out of memory with a single question"), 0.0)]
        middle = len(asks) // 2
        self.batch = max(1, min(self.batch, middle))
        return self._bisect(way, inputs, asks[:middle]) + self._bisect(way, inputs, asks[middle:])

    def _write(self, inputs: Inputs, asks: list[Ask]) -> list[Outcome]:
        """Replies, the likeliest token each time (temperature 0)."""
        import torch

        begun = time.perf_counter()
        given = inputs.batch(asks)
        with torch.inference_mode():
            tokens = self.loaded.model.generate(
                **given, max_new_tokens=self.max_tokens, do_sample=False, temperature=None, top_p=None, top_k=None
            )
        written = tokens[:, given["input_ids"].shape[1] :].tolist()
        replies = [
            self._reply(row, int(mask.sum())) for row, mask in zip(written, given["attention_mask"], strict=True)
        ]
        return self._seen(inputs, asks, given, replies, begun)

    def _reply(self, tokens: list[int], tokens_in: int) -> ChatReply:
        ends = [place for place, token in enumerate(tokens) if token in self.loaded.end_tokens]
        kept = tokens[: ends[0]] if ends else tokens
        text = self.loaded.tokenizer.decode(kept, skip_special_tokens=True)
        return ChatReply(text, "stop" if ends else "length", tokens_in, len(kept) + bool(ends))

    def _weigh(self, inputs: Inputs, asks: list[Ask]) -> list[Outcome]:
        """Likelihoods of the options."""
        begun = time.perf_counter()
        values, lengths, given = self._weigher.weigh(inputs, asks)
        replies = []
        for ask, weights, length in zip(asks, values, lengths, strict=True):
            top = tuple(zip(ask.options, weights, strict=True))
            replies.append(ChatReply(likeliest(ask.options, weights) or "", "stop", length, 1, top))
        return self._seen(inputs, asks, given, replies, begun)

    def _seen(
        self, inputs: Inputs, asks: list[Ask], given: Any, replies: list[ChatReply], begun: float
    ) -> list[Outcome]:
        seconds = (time.perf_counter() - begun) / len(asks)
        alone = len(given["input_ids"]) < len(asks)  # one stands for all: they show the same images
        sizes = inputs.sizes(asks[:1], given) * len(asks) if alone else inputs.sizes(asks, given)
        self._sizes.update(f"{width}x{height}" for row in sizes for width, height in row)
        self._tokens.update(inputs.visual_tokens(given) * (len(asks) if alone else 1))
        return [Outcome(ask, reply, None, seconds, size) for ask, reply, size in zip(asks, replies, sizes, strict=True)]


def _out_of_memory(error: RuntimeError) -> bool:
    import torch

    return isinstance(error, torch.OutOfMemoryError) or "alloc" in str(error) or "out of memory" in str(error)


def _free_memory() -> None:
    import gc

    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


@model("hf")
def hf(spec: Spec, options: Options) -> Model:
    """``hf:PATH``: PATH is a model folder.

    Options: ``adapter``, ``mode`` (generate, options), ``weigh`` (letters, sentences), ``dtype``, ``device``,
    ``batch``, ``max_tokens``, ``image_max_side``, ``system`` (role, user), ``allow_overlap``, ``name``.
    """
    if not spec.name:
        raise HandbenchError(f"{spec}: name the model's folder, as in hf:models/llava")
    adapter = options.text("adapter", "")
    dtype = options.choice("dtype", "auto", DTYPES)
    device = options.text("device", "auto")
    made = {
        "name": options.text("name", str(spec)),
        "by_options": options.choice("mode", "generate", ("generate", "options")) == "options",
        "sentences": options.choice("weigh", "letters", ("letters", "sentences")) == "sentences",
        "batch": options.integer("batch", 8, least=1),
        "max_tokens": options.integer("max_tokens", 128, least=1),
        "max_side": options.integer("image_max_side", 0, least=0) or None,
        "system_role": options.choice("system", "role", ("role", "user")) == "role",
        "adapter": adapter,
        "allow_overlap": options.flag("allow_overlap"),
    }
    options.done()  # before minutes are spent on loading
    return LocalModel(loaded=load(spec.name, adapter, dtype, device), **made)  # type: ignore[arg-type]
