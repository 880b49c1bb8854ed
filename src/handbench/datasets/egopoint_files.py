"""EgoPoint-Ground's annotation file → one record per image, with every fault named.

The dataset is not released; the keys are those that the paper names (arXiv 2603.26646, section 8.1): the hand is the
annotation whose ``ann_id`` is ``anno_hand``, the target another annotation, ``underspecified_referent`` a list,
``category_name`` the answer of D-VQA.  Around them the file is COCO-like: ``images``, ``annotations`` with ``bbox``
x, y, w, h, and optionally ``categories``, ``referents``, ``qa`` and ``captions``.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files as package_files
from pathlib import Path
from typing import Any, Final

import numpy as np

from handbench.datasets.json_files import read_json
from handbench.errors import HandbenchError

Box = tuple[float, float, float, float]

HAND: Final = "anno_hand"
SLACK: Final = 1.0
"""Pixels that a box may reach over the image's edge, as rounded boxes do; more is a fault."""

SOURCES: Final = {
    "real": "real",
    "real-world": "real",
    "real_world": "real",
    "synthetic": "synthetic",
    "synthetic generation": "synthetic",
    "generated": "synthetic",
    "edited": "edited",
    "edit": "edited",
    "image editing": "edited",
}


@cache
def known_categories() -> frozenset[str]:
    """The category names of the paper's Table 10."""
    text = (package_files("handbench") / "data" / "egopoint_categories.csv").read_text(encoding="utf-8")
    return frozenset(row["name"] for row in csv.DictReader(text.splitlines()))


@dataclass
class Record:
    """One image as it is annotated.

    Attributes:
        image: the ``images`` entry.
        hands: annotations of the hand.
        targets: annotations flagged as the target.
        others: the other annotations.
        referents: what is said.
        question: with its answer, None where there is none.
        captions: of image, object and hand.
        negative: whether the file says that nothing is to be found, and why where it tells.
        faults: what is wrong, by the names in :data:`FAULTS`.
    """

    image: dict[str, Any]
    hands: list[dict[str, Any]] = field(default_factory=list)
    targets: list[dict[str, Any]] = field(default_factory=list)
    others: list[dict[str, Any]] = field(default_factory=list)
    referents: list[str] = field(default_factory=list)
    question: tuple[str, str | None] | None = None
    captions: dict[str, str | None] = field(default_factory=dict)
    negative: str | None = None
    faults: list[str] = field(default_factory=list)


FAULTS: Final = (
    "no hand",
    "two hands",
    "two targets",
    "no target",
    "target in a negative image",
    "box outside the image",
    "box without area",
    "unknown category",
    "missing image",
    "image of another size",
    "no image size",
    "no referent",
    "unknown source",
)
"""What can be wrong with an image's annotation; an image counts once, under the first of these."""


def read_records(path: Path) -> tuple[list[Record], frozenset[str]]:
    """Read an annotation file.

    Returns:
        A record per image, in the file's order, and the category names that the file lists besides Table 10.

    Raises:
        HandbenchError: the file is not of this kind; the list and the number of the entry are named.
    """
    document = read_json(path, "EgoPoint-Ground annotations")
    if not isinstance(document, dict):
        raise HandbenchError(f"{path}: expected an object with images and annotations, found {type(document).__name__}")
    records: dict[Any, Record] = {}
    for number, image in enumerate(_entries(document, "images", path, needed=True)):
        key = image.get("id")
        if key is None or not isinstance(image.get("file_name"), str):
            raise HandbenchError(f"{path}: images, entry {number}: expected id and file_name, found {sorted(image)}")
        if key in records:
            raise HandbenchError(f"{path}: images, entry {number}: id {key!r} comes twice")
        records[key] = Record(image)
    own = frozenset(
        str(entry["name"]) for entry in _entries(document, "categories", path) if isinstance(entry.get("name"), str)
    )
    targets = _targets(document, path)
    for number, annotation in enumerate(_entries(document, "annotations", path, needed=True)):
        record = _of(records, annotation, "annotations", number, path)
        _sort_in(record, annotation, targets, f"{path}: annotations, entry {number}")
    _words(document, records, path)
    for record in records.values():
        _one_target(record)
    return list(records.values()), own


def _entries(document: dict[str, Any], name: str, path: Path, *, needed: bool = False) -> list[dict[str, Any]]:
    found = document.get(name)
    if found is None and not needed:
        return []
    if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
        raise HandbenchError(f"{path}: expected a list of objects under {name!r}, found {type(found).__name__}")
    return found


def _of(records: dict[Any, Record], entry: dict[str, Any], name: str, number: int, path: Path) -> Record:
    key = entry.get("image_id")
    if key not in records:
        raise HandbenchError(f"{path}: {name}, entry {number}: image_id {key!r} is none of the images")
    return records[key]


