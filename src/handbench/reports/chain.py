"""The chain: from keypoint error to descriptor error to answer accuracy, joint by joint, for a pose estimator.

Each step is a number for every joint (or one for the whole); later steps, such as the gesture that the joints give and
the action that follows, are added as further steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from numpy.typing import NDArray

from handbench.hand.alignment import aligned_errors
from handbench.hand.descriptors import describe
from handbench.hand.geometry import center_and_extent
from handbench.hand.skeleton import BONES, JOINT_INDEX, JOINTS
from handbench.reports.board import Cell
from handbench.reports.drawing import style, svg
from handbench.runs.folder import RunFolder
from handbench.specs import Spec
from handbench.stats.ratios import Ratios, ratios, sums_by_cluster
from handbench.tasks.handvqa.baselines import hand_of_question
from handbench.tasks.handvqa.questions import hand_values

Floats = NDArray[np.float64]
KEY: Final = ["question_id", "variant"]
PCK: Final = 0.1
"""A keypoint is right within this share of the larger side of the true hand's box."""


@dataclass(frozen=True)
class Step:
    """One link of the chain.

    Attributes:
        name: what is measured.
        unit: of the numbers shown.
        higher_is_better: which way is good.
        whole: the number over all joints, None where there is none.
        joints: one number per joint in the order of :data:`JOINTS`; empty for a step that has no joints.
        digits: decimals shown.
    """

    name: str
    unit: str
    higher_is_better: bool
    whole: Cell
    joints: tuple[Cell, ...] = ()
    digits: int = 1

    def text(self, cell: Cell) -> str:
        """A number of this step as it is shown."""
        return "–" if cell.value is None else f"{cell.value:.{self.digits}f}"

    def interval(self, cell: Cell) -> str:
        """Its interval, empty where there is none."""
        if cell.low is None or cell.high is None:
            return ""
        return f"{cell.low:.{self.digits}f}–{cell.high:.{self.digits}f}"


@dataclass(frozen=True)
class Chain:
    """All steps of one estimator.

    Attributes:
        model: its name in the tables.
        hands: annotated hands.
        found: those that it found.
        steps: the links, keypoints first.
        figure: a hand for each step, its joints coloured by the number.
    """

    model: str
    hands: int
    found: int
    steps: tuple[Step, ...]
    figure: Markup


def poses_of(folder: RunFolder, spec: str) -> pl.DataFrame | None:
    """The poses that a model ``pose:ESTIMATOR?...`` of a run answered from; None for other models."""
    parsed = Spec.parse(spec)
    if parsed.kind != "pose":
        return None
    options = {key: value for key, value in parsed.options.items() if key != "name"}
    path = folder.poses(str(Spec(parsed.name, "", options)))
    if not path.exists():
        return None
    from handbench import tables

    return tables.read(path, "poses")


def of_model(
    model: str, hands: pl.DataFrame, poses: pl.DataFrame, questions: pl.DataFrame, readings: pl.DataFrame, options: Any
) -> Chain | None:
    """The chain of one estimator on HandVQA; None where none of its hands is annotated.

    Args:
        model: its name in the readings.
        hands: the ``hands`` table.
        poses: the estimator's ``poses``.
        questions: main questions.
        readings: main readings.
        options: the task's options: scale rule and catalogue.
    """
    shown = poses.filter(pl.col("image").is_in(hands["image"].unique().implode()))
    found = hand_of_question(hands, shown)
    if found.is_empty():
        return None
    true = hands.join(found.select("hand_id"), on="hand_id", how="semi", maintain_order="left")
    mine = true.select("hand_id").join(found, on="hand_id", how="left", maintain_order="left")
    cluster = true["cluster"].rank("dense").to_numpy().astype(np.int64) - 1
    steps = [*_keypoints(true, mine, cluster), *_descriptors(true, mine, cluster, options)]
    steps.append(_answers(questions, readings.filter(pl.col("model").cast(pl.String) == model)))
    chosen = tuple(step for step in steps if step.whole.value is not None)
    return Chain(model, hands.height, true.height, chosen, Markup(_figure(chosen)))


