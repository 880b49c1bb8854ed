"""The choices a person can make about interaction questions; each is recorded with the questions."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from handbench.errors import HandbenchError
from handbench.specs import Options
from handbench.tasks.one_right import ANSWER_LINES, Labels


@dataclass(frozen=True)
class InteractionOptions:
    """How the questions are made.

    Attributes:
        seed: of the wrong options and their order.
        frames: how many of each clip are shown; four in the paper.
        answer: whether the whole lettered option is asked for or the letter.
        path: a file of actions by dataset, empty for those known here.
    """

    seed: int = 0
    frames: int = 4
    answer: str = "sentence"
    path: str = ""
    source_table: str = "clips"

    @classmethod
    def from_options(cls, options: Options, protocol: str = "paper") -> InteractionOptions:
        """Read ``seed, frames, answer, actions``; the protocols do not differ here."""
        made = cls(
            options.integer("seed", 0),
            options.integer("frames", 4, least=1),
            options.choice("answer", "sentence", tuple(ANSWER_LINES)),
            options.text("actions", ""),
        )
        load(made.path)
        return made

    def labels(self, dataset: str, occurring: list[str]) -> Labels:
        """The actions that options are made of: those known of the dataset, else those that occur."""
        known = load(self.path).get(dataset)
        return known if known is not None else Labels(tuple(occurring), tuple(occurring))

    @property
    def tag(self) -> str:
        """What stands in every question's variant."""
        return f"frames={self.frames};seed={self.seed};{self.answer}"

    def manifest(self) -> dict[str, Any]:
        """What goes into the run's record."""
        return {"seed": self.seed, "frames": self.frames, "answer": self.answer, "actions": self.path or "own"}


@cache
def load(path: str) -> dict[str, Labels]:
    """Read actions by dataset: ``{"h2o": {"actions": [...], "alike": [[...], ...]}}``.

    Args:
        path: the file, empty for the package's own.

    Raises:
        HandbenchError: it is not of that form.
    """
    name = path or "actions.json"
    try:
        source = Path(path) if path else files(__package__) / "actions.json"
        table = json.loads(source.read_text(encoding="utf-8"))
        made = {}
        for dataset, row in table.items():
            groups = {action: action for action in row["actions"]}
            for alike in row.get("alike", []):
                groups.update(dict.fromkeys(alike, alike[0]))
            if set(groups) != set(row["actions"]) or not all(isinstance(action, str) for action in groups):
                raise ValueError(f"{dataset}: alike names an action that is not listed")
            made[dataset] = Labels(tuple(groups), tuple(groups.values()))
    except (OSError, UnicodeDecodeError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise HandbenchError(f"{name}: expected actions by dataset: {error}") from None
    return made
