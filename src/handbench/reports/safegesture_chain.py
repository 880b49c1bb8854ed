"""Where errors are born, and an estimator's chain from keypoints over fingers and gesture to the action."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray
from PIL import Image, ImageDraw, UnidentifiedImageError

from handbench import tables
from handbench.hand.gestures import RULES, degrees_from_up, extended
from handbench.hand.skeleton import BONES, FINGERS
from handbench.protocols import ReadContext
from handbench.reports.safegesture_grids import short_labels
from handbench.reports.safegesture_tables import Line, Number
from handbench.reports.sheet import thumbnail
from handbench.runs.answering import image_root
from handbench.runs.asking import ensure_images
from handbench.runs.folder import RunFolder
from handbench.runs.parts import Answerer, model_name
from handbench.specs import Spec
from handbench.tasks.safegesture.cell_counts import by_truth
from handbench.tasks.safegesture.cells import Cells
from handbench.tasks.safegesture.chain import best_hands, joints_of, name_images
from handbench.tasks.safegesture.items import Items
from handbench.tasks.safegesture.measures import taxonomy

_SIDE: Final = 170
_AS_POINT: Final = {"mute": "point"}
"""Gestures that stick out the same fingers as another."""


@dataclass(frozen=True)
class Finger:
    """A finger as the rules see it, and whether the gesture shown has it so (None where it may be either)."""

    name: str
    out: bool
    right: bool | None


@dataclass(frozen=True)
class Example:
    """One image on its way through the chain; ``actions`` are (scenario, label, right)."""

    image: str
    picture: str | None
    shown: str
    named: str
    fingers: tuple[Finger, ...]
    degrees: int
    actions: tuple[tuple[str, str, bool], ...]


@dataclass(frozen=True)
class Chain:
    """An estimator's chain: share right at each link, and examples, a wrong and a right one of each gesture."""

    model: str
    links: tuple[tuple[str, Number], ...]
    examples: tuple[Example, ...]


def births(items: dict[str, Items], cells: Cells) -> list[Line]:
    """Shares of each model: gesture told, gesture right, action right given that, action right, where errors are born.

    An error is born in perception where the gesture was wrong already, else in judgement.
    """
    lines = []
    for model, mine in items.items():
        if not mine.asked_gesture or not len(mine.cell):
            continue
        counts = by_truth(mine.counts(cells), cells.flat_truth, len(cells.labels))
        correct, decoupling, under, over, _, seen_wrong = taxonomy(counts, cells.intervention)
        judged = decoupling + under + over
        lines.append(
            Line(
                model,
                (
                    Number(float((mine.gesture >= 0).mean())),
                    Number(float((mine.gesture == mine.true_gesture(cells)).mean())),
                    _share(correct, correct + judged),
                    _share(float(np.trace(counts.sum(1))), float(counts.sum())),
                    _share(seen_wrong, seen_wrong + judged),
                    _share(judged, seen_wrong + judged),
                ),
            )
        )
    return lines


def _share(part: Any, whole: Any) -> Number:
    return Number(float(part) / float(whole) if whole > 0 else None)


def chains(
    folder: RunFolder, manifest: dict[str, Any], questions: pl.DataFrame, cells: Cells, context: ReadContext | None
) -> list[Chain]:
    """The chain of every pose estimator that took the test."""
    found = []
    shown = dict(
        questions.drop_nulls("about_gesture")
        .select(pl.col("images").list.first(), pl.col("about_gesture").cast(pl.String))
        .unique(maintain_order=True)
        .iter_rows()
    )
    for spec in manifest.get("models", []):
        model = Answerer.parse(spec).model
        options = {key: value for key, value in model.options.items() if key != "name"}
        path = folder.poses(str(Spec(model.name, "", options)))
        if model.kind == "pose" and path.exists() and shown:
            poses = tables.read(path, "poses").filter(pl.col("image").is_in(list(shown)))
            found.append(_chain(folder, manifest, model_name(spec), poses, shown, cells, context))
    return found


