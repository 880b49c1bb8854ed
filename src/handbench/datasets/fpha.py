"""FPHA, First-Person Hand Action (Garcia-Hernando et al., CVPR 2018).

``Hand_pose_annotation_v1[_1]/Subject_1/open_milk/1/skeleton.txt`` holds a line for each frame: its number and
21 joints in millimetres, in the frame of the depth camera.  The colour camera, 1920 x 1080, stands beside it;
its pose and lens are the owner's published constants.  Right hands alone.  The images are
``Video_files/Subject_1/open_milk/1/color/color_0000.jpeg``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from handbench import draws
from handbench.datasets import files
from handbench.datasets.build import Hands, Setting, finish
from handbench.datasets.selection import Selection
from handbench.errors import HandbenchError
from handbench.faults import Faults
from handbench.hand.geometry import Floats
from handbench.hand.skeleton import reorder
from handbench.protocols import ReadContext, Source, dataset
from handbench.specs import Options, Spec

NAME: Final = "fpha"
PAPER_IMAGES: Final = {"paper-train": 15000, "paper-test": 8511}
"""Images that HandVQA counts (section 7.1): drawn from subjects 1 to 4 for training; all frames of sequence 1
of subjects 5 and 6 for testing."""

IGNORED: Final = ("Subject_2/close_milk/4", "Subject_2/put_tea_bag/2", "Subject_4/flip_sponge/2")
"""Sequences that the owner's read-me says to leave out."""

ROTATION: Final = np.array(
    [
        [0.999988496304, -0.00468848412856, 0.000982563360594],
        [0.00469115935266, 0.999985218048, -0.00273845880292],
        [-0.000969709653873, 0.00274303671904, 0.99999576807],
    ]
)
TRANSLATION: Final = np.array([25.7, 1.22, 3.902])
"""From the depth camera to the colour camera: ``X_colour = ROTATION X + TRANSLATION``, millimetres."""

INTRINSICS: Final = np.array([[1395.749023, 0, 935.732544], [0, 1395.749268, 540.681030], [0, 0, 1]])
"""Of the colour camera, pixels."""

_SPLITS = ("all", "train", "test", *PAPER_IMAGES)
_ANNOTATIONS = ("Hand_pose_annotation_v1_1", "Hand_pose_annotation_v1")
_OFFICIAL = "data_split_action_recognition.txt"
_SIZE = (1920, 1080)
_METRES = 1e-3
_COLUMNS = {str(column): pl.Float64 for column in range(64)}


@dataset(NAME)
def read(spec: Spec, context: ReadContext) -> Source:
    """Read ``fpha:PATH?images=15000&seed=0&hash=yes``.

    Options: ``images`` and ``seed``, how many images ``paper-train`` draws and by which seed; ``hash``.

    Args:
        spec: the folder that holds ``Video_files`` and ``Hand_pose_annotation_v1_1`` or ``..._v1``.
        context: split ``paper-test`` (the default), ``paper-train``, ``train`` or ``test`` (the owner's, by
            ``data_split_action_recognition.txt``) or ``all``.

    Raises:
        HandbenchError: a file is missing or damaged, nothing is left, or a guard failed.
    """
    options = Options(spec)
    drawn = options.integer("images", PAPER_IMAGES["paper-train"], least=1)
    seed = options.integer("seed", 0)
    hashed = options.flag("hash", default=True)
    options.done()
    split = context.split or "paper-test"
    if split not in _SPLITS:
        raise HandbenchError(f"{spec}: no split {split!r}; there are {', '.join(_SPLITS)}")
    root = files.folder(spec)
    place, sequences = _find_sequences(root)
    wanted = [name for name in _of_split(sequences, split, root) if name not in IGNORED]
    joints, left = _read_sequences(place, wanted, context)
    left.count("sequence on the owner's ignore list", len([name for name in sequences if name in IGNORED]))
    if split == "paper-train":
        left.keep("not drawn", _draw(left.rows["key"], drawn, seed))
    left.keep("no image", pl.Series(files.existing(root, left.rows["image"].to_list()), dtype=pl.Boolean))
    left.refuse_empty(place, f"the split {split}")

    rows = left.rows
    raw = joints[rows["row"].to_numpy()]
    hands = Hands(
        images=rows["image"].to_list(),
        keys=rows["key"].to_list(),
        sides=["right"] * rows.height,
        clusters=rows["sequence"].to_list(),
        sizes=np.tile(_SIZE, (rows.height, 1)),
        joints_cam=(raw @ ROTATION.T + TRANSLATION) * _METRES,
        intrinsics=np.tile(INTRINSICS, (rows.height, 1, 1)),
        subjects=rows["subject"],
        sequences=rows["sequence"],
        videos=rows["sequence"],
        numbers=rows["frame"],
        # The left hand is often in sight and never annotated.
        annotated=False,
        order="fpha",
        raw=raw,
    )
    notes = []
    if split == "paper-train":
        notes.append(f"{split}: {drawn} images drawn by seed {seed}; the paper's own draw is not published")
    setting = Setting(NAME, split, root, place, context, hashed, left.skipped, notes, PAPER_IMAGES)
    return finish(hands, setting)


def _find_sequences(root: Path) -> tuple[Path, list[str]]:
    """The folder of annotations, and its sequences such as ``Subject_1/open_milk/1``, sorted."""
    for name in _ANNOTATIONS:
        found = sorted(path.parent for path in (root / name).glob("Subject_*/*/*/skeleton.txt"))
        if found:
            return root / name, [path.relative_to(root / name).as_posix() for path in found]
    raise HandbenchError(
        f"{root}: no FPHA annotations; expected {_ANNOTATIONS[0]}/Subject_1/open_milk/1/skeleton.txt in it"
    )


