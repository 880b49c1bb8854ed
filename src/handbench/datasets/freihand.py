"""FreiHAND v2 (Zimmermann et al., ICCV 2019).

Two layouts are read.  The owner's: ``training_xyz.json``, ``training_K.json`` and, where it is there,
``training_verts.json`` beside ``training/rgb/%08d.jpg``; the same with ``evaluation``.  And that of the
released code of HandVQA: ``training/rgb/%08d.json`` beside each image, with ``xyz``, ``vertices`` and ``K``.
Metres, OpenCV axes, our joint order, right hands alone, images of 224 x 224.

An image's number is ``pose + 32560 * version``; the four versions are the green screen and three other
backgrounds, so they share their pose and form one cluster.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from handbench.datasets import files, json_files
from handbench.datasets.build import Hands, Setting, finish
from handbench.datasets.selection import Skipped
from handbench.errors import HandbenchError
from handbench.hand.geometry import Floats, center_and_extent
from handbench.protocols import ReadContext, Source, dataset
from handbench.specs import Options, Spec

NAME: Final = "freihand"
VERSIONS: Final = ("gs", "hom", "sample", "auto")
"""Green screen, and three ways of putting something else in its place, in the order of the numbers."""

POSES: Final = 32560
PAPER_IMAGES: Final = {"paper-train": 30000, "paper-test": 3960}
"""Images that HandVQA counts (section 7.1): the last 30,000 for training, all of evaluation for testing."""

_FOLDERS = {
    "training": "training",
    "evaluation": "evaluation",
    "paper-train": "training",
    "paper-test": "evaluation",
}
_SIZE = 224
_ALONE = "image without annotation"
_BY_JOINTS = "no mesh here, so centre and size of a hand are those of its joints; the paper takes the mesh"


@dataclass(frozen=True)
class _Poses:
    """Annotations of N images.

    Attributes:
        joints: (N, 21, 3) metres.
        intrinsics: (N, 3, 3), None where there are none.
        center: (N, 3) of the mesh, None where there is none.
        extent: (N, 3) of the mesh, None where there is none.
    """

    joints: Floats
    intrinsics: Floats | None
    center: Floats | None
    extent: Floats | None


@dataset(NAME)
def read(spec: Spec, context: ReadContext) -> Source:
    """Read ``freihand:PATH?version=all&hash=yes``.

    Options: ``version`` (gs, hom, sample, auto, all) of the training images; ``hash``.

    Args:
        spec: the folder that holds ``training/`` and ``evaluation/``.
        context: split ``training``, ``evaluation``, ``paper-train`` or ``paper-test`` (the default).

    Raises:
        HandbenchError: a file is missing or damaged, nothing is left, or a guard failed.
    """
    options = Options(spec)
    version = options.choice("version", "all", (*VERSIONS, "all"))
    hashed = options.flag("hash", default=True)
    options.done()
    split = context.split or "paper-test"
    if split not in _FOLDERS:
        raise HandbenchError(f"{spec}: no split {split!r}; there are {', '.join(_FOLDERS)}")
    root, folder = files.folder(spec), _FOLDERS[split]
    images = files.numbered(f"{folder}/rgb/{path}" for path in files.list_images(root / folder / "rgb"))
    context.progress(0, None, "reading annotations")

    source = root / f"{folder}_xyz.json"
    lists = _read_lists(root, folder, context) if source.is_file() else None
    poses = len(lists.joints) if lists else POSES
    annotated = range(poses * (4 if folder == "training" else 1)) if lists else _annotation_files(root, folder)
    if lists and images and max(images) >= len(annotated):
        raise HandbenchError(f"{source}: {poses} rows, too few for the image {images[max(images)]}")
    wanted = np.array(_wanted(annotated, split, version, poses), np.int64)
    numbers = wanted[np.isin(wanted, list(images))]
    alone = len(set(images) - set(annotated))
    skipped = Skipped({"no image": len(wanted) - len(numbers), _ALONE: alone})
    for reason, lone in (("no image", set(wanted.tolist()) - set(images)), (_ALONE, set(images) - set(annotated))):
        if lone:
            skipped.firsts[reason] = images.get(min(lone), f"{folder}/rgb/{min(lone):08d}.jpg")
    if len(numbers) == 0:
        raise HandbenchError(f"{root}: no image of the split {split} in {folder}/rgb ({len(wanted)} annotated)")
    if lists:
        found = _rows(lists, numbers % poses)
    else:
        source = root / folder / "rgb"
        good, found = _read_files(source, numbers, context)
        numbers = numbers[good]
        if len(numbers) == 0:
            files.refuse_nothing(source, context.faults)

    kept = [images[number] for number in numbers.tolist()]
    hands = Hands(
        images=kept,
        keys=[f"{number:08d}" for number in numbers],
        sides=["right"] * len(kept),
        clusters=[f"{number:08d}" for number in numbers % poses],
        sizes=np.full((len(kept), 2), _SIZE),
        joints_cam=found.joints,
        intrinsics=found.intrinsics,
        center=found.center,
        extent=found.extent,
        raw=found.joints,
    )
    notes = [f"{NAME}: {_BY_JOINTS}"] if found.extent is None else []
    if folder == "training" and poses != POSES:
        notes.append(f"{source.name} has {poses} rows; the owner's has {POSES}")
    setting = Setting(NAME, split, root, source, context, hashed, skipped, notes, PAPER_IMAGES)
    return finish(hands, setting)


def _wanted(annotated: Iterable[int], split: str, version: str, poses: int) -> list[int]:
    """Numbers of the images that belong to a split, of one version or all."""
    first = 4 * poses - PAPER_IMAGES["paper-train"] if split == "paper-train" else 0
    numbers = [number for number in annotated if number >= first]
    if version != "all" and _FOLDERS[split] == "training":
        numbers = [number for number in numbers if number // poses == VERSIONS.index(version)]
    return sorted(numbers)


def _rows(poses: _Poses, rows: NDArray[np.int64]) -> _Poses:
    parts = (poses.joints, poses.intrinsics, poses.center, poses.extent)
    joints, *others = (None if part is None else part[rows] for part in parts)
    assert joints is not None
    return _Poses(joints, *others)


def _read_lists(root: Path, folder: str, context: ReadContext) -> _Poses:
    """The owner's layout: one list for each kind of annotation."""
    path = root / f"{folder}_xyz.json"
    joints = np.concatenate([*json_files.read_json_stack(path, (21, 3), "xyz of each pose", context.faults)])
    cameras = root / f"{folder}_K.json"
    intrinsics = np.concatenate([*json_files.read_json_stack(cameras, (3, 3), "K of each pose", context.faults)])
    _same_rows(cameras, len(intrinsics), len(joints))
    meshes = root / f"{folder}_verts.json"
    if not meshes.is_file():
        return _Poses(joints, intrinsics, None, None)
    stack = json_files.read_json_stack(meshes, (778, 3), "vertices", context.faults)
    parts = [center_and_extent(part) for part in stack]
    center, extent = (np.concatenate(part) for part in zip(*parts, strict=True))
    _same_rows(meshes, len(center), len(joints))
    return _Poses(joints, intrinsics, center, extent)


