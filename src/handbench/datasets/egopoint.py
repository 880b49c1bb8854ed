"""EgoPoint-Ground (arXiv 2603.26646): first-person images of a pointing hand, as the ``scenes`` table.

Two ways to split, as in section 2.1: *mixed* (all sources together, 7:2:1) and *domain-adaptive* (what the glasses
recorded is for testing alone).  Images with the same bytes are always on one side.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from handbench import draws, tables
from handbench.datasets import egopoint_files as annotated
from handbench.datasets import files
from handbench.datasets.egopoint_files import FAULTS, SOURCES, Record
from handbench.errors import HandbenchError
from handbench.protocols import ReadContext, Source, dataset
from handbench.specs import Options, Spec

NAME: Final = "egopoint"
MIXED: Final = ("paper-train", "paper-val", "paper-test")
DOMAIN: Final = ("domain-train", "domain-test")
_SHARES: Final = (0.7, 0.9)
"""Where training ends and validation ends, of 7:2:1."""

_TYPES: Final[dict[str, pl.DataType | type[pl.DataType]]] = {
    "hand_box": tables.BOX,
    "target_box": tables.BOX,
    "candidate_boxes": pl.List(tables.BOX),
    "candidate_categories": pl.List(pl.String),
    "hand_px": tables.JOINTS_2D,
    "owner_split": pl.String,
}

OCCLUDED: Final = {"none": 0.0, "slight": 0.15, "moderate": 0.4, "severe": 0.75}
"""Part hidden that stands for an occlusion given as a word."""


@dataset(NAME)
def read(spec: Spec, context: ReadContext) -> Source:
    """Read ``egopoint:PATH?images=DIR&seed=0&hash=yes``.

    ``PATH`` is the annotation file, or a folder with ``annotations.json`` (else its only JSON file).

    Args:
        spec: the annotations; ``images`` is the folder of the images (that of the file by default), ``seed`` decides
            the mixed split.
        context: split ``paper-train``, ``paper-val``, ``paper-test`` (mixed), ``domain-train``, ``domain-test``,
            ``all`` (default) or one that the file names.  ``faults`` may leave out images with two targets instead of
            refusing them.

    Returns:
        The source; images with a faulty annotation are left out and counted by fault.

    Raises:
        HandbenchError: the file is damaged, an image has two targets, or nothing is left.
    """
    options = Options(spec)
    path = _file(spec)
    root = path.parent / options.text("images", ".")
    seed = options.integer("seed", 0)
    hashed = options.flag("hash", default=True)
    options.done()
    context.progress(0, None, "reading annotations")
    records, own = annotated.read_records(path)
    names = [str(record.image["file_name"]) for record in records]
    there = files.existing(root, names)
    sizes = _sizes(root, names, there)
    for record, size in zip(records, sizes, strict=True):
        annotated.check(record, own, size)
    skipped = _faults(records, path, context.faults.keep_going)
    good = [record for record in records if not record.faults]
    if not good:
        counts = "; ".join(f"{fault}: {count}" for fault, count in skipped.items())
        raise HandbenchError(f"{path}: no image is left ({counts or 'it has none'})")
    kept = [str(record.image["file_name"]) for record in good]
    digests = files.hash_images(root, kept, context.workers, context.progress) if hashed else {}
    rows, dropped = _rows(good, digests)
    skipped.update(dropped)
    table = pl.DataFrame(rows, infer_schema_length=None, schema_overrides=_TYPES)
    scenes, split = _split(table, context.split, seed, skipped, path)
    scenes = scenes.with_columns(pl.lit(split).alias("split")).with_columns(
        pl.concat_str(pl.lit(NAME), "split", "stem", separator="/").alias("scene_id")
    )
    return Source(
        name=NAME,
        frames=tables.conform(scenes, "frames", path),
        hands=tables.empty("hands"),
        scenes=tables.conform(scenes, "scenes", path).sort("scene_id"),
        root=root,
        skipped=dict(skipped),
        notes=[f"{path.name}: split {split!r} of {len(good)} images without a fault"],
    )


def _file(spec: Spec) -> Path:
    path = Path(spec.name).expanduser()
    if not spec.name or not path.is_dir():
        return files.file(spec, "the annotation file, or its folder")
    there = sorted(path.glob("*.json"))
    if len(there) == 1:
        return there[0]
    return files.first_of(path, ["annotations.json"], "the annotation file")


def _sizes(root: Path, names: list[str], there: np.ndarray[Any, np.dtype[np.bool_]]) -> list[tuple[int, int] | None]:
    found = iter(files.image_sizes(root, [name for name, is_there in zip(names, there, strict=True) if is_there]))
    return [
        (int(size[0]), int(size[1])) if is_there and (size := next(found)) is not None else None for is_there in there
    ]


def _faults(records: list[Record], path: Path, keep_going: bool) -> Counter[str]:
    """Count images by their first fault; two targets are refused, as a truth drawn from them would be a guess."""
    counts: Counter[str] = Counter()
    for record in records:
        if record.faults:
            counts[min(record.faults, key=FAULTS.index)] += 1
    doubled = [record.image["file_name"] for record in records if "two targets" in record.faults]
    if doubled and not keep_going:
        raise HandbenchError(
            f"{path}: two targets: {len(doubled)} images, the first {doubled[0]!r}; expected exactly one flagged "
            "target in each; mend the file, or leave these out with --keep-going"
        )
    return counts


def _rows(records: list[Record], digests: dict[str, str]) -> tuple[list[dict[str, Any]], Counter[str]]:
    rows, dropped = [], Counter[str]()
    for record in records:
        image, hand = record.image, record.hands[0]
        width, height = image["width"], image["height"]
        boxes, names = [], []
        for annotation in (*record.targets, *record.others):
            box = annotated.corners_of(annotation)
            fault = annotated.box_fault(box, width, height)
            if fault is not None:
                dropped[f"candidate left out: {fault}"] += 1
                continue
            boxes.append(_clip(box, width, height))
            names.append(str(annotation.get("category_name")))
        target = record.targets[0] if record.targets else None
        name = str(image["file_name"])
        said, answer = record.question or (None, None)
        if said is None and target is not None:
            said, answer = "what is this?", str(target["category_name"])
        source = SOURCES[str(image["source"]).lower()]
        rows.append(
            {
                "stem": files.stem(name),
                "image": name,
                "image_hash": digests.get(name),
                "dataset": NAME,
                "owner_split": None if image.get("split") is None else str(image["split"]),
                "subject": None if image.get("subject") is None else str(image["subject"]),
                "source": source,
                "width": width,
                "height": height,
                "annotated": False,
                "hand_box": _clip(annotated.corners_of(hand), width, height),
                "hand_side": hand.get("handedness"),
                "hand_px": _joints(hand.get("keypoints")),
                "target_box": None if target is None else boxes[0],
                "target_category": None if target is None else names[0],
                "negative": record.negative,
                "occluded": None if target is None else _occluded(target),
                "candidate_boxes": boxes,
                "candidate_categories": names,
                "referents": record.referents,
                "question": said,
                "answer": answer,
                **{f"caption_{what}": record.captions.get(what) for what in ("image", "object", "hand")},
                "cluster": digests.get(name, name),
                "factor_source": source,
            }
        )
    return rows, dropped


def _clip(box: annotated.Box, width: int, height: int) -> list[float]:
    return [max(box[0], 0.0), max(box[1], 0.0), min(box[2], float(width)), min(box[3], float(height))]


def _occluded(target: dict[str, Any]) -> float | None:
    found = target.get("occluded", target.get("occlusion"))
    if isinstance(found, str):
        return OCCLUDED.get(found.lower())
    return float(found) if isinstance(found, int | float) and 0 <= found <= 1 else None


def _joints(found: Any) -> list[list[float]] | None:
    """(21, 2) from 21 triples x, y, flag; a joint with flag 0 is not a number."""
    if found is None:
        return None
    try:
        points = np.asarray(found, np.float64).reshape(21, 3)
    except (ValueError, TypeError):
        return None
    placed: list[list[float]] = np.where(points[:, 2:] > 0, points[:, :2], np.nan).tolist()
    return placed


def _split(
    rows: pl.DataFrame, wanted: str | None, seed: int, skipped: Counter[str], path: Path
) -> tuple[pl.DataFrame, str]:
    """The rows of a split; equal images (by their bytes, else their name) fall on one side together."""
    split = wanted or "all"
    if split == "all":
        return rows, split
    owners = rows["owner_split"].drop_nulls().unique().sort().to_list()
    if split in MIXED:
        keys = draws.mix(draws.name_keys(rows["cluster"].to_list()) ^ draws.mix(np.array([seed], np.uint64)))
        side = np.searchsorted(_SHARES, keys / 2.0**64, side="right")
        kept = rows.filter(pl.Series(side == MIXED.index(split)))
    elif split in DOMAIN:
        real = rows["source"] == "real"
        tested = rows.filter(real)["cluster"].unique().implode()
        both = rows.filter(~real & rows["cluster"].is_in(tested)).height
        if split == "domain-test":
            kept = rows.filter(real)
        else:
            kept = rows.filter(~real & ~rows["cluster"].is_in(tested))
            if both:
                skipped["also among the test images"] += both
    elif split in owners:
        kept = rows.filter(pl.col("owner_split") == split)
    else:
        known = ", ".join(dict.fromkeys(["all", *MIXED, *DOMAIN, *owners]))
        raise HandbenchError(f"{path}: splits are {known}, not {split!r}")
    if kept.is_empty():
        raise HandbenchError(f"{path}: split {split!r} has no image")
    return kept, split
