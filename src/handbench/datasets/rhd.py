"""RHD, Rendered Handpose Dataset (Zimmermann and Brox, ICCV 2017): synthetic images of 320 x 320.

Two layouts are read.  The owner's: ``training/anno_training.pickle`` (number → ``xyz`` (42, 3), ``uv_vis``
(42, 3), ``K``) beside ``training/color/00000.png``, the left hand first, metres.  And that of mmpose: a
COCO-like ``*rhd*.json`` with ``joint_cam`` in millimetres of one hand of each image.  Each finger begins at
its tip.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from handbench.datasets import files, json_files
from handbench.datasets.build import Hands, Setting, finish
from handbench.datasets.selection import Selection
from handbench.datasets.unpickle import load_pickle
from handbench.errors import HandbenchError
from handbench.hand.geometry import Floats
from handbench.hand.skeleton import ORDERS, reorder
from handbench.protocols import ReadContext, Source, dataset
from handbench.specs import Options, Spec

NAME: Final = "rhd"
SPLITS: Final = ("training", "evaluation")

_SIZE = 320
_JSON = {
    "training": ("*rhd*train*.json", "train*rhd*.json"),
    "evaluation": ("*rhd*test*.json", "test*rhd*.json"),
}
_IMAGES: Final[json_files.Fields] = {
    "id": pl.Int64,
    "file_name": pl.String,
    "width": pl.Int64,
    "height": pl.Int64,
    "cam_param": pl.Struct({"focal": pl.List(pl.Float64), "princpt": pl.List(pl.Float64)}),
}
_ANNOTATIONS: Final[json_files.Fields] = {
    "image_id": pl.Int64,
    "joint_cam": pl.List(pl.List(pl.Float64)),
    "keypoints": pl.List(pl.List(pl.Float64)),
    "hand_type": pl.String,
}
_HIDDEN = "hand with too few joints in sight"


@dataset(NAME)
def read(spec: Spec, context: ReadContext) -> Source:
    """Read ``rhd:PATH?hands=both&visible=11&hash=yes``.

    Options: ``hands`` (both, left, right); ``visible``, how many joints of a hand must be in sight (both
    hands of a person are annotated, wherever they are); ``hash``.

    Args:
        spec: the folder that holds ``training/`` and ``evaluation/``, or mmpose's JSON and its images.
        context: split ``evaluation`` (the default) or ``training``.

    Raises:
        HandbenchError: a file is missing or damaged, nothing is left, or a guard failed.
    """
    options = Options(spec)
    wanted = options.choice("hands", "both", ("both", "left", "right"))
    least = options.integer("visible", 11, least=1)
    hashed = options.flag("hash", default=True)
    options.done()
    split = context.split or "evaluation"
    if split not in SPLITS:
        raise HandbenchError(f"{spec}: no split {split!r}; there are {', '.join(SPLITS)}")
    root = files.folder(spec)
    sides = ("left", "right") if wanted == "both" else (wanted,)
    context.progress(0, None, "reading annotations")
    owners = root / split / f"anno_{split}.pickle"
    if owners.is_file():
        source, hands, skipped = owners, *_from_pickle(owners, root, split, sides, least, context)
    else:
        source = files.first_of(root, (f"{split}/anno_{split}.pickle", *_JSON[split]), "RHD annotations")
        hands, skipped = _from_json(source, root, sides, context)
    return finish(hands, Setting(NAME, split, root, source, context, hashed, skipped, synthetic=True))


def _from_pickle(
    path: Path, root: Path, split: str, sides: tuple[str, ...], least: int, context: ReadContext
) -> tuple[Hands, dict[str, int]]:
    """The owner's layout."""
    content = load_pickle(path, "annotations of each image")
    if not isinstance(content, dict) or not content:
        raise HandbenchError(f"{path}: expected a dict of image number → annotation")
    wanted = (("xyz", (42, 3)), ("uv_vis", (42, 3)), ("K", (3, 3)))
    listed = sorted(content, key=lambda number: number if isinstance(number, int) else -1)
    good, records = context.faults.each(
        listed, lambda number: [_matrix(path, content, number, key, shape) for key, shape in wanted]
    )
    if not records:
        files.refuse_nothing(path, context.faults)
    numbers = [listed[place] for place in good]
    world, marks, cameras = (np.stack(part) for part in zip(*records, strict=True))
    images = [f"{split}/color/{number:05d}.png" for number in numbers]
    rows = pl.DataFrame(
        {
            "row": [row for row in range(len(numbers)) for _ in sides],
            "side": list(sides) * len(numbers),
            "image": [image for image in images for _ in sides],
        }
    )
    there = files.existing(root, images)
    order = {side: list(ORDERS[f"rhd-{side}"]) for side in ("left", "right")}
    seen = np.stack([(marks[:, order[side], 2] > 0).sum(axis=1) for side in sides], axis=1).ravel()
    left = Selection(rows)
    left.rows = left.rows.with_columns(seen=seen, there=np.repeat(there, len(sides)))
    left.keep("no image", pl.col("there"))
    left.keep(_HIDDEN, pl.col("seen") >= least)
    left.refuse_empty(path, "RHD")
    row, side = left.rows["row"].to_numpy(), left.rows["side"].to_list()
    taken = np.array([order[name] for name in side])
    joints = np.take_along_axis(world[row], taken[..., None], axis=1)
    points = np.take_along_axis(marks[row], taken[..., None], axis=1)
    keys = [f"{numbers[number]:05d}" for number in row]
    hands = Hands(
        images=left.rows["image"].to_list(),
        keys=keys,
        sides=side,
        clusters=keys,
        sizes=np.full((len(row), 2), _SIZE),
        joints_cam=joints,
        joints_px=points[..., :2],
        intrinsics=cameras[row],
        visible=points[..., 2] > 0,
        order="rhd-left",
        raw=joints,
    )
    return hands, left.skipped


