"""DexYCB (Chao et al., CVPR 2021): one hand grasps an object, seen by eight cameras.

``20200709-subject-01/20200709_141754/836212060125/labels_000000.npz`` with ``joint_3d`` (1, 21, 3) in metres,
the camera's frame (OpenCV axes, our order), beside ``color_000000.jpg`` of 640 x 480; all -1 where there is
no label.  The side is in each sequence's ``meta.yml``, the cameras are in ``calibration/intrinsics``.

The mesh is there as ``pose_m``: the wrist's rotation vector, 45 coefficients of MANO's pose components and the
translation; the shape is the person's, in ``calibration/mano_...``.  It was fitted with the official left hand, whose
shape basis is not mirrored.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from handbench.datasets import files
from handbench.datasets.build import Hands, Setting, finish
from handbench.datasets.guards import is_placeholder, stop_or_note
from handbench.datasets.mano_meshes import LIMIT, Parameters, camera_frame, give_meshes
from handbench.datasets.selection import Selection
from handbench.errors import HandbenchError
from handbench.hand.geometry import Floats
from handbench.protocols import ReadContext, Source, dataset
from handbench.specs import Options, Spec

NAME: Final = "dexycb"
SUBJECT_DATES: Final = (
    *("20200709", "20200813", "20200820", "20200903", "20200908"),
    *("20200918", "20200928", "20201002", "20201015", "20201022"),
)
"""First part of the ten subjects' folders, in the order that the owner's setups number them."""

SERIALS: Final = (
    *("836212060125", "839512060362", "840412060917", "841412060263"),
    *("932122060857", "932122060861", "932122061900", "932122062010"),
)
"""The eight cameras, in the order that the owner's setups number them."""

SEQUENCES: Final = 100
"""Sequences of each subject; the setups number them in sorted order."""

_SIZE = (640, 480)
_ALL = (range(10), range(8), range(SEQUENCES))
_S3_VAL, _S3_TEST = (3, 19), (7, 11, 15)