def _array(series: pl.Series, shape: tuple[int, ...]) -> Floats:
    flat: Floats = np.full((series.len(), *shape), np.nan)
    known = series.is_not_null().to_numpy()
    if known.any():
        flat[known] = series.drop_nulls().to_numpy().reshape(-1, *shape)
    return flat


def _keypoints(true: pl.DataFrame, mine: pl.DataFrame, cluster: NDArray[np.int64]) -> list[Step]:
    here, there = _array(true["joints_px"], (21, 2)), _array(mine["keypoints_px"], (21, 2))
    low, high = (np.where(np.isnan(here), fill, here) for fill in (np.inf, -np.inf))
    side = (high.max(1) - low.min(1)).max(1)
    off = np.linalg.norm(there - here, axis=2) / np.where(np.isfinite(side) & (side > 0), side, np.nan)[:, None]
    within = np.where(np.isnan(off), np.nan, 100.0 * (off <= PCK))
    space = 1000 * aligned_errors(_array(mine["keypoints_cam"], (21, 3)), _array(true["joints_cam"], (21, 3)))
    return [
        _step(f"PCK@{PCK:g}", "% of keypoints", within, cluster, better=True),
        _step("Aligned error", "mm", space, cluster),
    ]


def _descriptors(true: pl.DataFrame, mine: pl.DataFrame, cluster: NDArray[np.int64], options: Any) -> list[Step]:
    joints = _array(mine["keypoints_cam"], (21, 3))
    center, extent = center_and_extent(joints)
    told = describe(joints, center, extent, options.scale, options.catalogue)
    off = np.abs(told - hand_values(true, options))
    angle = np.full((len(off), 21), np.nan)
    pairs: list[list[int]] = [[] for _ in JOINTS]
    for column, (descriptor, a, b) in enumerate(options.catalogue.items):
        if descriptor == 0:
            angle[:, JOINT_INDEX[a]] = off[:, column]
        else:
            for joint in (a, b):
                pairs[JOINT_INDEX[joint]].append(column)
    offset = np.full((len(off), 21), np.nan)
    for joint, columns in enumerate(pairs):
        if columns:
            part = off[:, columns]
            known = (~np.isnan(part)).sum(1)
            offset[:, joint] = np.divide(
                np.nansum(part, axis=1), known, out=np.full(len(part), np.nan), where=known > 0
            )
    return [
        _step("Bend angle error", "degrees", angle, cluster),
        _step("Offset and distance error", "% of hand size", 100 * offset, cluster),
    ]


def _step(name: str, unit: str, values: Floats, cluster: NDArray[np.int64], *, better: bool = False) -> Step:
    """A step from (N, 21) values, NaN where unknown; the whole is the mean over all of them."""
    known = ~np.isnan(values)
    filled = np.where(known, values, 0.0)
    events = np.concatenate([filled, filled.sum(1, keepdims=True)], axis=1)
    items = np.concatenate([known, known.sum(1, keepdims=True)], axis=1).astype(np.float64)
    found = ratios(sums_by_cluster(cluster, events), sums_by_cluster(cluster, items))
    cells = _cells(found)
    return Step(name, unit, better, cells[-1], tuple(cells[:-1]))


def _cells(found: Ratios) -> list[Cell]:
    ends = [[None if np.isnan(end) else float(end) for end in side] for side in (found.value, found.low, found.high)]
    return [Cell(value, low, high, percent=False) for value, low, high in zip(*ends, strict=True)]


