"""ARCTIC (Fan et al., CVPR 2023): two hands and articulated objects, eight fixed cameras.

Read from the owner's processed splits: ``splits/p1_val.npy`` holds, for each sequence, ``cam_coord`` and
``2d`` with ``joints.right`` and ``joints.left`` (frames, views, 21, ...), in metres and pixels, and the names
of the images; ``meta/misc.json`` the cameras and by how much image numbers run ahead of frames.  The joints
are MANO's, followed by the tips.  View 0, the head-mounted camera, has a lens that no pinhole describes and
is not read.

The mesh is there as MANO parameters in the world (``params``) and the cameras' poses (``world2cam``).  With the
user's own MANO files it gives the hand's centre and size.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from handbench.datasets import files, json_files
from handbench.datasets.build import Hands, Setting, finish
from handbench.datasets.mano_meshes import LIMIT, Parameters, give_meshes
from handbench.datasets.selection import Selection
from handbench.datasets.unpickle import load_npy
from handbench.errors import HandbenchError
from handbench.hand.skeleton import reorder
from handbench.protocols import ReadContext, Source, dataset
from handbench.specs import Options, Spec

NAME: Final = "arctic"

_SPLIT = re.compile(r"p[12]_(train|val|test|minitrain|minival)|tiny")
_IMAGE = re.compile(r"(s\d+)/([^/]+)/(\d)/(\d+)\.(?:jpg|jpeg|png)$")


@dataset(NAME)
def read(spec: Spec, context: ReadContext) -> Source:
    """Read ``arctic:PATH?hands=both&views=1,2&hash=yes``.

    Options: ``hands`` (both, left, right); ``views``, of 1 to 8, all by default; ``hash``.

    Args:
        spec: the folder that holds ``splits/``, ``meta/`` and ``images/``.
        context: split ``p1_val`` (the default) or another of the owner's.

    Raises:
        HandbenchError: a file is missing or damaged, nothing is left, or a guard failed.
    """
    options = Options(spec)
    wanted = options.choice("hands", "both", ("both", "left", "right"))
    views = options.text("views", "1,2,3,4,5,6,7,8").split(",")
    hashed = options.flag("hash", default=True)
    options.done()
    split = context.split or "p1_val"
    if split.startswith("p2_"):
        raise HandbenchError(
            f"{spec}: {split} are first-person images through a lens that bends straight lines; "
            "only p1_train and p1_val are read"
        )
    if not _SPLIT.fullmatch(split):
        raise HandbenchError(f"{spec}: no split {split!r}; there are p1_train, p1_val")
    root = files.folder(spec)
    path = root / "splits" / f"{split}.npy"
    context.progress(0, None, "reading annotations")
    content = load_npy(path, "a processed split")
    if not isinstance(content, dict) or not {"data_dict", "imgnames"} <= content.keys():
        raise HandbenchError(f"{path}: expected a dict with data_dict and imgnames")
    misc_path = root / "meta" / "misc.json"
    misc = json_files.read_json(misc_path, "cameras of each subject")
    left = _list_images(path, content["imgnames"])
    left.keep("other view", pl.col("view").cast(pl.String).is_in(views) & pl.col("view").is_between(1, 8))
    left.keep("no image", pl.Series(files.existing(root, left.rows["image"].to_list()), dtype=pl.Boolean))
    left.refuse_empty(path, f"the split {split}")

    parts = []
    for (sequence,), rows in left.rows.group_by("sequence", maintain_order=True):
        record = content["data_dict"].get(sequence)
        if record is None:
            left.count("no annotation of the sequence", rows.height)
            continue
        subject = str(sequence).split("/")[0]
        lens, sizes, offset = _subject(misc_path, misc, subject)
        poses = _poses(misc_path, misc, subject) if context.mano is not None else None
        for side in ("right", "left") if wanted == "both" else (wanted,):
            parts.append(_pick(path, record, rows, side, lens, sizes, offset, poses))
    for part in parts:
        left.count("hand not valid", int(part.pop("invalid")))
    if not any(len(part["side"]) for part in parts):
        left.rows = left.rows.clear()
        left.refuse_empty(path, f"the split {split}")
    joined = {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
    hands = Hands(
        images=joined["image"].tolist(),
        keys=[files.stem(image).removeprefix("images/") for image in joined["image"].tolist()],
        sides=joined["side"].tolist(),
        clusters=joined["sequence"].tolist(),
        sizes=joined["size"],
        joints_cam=joined["joints"],
        joints_px=joined["points"],
        intrinsics=joined["lens"],
        subjects=[sequence.split("/")[0] for sequence in joined["sequence"].tolist()],
        sequences=joined["sequence"].tolist(),
        videos=[image.rsplit("/", 1)[0].removeprefix("images/") for image in joined["image"].tolist()],
        numbers=joined["number"],
        annotated=joined["both"],
        order="mano",
        raw=joined["joints"],
    )
    notes = []
    if context.mano is not None:
        parameters = Parameters(
            sides=joined["side"],
            pose=joined["mano"][:, :48],
            shape=joined["mano"][:, 48:58],
            translation=joined["mano"][:, 58:],
            rotation=joined["pose"][:, :, :3],
            origin=joined["pose"][:, :, 3],
            given=np.isfinite(joined["mano"]).all(axis=1),
            mean=None,
            mirrored_shape=None,
        )
        notes = give_meshes(hands, path, NAME, parameters, LIMIT, context)
    return finish(hands, Setting(NAME, split, root, path, context, hashed, left.skipped, notes))


def _list_images(path: Path, names: Any) -> Selection:
    """Sequence, view, number and path of each image that the split names."""
    rows = []
    if not (isinstance(names, list | tuple) or (isinstance(names, np.ndarray) and names.ndim == 1)):
        raise HandbenchError(f"{path}: imgnames: expected a list of image names, found {type(names).__name__}")
    for name in names:
        match = _IMAGE.search(str(name))
        if not match:
            raise HandbenchError(f"{path}: imgnames: expected s05/box_use_01/1/00012.jpg, found {str(name)[:60]!r}")
        subject, title, view, number = match.groups()
        rows.append((f"{subject}/{title}", int(view), int(number), f"images/{match[0]}"))
    schema = {"sequence": pl.String, "view": pl.Int64, "number": pl.Int64, "image": pl.String}
    return Selection(pl.DataFrame(rows, schema=schema, orient="row"))


def _subject(path: Path, misc: Any, subject: str) -> tuple[Any, Any, int]:
    """Cameras (8, 3, 3), image sizes (views, 2) and the offset of image numbers of a subject."""
    try:
        record = misc[subject]
        lens = files.numbers(record["intris_mat"]).reshape(8, 3, 3)
        sizes = files.numbers(record["image_size"])[-8:].reshape(8, 2)
        offset = int(record["ioi_offset"])
        if not (np.isfinite(lens).all() and (sizes > 0).all() and (sizes < 1e6).all() and abs(offset) < 1e9):
            raise ValueError
        return lens, sizes.astype(np.int64), offset
    except (KeyError, TypeError, ValueError, IndexError, OverflowError):
        raise HandbenchError(
            f"{path}: {subject}: expected intris_mat of 8 cameras, image_size and ioi_offset"
        ) from None


def _poses(path: Path, misc: Any, subject: str) -> Any:
    """(8, 3, 4) world to camera of a subject's cameras."""
    try:
        return files.numbers(misc[subject]["world2cam"]).reshape(8, 4, 4)[:, :3]
    except (KeyError, TypeError, ValueError, IndexError):
        raise HandbenchError(f"{path}: {subject}: expected world2cam of 8 cameras, 4 x 4 each") from None


