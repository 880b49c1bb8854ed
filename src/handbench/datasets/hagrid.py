"""HaGRID v1 and v2: labelled gesture photos (arXiv 2206.08219, 2412.01508), as the ``gestures`` table.

One annotation file per split and class, ``annotations/SPLIT/CLASS.json``: an object keyed by the image's stem with
``labels`` (of each hand, ``no_gesture`` for an idle one) and ``user_id``.  Landmarks in it are unchecked output of an
estimator and are not read.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, Final

import polars as pl

from handbench import tables
from handbench.datasets import files
from handbench.datasets.json_files import read_json
from handbench.errors import HandbenchError
from handbench.faults import Faults
from handbench.protocols import ReadContext, Source, dataset
from handbench.specs import Options, Spec

NAME: Final = "hagrid"
SPLITS: Final = ("train", "val", "test")
GESTURES: Final = ("stop", "fist", "call", "point", "mute", "like")
STAND_IN: Final = "one"
"""The class of v1 that is nearest to ``point``, which came with v2."""

_FOLDERS: Final = ("{gesture}", "{split}/{gesture}", "images/{gesture}", "images/{split}/{gesture}")
_SUFFIXES: Final = (".jpg", ".jpeg", ".png")


@dataset(NAME)
def read(spec: Spec, context: ReadContext) -> Source:
    """Read ``hagrid:PATH?n=100&seed=42&gestures=stop,fist&point=one&disjoint=yes&total=33500``.

    Args:
        spec: the folder that holds ``annotations``; ``n`` images of each gesture are drawn from the sorted ids by
            ``seed`` (``n=0`` takes all); ``point=one`` declares that class as a stand-in where there is no ``point``;
            ``disjoint=yes`` takes no person twice; ``gestures=all`` takes every class that has annotations; ``total``
            draws so many images from all classes together, by their shares, instead of ``n`` of each.
        context: split ``test`` (default), ``train`` or ``val``.

    Raises:
        HandbenchError: a class is missing (HaGRID v1 has no ``point``), holds too few images, or is damaged.
    """
    options = Options(spec)
    count = options.integer("n", 100, least=0)
    seed = options.integer("seed", 42)
    gestures = tuple(filter(None, options.text("gestures", ",".join(GESTURES)).split(",")))
    stand_in = options.text("point", "point")
    disjoint = options.flag("disjoint")
    total = options.integer("total", 0, least=0)
    options.done()
    split = context.split or "test"
    if split not in SPLITS:
        raise HandbenchError(f"{spec}: splits are {', '.join(SPLITS)}, not {split!r}")
    root = files.folder(spec)
    if gestures == ("all",):
        gestures = tuple(sorted(path.stem for path in (root / "annotations" / split).glob("*.json")))
        if not gestures:
            raise HandbenchError(f"{root / 'annotations' / split}: no annotations there; is the folder the right one?")
    count = 0 if total else count
    skipped: dict[str, int] = {}
    notes = []
    taken: set[str] = set()
    rows: list[dict[str, Any]] = []
    for gesture in gestures:
        source_label = stand_in if gesture == "point" else gesture
        if source_label != gesture:
            notes.append(f"{NAME}: {gesture} is shown by the class {source_label}, a declared stand-in")
        known = _class(root, split, source_label, gesture, skipped, context.faults)
        rows += [{**row, "gesture": gesture} for row in _drawn(known, count, seed, taken if disjoint else None, root)]
        context.progress(len(rows), count * len(gestures) or None, "drawing images")
    if total:
        if total > len(rows):
            raise HandbenchError(f"{root}: {len(rows)} images of these gestures, {total} wanted; lower total=")
        rows = random.Random(seed).sample(sorted(rows, key=lambda row: str(row["image"])), total)
    good, sizes = files.readable(root, [row["image"] for row in rows], context.faults)
    if not good.any():
        files.refuse_nothing(root, context.faults)
    left_out, told = context.faults.take()
    rows, sizes = [row for row, whole in zip(rows, good, strict=True) if whole], sizes[good]
    frame = pl.DataFrame(rows).with_columns(
        pl.lit(NAME).alias("dataset"),
        pl.lit(split).alias("split"),
        pl.lit(False).alias("annotated"),
        pl.Series("width", sizes[:, 0]),
        pl.Series("height", sizes[:, 1]),
        pl.concat_str(pl.lit(f"{NAME}/{split}"), "source_label", "stem", separator="/").alias("gesture_id"),
        pl.coalesce(pl.lit(f"{NAME}/") + pl.col("subject"), "image").alias("cluster"),
    )
    return Source(
        name=NAME,
        frames=tables.conform(frame, "frames", root),
        hands=tables.empty("hands"),
        gestures=tables.conform(frame, "gestures", root).sort("gesture_id"),
        root=root,
        skipped={**skipped, **left_out},
        notes=[*notes, *told],
    )


def _class(
    root: Path, split: str, label: str, gesture: str, skipped: dict[str, int], faults: Faults
) -> list[dict[str, Any]]:
    """The images of a class that are on disk, sorted by id."""
    place = root / "annotations" / split / f"{label}.json"
    if not place.is_file():
        if label == "point":
            hint = f"HaGRID v1 has none; declare a stand-in with point={STAND_IN}, or leave it out with gestures="
        else:
            hint = "is the folder the one that holds annotations/?"
        raise HandbenchError(f"{place}: expected the annotations of {gesture!r}, found nothing there: {hint}")
    entries = read_json(place, f"HaGRID annotations of {label}")
    if not isinstance(entries, dict):
        raise HandbenchError(f"{place}: expected an object keyed by image, found {type(entries).__name__}")
    folder, on_disk = _images(root, split, label)
    rows = []
    for stem in sorted(entries):
        entry = entries[stem]
        labels = entry.get("labels") if isinstance(entry, dict) else None
        if not isinstance(labels, list):
            faults.bad(HandbenchError(f"{place}: image {stem!r}: expected an object with a list of labels"))
            continue
        if label not in labels:
            skipped["labelled as another gesture"] = skipped.get("labelled as another gesture", 0) + 1
        elif stem not in on_disk:
            skipped["image not at hand"] = skipped.get("image not at hand", 0) + 1
        else:
            user = entry.get("user_id")
            image = f"{folder}/{on_disk[stem]}"
            rows.append({"stem": stem, "image": image, "source_label": label, "subject": str(user) if user else None})
    if not rows:
        raise HandbenchError(f"{place}: none of its {len(entries)} images is on disk under {root}")
    return rows


def _images(root: Path, split: str, label: str) -> tuple[str, dict[str, str]]:
    """The folder of a class and its images by stem."""
    for pattern in _FOLDERS:
        folder = pattern.format(split=split, gesture=label)
        if (root / folder).is_dir():
            names = [path.name for path in (root / folder).iterdir() if path.suffix.lower() in _SUFFIXES]
            return folder, {Path(name).stem: name for name in names}
    raise HandbenchError(f"{root}: no folder of images of {label!r}; expected {label}/ or {split}/{label}/")


def _drawn(
    known: list[dict[str, Any]], count: int, seed: int, taken: set[str] | None, root: Path
) -> list[dict[str, Any]]:
    """A sample of a class; people in ``taken`` are passed over, and those of the sample join them."""
    if not count and taken is None:
        return known
    wanted = count or len(known)
    order = random.Random(seed).sample(known, min(wanted, len(known)) if taken is None else len(known))
    chosen = []
    for row in order:
        person = row["subject"] or row["image"]
        if taken is not None:
            if person in taken:
                continue
            taken.add(person)
        chosen.append(row)
        if len(chosen) == wanted:
            break
    if count and len(chosen) < count:
        what = "people not taken yet" if taken is not None else "images"
        raise HandbenchError(
            f"{root}: {known[0]['source_label']}: {len(chosen)} {what}, {count} wanted; lower n= or get more images"
        )
    return chosen