def _answers(questions: pl.DataFrame, readings: pl.DataFrame) -> Step:
    about = questions.select(*KEY, "about_joint_a", "about_joint_b", "cluster")
    rows = readings.join(about, on=KEY, how="inner", maintain_order="left")
    cluster = rows["cluster"].rank("dense").to_numpy().astype(np.int64) - 1
    places = [
        rows[name]
        .cast(pl.String)
        .replace_strict(JOINT_INDEX, default=-1, return_dtype=pl.Int64)
        .fill_null(-1)
        .to_numpy()
        for name in ("about_joint_a", "about_joint_b")
    ]
    member = np.stack([(places[0] == joint) | (places[1] == joint) for joint in range(21)], axis=1)
    member = np.concatenate([member, np.ones((len(member), 1), bool)], axis=1)
    right = 100.0 * rows["correct"].to_numpy()[:, None] * member
    found = ratios(sums_by_cluster(cluster, right), sums_by_cluster(cluster, member.astype(np.float64)))
    cells = _cells(found)
    return Step("Answers right", "% of questions", True, cells[-1], tuple(cells[:-1]))


def _layout() -> Floats:
    """(21, 2) where the joints of the drawn hand lie: an open right hand from the back, fingers up."""
    base = {"thumb": (-0.42, 0.30, 128), "index": (-0.24, 0.92, 98), "middle": (0.0, 1.0, 90),
            "ring": (0.22, 0.93, 83), "little": (0.42, 0.78, 74)}  # fmt: skip
    steps = {"thumb": (0, 0.30, 0.26, 0.22), "index": (0, 0.34, 0.22, 0.18), "middle": (0, 0.38, 0.24, 0.19),
             "ring": (0, 0.35, 0.23, 0.18), "little": (0, 0.26, 0.18, 0.15)}  # fmt: skip
    points = [(0.0, 0.0)]
    for finger, (x, y, heading) in base.items():
        direction = np.array([np.cos(np.radians(heading)), np.sin(np.radians(heading))])
        for length in np.cumsum(steps[finger]):
            points.append((x + length * direction[0], y + length * direction[1]))
    return np.array(points)


def _figure(steps: tuple[Step, ...]) -> str:
    shown = [step for step in steps if step.joints]
    good_to_bad = LinearSegmentedColormap.from_list("chain", ["#1b7f79", "#e9e2c8", "#b3402a"])
    with style():
        figure = Figure(figsize=(2.35 * len(shown), 3.1), layout="constrained")
        for place, step in enumerate(shown):
            _hand(figure.add_subplot(1, len(shown), place + 1), step, good_to_bad)
        return svg(figure)


def _hand(axes: Axes, step: Step, colours: LinearSegmentedColormap) -> None:
    points = _layout()
    values = np.array([np.nan if cell.value is None else cell.value for cell in step.joints])
    known = ~np.isnan(values)
    low, high = (values[known].min(), values[known].max()) if known.any() else (0.0, 1.0)
    share = (values - low) / max(high - low, 1e-9)
    if step.higher_is_better:
        share = 1 - share
    for a, b in BONES:
        axes.plot(*points[[a, b]].T, color="#c9cdd2", linewidth=2.2, zorder=1)
    axes.scatter(points[~known, 0], points[~known, 1], s=18, color="#dfe2e5", zorder=2)
    axes.scatter(
        points[known, 0],
        points[known, 1],
        s=95,
        c=colours(share[known]),
        edgecolors="#22262b",
        linewidths=0.5,
        zorder=3,
    )
    if known.any():
        for joint in {int(np.nanargmin(values)), int(np.nanargmax(values))}:
            axes.annotate(step.text(step.joints[joint]), points[joint], xytext=(7, 3), textcoords="offset points",
                          fontsize=8, zorder=4)  # fmt: skip
    axes.set_title(f"{step.name}\n{step.unit}", fontsize=9.5, loc="left")
    axes.set_aspect("equal")
    axes.axis("off")
    axes.set_xlim(-1.0, 0.9)
    axes.set_ylim(-0.15, 1.95)
