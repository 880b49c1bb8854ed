"""The truth: a safety label for every gesture in every scenario (SafeGesture, Tables 1 and 9)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

import numpy as np
from numpy.typing import NDArray

INVALID: Final = "INVALID"
"""What a reply without a readable safety label counts as."""


@dataclass(frozen=True)
class Label:
    """A safety label; ``intervention`` labels make the system act (section 3.3)."""

    id: str
    gloss: str
    intervention: bool


@dataclass(frozen=True)
class Gesture:
    """A gesture and the hand's shape in words that say nothing of its meaning."""

    id: str
    shape: str


@dataclass(frozen=True)
class Scenario:
    """A place and what goes on there; ``short`` heads a column."""

    id: str
    short: str
    description: str


@dataclass(frozen=True)
class Costs:
    """What an error costs; a right label costs nothing.

    Attributes:
        missed: an intervention was right and none was made.
        alarm: an intervention was made and none was right.
        grade: a wrong label, the decision to intervene or not right.
        matrix: costs of single (truth, answer) pairs that stand above these.
    """

    missed: float = 5.0
    alarm: float = 1.0
    grade: float = 0.5
    matrix: Mapping[tuple[str, str], float] = field(default_factory=dict)


@dataclass(frozen=True)
class Cells:
    """The grid with everything that belongs to it.

    Attributes:
        gestures: G rows.
        scenarios: S columns.
        labels: K labels.
        truth: (G, S) number of the right label.
        behavior: expected system behaviour by (gesture, scenario), where the file has it.
        consensus: whose judgement the labels are.
        opening: words that every scenario begins with.
        costs: prices of errors.
    """

    gestures: tuple[Gesture, ...]
    scenarios: tuple[Scenario, ...]
    labels: tuple[Label, ...]
    truth: NDArray[np.int64]
    consensus: str
    opening: str
    behavior: Mapping[tuple[str, str], str] = field(default_factory=dict)
    costs: Costs = Costs()

    @property
    def gesture_ids(self) -> tuple[str, ...]:
        """Names of the gestures."""
        return tuple(gesture.id for gesture in self.gestures)

    @property
    def scenario_ids(self) -> tuple[str, ...]:
        """Names of the scenarios."""
        return tuple(scenario.id for scenario in self.scenarios)

    @property
    def label_ids(self) -> tuple[str, ...]:
        """Names of the labels."""
        return tuple(label.id for label in self.labels)

    @property
    def intervention(self) -> NDArray[np.bool_]:
        """(K,) whether a label is an intervention."""
        return np.array([label.intervention for label in self.labels])

    @property
    def flat_truth(self) -> NDArray[np.int64]:
        """(G · S,) right label of every cell, scenarios running fastest."""
        return self.truth.ravel()

    @property
    def cost_matrix(self) -> NDArray[np.float64]:
        """(K, K + 1) cost of each answer to each truth, the last column for an answer that is not readable.

        An unreadable answer makes the system do nothing.
        """
        acts = self.intervention
        answered = np.append(acts, False)
        cost = np.full((len(acts), len(acts) + 1), self.costs.grade)
        cost[acts[:, None] & ~answered] = self.costs.missed
        cost[~acts[:, None] & answered] = self.costs.alarm
        np.fill_diagonal(cost, 0.0)
        columns = (*self.label_ids, INVALID)
        for (truth, answer), price in self.costs.matrix.items():
            cost[self.label_ids.index(truth), columns.index(answer)] = price
        return cost


def fingerprint(cells: Cells) -> str:
    """Short hash of everything that decides items and readings; prices may change afterwards."""
    parts = (cells.gestures, cells.scenarios, cells.labels, cells.truth.tolist(), cells.opening)
    return blake2b(repr(parts).encode(), digest_size=4).hexdigest()
