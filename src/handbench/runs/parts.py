"""From a short name to the thing itself."""

from __future__ import annotations

from typing import Any, cast

from handbench import protocols
from handbench.errors import HandbenchError
from handbench.protocols import Estimator, Model, ReadContext, Source, Task
from handbench.specs import Options, Spec

_SECRETS = {"key", "api_key", "token", "password"}


def load_source(text: str, context: ReadContext) -> Source:
    """Read a dataset by its name, e.g. ``ge:PATH`` or ``synth:hands?n=200&seed=0``."""
    spec = Spec.parse(text)
    reader = cast(protocols.DatasetReader, protocols.find("datasets", spec.kind))
    return reader(spec, context)


def model_name(text: str) -> str:
    """What a model is called in tables: its ``name`` option where it has one, else its whole spec."""
    spec = Spec.parse(text)
    return spec.options.get("name") or str(spec)


def check_model(text: str) -> None:
    """Look whether a model's name leads anywhere, before any work is done for it.

    Raises:
        HandbenchError: there is no such model or estimator, or the name holds a key: names are written down.
    """
    spec = Spec.parse(text)
    if secret := _SECRETS & set(spec.options):
        raise HandbenchError(f"{spec.kind}:{spec.name}: no {secret.pop()} in a name; use key_env or key_file")
    if spec.kind == "pose":
        protocols.find("estimators", spec.name)
    else:
        protocols.find("models", spec.kind)


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


def make_estimator(text: str) -> Estimator:
    """Make a hand-pose estimator by its name, e.g. ``blaze-full?max_hands=1``."""
    return cast(Estimator, _make("estimators", text))


def find_task(text: str, protocol: str = "paper") -> tuple[Task, Any]:
    """A task and its options by name, e.g. ``handvqa?per_descriptor=all``."""
    spec = Spec.parse(text)
    task = cast(Task, protocols.find("tasks", spec.kind))
    options = Options(spec)
    chosen = task.options.from_options(options, protocol)
    options.done()
    return (task.bound(chosen) if hasattr(task, "bound") else task), chosen
