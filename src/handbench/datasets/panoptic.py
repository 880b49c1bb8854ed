"""Hands of the CMU Panoptic studio (Simon et al., CVPR 2017), those labelled by people: 2D alone.

Two layouts are read.  The owner's: ``manual_test/NAME.json`` beside ``NAME.jpg``, with ``hand_pts`` (21 points x, y, v
in our order; v above 0 means that it is labelled) and ``is_left``; ``hand_labels/`` may stand around it.  And that
of mmpose, ``annotations/panoptic_test.json``, a COCO-like file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np

from handbench.datasets import files, json_files
from handbench.datasets.build import Hands, Setting, finish
from handbench.datasets.coco import read_file
from handbench.datasets.selection import Skipped
from handbench.errors import HandbenchError
from handbench.hand.geometry import Floats
from handbench.protocols import ReadContext, Source, dataset
from handbench.specs import Options, Spec

NAME: Final = "panoptic"
SPLITS: Final = ("train", "test")

_PLACES: Final = ("", "hand_labels/")


@dataset(NAME)
def read(spec: Spec, context: ReadContext) -> Source:
    """Read ``panoptic:PATH?hash=yes``.

    Args:
        spec: the folder that holds ``manual_train`` and ``manual_test``, or mmpose's ``annotations``.
        context: split ``test`` (the default) or ``train``.

    Raises:
        HandbenchError: a file is missing or damaged, or nothing is left.
    """
    options = Options(spec)
    hashed = options.flag("hash", default=True)
    options.done()
    split = context.split or "test"
    if split not in SPLITS:
        raise HandbenchError(f"{spec}: no split {split!r}; there are {', '.join(SPLITS)}")
    root = files.folder(spec)
    merged = root / "annotations" / f"panoptic_{split}.json"
    if merged.is_file():
        return read_file(merged, Setting(NAME, split, root, merged, context, hashed), side_in_name=True)
    places = [f"{place}manual_{split}" for place in _PLACES]
    place = next((name for name in places if (root / name).is_dir()), None)
    if place is None:
        raise HandbenchError(f"{root}: expected {places[0]} or annotations/panoptic_{split}.json in it")
    annotations = sorted((root / place).glob("*.json"))
    found: list[tuple[str, str, Floats]] = []
    skipped = Skipped({"no image": 0, "hand not annotated": 0})
    for done, path in enumerate(annotations):
        if done % 256 == 0:
            context.progress(done, len(annotations), "reading annotations")
        try:
            side, points = _hand(path)
        except HandbenchError as error:
            context.faults.bad(error)
            continue
        image = f"{place}/{path.stem}.jpg"
        if not (root / image).is_file():
            skipped["no image"] += 1
            skipped.firsts.setdefault("no image", image)
        elif not (points[:, 2] > 0).any():
            skipped["hand not annotated"] += 1
        else:
            found.append((image, side, points))
    if not found:
        left_out = ", ".join(f"{reason}: {count}" for reason, count in skipped.items() if count) or "no JSON file"
        raise HandbenchError(f"{root / place}: nothing is left of the split {split} ({left_out})")
    images = [image for image, _, _ in found]
    points = np.stack([point for _, _, point in found])
    given = points[..., 2] > 0
    good, sizes = files.readable(root, images, context.faults)
    if not good.any():
        files.refuse_nothing(root / place, context.faults)
    hands = Hands(
        images=images,
        keys=[files.stem(image) for image in images],
        sides=[side for _, side, _ in found],
        # The two hands of a person have photos of their own, NAME_l.jpg and NAME_r.jpg.
        clusters=[files.stem(image).removesuffix("_l").removesuffix("_r") for image in images],
        sizes=sizes,
        joints_px=np.where(given[..., None], points[..., :2], np.nan),
        visible=given,
        # Other hands in the photo have a photo of their own.
        annotated=False,
    )
    return finish(hands.take(good), Setting(NAME, split, root, root / place, context, hashed, skipped))


def _hand(path: Path) -> tuple[str, Floats]:
    """Side and points (21, 3) of a file."""
    content = json_files.read_json(path, "one hand's points")
    try:
        points = np.asarray(content["hand_pts"], np.float64).reshape(21, 3)
        left = np.nan if isinstance(content["is_left"], bool) else float(content["is_left"])
    except (KeyError, TypeError, ValueError, OverflowError):
        points, left = np.full((21, 3), np.nan), np.nan
    if not np.isfinite(points).all() or left not in (0, 1):
        raise HandbenchError(f"{path}: expected hand_pts of 21 x 3 finite numbers, and is_left of 0 or 1")
    return "left" if left else "right", points
