"""Answers without a language model: the ray of the finger, the nearest thing, the middle, the commonest category."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from handbench import tables
from handbench.errors import HandbenchError
from handbench.protocols import Model, model
from handbench.replies.name import NOTHING
from handbench.specs import Options, Spec
from handbench.stats.boxes import angle_to, ray_meets_boxes
from handbench.tasks.pointing.controls import is_mirrored, mirror_scene
from handbench.tasks.pointing.options import speaks_of

Floats = NDArray[np.float64]

_KNUCKLE, _TIP = 5, 8
_SLAB: Final = 500
_INSIDE: Final = 0.3
WIDEST: Final = 30.0
"""Degrees off the ray beyond which a thing is not pointed at."""


def finger_ray(joints: Floats) -> Floats | None:
    """(4,) fingertip and unit direction from the index knuckle through the tip; None where they are not known."""
    tip, way = joints[_TIP], joints[_TIP] - joints[_KNUCKLE]
    length = float(np.linalg.norm(way))
    if not np.isfinite(length) or length < 1e-6 or not np.isfinite(tip).all():
        return None
    return np.concatenate([tip, way / length])


def along_ray(ray: Floats, boxes: Floats) -> int | None:
    """The box that a ray points at: of those that it meets the one least off its middle, else the least off at all.

    Args:
        ray: (4,) point and direction.
        boxes: (T, 4).

    Returns:
        Its number; None where every box lies more than :data:`WIDEST` degrees off.  Ties go to the nearest.
    """
    middles = (boxes[:, :2] + boxes[:, 2:]) / 2
    off = angle_to(ray, middles)
    met, _ = ray_meets_boxes(ray, boxes)
    far = np.linalg.norm(middles - ray[:2], axis=1)
    order = np.lexsort((far, np.round(off, 6), ~met))
    best = int(order[0])
    return best if met[best] or off[best] <= WIDEST else None


def nearest(hand: Floats, boxes: Floats) -> int:
    """The box whose middle is nearest to the middle of the hand's box."""
    middles, middle = (boxes[:, :2] + boxes[:, 2:]) / 2, (hand[:2] + hand[2:]) / 2
    return int(np.linalg.norm(middles - middle, axis=1).argmin())


def beyond_tip(ray: Floats, hand: Floats, size: tuple[int, int]) -> Floats:
    """Where no thing's box is known: a square of half the hand's size, one hand's length along the ray.

    Args:
        ray: (4,) point and direction.
        hand: (4,) the hand's box.
        size: of the image; the square is moved into it.
    """
    length = float((hand[2:] - hand[:2]).max())
    half = length / 4
    limit = np.maximum(np.array(size) - half, half)
    middle = np.clip(ray[:2] + ray[2:] * length, half, limit)
    return np.concatenate([middle - half, middle + half])