def _same_rows(path: Path, found: int, expected: int) -> None:
    if found != expected:
        raise HandbenchError(f"{path}: {found} rows, expected {expected} as in the xyz file beside it")


def _annotation_files(root: Path, folder: str) -> list[int]:
    """Numbers of the JSON files that lie beside the images."""
    place = root / folder / "rgb"
    if not place.is_dir():
        raise HandbenchError(f"{place}: missing; expected FreiHAND's {folder}/rgb in {root}")
    names = (entry.name for entry in os.scandir(place))
    numbers = [int(match[1]) for name in names if (match := re.fullmatch(r"(\d{8})\.json", name))]
    if not numbers:
        raise HandbenchError(
            f"{root}: no annotations of {folder}; expected {folder}_xyz.json or {folder}/rgb/00000000.json"
        )
    return sorted(numbers)


def _read_files(place: Path, numbers: NDArray[np.int64], context: ReadContext) -> tuple[NDArray[np.intp], _Poses]:
    """The layout of HandVQA's released code, one file for each image: which files are good, and their poses."""
    paths = [place / f"{number:08d}.json" for number in numbers]
    batches = [paths[start : start + _BATCH] for start in range(0, len(paths), _BATCH)]
    parts: list[_Poses] = []
    good: list[int] = []
    with ThreadPoolExecutor(max_workers=max(context.workers, 1)) as pool:
        for number, found in enumerate(pool.map(_read_batch if not context.faults.keep_going else _try_batch, batches)):
            context.progress(number * _BATCH, len(paths), "reading annotations")
            batch = batches[number]
            if found is None:
                places, each = context.faults.each(batch, lambda path: _read_batch([path]))
            else:
                places, each = list(range(len(batch))), [found]
            good += [number * _BATCH + place for place in places]
            parts += each
    if not parts:
        files.refuse_nothing(place, context.faults)
    return np.array(good, np.intp), _Poses(
        np.concatenate([part.joints for part in parts]),
        _join([part.intrinsics for part in parts], place, "K"),
        _join([part.center for part in parts], place, "vertices"),
        _join([part.extent for part in parts], place, "vertices"),
    )