def _chain(
    folder: RunFolder,
    manifest: dict[str, Any],
    model: str,
    poses: pl.DataFrame,
    shown: dict[str, str],
    cells: Cells,
    context: ReadContext | None,
) -> Chain:
    named = name_images(poses)
    best = {row["image"]: row for row in best_hands(poses).iter_rows(named=True)}
    right = [named.get(image) == gesture for image, gesture in shown.items()]
    out = {image: extended(joints_of(row)[None])[0] for image, row in best.items()}
    agree = np.array(
        [_agreement(out[image], gesture) for image, gesture in shown.items() if image in out], np.float64
    ).reshape(-1, len(FINGERS))
    known = ~np.isnan(agree)
    links = [("A hand is found", Number(len(best) / len(shown)))]
    links += [
        (f"{finger.capitalize()} right", _share(np.nansum(agree[:, place]), known[:, place].sum()))
        for place, finger in enumerate(FINGERS)
    ]
    links.append(("Gesture right", Number(float(np.mean(right)))))
    links.append(("Action right", _actions_right(named, shown, cells)))
    images = _examples(shown, named, cells)
    ensure_images(folder, images, context)
    root = image_root(folder, manifest)
    examples = tuple(_example(root, image, shown[image], named, best.get(image), cells) for image in images)
    return Chain(model, tuple(links), examples)


def _agreement(out: NDArray[np.bool_], gesture: str) -> list[float]:
    """Whether each finger is as the gesture's rule has it; NaN where it may be either or there is no rule."""
    rule = RULES.get(_AS_POINT.get(gesture, gesture), (None,) * len(FINGERS))
    pairs = zip(out.tolist(), rule, strict=True)
    return [np.nan if wanted is None else float(is_out == wanted) for is_out, wanted in pairs]


def _actions_right(named: dict[str, str], shown: dict[str, str], cells: Cells) -> Number:
    place = {gesture: number for number, gesture in enumerate(cells.gesture_ids)}
    hits = [
        float((cells.truth[place[named[image]]] == cells.truth[place[gesture]]).mean())
        if named.get(image) in place
        else 0.0
        for image, gesture in shown.items()
    ]
    return Number(float(np.mean(hits)))


def _examples(shown: dict[str, str], named: dict[str, str], cells: Cells) -> list[str]:
    """A wrong and a right image of each gesture; of the wrong ones one with a hand, where there is any."""
    chosen = []
    for gesture in cells.gesture_ids:
        mine = [image for image, true in shown.items() if true == gesture]
        wrong = sorted((image for image in mine if named.get(image) != gesture), key=lambda image: image not in named)
        right = [image for image in mine if named.get(image) == gesture]
        chosen += [*wrong[:1], *right[:1]]
    return chosen


def _example(
    root: Path, image: str, shown: str, named: dict[str, str], row: dict[str, Any] | None, cells: Cells
) -> Example:
    gesture = named.get(image, "no hand found")
    place = {name: number for number, name in enumerate(cells.gesture_ids)}
    short = short_labels(cells)
    actions = []
    for column, scenario in enumerate(cells.scenarios):
        wanted = cells.truth[place[shown], column]
        told = cells.truth[place[gesture], column] if gesture in place else None
        actions.append((scenario.short, "none" if told is None else short[told], told == wanted))
    fingers: tuple[Finger, ...] = ()
    degrees = 0
    if row is not None:
        joints = joints_of(row)[None]
        out = np.asarray(extended(joints)[0])
        right = (None if np.isnan(agrees) else bool(agrees) for agrees in _agreement(out, shown))
        fingers = tuple(Finger(name, bool(is_out), ok) for name, is_out, ok in zip(FINGERS, out, right, strict=True))
        degrees = round(float(degrees_from_up(joints, "index_mcp", "index_tip")[0]))
    picture = _drawn(root / image, None if row is None else np.asarray(row["keypoints_px"], np.float64))
    return Example(image, picture, shown, gesture, fingers, degrees, tuple(actions))


def _drawn(path: Path, joints: NDArray[np.float64] | None) -> str | None:
    """The image with the joints that were found on it, as a data URL."""
    try:
        with Image.open(path) as opened:
            scale = _SIDE / max(opened.size)
            small = opened.convert("RGB").resize([max(1, round(side * scale)) for side in opened.size])
    except (OSError, UnidentifiedImageError):
        return None
    if joints is not None:
        pen = ImageDraw.Draw(small)
        points = joints * scale
        whole = np.asarray(np.isfinite(points).all(axis=1))
        for a, b in BONES:
            if whole[a] and whole[b]:
                pen.line([*points[a], *points[b]], fill=(255, 214, 10), width=2)
        for x, y in points[whole]:
            pen.ellipse([x - 2, y - 2, x + 2, y + 2], fill=(220, 50, 47))
    return thumbnail(small)