def _of_split(sequences: list[str], split: str, root: Path) -> list[str]:
    if split == "all":
        return sequences
    if split == "paper-train":
        return [name for name in sequences if name.split("/")[0] in {f"Subject_{n}" for n in range(1, 5)}]
    if split == "paper-test":
        return [name for name in sequences if name.startswith(("Subject_5/", "Subject_6/")) and name.endswith("/1")]
    listed: dict[str, list[str]] = {"train": [], "test": []}
    part = None
    path = files.must_exist(root / _OFFICIAL, "the owner's split")
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        words = line.split()
        if words and words[0].lower().rstrip(":") in ("training", "test"):
            part = "train" if words[0].lower().startswith("train") else "test"
        elif words and part is None:
            raise HandbenchError(f"{path}, line {number}: expected 'Training' or 'Test', found {line[:40]!r}")
        elif words and part:
            listed[part].append(words[0])
    chosen = set(listed[split])
    return [name for name in sequences if name in chosen]


def _read_sequences(place: Path, names: list[str], context: ReadContext) -> tuple[Floats, Selection]:
    """Joints of all frames in our order, (N, 21, 3) millimetres, and a row for each."""
    blocks: list[NDArray[np.floating]] = [np.zeros((0, 21, 3))]
    read: list[str] = []
    frames: list[NDArray[np.floating]] = [np.zeros(0)]
    for done, name in enumerate(names):
        try:
            numbers = _read_skeleton(place / name / "skeleton.txt", context.faults)
        except HandbenchError as error:
            context.faults.bad(error)
            continue
        blocks.append(reorder(numbers[:, 1:].reshape(-1, 21, 3), "fpha"))
        frames.append(numbers[:, 0])
        read.append(name)
        context.progress(done + 1, len(names), "reading annotations")
    lengths = [len(part) for part in frames[1:]]
    sequence = pl.Series(read, dtype=pl.String).gather(np.repeat(np.arange(len(read)), lengths))
    listed = pl.DataFrame({"frame": np.concatenate(frames).astype(np.int64), "sequence": sequence})
    shot = pl.format("color_{}", pl.col("frame").cast(pl.String).str.zfill(4))
    rows = listed.with_row_index("row")
    rows = rows.with_columns(
        key=pl.col("sequence") + "/" + shot,
        image=pl.format("Video_files/{}/color/{}.jpeg", pl.col("sequence"), shot),
        subject=pl.col("sequence").str.extract(r"^Subject_(\d+)/"),
    )
    return np.concatenate(blocks), Selection(rows)


def _read_skeleton(path: Path, faults: Faults) -> Floats:
    """(T, 64) frame number and 63 coordinates of each frame."""
    text = files.must_exist(path, "a line of 64 numbers for each frame").read_text(errors="replace")
    lines = [line for line in map(str.strip, text.splitlines()) if line]
    numbers = _parse(lines)
    if numbers is None or numbers.shape[1] != 64:
        _, good = faults.each(range(len(lines)), lambda row: _read_line(path, lines[row], row + 1))
        numbers = np.array(good).reshape(-1, 64)
    finite = faults.good(
        np.asarray(np.isfinite(numbers).all(axis=1)),
        "joints not finite",
        lambda row: f"{path}, line {row + 1}: not a finite number",
    )
    numbers = numbers[finite]
    frames = numbers[:, 0]
    if len(np.unique(frames)) < len(frames) or (frames != frames.round()).any() or (frames < 0).any():
        raise HandbenchError(f"{path}: the first column must be frame numbers, each once")
    return np.asarray(numbers, np.float64)


def _parse(lines: list[str]) -> Floats | None:
    """(T, columns) numbers of lines with equally many; None where they are no such lines."""
    if not lines:
        return np.zeros((0, 64))
    if {line.count(" ") for line in lines} == {63}:
        # Four times as fast as loadtxt, which has the last word on what is no plain number.
        try:
            table = pl.read_csv("\n".join(lines).encode(), separator=" ", has_header=False, schema=_COLUMNS)
        except pl.exceptions.PolarsError:
            table = pl.DataFrame()
        if table.height == len(lines) and not any(table.null_count().row(0)):
            return table.to_numpy()
    try:
        if any("_" in line for line in lines):
            return None
        return np.loadtxt(lines, np.float64, ndmin=2, comments=None)
    except ValueError:
        return None


def _read_line(path: Path, line: str, number: int) -> list[float]:
    try:
        values = [float(word) for word in line.split() if "_" not in line]  # Python's 1_000 is no number here
    except ValueError:
        values = []
    if len(values) != 64:
        raise HandbenchError(f"{path}, line {number}: expected a frame number and 63 coordinates", "damaged line")
    return values


def _draw(names: pl.Series, count: int, seed: int) -> pl.Series:
    """Which names are drawn: a name's lot depends on itself and the seed alone."""
    column = np.zeros(1, np.uint64)
    lots = draws.pair_keys(draws.name_keys(names.to_list()), column, seed)[:, 0]
    drawn = np.zeros(len(lots), bool)
    drawn[np.argsort(lots, kind="stable")[:count]] = True
    return pl.Series(drawn, dtype=pl.Boolean)
