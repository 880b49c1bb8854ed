"""From a short name to the thing itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np

from handbench import protocols
from handbench.controls import names as control_names
from handbench.errors import HandbenchError
from handbench.protocols import Estimator, Model, ReadContext, Source, Strategy, Task
from handbench.runs import source_cache
from handbench.specs import Options, Spec

_SECRETS = {"key", "api_key", "token", "password"}

_HOW: Final = {"concurrency", "tries", "timeout", "proxy", "key_env", "key_file", "batch", "device"}
"""Options that say how a model is reached, not what it is asked: they are no part of its name in tables."""


def load_source(text: str, context: ReadContext) -> Source:
    """Read a dataset by its name, e.g. ``ge:PATH`` or ``synth:hands?n=200&seed=0``.

    Raises:
        HandbenchError: it cannot be read, or its folder is not whole and bad rows are not to be left out.
    """
    spec = Spec.parse(text)
    reader = cast(protocols.DatasetReader, protocols.find("datasets", spec.kind))
    with np.errstate(over="ignore", invalid="ignore"):  # absurd numbers end as infinite ones, which are refused by name
        source = source_cache.load(spec, context, reader)
    if source.incomplete and not context.faults.keep_going:
        raise HandbenchError(source.incomplete[0])
    if context.mano is not None:
        from handbench.datasets.mano_meshes import not_used

        source.notes += not_used(spec.kind)
    return source


WITH: Final = " + "
"""What stands between a model's name and a strategy's; names as they are written down escape a plus."""


@dataclass(frozen=True)
class Answerer:
    """Who answers: a model, asked once per question or by a strategy.

    Attributes:
        model: e.g. ``server:x?base_url=...``.
        strategy: e.g. ``sv-cot``; None where each question is asked once.
    """

    model: Spec
    strategy: Spec | None = None

    @classmethod
    def parse(cls, text: str, strategy: str | None = None) -> Answerer:
        """Read a model's name, or ``MODEL + STRATEGY``.

        Args:
            text: the name.
            strategy: the strategy, where it is given by itself.

        Raises:
            HandbenchError: the name cannot be read, or two strategies are named.
        """
        model, plus, behind = text.partition(WITH)
        if plus and strategy:
            raise HandbenchError(f"{text}: has a strategy already; {strategy} cannot be added")
        named = strategy or behind
        return cls(Spec.parse(model), Spec.parse(named) if named else None)

    def __str__(self) -> str:
        """The canonical text."""
        return str(self.model) + (f"{WITH}{self.strategy}" if self.strategy else "")

    @property
    def asked(self) -> Answerer:
        """What decides the answers: all but the options that only say how the model is reached."""
        options = {key: value for key, value in self.model.options.items() if key not in _HOW}
        return Answerer(Spec(self.model.kind, self.model.name, options), self.strategy)

    @property
    def name(self) -> str:
        """What it is called in tables: the ``name`` options where there are any, else all that was asked."""
        specs = (self.asked.model, self.strategy)
        return WITH.join(spec.options.get("name") or str(spec) for spec in specs if spec)


def model_name(text: str) -> str:
    """What a model (with its strategy) is called in tables."""
    return Answerer.parse(text).name


def check_model(text: str) -> None:
    """Look whether a model's name leads anywhere, before any work is done for it.

    Raises:
        HandbenchError: there is no such model, strategy or estimator, or the name holds a key: names are written down.
    """
    who = Answerer.parse(text)
    for spec in filter(None, (who.model, who.strategy)):
        if secret := _SECRETS & set(spec.options):
            raise HandbenchError(f"{spec.kind}:{spec.name}: no {secret.pop()} in a name; use key_env or key_file")
    if who.model.kind == "pose":
        protocols.find("estimators", Spec.parse(who.model.name).kind)
    else:
        protocols.find("models", who.model.kind)
    if who.strategy is not None:
        make_strategy(who.strategy)


def _make(room: str, text: str) -> Any:
    """Call the factory that a name leads to, and refuse the options that it did not read."""
    spec = Spec.parse(text)
    options = Options(spec)
    made = protocols.find(room, spec.kind)(spec, options)
    options.done()
    return made


def make_model(text: str) -> Model:
    """Make a model by its name, e.g. ``chance?seed=1``; ``pose:...`` models are made by the run itself."""
    return cast(Model, _make("models", text))


def make_strategy(spec: Spec) -> Strategy:
    """Make a strategy, e.g. of ``sv-cot?turns=3``; ``name`` renames it in tables."""
    unnamed = Spec(spec.kind, spec.name, {key: value for key, value in spec.options.items() if key != "name"})
    return cast(Strategy, _make("strategies", str(unnamed)))


def make_estimator(text: str) -> Estimator:
    """Make a hand-pose estimator by its name, e.g. ``blaze-full?max_hands=1``."""
    return cast(Estimator, _make("estimators", text))


def find_task(text: str, protocol: str = "paper") -> tuple[Task, Any]:
    """A task and its options by name, e.g. ``handvqa?per_descriptor=all``."""
    spec = Spec.parse(text)
    task = cast(Task, protocols.find("tasks", spec.kind))
    options = Options(spec)
    control_names.parse(options.text("controls", ""))  # of every task, and read by the run itself
    chosen = task.options.from_options(options, protocol)
    options.done()
    return (task.bound(chosen) if hasattr(task, "bound") else task), chosen