def _matrix(path: Path, content: dict[Any, Any], number: Any, key: str, shape: tuple[int, ...]) -> Floats:
    try:
        value = files.numbers(content[number][key])
    except (KeyError, TypeError, ValueError, IndexError):
        value = np.zeros(0)
    if not isinstance(number, int) or value.shape != shape or not np.isfinite(value).all():
        expected = " x ".join(map(str, shape))
        raise HandbenchError(f"{path}: image {number!r}: expected {key} of {expected} finite numbers")
    return value


def _from_json(path: Path, root: Path, sides: tuple[str, ...], context: ReadContext) -> tuple[Hands, dict[str, int]]:
    """The layout of mmpose."""
    lists = {"images": _IMAGES, "annotations": _ANNOTATIONS}
    images, annotations = json_files.read_json_records(path, "images and annotations", lists, (), context.faults)
    joined = images.join(annotations, left_on="id", right_on="image_id", maintain_order="left")
    left = Selection(joined, {"annotation without image": annotations.height - joined.height})
    left.keep("other hand", pl.col("hand_type").is_in(sides))
    left.keep("no image", pl.Series(files.existing(root, left.rows["file_name"].to_list()), dtype=pl.Boolean))
    left.refuse_empty(path, "RHD")
    rows = left.rows
    raw, marks = (reorder(_joints(rows[key], path), "rhd-left") for key in ("joint_cam", "keypoints"))
    lens = rows["cam_param"].struct.unnest()
    keys = [files.stem(name) for name in rows["file_name"]]
    hands = Hands(
        images=rows["file_name"].to_list(),
        keys=keys,
        sides=rows["hand_type"].to_list(),
        clusters=keys,
        sizes=rows.select("width", "height").to_numpy(),
        joints_cam=np.asarray(raw * 1e-3, np.float64),
        joints_px=np.asarray(marks[..., :2], np.float64),
        intrinsics=_intrinsics(lens["focal"], lens["princpt"], path),
        visible=np.asarray(marks[..., 2] > 0),
        # One hand of each image is kept there, by its size.
        annotated=False,
        order="rhd-left",
        raw=raw,
    )
    return hands, left.skipped


def _joints(column: pl.Series, path: Path) -> Floats:
    """(N, 21, 3) numbers of a column of lists, nested or flat."""
    flat = column.explode().explode()
    counts = column.list.eval(pl.element().list.len()).list.sum()
    if (counts != 63).any() or flat.null_count():
        raise HandbenchError(f"{path}: {column.name} must be 21 x 3 numbers in each annotation")
    return np.asarray(flat.to_numpy(), np.float64).reshape(-1, 21, 3)


def _intrinsics(focal: pl.Series, centre: pl.Series, path: Path) -> NDArray[np.float64]:
    if not (focal.list.len().eq_missing(2).all() and centre.list.len().eq_missing(2).all()):
        raise HandbenchError(f"{path}: cam_param must have two numbers for focal and for princpt")
    matrices = np.zeros((len(focal), 3, 3))
    matrices[:, [0, 1], [0, 1]] = focal.explode().to_numpy().reshape(-1, 2)
    matrices[:, :2, 2] = centre.explode().to_numpy().reshape(-1, 2)
    matrices[:, 2, 2] = 1
    return matrices
