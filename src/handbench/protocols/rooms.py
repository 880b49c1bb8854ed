"""The registry that finds datasets, models, strategies, estimators and tasks by name.

A part joins by its decorator (``@dataset("ge")``) in a module that the room imports on demand, or, from
another package, through an entry point in the group ``handbench.datasets``, ``handbench.models``,
``handbench.strategies``, ``handbench.estimators`` or ``handbench.tasks``.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Final, TypeVar

from handbench.errors import HandbenchError
from handbench.protocols.answering import Model, Strategy
from handbench.protocols.asking import Task
from handbench.protocols.poses import Estimator, PoseTask
from handbench.protocols.reading import DatasetReader
from handbench.specs import Options, Spec

ModelFactory = Callable[[Spec, Options], Model]

StrategyFactory = Callable[[Spec, Options], Strategy]

EstimatorFactory = Callable[[Spec, Options], Estimator]

Entry = TypeVar("Entry")

_ROOMS: Final[dict[str, dict[str, str]]] = {
    "datasets": {
        "ge": "handbench.datasets.ge",
        "interhand": "handbench.datasets.interhand",
        "freihand": "handbench.datasets.freihand",
        "fpha": "handbench.datasets.fpha",
        "paper": "handbench.datasets.paper",
        "ho3d": "handbench.datasets.ho3d",
        "dexycb": "handbench.datasets.dexycb",
        "h2o": "handbench.datasets.h2o",
        "ipn": "handbench.datasets.ipn",
        "rhd": "handbench.datasets.rhd",
        "assemblyhands": "handbench.datasets.assemblyhands",
        "arctic": "handbench.datasets.arctic",
        "coco": "handbench.datasets.coco",
        "cocowholebody": "handbench.datasets.coco_folders",
        "halpe": "handbench.datasets.coco_folders",
        "onehand10k": "handbench.datasets.coco_folders",
        "panoptic": "handbench.datasets.panoptic",
        "annotations": "handbench.datasets.annotations",
        "hint": "handbench.datasets.hint",
        "table": "handbench.datasets.table",
        "images": "handbench.datasets.images",
        "hagrid": "handbench.datasets.hagrid",
        "egopoint": "handbench.datasets.egopoint",
        "synth": "handbench.synth.reader",
    },
    "models": {
        "chance": "handbench.models.baselines",
        "prior": "handbench.models.baselines",
        "oracle": "handbench.models.baselines",
        "replies": "handbench.models.replies",
        "results": "handbench.models.results",
        "people": "handbench.models.people",
        "server": "handbench.models.server",
        "hf": "handbench.models.hf",
        "vllm": "handbench.models.vllm",
        "tiny": "handbench.models.tiny",
        "geometry": "handbench.tasks.pointing.baselines",
        "nearest": "handbench.tasks.pointing.baselines",
        "centre": "handbench.tasks.pointing.baselines",
        "commonest": "handbench.tasks.pointing.baselines",
    },
    "strategies": {"two-step": "handbench.tasks.safegesture.two_step", "sv-cot": "handbench.tasks.pointing.svcot"},
    "estimators": {
        "blaze-full": "handbench.estimators.blaze",
        "blaze-lite": "handbench.estimators.blaze",
        "yoha": "handbench.estimators.yoha",
        "tiny": "handbench.estimators.tiny",
        "poses": "handbench.estimators.imported",
        "rtm-onnx": "handbench.estimators.rtm_onnx",
        "mediapipe-0.10": "handbench.estimators.mediapipe_legacy",
        "holistic": "handbench.estimators.mediapipe_legacy",
    },
    "tasks": {
        "handpose": "handbench.tasks.handpose",
        "handvqa": "handbench.tasks.handvqa",
        "safegesture": "handbench.tasks.safegesture",
        "gestures": "handbench.tasks.gestures",
        "interactions": "handbench.tasks.interactions",
        "pointing": "handbench.tasks.pointing",
        "pointing/edg": "handbench.tasks.pointing",
        "pointing/d-rec": "handbench.tasks.pointing",
        "pointing/pog": "handbench.tasks.pointing",
        "pointing/no-cue": "handbench.tasks.pointing",
        "pointing/d-vqa": "handbench.tasks.pointing",
    },
}
"""Where each part of this package lives, so that naming one imports that one alone."""

_found: dict[str, dict[str, Any]] = {room: {} for room in _ROOMS}


def _join(room: str, name: str) -> Callable[[Entry], Entry]:
    def keep(entry: Entry) -> Entry:
        _found[room][name] = entry
        return entry

    return keep


def dataset(name: str) -> Callable[[DatasetReader], DatasetReader]:
    """Register a dataset reader under a name."""
    return _join("datasets", name)


def model(name: str) -> Callable[[ModelFactory], ModelFactory]:
    """Register a model factory under a name."""
    return _join("models", name)


def strategy(name: str) -> Callable[[StrategyFactory], StrategyFactory]:
    """Register a strategy factory under a name."""
    return _join("strategies", name)


def estimator(name: str) -> Callable[[EstimatorFactory], EstimatorFactory]:
    """Register an estimator factory under a name."""
    return _join("estimators", name)


def task(name: str) -> Callable[[Task | PoseTask], Task | PoseTask]:
    """Register a task under a name."""
    return _join("tasks", name)


def names(room: str) -> list[str]:
    """All names known in a room, those of installed plug-ins included."""
    plugins = {point.name for point in entry_points(group=f"handbench.{room}")}
    return sorted({*_ROOMS[room], *_found[room], *plugins})


def find(room: str, name: str) -> Any:
    """Find a part by name: what is registered, then this package, then installed plug-ins.

    Args:
        room: ``datasets``, ``models``, ``strategies``, ``estimators`` or ``tasks``.
        name: the part's name.

    Raises:
        HandbenchError: nothing has that name; the names that exist are listed.
    """
    if name not in _found[room]:
        if name in _ROOMS[room]:
            import_module(_ROOMS[room][name])
        else:
            for point in entry_points(group=f"handbench.{room}", name=name):
                _found[room].setdefault(name, point.load())
    if name not in _found[room]:
        kind = "strategy" if room == "strategies" else room.removesuffix("s")
        raise HandbenchError(f"no {kind} is called {name!r}; there are {', '.join(names(room)) or 'none'}")
    return _found[room][name]
