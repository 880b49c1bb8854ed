"""H2O (Kwon et al., ICCV 2021): two hands that handle objects, one head-mounted and four fixed cameras.

``subject1/h1/0/cam4/hand_pose/000000.txt`` holds 128 numbers: a flag and 21 joints of the left hand, then of
the right one, in metres in the camera's frame (OpenCV axes, our order).  ``rgb/000000.png`` or ``.jpg`` is
the image and ``cam_intrinsics.txt`` the camera: fx fy cx cy width height.  ``cam4`` is on the head.

The mesh is there as ``hand_pose_MANO/000000.txt``: for each hand a flag, 3 numbers of translation, 48 of pose and 10 of
shape of MANO.  Whether the mean pose belongs to them is told from the joints: users of the data disagree.

Clips are the rows of the owner's lists ``action_labels/action_train.txt`` and so on, where they are there; else
the runs of frames that have one number in ``cam4/action_label/000000.txt``.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from handbench import tables
from handbench.datasets import clips, files
from handbench.datasets.build import Hands, Setting, finish
from handbench.datasets.clips import Segment
from handbench.datasets.mano_meshes import LIMIT, Parameters, camera_frame, give_meshes
from handbench.datasets.selection import Selection
from handbench.errors import HandbenchError
from handbench.hand.geometry import Floats
from handbench.protocols import ReadContext, Source, dataset
from handbench.specs import Options, Spec

NAME: Final = "h2o"
SPLITS: Final = ("train", "val", "test", "all")
_OBJECTS = ("book", "espresso", "lotion", "spray", "milk", "cocoa", "chips", "cappuccino")
ACTIONS: Final = (
    "background",
    *(f"{verb} {thing}" for verb, thing in product(("grab", "place"), _OBJECTS)),
    *(f"{verb} {thing}" for verb, thing in product(("open", "close"), ("lotion", "milk", "chips"))),
    "pour milk",
    *(f"take out {thing}" for thing in ("espresso", "cocoa", "chips", "cappuccino")),
    *(f"put in {thing}" for thing in ("espresso", "cocoa", "cappuccino")),
    *("apply lotion", "apply spray", "read book", "read espresso", "spray spray", "squeeze lotion"),
)
"""The owner's 36 actions by number; 0 is no action."""

_VAL = ("k2", "o1", "o2")


@dataset(NAME)
def read(spec: Spec, context: ReadContext) -> Source:
    """Read ``h2o:PATH?hands=both&cameras=cam4&hash=yes``: hands, and clips where actions are labelled.

    Options: ``hands`` (both, left, right); ``cameras``, ``cam4`` on the head by default; ``hash``.

    Args:
        spec: the folder that holds ``subject1`` to ``subject4``.
        context: split ``test`` (the default: subject 4), ``train`` (subjects 1, 2 and h1, h2, k1 of 3),
            ``val`` (k2, o1, o2 of subject 3) or ``all``.

    Raises:
        HandbenchError: a file is missing or damaged, nothing is left, or a guard failed.
    """
    options = Options(spec)
    wanted = options.choice("hands", "both", ("both", "left", "right"))
    cameras = options.text("cameras", "cam4").split(",")
    hashed = options.flag("hash", default=True)
    options.done()
    split = context.split or "test"
    if split not in SPLITS:
        raise HandbenchError(f"{spec}: no split {split!r}; there are {', '.join(SPLITS)}")
    root = files.folder(spec)
    views = sorted({path.parent for part in ("hand_pose", "rgb") for path in root.glob(f"subject*/*/*/cam*/{part}")})
    if not views:
        raise HandbenchError(f"{root}: no H2O annotations; expected subject1/h1/0/cam4/hand_pose in it")
    named = [view.relative_to(root).as_posix() for view in views]
    chosen = [view for view in named if view.split("/")[3] in cameras and _belongs(view, split)]
    left, numbers, lenses, shots = _read_views(root, chosen, context)
    shots = shots.with_columns(split=pl.lit(split))
    acted = _clips(root, split, shots, left)
    left.keep("no image", pl.col("image").is_not_null())
    pairs = [("left", 0), ("right", 64)]
    each = []
    for side, start in pairs if wanted == "both" else [pair for pair in pairs if pair[0] == wanted]:
        flag = pl.Series(numbers[left.rows["row"].to_numpy(), start] != 0, dtype=pl.Boolean)
        each.append(left.rows.with_columns(side=pl.lit(side), start=pl.lit(start), flag=flag))
    left.rows = pl.concat(each)
    left.keep("hand not annotated", pl.col("flag"))
    if acted.is_empty():
        left.refuse_empty(root, f"the split {split}")
    setting = Setting(NAME, split, root, root, context, hashed, left.skipped)
    source = _hands(left, numbers, lenses, setting)
    return clips.join_clips(source, acted, shots, hashed, context) if acted.height else source