def _targets(document: dict[str, Any], path: Path) -> dict[Any, set[Any]]:
    """Which annotations the referents call the target, by image."""
    named: dict[Any, set[Any]] = defaultdict(set)
    for entry in _entries(document, "referents", path):
        if entry.get("target_ann_id") is not None:
            named[entry.get("image_id")].add(entry["target_ann_id"])
    return named


def _sort_in(record: Record, annotation: dict[str, Any], targets: dict[Any, set[Any]], where: str) -> None:
    box = annotation.get("bbox")
    if not isinstance(box, list) or len(box) != 4 or not all(isinstance(value, int | float) for value in box):
        raise HandbenchError(f"{where}: bbox must be four numbers x, y, w, h, found {str(box)[:60]}")
    ann = annotation.get("ann_id")
    said = str(annotation.get("role", "")).lower()
    if ann == HAND or said == "hand":
        record.hands.append(annotation)
    elif said == "target" or annotation.get("is_target") is True or ann in targets[annotation["image_id"]]:
        record.targets.append(annotation)
    else:
        record.others.append(annotation)


def _one_target(record: Record) -> None:
    """Where no annotation is flagged, the only one that is no hand is the target."""
    flagged = any("role" in one or "is_target" in one for one in (*record.others, *record.targets))
    if not record.targets and len(record.others) == 1 and record.negative is None and not flagged:
        record.targets, record.others = record.others, []


def _words(document: dict[str, Any], records: dict[Any, Record], path: Path) -> None:
    """Referents, questions, captions and negative flags: in lists of their own, or on the image or the target."""
    for record in records.values():
        for holder in (record.image, *record.targets, *record.others):
            record.referents += _texts(holder.get("underspecified_referent"), path)
        if record.image.get("is_negative"):
            record.negative = str(record.image.get("negative_kind") or "unnamed").replace("_", "-")
        if isinstance(record.image.get("question"), str):
            record.question = record.image["question"], _text(record.image.get("answer"))
    for number, entry in enumerate(_entries(document, "referents", path)):
        _of(records, entry, "referents", number, path).referents += _texts(entry.get("underspecified_referent"), path)
    for number, entry in enumerate(_entries(document, "qa", path)):
        record = _of(records, entry, "qa", number, path)
        if isinstance(entry.get("question"), str) and record.question is None:
            record.question = entry["question"], _text(entry.get("answer"))
    for number, entry in enumerate(_entries(document, "captions", path)):
        record = _of(records, entry, "captions", number, path)
        record.captions = {name: _text(entry.get(name)) for name in ("image", "object", "hand")}


def _texts(found: Any, path: Path) -> list[str]:
    if found is None:
        return []
    if isinstance(found, str):
        return [found]
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        raise HandbenchError(f"{path}: underspecified_referent must be a list of texts, found {str(found)[:60]}")
    return [text for text in found if text.strip()]


def _text(found: Any) -> str | None:
    return found if isinstance(found, str) and found.strip() else None


def corners_of(annotation: dict[str, Any]) -> Box:
    """x, y, w, h → x1, y1, x2, y2."""
    x, y, width, height = (float(value) for value in annotation["bbox"])
    return x, y, x + width, y + height


def box_fault(box: Box, width: float, height: float) -> str | None:
    """What is wrong with a box in an image of that size."""
    if not np.isfinite(box).all() or box[2] <= box[0] or box[3] <= box[1]:
        return "box without area"
    if box[0] < -SLACK or box[1] < -SLACK or box[2] > width + SLACK or box[3] > height + SLACK:
        return "box outside the image"
    return None


def check(record: Record, own: frozenset[str], size: tuple[int, int] | None) -> None:
    """Name what is wrong with a record, in place.

    Args:
        record: an image's annotation.
        own: category names that the file lists.
        size: width and height of the image file, None where there is none.
    """
    found = record.faults
    if len(record.hands) != 1:
        found.append("two hands" if record.hands else "no hand")
    if len(record.targets) > 1:
        found.append("two targets")
    if record.negative is None and not record.targets:
        found.append("no target")
    if record.negative is not None and record.negative != "contradiction" and record.targets:
        found.append("target in a negative image")
    width, height = record.image.get("width"), record.image.get("height")
    if not (isinstance(width, int) and isinstance(height, int) and width > 0 and height > 0):
        found.append("no image size")
        return
    for annotation in (*record.hands, *record.targets):
        fault = box_fault(corners_of(annotation), width, height)
        if fault is not None:
            found.append(fault)
    names = [str(annotation.get("category_name")) for annotation in record.targets]
    if any(name not in own and name not in known_categories() for name in names):
        found.append("unknown category")
    if size is None:
        found.append("missing image")
    elif size != (width, height):
        found.append("image of another size")
    if not record.referents:
        found.append("no referent")
    if str(record.image.get("source", "")).lower() not in SOURCES:
        found.append("unknown source")
