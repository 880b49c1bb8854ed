"""H2O (Kwon et al., ICCV 2021): two hands that handle objects, one head-mounted and four fixed cameras.

``subject1/h1/0/cam4/hand_pose/000000.txt`` holds 128 numbers: a flag and 21 joints of the left hand, then of
the right one, in metres in the camera's frame (OpenCV axes, our order).  ``rgb/000000.png`` or ``.jpg`` is
the image and ``cam_intrinsics.txt`` the camera: fx fy cx cy width height.  ``cam4`` is on the head.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from handbench.datasets import files
from handbench.datasets.build import Hands, Setting, finish
from handbench.datasets.selection import Selection
from handbench.errors import HandbenchError
from handbench.hand.geometry import Floats
from handbench.protocols import ReadContext, Source, dataset
from handbench.specs import Options, Spec

NAME: Final = "h2o"
SPLITS: Final = ("train", "val", "test", "all")

_VAL = ("k2", "o1", "o2")


@dataset(NAME)
def read(spec: Spec, context: ReadContext) -> Source:
    """Read ``h2o:PATH?hands=both&cameras=cam4&hash=yes``.

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
    views = sorted(path.parent for path in root.glob("subject*/*/*/cam*/hand_pose"))
    if not views:
        raise HandbenchError(f"{root}: no H2O annotations; expected subject1/h1/0/cam4/hand_pose in it")
    named = [view.relative_to(root).as_posix() for view in views]
    chosen = [view for view in named if view.split("/")[3] in cameras and _belongs(view, split)]
    left, numbers, lenses = _read_views(root, chosen, context)
    left.keep("no image", pl.col("image").is_not_null())
    pairs = [("left", 0), ("right", 64)]
    each = []
    for side, start in pairs if wanted == "both" else [pair for pair in pairs if pair[0] == wanted]:
        flag = pl.Series(numbers[left.rows["row"].to_numpy(), start] != 0, dtype=pl.Boolean)
        each.append(left.rows.with_columns(side=pl.lit(side), start=pl.lit(start), flag=flag))
    left.rows = pl.concat(each)
    left.keep("hand not annotated", pl.col("flag"))
    left.refuse_empty(root, f"the split {split}")

    rows = left.rows
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
    return finish(hands, Setting(NAME, split, root, root, context, hashed, left.skipped))


def _belongs(view: str, split: str) -> bool:
    subject, scene = view.split("/")[:2]
    match = re.match(r"subject(\d+)", subject)
    person = int(match[1]) if match else 0
    part = {1: "train", 2: "train", 3: "val" if scene in _VAL else "train", 4: "test"}.get(person)
    return split in ("all", part)


def _read_views(root: Path, views: list[str], context: ReadContext) -> tuple[Selection, Floats, Floats]:
    """A row for each frame, its 128 numbers, and the six numbers of each view's camera."""
    rows: list[tuple[int, str, str, str | None]] = []
    numbers, lenses = [np.zeros((0, 128))], [np.zeros((0, 6))]
    for number, view in enumerate(views):
        context.progress(number, len(views), "reading annotations")
        lenses.append(_numbers(root / view / "cam_intrinsics.txt", 6)[None])
        images = {files.stem(name): name for name in files.list_images(root / view / "rgb")}
        for path in sorted((root / view / "hand_pose").glob("*.txt")):
            numbers.append(_numbers(path, 128)[None])
            name = images.get(path.stem)
            rows.append((number, view, path.stem, f"{view}/rgb/{name}" if name else None))
    schema = {"view": pl.Int64, "path": pl.String, "frame": pl.String, "image": pl.String}
    frame = pl.DataFrame(rows, schema=schema, orient="row").with_row_index("row")
    frame = frame.with_columns(sequence=pl.col("path").str.replace(r"/cam\d+$", ""))
    return Selection(frame), np.concatenate(numbers), np.concatenate(lenses)


def _numbers(path: Path, count: int) -> Floats:
    text = files.must_exist(path, f"{count} numbers").read_text(errors="replace")
    try:
        values = np.array(text.split(), np.float64)
    except ValueError:
        values = np.zeros(0)
    if values.shape != (count,) or not np.isfinite(values).all():
        raise HandbenchError(f"{path}: expected {count} finite numbers")
    return values
