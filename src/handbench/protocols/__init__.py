"""What a task, a dataset, a model and an estimator must offer, and the registry that finds them by name."""

from __future__ import annotations

from handbench.protocols.answering import (
    Model,
    NeedsAllQuestions,
    NeedsImages,
    NeedsRows,
    ResizesImages,
    Stoppable,
    Strategy,
    TellsFacts,
)
from handbench.protocols.asking import HasCeiling, HasPublishedCounts, Task, VariesQuestions
from handbench.protocols.poses import DetectedHand, Estimator, PoseTable, PoseTask, TellsExtent, Tracker, Tracks
from handbench.protocols.reading import DatasetReader, Progress, ReadContext, Source, no_progress
from handbench.protocols.rooms import (
    EstimatorFactory,
    ModelFactory,
    StrategyFactory,
    dataset,
    estimator,
    find,
    model,
    names,
    strategy,
    task,
)

__all__ = [
    "DatasetReader",
    "DetectedHand",
    "Estimator",
    "EstimatorFactory",
    "HasCeiling",
    "HasPublishedCounts",
    "Model",
    "ModelFactory",
    "NeedsAllQuestions",
    "NeedsImages",
    "NeedsRows",
    "PoseTable",
    "PoseTask",
    "Progress",
    "ReadContext",
    "ResizesImages",
    "Source",
    "Stoppable",
    "Strategy",
    "StrategyFactory",
    "Task",
    "TellsExtent",
    "TellsFacts",
    "Tracker",
    "Tracks",
    "VariesQuestions",
    "dataset",
    "estimator",
    "find",
    "model",
    "names",
    "no_progress",
    "strategy",
    "task",
]
