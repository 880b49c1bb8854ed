"""The questions about one image in one row: the image and what all prompts begin with stand there once.

A question sees the shared beginning and itself, never another question; its positions go on from the shared beginning
as if it stood there alone.  So a packed row gives every question the logits it would have by itself, at the cost of
one image (``tune/parity.py`` checks that this holds for an architecture before it is used).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

IGNORED: Final = -100
"""Label of a token whose prediction costs nothing."""

SHARED: Final = 0
"""Block number of the shared beginning; questions are 1, 2, ..., padding is -1."""


@dataclass(frozen=True)
class Turn:
    """One question and its answer, in tokens, without the shared beginning.

    Attributes:
        prompt: what stands between the shared beginning and the answer.
        answer: what is to be said, the end token included.
    """

    prompt: Sequence[int]
    answer: Sequence[int]


@dataclass(frozen=True)
class PackedRow:
    """All turns about one image.

    Attributes:
        shared: tokens that every prompt begins with, the image's own included.
        turns: the questions.
    """

    shared: Sequence[int]
    turns: Sequence[Turn]

    def __len__(self) -> int:
        return len(self.shared) + sum(len(turn.prompt) + len(turn.answer) for turn in self.turns)

    @property
    def plain_tokens(self) -> int:
        """Tokens of the same questions in a row each."""
        return len(self) + len(self.shared) * (len(self.turns) - 1)


@dataclass(frozen=True)
class Packed:
    """A batch of packed rows, padded on the right.

    Attributes:
        tokens: (B, L) ids.
        positions: (B, L) positions, each turn's going on from the shared beginning.
        blocks: (B, L) block of each token.
        labels: (B, L) the token itself where it is part of an answer, else :data:`IGNORED`.
    """

    tokens: NDArray[np.int64]
    positions: NDArray[np.int64]
    blocks: NDArray[np.int64]
    labels: NDArray[np.int64]

    def mask(self) -> NDArray[np.bool_]:
        """(B, 1, L, L): which token (third axis) sees which (last axis)."""
        query, key = self.blocks[:, :, None], self.blocks[:, None, :]
        length = self.tokens.shape[1]
        before = np.tri(length, dtype=bool)
        # Padding sees itself, so that no row of the attention is empty.
        return np.asarray((((key == SHARED) | (key == query)) & before)[:, None])


def pack(rows: Sequence[PackedRow], pad: int) -> Packed:
    """Lay rows out in arrays.

    Args:
        rows: one image's questions each.
        pad: the padding token.
    """
    length = max(map(len, rows))
    shape = (len(rows), length)
    tokens, positions = np.full(shape, pad, np.int64), np.zeros(shape, np.int64)
    blocks, labels = np.full(shape, -1, np.int64), np.full(shape, IGNORED, np.int64)
    for number, row in enumerate(rows):
        start = len(row.shared)
        parts = [list(row.shared), *([*turn.prompt, *turn.answer] for turn in row.turns)]
        sizes = [len(part) for part in parts]
        used = sum(sizes)
        tokens[number, :used] = np.concatenate([np.asarray(part, np.int64) for part in parts])
        blocks[number, :used] = np.repeat(np.arange(len(parts)), sizes)
        positions[number, :start] = np.arange(start)
        end = start
        for turn in row.turns:
            size = len(turn.prompt) + len(turn.answer)
            positions[number, end : end + size] = np.arange(start, start + size)
            labels[number, end + len(turn.prompt) : end + size] = turn.answer
            end += size
    return Packed(tokens, positions, blocks, labels)


def share(prompts: Sequence[Sequence[int]], answers: Sequence[Sequence[int]]) -> PackedRow:
    """Take off what all prompts begin with; at least one token of each prompt is left to it.

    Args:
        prompts: tokens of each prompt, images included.
        answers: tokens of each answer, the end token included.
    """
    most = min(map(len, prompts)) - 1
    first = prompts[0]
    common = next((place for place in range(most) if any(p[place] != first[place] for p in prompts)), most)
    turns = [Turn(list(p[common:]), list(a)) for p, a in zip(prompts, answers, strict=True)]
    return PackedRow(list(first[:common]), turns)


def tensors(packed: Packed) -> dict[str, Any]:
    """The batch as a causal model of one position axis takes it."""
    import torch

    return {
        "input_ids": torch.from_numpy(packed.tokens),
        "position_ids": torch.from_numpy(packed.positions),
        "attention_mask": torch.from_numpy(packed.mask()),
        "labels": torch.from_numpy(packed.labels),
    }
