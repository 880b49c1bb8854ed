"""The choices a person can make about gesture questions; each is recorded with the questions."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from handbench.errors import HandbenchError
from handbench.specs import Options
from handbench.tasks.one_right import ANSWER_LINES, Labels

KINDS: Final = ("shape", "meaning")
"""The two descriptions of each label: what is seen, and what it says."""

SHOWN: Final = {"synth-gestures": ("stop", "fist", "call", "point", "mute", "like")}
"""Datasets that show some of the labels only: an option that is never right would give the others away."""


@dataclass(frozen=True)
class Description:
    """A label in words.

    Attributes:
        group: of labels that look or mean alike.
        shape: what is seen.
        meaning: what it says.
    """

    group: str
    shape: str
    meaning: str


@dataclass(frozen=True)
class GestureOptions:
    """How the questions are made.

    Attributes:
        seed: of the wrong options, their order and the descriptions.
        describe: ``shape``, ``meaning``, or ``drawn`` for one of the two for each question.
        answer: whether the whole lettered option is asked for or the letter.
        path: a file of descriptions, empty for the package's own.
        only: the labels that options are made of; empty for those that the dataset shows.
    """

    seed: int = 0
    describe: str = "drawn"
    answer: str = "sentence"
    path: str = ""
    only: tuple[str, ...] = ()
    source_table: str = "gestures"

    @classmethod
    def from_options(cls, options: Options, protocol: str = "paper") -> GestureOptions:
        """Read ``seed, describe, answer, descriptions, labels``; the protocols do not differ here."""
        made = cls(
            options.integer("seed", 0),
            options.choice("describe", "drawn", (*KINDS, "drawn")),
            options.choice("answer", "sentence", tuple(ANSWER_LINES)),
            options.text("descriptions", ""),
            tuple(filter(None, options.text("labels", "").split(","))),
        )
        if strange := sorted(set(made.only) - set(made.descriptions)):
            raise HandbenchError(f"{options.spec}: labels={','.join(strange)}: there is no description of that")
        return made

    @property
    def descriptions(self) -> dict[str, Description]:
        """Every label in words."""
        return load(self.path)

    def labels(self, dataset: str) -> Labels:
        """The labels that options are made of, and their groups."""
        known = self.descriptions
        names = self.only or SHOWN.get(dataset, tuple(known))
        return Labels(tuple(names), tuple(known[name].group for name in names))

    @property
    def tag(self) -> str:
        """What stands in every question's variant."""
        known = blake2b(repr(self.descriptions).encode(), digest_size=4).hexdigest() if self.path else "own-1"
        only = f";labels={blake2b(repr(self.only).encode(), digest_size=4).hexdigest()}" if self.only else ""
        return f"descriptions={known}{only};describe={self.describe};seed={self.seed};{self.answer}"

    def manifest(self) -> dict[str, Any]:
        """What goes into the run's record."""
        return {
            "seed": self.seed,
            "describe": self.describe,
            "answer": self.answer,
            "descriptions": self.path or "own-1",
            "labels": ",".join(self.only) or "all that the dataset shows",
        }


@cache
def load(path: str) -> dict[str, Description]:
    """Read descriptions: a TOML table of ``group``, ``shape`` and ``meaning`` for each label.

    Args:
        path: the file, empty for the package's own.

    Raises:
        HandbenchError: a label lacks one of the three.
    """
    name = path or "descriptions.toml"
    try:
        source = Path(path) if path else files(__package__) / "descriptions.toml"
        table = tomllib.loads(source.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise HandbenchError(f"{name}: expected a TOML table of descriptions: {error}") from None
    made = {}
    for label, row in table.items():
        wanted = ("group", *KINDS)
        if not isinstance(row, dict) or set(row) != set(wanted) or not all(isinstance(row[key], str) for key in wanted):
            raise HandbenchError(f"{name}: [{label}]: expected the texts {', '.join(wanted)} and nothing else")
        made[label] = Description(row["group"], row["shape"], row["meaning"])
    if len(made) > 127:
        raise HandbenchError(f"{name}: at most 127 labels, not {len(made)}")
    return made
