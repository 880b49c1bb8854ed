"""What a hand-pose estimator offers, and the task that measures it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import polars as pl
from numpy.typing import NDArray


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
