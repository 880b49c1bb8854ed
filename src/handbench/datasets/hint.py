"""HInt (Pavlakos et al., CVPR 2024): hands of everyday video frames, 2D points with occlusion.

``TEST_newdays_img/NAME.json`` beside ``NAME.jpg``: a list of hands, each with ``keypoints`` (21 x 2 pixels,
our order) and ``occlusion`` (1 where hidden).  The folders are TRAIN, VAL or TEST of newdays, epick or ego4d.
There is no side label, so the side is ``unknown``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import numpy as np

from handbench.datasets import files, json_files
from handbench.datasets.build import Hands, Setting, finish
from handbench.datasets.selection import Skipped
from handbench.errors import HandbenchError
from handbench.hand.geometry import Floats
from handbench.protocols import ReadContext, Source, dataset
from handbench.specs import Options, Spec

NAME: Final = "hint"
SPLITS: Final = ("train", "val", "test")

NOT_SHIPPED: Final = "image of Ego4D, which the owner does not ship"


@dataset(NAME)
def read(spec: Spec, context: ReadContext) -> Source:
    """Read ``hint:PATH?sources=newdays,epick,ego4d&hash=yes``.

    Args:
        spec: the folder that holds ``TEST_newdays_img`` and the like.
        context: split ``test`` (the default), ``val`` or ``train``.

    Raises:
        HandbenchError: a file is missing or damaged, or nothing is left.
    """
    options = Options(spec)
    sources = options.text("sources", "newdays,epick,ego4d").split(",")
    hashed = options.flag("hash", default=True)
    options.done()
    split = context.split or "test"
    if split not in SPLITS:
        raise HandbenchError(f"{spec}: no split {split!r}; there are {', '.join(SPLITS)}")
    root = files.folder(spec)
    named = re.compile(rf"{split.upper()}_({'|'.join(map(re.escape, sources))})_(img|seq)")
    folders = [path for path in sorted(root.iterdir()) if path.is_dir() and named.fullmatch(path.name)]
    if not folders:
        raise HandbenchError(f"{root}: no HInt folder of {split}; expected {split.upper()}_newdays_img in it")
    annotations = [path for folder in folders for path in sorted(folder.glob("*.json"))]
    images: list[str] = []
    keys: list[str] = []
    points: list[Floats] = []
    hidden: list[Floats] = []
    skipped = Skipped({"no image": 0, NOT_SHIPPED: 0})
    for done, path in enumerate(annotations):
        if done % 256 == 0:
            context.progress(done, len(annotations), "reading annotations")
        try:
            found = _hands(path)
        except HandbenchError as error:
            context.faults.bad(error)
            continue
        key = files.stem(path.relative_to(root).as_posix())
        if not (root / f"{key}.jpg").is_file():
            reason = NOT_SHIPPED if "_ego4d_" in key.partition("/")[0] else "no image"
            skipped[reason] += len(found)
            skipped.firsts.setdefault(reason, f"{key}.jpg")
            continue
        for number, (place, mark) in enumerate(found):
            images.append(f"{key}.jpg")
            keys.append(f"{key}/{number}")
            points.append(place)
            hidden.append(mark)
    if not images:
        reasons = ", ".join(f"{reason}: {count}" for reason, count in skipped.items() if count)
        raise HandbenchError(f"{root}: nothing is left of the split {split} ({reasons})")
    good, sizes = files.readable(root, images, context.faults)
    if not good.any():
        files.refuse_nothing(root, context.faults)
    occluded = np.stack(hidden) != 0
    hands = Hands(
        images=images,
        keys=keys,
        sides=["unknown"] * len(images),
        clusters=[files.stem(image) for image in images],
        sizes=sizes,
        joints_px=np.stack(points),
        visible=~occluded,
        occluded=occluded,
        # The frames show other hands, too.
        annotated=False,
    )
    return finish(hands.take(good), Setting(NAME, split, root, root, context, hashed, skipped))


def _hands(path: Path) -> list[tuple[Floats, Floats]]:
    """Points (21, 2) and occlusion (21) of each hand of a file."""
    content = json_files.read_json(path, "a list of hands")
    if not isinstance(content, list):
        raise HandbenchError(f"{path}: expected a list of hands with keypoints and occlusion")
    return [(_numbers(path, hand, "keypoints", (21, 2)), _numbers(path, hand, "occlusion", (21,))) for hand in content]


def _numbers(path: Path, hand: Any, key: str, shape: tuple[int, ...]) -> Floats:
    try:
        values = files.numbers(hand[key]).reshape(shape)
    except (KeyError, TypeError, ValueError):
        values = np.full(shape, np.nan)
    if not np.isfinite(values).all():
        raise HandbenchError(f"{path}: {key} must be {' x '.join(map(str, shape))} finite numbers")
    return values
