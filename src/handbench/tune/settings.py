"""How a model is tuned, and the recipes that have a name."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Final

from handbench.errors import HandbenchError

PACKING: Final = ("auto", "on", "off")

_MOST: Final = {
    "rank": 4096, "alpha": 65_536, "batch": 1_000_000, "device_batch": 100_000, "save_every": 1_000_000_000,
    "per_image": 100_000, "seed": 2**32 - 1,
}  # fmt: skip
_WORDS: Final = {
    "int": "a whole number", "float": "a number", "bool": "true or false", "str": "a word",
    "dict[str, float]": "numbers by descriptor",
}  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """Everything that decides a training, the questions and the base aside.

    Attributes:
        rank: of the adapter's matrices.
        alpha: its scale, before division by the rank.
        dropout: on the adapter's input.
        rate: highest learning rate; it falls along a cosine.
        warmup: share of the steps in which it rises.
        epochs: passes over the questions chosen.
        steps: stop after so many, where given.
        batch: questions per step, over all processes.
        device_batch: rows at once on one device; a row holds one image's questions where packing is on, else one.
        seed: of the adapter's weights, the questions chosen and their order.
        vision: tune the vision encoder's linear layers as well.
        per_image: questions of each image that are used; None uses all.
        balance: choose them such that the categories of each template come equally often.
        emphasis: how much likelier a descriptor's questions are chosen, e.g. ``{"angle": 3.0}``.
        packing: ``auto`` packs where the parity check passes; ``on`` insists; ``off`` gives each question a row.
        clip: greatest length of the gradient.
        save_every: steps between checkpoints.
    """

    rank: int = 8
    alpha: int = 32
    dropout: float = 0.0
    rate: float = 1e-4
    warmup: float = 0.05
    epochs: float = 1.0
    steps: int | None = None
    batch: int = 128
    device_batch: int = 1
    seed: int = 0
    vision: bool = False
    per_image: int | None = None
    balance: bool = False
    emphasis: dict[str, float] = field(default_factory=dict)
    packing: str = "auto"
    clip: float = 1.0
    save_every: int = 50

    def checked(self) -> Settings:
        """Itself, if it makes sense.

        Raises:
            HandbenchError: a value is out of its range.
        """
        self._check_types()
        least = {"rank": 1, "alpha": 1, "batch": 1, "device_batch": 1, "save_every": 1, "per_image": 1, "seed": 0}
        for name, value in least.items():
            given = getattr(self, name)
            if given is not None and not value <= given <= _MOST[name]:
                raise HandbenchError(f"tune: {name} must be from {value} to {_MOST[name]:,}, not {given}")
        if strange := [f"{name}={weight:g}" for name, weight in self.emphasis.items() if not 0 < weight < math.inf]:
            raise HandbenchError(f"tune: emphasis {strange[0]}: how many times likelier must be above 0")
        if self.per_image is None and (self.balance or self.emphasis):
            raise HandbenchError("tune: balance and emphasis need a number of questions per image (--per-image)")
        if not 0 < self.rate < 1:
            raise HandbenchError(f"tune: the learning rate must be between 0 and 1, not {self.rate}")
        if not 0 <= self.warmup < 1 or not 0 <= self.dropout < 1:
            raise HandbenchError("tune: warm-up and dropout are shares from 0 to below 1")
        if not 0 < self.epochs < math.inf or (self.steps is not None and self.steps < 1):
            raise HandbenchError("tune: at least one step is needed: steps from 1, or epochs above 0")
        if self.clip <= 0:
            raise HandbenchError(f"tune: clip must be above 0, not {self.clip}")
        if self.packing not in PACKING:
            raise HandbenchError(f"tune: packing is one of {', '.join(PACKING)}, not {self.packing!r}")
        return self

    def _check_types(self) -> None:
        """Refuse what a plan or a caller gave in another type: a text is no number, and no yes or no."""
        for one in fields(self):
            value = getattr(self, one.name)
            name = str(one.type).partition(" |")[0]
            if value is None and "None" in str(one.type):
                continue
            if name == "dict[str, float]":
                numbers = value.values() if isinstance(value, dict) else [None]
                good = all(isinstance(number, int | float) and not isinstance(number, bool) for number in numbers)
            elif name == "float":
                good = isinstance(value, int | float) and not isinstance(value, bool)
            else:
                good = type(value).__name__ == name
            if not good:
                raise HandbenchError(f"tune: {one.name}: expected {_WORDS[name]}, not {value!r}")

    def rows_at_once(self, per_row: float, processes: int) -> int:
        """Rows of one forward pass on a device: :attr:`device_batch`, or fewer where a step would be too large."""
        return max(1, min(self.device_batch, round(self.batch / (per_row * processes))))

    def accumulation(self, per_row: float, processes: int) -> int:
        """Forward passes per step, so that a step sees :attr:`batch` questions, or as near as whole rows come.

        Args:
            per_row: questions in a row, on average.
            processes: how many work together.
        """
        return max(1, round(self.batch / (per_row * self.rows_at_once(per_row, processes) * processes)))

    def record(self) -> dict[str, Any]:
        """As TOML can hold it: what is not given is left out."""
        return {key: value for key, value in asdict(self).items() if value is not None}


PAPER: Final = Settings(dropout=0.05)
"""HandVQA, sections 4.1 and 8.1: LoRA on all linear layers, rank 8, alpha 32, learning rate 1e-4, bfloat16.

Warm-up 0.05 is the released command's; the cosine and dropout 0.05 are the defaults of the trainer that it calls."""

_PAPER_SETS: Final = {
    "freihand": replace(PAPER, epochs=1, batch=128, device_batch=2),
    "interhand": replace(PAPER, epochs=3, batch=64),
    "fpha": replace(PAPER, epochs=1, batch=64),
}
"""Section 8.1: epochs and effective batch of each dataset."""

TINY: Final = Settings(
    rate=3e-3, batch=336, device_batch=24, per_image=14, balance=True,
    emphasis={"angle": 1.5, "x": 2.0, "y": 3.0, "z": 2.5},
)  # fmt: skip
"""For the package's own tiny model: it is so small that the paper's learning rate would not move it.

The emphasis makes the five descriptors about equally frequent: of the pairs, many have no x, y or z to ask about."""


def recipe(name: str | None, base: str, dataset: str) -> Settings:
    """Settings by name.

    Args:
        name: ``paper`` or ``tiny``; None takes ``tiny`` for the base of that name and ``paper`` for any other.
        base: the model's kind.
        dataset: the dataset's kind, which decides epochs and batch in the paper.

    Raises:
        HandbenchError: there is no recipe of that name.
    """
    name = name or ("tiny" if base == "tiny" else "paper")
    if name == "tiny":
        return TINY
    if name == "paper":
        return _PAPER_SETS.get(dataset, PAPER)
    raise HandbenchError(f"--recipe {name!r}: recipes are paper and tiny")