def _mano(path: Path, sequence: str, record: Any, side: str, frames: int) -> Any:
    """(frames, 61) rotation, pose, shape and translation of a side in the world."""
    try:
        given = record["params"]
        parts = [
            files.numbers(given[f"{name}_{side[0]}"]).reshape(frames, length)
            for name, length in (("rot", 3), ("pose", 45), ("shape", 10), ("trans", 3))
        ]
        return np.concatenate(parts, axis=1)
    except (KeyError, TypeError, ValueError, IndexError):
        raise HandbenchError(
            f"{path}: {sequence}: expected params with rot, pose, shape and trans of each hand and frame"
        ) from None


def _pick(
    path: Path, record: Any, rows: pl.DataFrame, side: str, lens: Any, sizes: Any, offset: int, poses: Any
) -> dict[str, Any]:
    """What one sequence holds of one side, at the images listed."""
    sequence = rows["sequence"][0]
    view, frame = rows["view"].to_numpy(), rows["number"].to_numpy() - offset
    try:
        seen, drawn = record["cam_coord"], record["2d"]
        joints = files.numbers(seen[f"joints.{side}"])
        points = files.numbers(drawn[f"joints.{side}"])
        marks = [np.asarray(seen[key]) != 0 for key in ("is_valid", "left_valid", "right_valid")]
    except (KeyError, TypeError, ValueError, IndexError):
        raise HandbenchError(
            f"{path}: {sequence}: expected cam_coord and 2d with joints.{side} and valid flags"
        ) from None
    shape = joints.shape[:2]
    fits = joints.shape[2:] == (21, 3) and points.shape == (*shape, 21, 2) and len(shape) == 2
    if not fits or any(mark.shape != shape for mark in marks):
        raise HandbenchError(f"{path}: {sequence}: expected joints.{side} of frames x views x 21 x 3 and 2")
    if (frame < 0).any() or (frame >= shape[0]).any() or (view >= shape[1]).any():
        raise HandbenchError(f"{path}: {sequence}: an image lies outside the {shape[0]} frames annotated")
    usable, left, right = (mark[frame, view] for mark in marks)
    mine = usable & (right if side == "right" else left)
    joints, points = joints[frame, view][mine], points[frame, view][mine]
    view = view[mine] - 1
    posed = {}
    if poses is not None:
        posed = {"mano": _mano(path, sequence, record, side, shape[0])[frame[mine]], "pose": poses[view]}
    return posed | {
        "invalid": (~mine).sum(),
        "image": rows["image"].to_numpy()[mine],
        "sequence": rows["sequence"].to_numpy()[mine],
        "number": rows["number"].to_numpy()[mine],
        "side": np.full(mine.sum(), side),
        "joints": reorder(joints, "mano"),
        "points": reorder(points, "mano"),
        "lens": lens[view],
        "size": sizes[view],
        "both": (usable & left & right)[mine],
    }
