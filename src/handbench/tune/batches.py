"""Lessons → batches of tensors: a row per question, or a row per image with all its questions packed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from handbench.errors import HandbenchError
from handbench.models._hf_inputs import Inputs
from handbench.models._hf_load import Loaded
from handbench.models._request import Ask
from handbench.models._trouble import Trouble
from handbench.tune.lessons import Lesson
from handbench.tune.packing import IGNORED, pack, share

_PER_TOKEN = ("input_ids", "attention_mask", "mm_token_type_ids", "token_type_ids")


@dataclass(frozen=True)
class Encoded:
    """A lesson in tokens.

    Attributes:
        pictures: what the processor made of the images, by the model's own names; empty where there is none.
        prompts: tokens of each prompt, the image's own included.
        answers: tokens of each answer, the end token included.
        kinds: for each prompt the processor's token types, empty where it has none.
    """

    pictures: dict[str, Any]
    prompts: list[list[int]]
    answers: list[list[int]]
    kinds: list[list[int]]


class Batches:
    """Makes batches; an object of it is the trainer's collator.

    Attributes:
        packed: whether a row holds a whole lesson.
        tokens: tokens in all rows made so far, padding aside.
        plain_tokens: what they would have been with a row per question.
    """

    def __init__(self, loaded: Loaded, root: Path, packed: bool, max_side: int | None = None) -> None:
        self.packed = packed
        self.tokens = self.plain_tokens = 0
        self._loaded = loaded
        self._inputs = Inputs(loaded, root, max_side, system_role=True)
        self._end = sorted(loaded.end_tokens)

    def __call__(self, lessons: Sequence[Lesson]) -> dict[str, Any]:
        """A batch: everything that the model's forward takes, and ``labels``."""
        encoded = [self.encode(lesson) for lesson in lessons]
        return self._packed(encoded) if self.packed else self._plain(encoded)

    def encode(self, lesson: Lesson) -> Encoded:
        """Run the processor once for a lesson.

        Raises:
            HandbenchError: an image cannot be read.
        """
        try:
            first = self._inputs.batch(lesson.asks[:1])
            prompts = self._inputs.tokens_like(first, lesson.asks) if lesson.asks[0].images else None
            if prompts is None:
                prompts = [self._inputs.tokens(self._inputs.batch([ask]))[0] for ask in lesson.asks]
        except Trouble as trouble:
            raise HandbenchError(f"tune: {trouble}") from None
        pictures = {key: value for key, value in first.items() if key not in _PER_TOKEN}
        kinds: list[list[int]] = []
        for name in ("mm_token_type_ids", "token_type_ids"):
            if name in first:
                known = first[name][0].tolist()
                kinds = [[*known[: len(prompt)], *[0] * (len(prompt) - len(known))] for prompt in prompts]
        answers = [self._answer(ask, reply) for ask, reply in zip(lesson.asks, lesson.replies, strict=True)]
        return Encoded(pictures, prompts, answers, kinds)

    def _answer(self, ask: Ask, reply: str) -> list[int]:
        """What the chat template makes of a reply, up to the token that ends it."""
        messages = self._inputs.messages(ask)
        said = [*messages, {"role": "assistant", "content": [{"type": "text", "text": reply}]}]
        processor, tokenizer = self._loaded.processor, self._loaded.tokenizer
        before = processor.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
        whole = processor.apply_chat_template(said, tokenize=False)
        text = whole[len(before) :] if whole.startswith(before) else reply
        ids: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
        ends = [place for place, token in enumerate(ids) if token in self._end]
        return ids[: ends[0] + 1] if ends else [*ids, self._end[0]]

    def _plain(self, encoded: Sequence[Encoded]) -> dict[str, Any]:
        """A row per question, padded on the right."""
        import torch

        rows = [
            (prompt, answer, lesson.kinds[place] if lesson.kinds else [])
            for lesson in encoded
            for place, (prompt, answer) in enumerate(zip(lesson.prompts, lesson.answers, strict=True))
        ]
        length = max(len(prompt) + len(answer) for prompt, answer, _ in rows)
        shape = (len(rows), length)
        tokens, labels = np.full(shape, self._pad, np.int64), np.full(shape, IGNORED, np.int64)
        real, kinds = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for row, (prompt, answer, kind) in enumerate(rows):
            end = len(prompt) + len(answer)
            tokens[row, :end] = [*prompt, *answer]
            labels[row, len(prompt) : end] = answer
            real[row, :end] = 1
            kinds[row, : len(kind)] = kind
        self.tokens += int(real.sum())
        self.plain_tokens += int(real.sum())
        batch = {"input_ids": tokens, "attention_mask": real, "labels": labels}
        if any(lesson.kinds for lesson in encoded):
            batch["mm_token_type_ids"] = kinds
        pictures = [lesson.pictures for lesson in encoded for _ in lesson.prompts]
        return {**self._on_device({key: torch.from_numpy(value) for key, value in batch.items()}), **_joined(pictures)}

    def _packed(self, encoded: Sequence[Encoded]) -> dict[str, Any]:
        """A row per lesson; see :mod:`handbench.tune.packing`."""
        import torch

        rows = [share(lesson.prompts, lesson.answers) for lesson in encoded]
        packed = pack(rows, self._pad)
        self.tokens += sum(map(len, rows))
        self.plain_tokens += sum(row.plain_tokens for row in rows)
        batch = {
            "input_ids": torch.from_numpy(packed.tokens),
            "attention_mask": torch.from_numpy(packed.mask()),
            "labels": torch.from_numpy(packed.labels),
            "position_ids": self._positions(packed.positions, encoded, [len(row.shared) for row in rows]),
        }
        return {**self._on_device(batch), **_joined([lesson.pictures for lesson in encoded])}

    def _positions(self, places: np.ndarray, encoded: Sequence[Encoded], shared: Sequence[int]) -> Any:
        """Positions as the model wants them: with three axes where images lie on a grid."""
        import torch

        index = getattr(self._loaded.model.model, "get_rope_index", None)
        if index is None:
            return torch.from_numpy(places)
        made = np.repeat(places[None], 3, axis=0)
        for row, (lesson, length) in enumerate(zip(encoded, shared, strict=True)):
            if not lesson.pictures:
                continue
            grids = {key: value for key, value in lesson.pictures.items() if key.endswith("grid_thw")}
            known, _ = index(
                input_ids=torch.tensor([lesson.prompts[0]]), mm_token_type_ids=torch.tensor([lesson.kinds[0]]), **grids
            )
            start = known[:, 0].cpu().numpy()
            # Text after the image has one position for all axes; it goes on from where the shared beginning ends.
            made[:, row] += start[:, length : length + 1] - length
            made[:, row, :length] = start[:, :length]
        return torch.from_numpy(made)

    def _on_device(self, batch: dict[str, Any]) -> dict[str, Any]:
        return {key: value.to(self._loaded.model.device) for key, value in batch.items()}

    @property
    def _pad(self) -> int:
        return int(self._loaded.tokenizer.pad_token_id)


def _joined(pictures: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What the processor made of several rows' images, one after another."""
    import torch

    names = dict.fromkeys(name for row in pictures for name in row)
    return {name: torch.cat([row[name] for row in pictures if name in row]) for name in names}