def setup(name: str, split: str) -> tuple[set[int], set[int], set[int]]:
    """Numbers of subjects, cameras and sequences of one of the owner's setups s0 to s3."""
    subjects, cameras, sequences = (set(part) for part in _ALL)
    if name == "s0":
        sequences = {number for number in sequences if (number % 5 == 4) == (split != "train")}
        subjects = {"val": {0, 1}, "test": set(range(2, 10))}.get(split, subjects)
    elif name == "s1":
        subjects = {"train": {0, 1, 2, 3, 4, 5, 9}, "val": {6}, "test": {7, 8}}[split]
    elif name == "s2":
        cameras = {"train": set(range(6)), "val": {6}, "test": {7}}[split]
    else:
        held = {"val": _S3_VAL, "test": _S3_TEST}.get(split)
        out = (*_S3_VAL, *_S3_TEST)
        sequences = {n for n in sequences if (n // 5 in held if held else n // 5 not in out)}
    return subjects, cameras, sequences


@dataset(NAME)
def read(spec: Spec, context: ReadContext) -> Source:
    """Read ``dexycb:PATH?setup=s0&every=1&hash=yes``.

    Options: ``setup`` (s0 to s3), the owner's way to divide; ``every``, take each n-th frame; ``hash``.

    Args:
        spec: the folder that holds the subjects' folders and ``calibration/``.
        context: split ``test`` (the default), ``val``, ``train`` or ``all`` (whatever is there).

    Raises:
        HandbenchError: a file is missing or damaged, nothing is left, or a guard failed.
    """
    options = Options(spec)
    division = options.choice("setup", "s0", ("s0", "s1", "s2", "s3"))
    every = options.integer("every", 1, least=1)
    hashed = options.flag("hash", default=True)
    options.done()
    split = context.split or "test"
    if split not in ("train", "val", "test", "all"):
        raise HandbenchError(f"{spec}: no split {split!r}; there are train, val, test, all")
    root = files.folder(spec)
    notes: list[str] = []
    views = _views(root, division, split, context, notes)
    left, joints, posed = _read_views(root, views, every, context)
    left.refuse_empty(root, f"the split {split}")

    rows = left.rows
    lenses = {serial: _intrinsics(root, serial) for serial in rows["serial"].unique()}
    sides = {sequence: _side(root / sequence / "meta.yml") for sequence in rows["sequence"].unique()}
    raw = joints[rows["row"].to_numpy()]
    hands = Hands(
        images=rows["image"].to_list(),
        keys=[files.stem(image) for image in rows["image"]],
        sides=[sides[sequence] for sequence in rows["sequence"]],
        clusters=rows["sequence"].to_list(),
        sizes=np.tile(_SIZE, (rows.height, 1)),
        joints_cam=raw,
        intrinsics=np.stack([lenses[serial] for serial in rows["serial"]]),
        subjects=rows["sequence"].str.extract(r"^([^/]+)/"),
        sequences=rows["sequence"],
        videos=rows["sequence"] + "/" + rows["serial"],
        numbers=rows["frame"],
        raw=raw,
    )
    if context.mano is not None:
        parameters = _parameters(root, rows, posed[rows["row"].to_numpy()], hands.sides)
        notes += give_meshes(hands, root, NAME, parameters, LIMIT, context)
    named = split if split == "all" else f"{division}_{split}"
    return finish(hands, Setting(NAME, named, root, root, context, hashed, left.skipped, notes))


def _parameters(root: Path, rows: pl.DataFrame, posed: Floats, sides: Sequence[str]) -> Parameters:
    """MANO parameters of each hand; ``posed`` is (N, 51), 0 where there are none."""
    shapes = {sequence: _shape(root, sequence) for sequence in rows["sequence"].unique()}
    rotation, origin = camera_frame(rows.height)
    return Parameters(
        sides=np.array(sides),
        pose=posed[:, :48],
        shape=np.stack([shapes[sequence] for sequence in rows["sequence"]]),
        translation=posed[:, 48:],
        rotation=rotation,
        origin=origin,
        given=np.asarray((posed != 0).any(axis=1)),
        coefficients=True,
        mean=True,
        mirrored_shape=False,
    )


def _shape(root: Path, sequence: str) -> Floats:
    """The 10 shape coefficients of the hand of a sequence."""
    meta = root / sequence / "meta.yml"
    text = files.must_exist(meta, "the sequence's meta.yml").read_text(errors="replace")
    match = re.search(r"^mano_calib:\s*(?:-|\[)\s*'?([\w-]+)", text, re.MULTILINE)
    if not match:
        raise HandbenchError(f"{meta}: expected mano_calib with the name of the hand's shape")
    path = root / "calibration" / f"mano_{match[1]}" / "mano.yml"
    lines = files.must_exist(path, "the hand's shape").read_text(errors="replace")
    block = re.search(r"^betas:\s*\n((?:[ \t]*-[ \t]+[-+.\deE]+[ \t]*\n?)+)", lines, re.MULTILINE)
    try:
        numbers = np.array(re.findall(r"-[ \t]+([-+.\deE]+)", block[1]) if block else [], np.float64)
    except ValueError:
        numbers = np.zeros(0)
    if numbers.shape != (10,) or not np.isfinite(numbers).all():
        raise HandbenchError(f"{path}: expected 10 numbers under betas")
    return numbers


def _views(root: Path, division: str, split: str, context: ReadContext, notes: list[str]) -> list[tuple[str, str]]:
    """(sequence, camera) of what belongs to a split."""
    people = sorted(path for path in root.iterdir() if path.is_dir() and re.match(r"20\d{6}-", path.name))
    if not people:
        raise HandbenchError(f"{root}: no DexYCB subject; expected folders such as 20200709-subject-01 in it")
    chosen: list[tuple[str, str]] = []
    for person in people:
        sequences = sorted(path for path in person.iterdir() if path.is_dir())
        date = person.name.split("-")[0]
        if split == "all":
            wanted = [(sequence, set(range(8))) for sequence in sequences]
        else:
            subjects, cameras, numbers = setup(division, split)
            if date not in SUBJECT_DATES or SUBJECT_DATES.index(date) not in subjects:
                continue
            if len(sequences) != SEQUENCES and len(numbers) < SEQUENCES:
                cause = f"{len(sequences)} sequences, expected {SEQUENCES}: {division} goes by their number"
                notes.append(stop_or_note(person, cause, context))
            wanted = [(sequence, cameras) for number, sequence in enumerate(sequences) if number in numbers]
        chosen += [
            (sequence.relative_to(root).as_posix(), serial)
            for sequence, cameras in wanted
            for number, serial in enumerate(SERIALS)
            if number in cameras and (sequence / serial).is_dir()
        ]
    return chosen


def _read_views(
    root: Path, views: list[tuple[str, str]], every: int, context: ReadContext
) -> tuple[Selection, Floats, Floats]:
    """A row for each labelled frame, its joints (N, 21, 3), and its MANO parameters (N, 51), 0 where there are none."""
    joints, posed, rows = [np.zeros((0, 21, 3))], [np.zeros((0, 51))], []
    for number, (sequence, serial) in enumerate(views):
        context.progress(number, len(views), "reading annotations")
        for path in sorted((root / sequence / serial).glob("labels_*.npz")):
            match = re.fullmatch(r"labels_(\d{6})", path.stem)
            if match and int(match[1]) % every == 0:
                try:
                    points, pose = _label(path, posed=context.mano is not None)
                except HandbenchError as error:
                    context.faults.bad(error)
                    continue
                joints.append(points[None])
                posed.append(pose[None])
                image = f"{sequence}/{serial}/color_{match[1]}.jpg"
                rows.append((sequence, serial, int(match[1]), image))
    schema = {"sequence": pl.String, "serial": pl.String, "frame": pl.Int64, "image": pl.String}
    left = Selection(pl.DataFrame(rows, schema=schema, orient="row").with_row_index("row"))
    points = np.concatenate(joints)
    labelled = ~is_placeholder(points).all(axis=1)
    left.keep("hand not annotated", pl.Series(labelled, dtype=pl.Boolean))
    left.keep("no image", pl.Series(files.existing(root, left.rows["image"].to_list()), dtype=pl.Boolean))
    return left, points, np.concatenate(posed)


def _label(path: Path, posed: bool) -> tuple[Floats, Floats]:
    """Joints (21, 3) and, if asked for, MANO parameters (51)."""
    files.must_exist(path, "the labels of one frame")
    try:
        # From memory: numpy leaves a damaged file open.
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as content:
            joints = files.numbers(content["joint_3d"])
            pose = files.numbers(content["pose_m"]).ravel() if posed else np.zeros(51)
    except Exception as error:  # whatever a damaged file makes of the parsers of zip, zlib and npy
        raise HandbenchError(f"{path}: expected labels with joint_3d and pose_m: {str(error)[:120]}") from None
    if joints.size != 63 or not np.isfinite(joints).all():
        raise HandbenchError(f"{path}: joint_3d must be 1 x 21 x 3 finite numbers")
    if pose.shape != (51,) or not np.isfinite(pose).all():
        raise HandbenchError(f"{path}: pose_m must be 1 x 51 finite numbers")
    return joints.reshape(21, 3), pose


def _side(path: Path) -> str:
    text = files.must_exist(path, "the sequence's meta.yml").read_text(errors="replace")
    match = re.search(r"^mano_sides:\s*(?:-|\[)\s*'?(left|right)", text, re.MULTILINE)
    if not match:
        raise HandbenchError(f"{path}: expected mano_sides with left or right")
    return match[1]


def _intrinsics(root: Path, serial: str) -> Floats:
    path = root / "calibration" / "intrinsics" / f"{serial}_{_SIZE[0]}x{_SIZE[1]}.yml"
    text = files.must_exist(path, "the camera's intrinsics").read_text(errors="replace")
    block = re.search(r"^color:\s*\n((?:[ \t]+.*\n?)+)", text, re.MULTILINE)
    found = dict(re.findall(r"(fx|fy|ppx|ppy):\s*([-+.\deE]+)", block[1])) if block else {}
    try:
        fx, fy, cx, cy = (float(found[key]) for key in ("fx", "fy", "ppx", "ppy"))
    except (KeyError, ValueError):
        raise HandbenchError(f"{path}: expected fx, fy, ppx and ppy under color") from None
    return np.array([[fx, 0, cx], [0, fy, cy], [0, 0, 1]])