def _hands(left: Selection, numbers: Floats, lenses: Floats, setting: Setting) -> Source:
    """The annotated hands, none where only clips are labelled."""
    rows = left.rows
    if rows.is_empty():
        left_out, told = setting.context.faults.take()
        skipped = {reason: count for reason, count in {**left.skipped, **left_out}.items() if count}
        frames, none = tables.empty("frames"), tables.empty("hands")
        return Source(NAME, frames, none, setting.root, skipped=skipped, notes=told)
    row = rows["row"].to_numpy()
    columns = rows["start"].to_numpy()[:, None] + np.arange(1, 64)
    joints = np.take_along_axis(numbers[row], columns, axis=1).reshape(-1, 21, 3)
    lens = lenses[rows["view"].to_numpy()]
    intrinsics = np.zeros((rows.height, 3, 3))
    intrinsics[:, [0, 1, 0, 1], [0, 1, 2, 2]] = lens[:, :4]
    intrinsics[:, 2, 2] = 1
    hands = Hands(
        images=rows["image"].to_list(),
        keys=(rows["path"] + "/" + rows["frame"]).to_list(),
        sides=rows["side"].to_list(),
        clusters=rows["sequence"].to_list(),
        sizes=lens[:, 4:].astype(np.int64),
        joints_cam=joints,
        intrinsics=intrinsics,
        subjects=rows["path"].str.extract(r"^subject(\d+)"),
        sequences=rows["sequence"],
        videos=rows["path"],
        numbers=rows["frame"].cast(pl.Int64),
        annotated=(numbers[row][:, [0, 64]] != 0).all(axis=1),
        raw=joints,
    )
    if setting.context.mano is not None:
        parameters = _parameters(setting.root, rows, setting.context)
        notes = give_meshes(hands, setting.root, NAME, parameters, LIMIT, setting.context)
        setting = replace(setting, notes=[*setting.notes, *notes])
    return finish(hands, setting)