def _join(parts: list[Floats | None], place: Path, key: str) -> Floats | None:
    """The parts as one array, or None where no file has any."""
    given = [part for part in parts if part is not None]
    if given and len(given) < len(parts):
        raise HandbenchError(f"{place}: the key {key!r} is in some of the JSON files and not in others")
    return np.concatenate(given) if given else None


_BATCH = 256
_MATRIX = pl.List(pl.List(pl.Float64))
_FILE: Final = {"xyz": _MATRIX, "vertices": _MATRIX, "K": _MATRIX}


def _try_batch(paths: list[Path]) -> _Poses | None:
    """The poses of a batch, None where a file of it is bad."""
    try:
        return _read_batch(paths)
    except HandbenchError:
        return None


def _read_batch(paths: list[Path]) -> _Poses:
    content = pl.concat([_read_file(path) for path in paths])
    joints = _matrices(content["xyz"], 21, paths)
    if joints is None:
        raise HandbenchError(f"{paths[0]}: the key 'xyz' is missing")
    meshes = _matrices(content["vertices"], 778, paths)
    center, extent = (None, None) if meshes is None else center_and_extent(meshes)
    return _Poses(joints, _matrices(content["K"], 3, paths), center, extent)


def _read_file(path: Path) -> pl.DataFrame:
    try:
        # The parser of polars is three times as fast here as that of the standard library.
        content = pl.read_json(path.read_bytes(), schema=_FILE)
    except (pl.exceptions.PolarsError, UnicodeDecodeError, OSError):
        content = pl.DataFrame(schema=_FILE)
    if content.height != 1:
        json_files.read_json(path, "one hand's annotation")
        raise HandbenchError(f"{path}: expected an object with matrices of numbers xyz, vertices, K")
    return content


def _matrices(column: pl.Series, height: int, paths: list[Path]) -> Floats | None:
    """(N, height, 3) numbers of a column of lists of lists; None where no row has any."""
    if column.null_count() == column.len():
        return None
    inner = column.explode()
    heights, widths = column.list.len(), inner.list.len()
    if heights.eq_missing(height).all() and widths.eq_missing(3).all():
        values = np.asarray(inner.explode().to_numpy(), np.float64).reshape(-1, height, 3)
        bad = np.flatnonzero(~np.isfinite(values).all(axis=(1, 2)))
    else:
        # Which file it is, found the slow way.
        bad = np.flatnonzero(
            [
                row is None or len(row) != height or any(one is None or len(one) != 3 for one in row)
                for row in column.to_list()
            ]
        )
    if len(bad):
        raise HandbenchError(f"{paths[bad[0]]}: {column.name} must be {height} x 3 finite numbers")
    return values