class SceneModel:
    """One of the baselines.

    Attributes:
        name: as in tables.
        kind: ``geometry``, ``nearest``, ``centre`` or ``commonest``.
        keypoints: of ``geometry``: ``truth`` (the annotated joints, else the box) or ``box``.
        candidates: ``scene`` (the boxes annotated in it) or ``image`` (none are known).
    """

    def __init__(self, name: str, kind: str, keypoints: str = "truth", candidates: str = "scene") -> None:
        self.name, self.kind, self.keypoints, self.candidates = name, kind, keypoints, candidates
        self._scenes: dict[str, dict[str, Any]] = {}
        self._common = NOTHING

    def rows_are(self, rows: pl.DataFrame) -> None:
        """See the scenes that the questions are about.

        Raises:
            HandbenchError: the questions are of another task.
        """
        if "scene_id" not in rows.columns:
            raise HandbenchError(f"{self.name}: answers only questions about scenes (the pointing task)")
        self._scenes = {row["scene_id"]: row for row in rows.iter_rows(named=True)}
        counted = (
            rows["target_category"]
            .drop_nulls()
            .value_counts()
            .sort("count", "target_category", descending=[True, False])
        )
        self._common = str(counted[0, 0]) if counted.height else NOTHING

    def answer(self, questions: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """Answer every question, slab by slab."""
        for start in range(0, questions.height, _SLAB):
            slab = questions[start : start + _SLAB]
            replies = [self._reply(row) for row in slab.iter_rows(named=True)]
            yield as_answers(slab, replies, self.name)

    def _reply(self, row: dict[str, Any]) -> str:
        scene = self._scenes.get(row["scene_id"])
        if scene is None:
            raise HandbenchError(f"{self.name}: {row['question_id']}: its scene is not among the run's scenes")
        scene = mirror_scene(scene) if is_mirrored(row) else scene
        joints = None if scene["hand_px"] is None or self.keypoints == "box" else np.array(scene["hand_px"])
        return self._say(row, scene, joints)

    def _say(self, row: dict[str, Any], scene: dict[str, Any], joints: Floats | None) -> str:
        size = (int(scene["width"]), int(scene["height"]))
        hand = np.array(scene["hand_box"])
        boxes = np.array(scene["candidate_boxes"], np.float64).reshape(-1, 4)
        names = scene["candidate_categories"]
        if self.kind == "geometry":
            ray = None if joints is None else finger_ray(joints)
            return said_by_ray(row, ray, hand, boxes if self.candidates == "scene" else boxes[:0], names, size)
        if self.kind == "commonest":
            place = names.index(self._common) if self._common in names else None
            return spoken(row, None if place is None else boxes[place], self._common, size)
        if self.kind == "centre" or not len(boxes):
            return spoken(row, np.array([0.25, 0.25, 0.75, 0.75]) * (*size, *size), self._common, size)
        place = nearest(hand, boxes)
        return spoken(row, boxes[place], names[place], size)


def said_by_ray(
    row: dict[str, Any], ray: Floats | None, hand: Floats, boxes: Floats, names: list[str], size: tuple[int, int]
) -> str:
    """The reply that a ray leads to; without one, the box nearest to the middle of the hand's box."""
    if not len(boxes):
        upward = np.array([*(hand[:2] + hand[2:]) / 2, 0.0, -1.0])
        return spoken(row, beyond_tip(upward if ray is None else ray, hand, size), NOTHING, size)
    place = nearest(hand, boxes) if ray is None else along_ray(ray, boxes)
    return spoken(row, None, NOTHING, size) if place is None else spoken(row, boxes[place], names[place], size)


def spoken(row: dict[str, Any], box: Floats | None, name: str, size: tuple[int, int]) -> str:
    """A reply in the question's own convention: a box in its family's frame, or a name."""
    if str(row["kind"]) == "text":
        return name
    speaks = speaks_of(str(row["variant"]))
    return speaks.rejection() if box is None else speaks.write(box, size)


def as_answers(questions: pl.DataFrame, replies: list[str], name: str) -> pl.DataFrame:
    """The ``answers`` table of replies to questions."""
    return questions.select("question_id", "variant").with_columns(
        pl.lit(name, pl.Categorical()).alias("model"),
        pl.lit(0, pl.Int16).alias("repeat"),
        pl.lit(0, pl.Int16).alias("turn"),
        pl.Series("reply", replies, dtype=pl.String),
        pl.lit("stop", pl.Categorical()).alias("finish"),
    )


def answer_from_poses(questions: pl.DataFrame, poses: pl.DataFrame, scenes: pl.DataFrame, name: str) -> pl.DataFrame:
    """Geometry from an estimator's keypoints: of the hands found in an image, the one that fits the hand's box best.

    Args:
        questions: rows of the ``questions`` table.
        poses: what the estimator found.
        scenes: the run's ``scenes``.
        name: the model's name.

    Returns:
        The ``answers`` table.  Where no hand was found in the box, the nearest thing to it is said.
    """
    known = {row["scene_id"]: row for row in scenes.iter_rows(named=True)}
    found: dict[str, list[Floats]] = {}
    for image, points in poses.filter(pl.col("hand") >= 0).select("image", "keypoints_px").iter_rows():
        if points is not None:
            found.setdefault(image, []).append(np.array(points))
    replies = []
    for row in questions.iter_rows(named=True):
        scene = mirror_scene(known[row["scene_id"]]) if is_mirrored(row) else known[row["scene_id"]]
        joints = _fitting(found.get(row["images"][0], []), np.array(scene["hand_box"]))
        size = (int(scene["width"]), int(scene["height"]))
        boxes = np.array(scene["candidate_boxes"], np.float64).reshape(-1, 4)
        ray = None if joints is None else finger_ray(joints)
        hand = np.array(scene["hand_box"])
        replies.append(said_by_ray(row, ray, hand, boxes, scene["candidate_categories"], size))
    return as_answers(questions, replies, name) if questions.height else tables.empty("answers")


def _fitting(hands: list[Floats], box: Floats) -> Floats | None:
    """Of the hands found in an image, the one with the most joints in the box; None where none has a third of them."""
    inside = [float(((joints >= box[:2]) & (joints <= box[2:])).all(axis=1).mean()) for joints in hands]
    best = int(np.argmax(inside)) if inside else -1
    return hands[best] if best >= 0 and inside[best] > _INSIDE else None


@model("geometry")
def geometry(spec: Spec, options: Options) -> Model:
    """``geometry?keypoints=truth&candidates=scene``."""
    keypoints = options.choice("keypoints", "truth", ("truth", "box"))
    candidates = options.choice("candidates", "scene", ("scene", "image"))
    return SceneModel(options.text("name", str(spec)), "geometry", keypoints, candidates)


@model("nearest")
def nearest_thing(spec: Spec, options: Options) -> Model:
    """``nearest``: the thing nearest to the hand."""
    return SceneModel(options.text("name", str(spec)), "nearest")


@model("centre")
def centre(spec: Spec, options: Options) -> Model:
    """``centre``: the middle half of the image."""
    return SceneModel(options.text("name", str(spec)), "centre")


@model("commonest")
def commonest(spec: Spec, options: Options) -> Model:
    """``commonest``: a thing of the category that is most often the target in this run."""
    return SceneModel(options.text("name", str(spec)), "commonest")