def _parameters(root: Path, rows: pl.DataFrame, context: ReadContext) -> Parameters:
    """MANO parameters of each hand; none where the frame has no such file."""
    numbers = np.zeros((rows.height, 62))
    for row, (path, frame, start) in enumerate(rows.select("path", "frame", "start").iter_rows()):
        if row % 1024 == 0:
            context.progress(row, rows.height, "reading MANO parameters")
        file = root / path / "hand_pose_MANO" / f"{frame}.txt"
        if file.is_file():
            try:
                numbers[row] = _numbers(file, 124)[62 * (start // 64) :][:62]
            except HandbenchError:
                if not context.faults.keep_going:
                    raise
    rotation, origin = camera_frame(rows.height)
    return Parameters(
        sides=rows["side"].to_numpy(),
        pose=numbers[:, 4:52],
        shape=numbers[:, 52:],
        translation=numbers[:, 1:4],
        rotation=rotation,
        origin=origin,
        given=np.asarray(numbers[:, 0] != 0),
        mean=None,
        mirrored_shape=None,
    )


def _clips(root: Path, split: str, shots: pl.DataFrame, left: Selection) -> pl.DataFrame:
    """The ``clips`` table of the views that are read; empty where no action is labelled."""
    views = shots.select("video", "sequence").unique(maintain_order=True).iter_rows()
    by_sequence: dict[str, list[str]] = {}
    for view, sequence in views:
        by_sequence.setdefault(sequence, []).append(view)
    lists = [root / "action_labels" / f"action_{part}.txt" for part in SPLITS[:3] if split in ("all", part)]
    listed = [row for path in lists if path.is_file() for row in _listed(path)]
    if not any(path.is_file() for path in lists):
        listed = [row for sequence in by_sequence for row in _labelled(root, sequence)]
    segments = [
        Segment(view, None if action is None else ACTIONS[action], start, end, f"{sequence}/{start:06d}-{end:06d}")
        for sequence, action, start, end in listed
        for view in by_sequence.get(sequence, [])
    ]
    return clips.clip_rows(NAME, split, segments, shots, left)


def _listed(path: Path) -> list[tuple[str, int | None, int, int]]:
    """Sequence, action, first and last frame of each row of an owner's list; that of the test has no action."""
    rows = []
    for row in clips.read_list(path, "the list of actions", ("path", "start_act", "end_act"), heading=True):
        action = clips.whole_number(path, row, "action_label") if "action_label" in row else None
        if action is not None and not 0 < action < len(ACTIONS):
            raise HandbenchError(f"{path}: {row['path']}: expected an action from 1 to 36, found {action}")
        start, end = (clips.whole_number(path, row, name) for name in ("start_act", "end_act"))
        rows.append((row["path"], action, start, end))
    return rows


def _labelled(root: Path, sequence: str) -> list[tuple[str, int | None, int, int]]:
    """The same from the numbers that lie beside each image of the camera on the head."""
    labels = []
    for path in sorted((root / sequence / "cam4" / "action_label").glob("*.txt")):
        number = _numbers(path, 1)[0]
        if not path.stem.isdigit() or number not in range(len(ACTIONS)):
            raise HandbenchError(f"{path}: expected an action from 0 to 36 in a file such as 000000.txt")
        labels.append((int(path.stem), int(number)))
    return [(sequence, action, start, end) for action, start, end in clips.runs(labels) if action]


def _belongs(view: str, split: str) -> bool:
    subject, scene = view.split("/")[:2]
    match = re.match(r"subject(\d+)", subject)
    person = int(match[1]) if match else 0
    part = {1: "train", 2: "train", 3: "val" if scene in _VAL else "train", 4: "test"}.get(person)
    return split in ("all", part)


def _read_views(root: Path, views: list[str], context: ReadContext) -> tuple[Selection, Floats, Floats, pl.DataFrame]:
    """A row for each frame with a pose, its 128 numbers, the six numbers of each view's camera, and all images."""
    rows: list[tuple[int, str, str, str | None]] = []
    shown: list[tuple[str, str, str, int, int]] = []
    numbers, lenses = [np.zeros((0, 128))], [np.zeros((0, 6))]
    for number, view in enumerate(views):
        context.progress(number, len(views), "reading annotations")
        lens = _numbers(root / view / "cam_intrinsics.txt", 6)
        lenses.append(lens[None])
        images = {files.stem(name): name for name in files.list_images(root / view / "rgb")}
        shown += [
            (view, stem, f"{view}/rgb/{name}", int(lens[4]), int(lens[5]))
            for stem, name in images.items()
            if stem.isdigit()
        ]
        for path in sorted((root / view / "hand_pose").glob("*.txt")):
            try:
                numbers.append(_numbers(path, 128)[None])
            except HandbenchError as error:
                context.faults.bad(error)
                continue
            name = images.get(path.stem)
            rows.append((number, view, path.stem, f"{view}/rgb/{name}" if name else None))
    schema = {"view": pl.Int64, "path": pl.String, "frame": pl.String, "image": pl.String}
    frame = pl.DataFrame(rows, schema=schema, orient="row").with_row_index("row")
    frame = frame.with_columns(sequence=_sequence("path"))
    shots = pl.DataFrame(
        shown,
        schema={"video": pl.String, "frame": pl.String, "image": pl.String, "width": pl.Int64, "height": pl.Int64},
        orient="row",
    ).with_columns(
        pl.col("frame").cast(pl.Int64),
        sequence=_sequence("video"),
        subject=pl.col("video").str.extract(r"^subject(\d+)"),
        dataset=pl.lit(NAME),
    )
    return Selection(frame), np.concatenate(numbers), np.concatenate(lenses), shots


def _sequence(column: str) -> pl.Expr:
    return pl.col(column).str.replace(r"/cam\d+$", "")


def _numbers(path: Path, count: int) -> Floats:
    text = files.must_exist(path, f"{count} numbers").read_text(errors="replace")
    try:
        values = np.array(text.split() if "_" not in text else [], np.float64)  # Python's 1_000 is no number here
    except ValueError:
        values = np.zeros(0)
    if values.shape != (count,) or not np.isfinite(values).all():
        raise HandbenchError(f"{path}: expected {count} finite numbers")
    return values
