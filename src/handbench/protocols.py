"""What a task, a dataset, a model and an estimator must offer, and the registry that finds them by name.

A part joins by its decorator (``@dataset("ge")``) in a module that the room imports on demand, or, from
another package, through an entry point in the group ``handbench.datasets``, ``handbench.models``,
``handbench.strategies``, ``handbench.estimators`` or ``handbench.tasks``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar, runtime_checkable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from handbench.errors import HandbenchError
from handbench.faults import Faults
from handbench.specs import Options, Spec

Progress = Callable[[int, int | None, str], None]
"""Called with (done, total or None, what is being done)."""


def no_progress(done: int, total: int | None, what: str) -> None:
    """Show nothing."""


@dataclass(frozen=True)
class ReadContext:
    """How a source is to be read.

    Attributes:
        split: the split asked for, None for the source's own default.
        protocol: ``paper`` or ``released``.
        cache: a folder for what is made once (rendered images).
        workers: processes that may be used.
        force: go on where a guard would stop.
        progress: told how far it is.
        faults: what is done about bad rows: stop at the first, or leave them out and count them.
        store: a folder where the tables of a dataset are kept once they are read; None reads anew.
        mano: the user's own folder of ``MANO_RIGHT.pkl`` and ``MANO_LEFT.pkl``.
    """

    split: str | None = None
    protocol: str = "paper"
    cache: Path | None = None
    workers: int = 1
    force: bool = False
    progress: Progress = no_progress
    faults: Faults = field(default_factory=Faults)
    store: Path | None = None
    mano: Path | None = None


@dataclass
class Source:
    """What a dataset gives: tables, and where its images are.

    Attributes:
        name: the dataset's name.
        frames: the ``frames`` table.
        hands: the ``hands`` table, sorted by ``hand_id``.
        root: the folder that ``image`` paths are relative to.
        synthetic: whether it is rendered; said wherever results are shown.
        skipped: rows left out, counted by reason.
        notes: one-line facts that belong in the report.
        images: makes sure that the images exist on disk (renders them), given the frames wanted.
        gestures: the ``gestures`` table, where the dataset has one.
        clips: the ``clips`` table, where the dataset has one.
        scenes: the ``scenes`` table, where the dataset has one.
        joint_error: mean 3D error of a joint that the owner publishes, metres.
        incomplete: what the folder lacks, a line each; a run stops at the first unless bad rows are left out.
    """

    name: str
    frames: pl.DataFrame
    hands: pl.DataFrame
    root: Path
    synthetic: bool = False
    skipped: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    images: Callable[[pl.DataFrame, Progress], None] | None = None
    gestures: pl.DataFrame | None = None
    clips: pl.DataFrame | None = None
    scenes: pl.DataFrame | None = None
    joint_error: float | None = None
    incomplete: list[str] = field(default_factory=list)


class DatasetReader(Protocol):
    """Reads one dataset: a spec such as ``ge:PATH`` → source tables."""

    def __call__(self, spec: Spec, context: ReadContext) -> Source:
        """Read it.

        Raises:
            HandbenchError: the folder is not what its owner ships, or a guard failed.
        """
        ...


class DetectedHand(Protocol):
    """One hand as an estimator sees it."""

    @property
    def side(self) -> str | None:
        """``left`` or ``right`` (the person's own), None where the estimator does not tell."""
        ...

    @property
    def score(self) -> float:
        """Confidence, 0 to 1."""
        ...

    @property
    def keypoints_px(self) -> NDArray[np.floating]:
        """(21, 2) pixels of the image given."""
        ...

    @property
    def keypoint_scores(self) -> NDArray[np.floating] | None:
        """(21,) confidence of each joint, None where there is none."""
        ...

    @property
    def keypoints_cam(self) -> NDArray[np.floating] | None:
        """(21, 3) metres, OpenCV axes, origin as the estimator has it; None for 2D only."""
        ...


@runtime_checkable
class TellsExtent(Protocol):
    """A detected hand that knows its mesh's centre and size, which the normalisation of joints is made with."""

    @property
    def center(self) -> NDArray[np.floating]:
        """(3,) mean of the mesh, in the axes and unit of ``keypoints_cam``."""
        ...

    @property
    def extent(self) -> NDArray[np.floating]:
        """(3,) axis-aligned size of the mesh."""
        ...


class Estimator(Protocol):
    """Finds hands in one image."""

    name: str

    def __call__(self, image: NDArray[np.uint8]) -> Sequence[DetectedHand]:
        """Find the hands.

        Args:
            image: (H, W, 3) uint8 RGB.
        """
        ...


class Model(Protocol):
    """Answers questions.

    ``answer`` yields frames of the ``answers`` table as the answers come in, so that each can be stored at
    once; the order is free and every question is answered exactly once.
    """

    name: str

    def answer(self, questions: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """Answer questions.

        Args:
            questions: rows of the ``questions`` table that are not answered yet.
        """
        ...


@runtime_checkable
class NeedsAllQuestions(Protocol):
    """A model that looks at the whole question table before it answers (``prior``)."""

    def prepare(self, questions: pl.DataFrame) -> None:
        """See the whole table once."""
        ...


@runtime_checkable
class NeedsRows(Protocol):
    """A model that looks at the source rows that the questions are made of (a baseline with exact geometry)."""

    def rows_are(self, rows: pl.DataFrame) -> None:
        """See the source's table, as it stands in the run."""
        ...


@runtime_checkable
class ResizesImages(Protocol):
    """A model that can bring images to a size that the task prescribes before it sends them."""

    def resize_by(self, rule: Callable[[tuple[int, int]], tuple[int, int] | None]) -> None:
        """Take a rule: width and height of an image → those to send it with, None to leave it as it is."""
        ...


@runtime_checkable
class NeedsImages(Protocol):
    """A model that looks at the images; those of the questions are on disk before it is asked."""

    def images_at(self, root: Path) -> None:
        """Say which folder the image paths are relative to."""
        ...


@runtime_checkable
class TellsFacts(Protocol):
    """A model that tells what was asked of whom, for the run's record; no secret may be in it."""

    def facts(self) -> dict[str, Any]:
        """Settings, counts of requests, and what the model said of itself: what TOML can hold."""
        ...


@runtime_checkable
class Stoppable(Protocol):
    """A model that can be told to ask no more, with what is under way still coming in."""

    def stop(self) -> None:
        """Ask no more; ``answer`` ends when what is under way has come."""
        ...


class Strategy(Protocol):
    """What a model is asked turn by turn: the next prompt from the replies so far.

    It must be a function of its arguments alone: a run that is taken up again calls it anew for turns whose replies
    are in the log.  One that looks at the images has ``images_at`` (:class:`NeedsImages`) as well.
    """

    name: str

    def turn(self, number: int, questions: pl.DataFrame, replies: pl.DataFrame) -> pl.DataFrame:
        """The prompts of one turn.

        Args:
            number: 0 for the first turn, which must ask about every question.
            questions: the questions that are still open, as they stand in the run: all at first, later those that
                were asked in the turn before and did not end in an error.
            replies: the ``answers`` to them so far, every turn, sorted by question and turn.

        Returns:
            Rows of the ``questions`` table with the keys of open questions; ``system``, ``prompt``, ``images``,
            ``options`` and ``kind`` are this turn's.  A question that is left out has had its last turn: the reply
            to that one is its answer, read against the run's own options.
        """
        ...


@runtime_checkable
class Tracker(Protocol):
    """An estimator on the frames of one video, in order."""

    def __call__(self, image: NDArray[np.uint8]) -> Sequence[DetectedHand]:
        """Find the hands of the next frame."""
        ...

    def reset(self) -> None:
        """Begin a new video."""
        ...

    def resume(self, keypoints: Sequence[NDArray[np.float64]]) -> None:
        """Go on after a frame whose hands had these (21, 2) keypoints, in their order."""
        ...


@runtime_checkable
class Tracks(Protocol):
    """An estimator that can follow hands through a video."""

    def tracker(self) -> Tracker | None:
        """What follows hands; None where frames are to be looked at one by one."""
        ...


@runtime_checkable
class PoseTable(Protocol):
    """An "estimator" that was run elsewhere: its poses come from a file."""

    name: str

    def poses(self, frames: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, int]]:
        """The ``poses`` table of a set's frames, and a count of rows left out by reason."""
        ...


@runtime_checkable
class PoseTask(Protocol):
    """A benchmark of pose estimators: poses in, scores out; nobody is asked a question."""

    name: str
    options: type[Any]

    def strata(self, frames: pl.DataFrame, hands: pl.DataFrame, options: Any, signals: pl.DataFrame) -> pl.DataFrame:
        """The true hands with the ``factor_*`` columns that results are told by."""
        ...

    def clean(self, frames: pl.DataFrame, poses: pl.DataFrame, stage: str) -> tuple[pl.DataFrame, dict[str, int]]:
        """One estimator's raw poses after a stage of cleanup, and what was done, counted."""
        ...

    def judge(
        self, frames: pl.DataFrame, hands: pl.DataFrame, poses: Sequence[pl.DataFrame], options: Any
    ) -> tuple[pl.DataFrame, pl.DataFrame, dict[str, dict[str, int]]]:
        """Matches and scores of poses (a table per estimator and stage), and what was left out of each."""
        ...


class Task(Protocol):
    """One benchmark: source → questions, answers → readings, readings → scores."""

    name: str
    options: type[Any]
    """A frozen dataclass of the task's own options, ``from_options(Options, protocol)`` makes it."""

    # A task with ``reads_turns = True`` is given every turn of a question by ``read``; others its last one.

    def ask(self, hands: pl.DataFrame, options: Any) -> tuple[pl.DataFrame, dict[str, int]]:
        """Questions about a chunk of hands, and a count of what could not be asked."""
        ...

    def read(self, questions: pl.DataFrame, answers: pl.DataFrame) -> pl.DataFrame:
        """Readings of answers."""
        ...

    def score(self, questions: pl.DataFrame, readings: pl.DataFrame) -> pl.DataFrame:
        """Scores, with an interval each."""
        ...

    def answer_from_poses(
        self, questions: pl.DataFrame, poses: pl.DataFrame, hands: pl.DataFrame, model: str, options: Any
    ) -> pl.DataFrame:
        """Answers that follow from an estimator's joints by geometry alone."""
        ...

    def extent_flips(self, hands: pl.DataFrame, options: Any) -> pl.DataFrame:
        """How many labels change where the joints' extent stands in for the mesh's."""
        ...

    def describe(self, questions: pl.DataFrame) -> dict[str, pl.DataFrame]:
        """Counts of what is in a question table, by name."""
        ...

    def published(self) -> pl.DataFrame:
        """The paper's own numbers: table, model, tuned_on, evaluated_on, descriptor, metric, value."""
        ...


@runtime_checkable
class HasCeiling(Protocol):
    """A task that can tell how many of its labels would change were the truth off by so much."""

    def ceiling(
        self, questions: pl.DataFrame, hands: pl.DataFrame, options: Any, noise: float, source: str
    ) -> pl.DataFrame:
        """The ``ceiling`` table for a mean 3D joint error in metres, and where that number is from."""
        ...


@runtime_checkable
class HasPublishedCounts(Protocol):
    """A task whose paper prints how many questions it has."""

    def against_paper(self, questions: pl.DataFrame) -> dict[str, pl.DataFrame]:
        """Counts of a question table beside the paper's, by name."""
        ...


@runtime_checkable
class VariesQuestions(Protocol):
    """A task that knows controls of its own: what a mirror does to its truth, how its options are shown."""

    controls: tuple[str, ...]
    """Names of :data:`handbench.controls.names.CONTROLS` that :meth:`vary` makes."""

    def vary(
        self, questions: pl.DataFrame, control: str, options: Any, source: pl.DataFrame | None
    ) -> tuple[pl.DataFrame, dict[str, int]]:
        """Rows of a control, and how many questions it does not exist for, by reason.

        Args:
            questions: main questions.
            control: one of :attr:`controls`.
            options: the task's options.
            source: the table that the questions are made of.

        Returns:
            Rows of the ``questions`` table with the ids of their main questions, ``variant`` tagged by
            :func:`handbench.controls.names.tagged`; the run puts the control's images in.
        """
        ...


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
