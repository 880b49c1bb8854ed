"""AssemblyHands v1.1 (Ohkawa et al., CVPR 2023), egocentric images.

``annotations/val/assemblyhands_val_ego_data_v1-1.json`` (images, boxes, joints in view), ``..._ego_calib_``
(cameras, one pose for each frame) and ``..._joint_3d_`` (42 joints in world millimetres, right hand first,
each finger from its tip); ``X_cam = R X_world + t``.  Images lie under ``images/``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from handbench.datasets import files, json_files
from handbench.datasets.build import Hands, Setting, finish
from handbench.datasets.interhand_files import World, flags, read_world
from handbench.datasets.selection import Selection
from handbench.errors import HandbenchError
from handbench.faults import Faults
from handbench.hand.geometry import Floats
from handbench.hand.skeleton import ORDERS
from handbench.protocols import ReadContext, Source, dataset
from handbench.specs import Options, Spec

NAME: Final = "assemblyhands"
SPLITS: Final = ("train", "val", "test")
LEAST_VALID: Final = 10
"""Joints in view that a hand must have, as in the owner's own loader."""

_IMAGES: Final[json_files.Fields] = {
    "id": pl.Int64,
    "file_name": pl.String,
    "width": pl.Int64,
    "height": pl.Int64,
    "seq_name": pl.String,
    "camera": pl.String,
    "frame_idx": pl.Int64,
}
_BOX = pl.List(pl.Float64)
_ANNOTATIONS: Final[json_files.Fields] = {
    "image_id": pl.Int64,
    "bbox": pl.Struct({"right": _BOX, "left": _BOX}),
    "joint_valid": pl.List(pl.List(pl.Int8)),
}
JOINT_ERROR: Final = 0.0042
"""Metres: average keypoint error of the annotations (Ohkawa et al., abstract)."""

_METRES = 1e-3
_SUFFIX = "_mono10bit"


@dataset(NAME)
def read(spec: Spec, context: ReadContext) -> Source:
    """Read ``assemblyhands:PATH?hands=both&hash=yes``.

    Args:
        spec: the folder that holds ``annotations/`` and ``images/``.
        context: split ``val`` (the default), ``train`` or ``test``.

    Raises:
        HandbenchError: a file is missing or damaged, nothing is left, or a guard failed.
    """
    options = Options(spec)
    wanted = options.choice("hands", "both", ("both", "right", "left"))
    hashed = options.flag("hash", default=True)
    options.done()
    split = context.split or "val"
    if split not in SPLITS:
        raise HandbenchError(f"{spec}: no split {split!r}; there are {', '.join(SPLITS)}")
    root = files.folder(spec)
    place = root / "annotations" / split
    data = place / f"assemblyhands_{split}_ego_data_v1-1.json"
    context.progress(0, None, "reading annotations")
    left = _hands_in_view(data, ("right", "left") if wanted == "both" else (wanted,), context.faults)
    _leave_out_listed(left, place / f"invalid_{split}_ego.txt")
    world = read_world(place / f"assemblyhands_{split}_joint_3d_v1-1.json", context.faults, "annotations")
    index = world.index.rename({"capture": "seq_name"})
    left.match("no 3D joints of the frame", index, ("seq_name", "frame_idx"))
    left.rows = left.rows.with_columns(image="images/" + pl.col("file_name"))
    left.keep("no image", pl.Series(files.existing(root, left.rows["image"].to_list()), dtype=pl.Boolean))
    left.refuse_empty(data, f"the split {split}")

    valid, raw = _joints(left.rows, world, data)
    enough = valid.sum(axis=1) >= LEAST_VALID
    left.keep(f"hand with fewer than {LEAST_VALID} joints in view", pl.Series(enough))
    left.refuse_empty(data, f"the split {split}")
    rows, raw = left.rows, raw[enough]
    good, cameras = _cameras(place / f"assemblyhands_{split}_ego_calib_v1-1.json", rows, context.faults)
    if not good:
        files.refuse_nothing(data, context.faults)
    rows, raw = rows[good], raw[good]
    poses, intrinsics = (np.stack(part) for part in zip(*cameras, strict=True))
    turned = np.einsum("nij,npj->npi", poses[:, :, :3], raw) + poses[:, None, :, 3]
    sequence = rows["seq_name"]
    hands = Hands(
        images=rows["image"].to_list(),
        keys=[files.stem(name) for name in rows["file_name"]],
        sides=rows["side"].to_list(),
        clusters=(sequence + "/" + rows["frame_idx"].cast(pl.String)).to_list(),
        sizes=rows.select("width", "height").to_numpy(),
        joints_cam=turned * _METRES,
        intrinsics=intrinsics,
        sequences=sequence,
        videos=sequence + "/" + rows["camera"],
        numbers=rows["frame_idx"],
        annotated=(rows["boxes"] == rows.select(pl.len().over("image"))["len"]).to_numpy(),
        order="interhand-right",
        raw=raw,
        boxes=np.array(rows["box"].to_list(), np.float64).reshape(-1, 4),
    )
    setting = Setting(NAME, split, root, data, context, hashed, left.skipped, joint_error=JOINT_ERROR)
    return finish(hands, setting)


def _hands_in_view(path: Path, sides: tuple[str, ...], faults: Faults) -> Selection:
    """A row for each hand that has a box."""
    lists = {"images": _IMAGES, "annotations": _ANNOTATIONS}
    images, annotations = json_files.read_json_records(path, "images and annotations", lists, (), faults)
    joined = images.join(annotations, left_on="id", right_on="image_id", maintain_order="left")
    boxes = joined["bbox"].struct.unnest()
    count = boxes["right"].is_not_null().cast(pl.Int64) + boxes["left"].is_not_null().cast(pl.Int64)
    joined = joined.drop("bbox").with_columns(boxes=count)
    each = [joined.with_columns(side=pl.lit(side), box=boxes[side]) for side in sides]
    left = Selection(pl.concat(each), {"image without annotation": images.height - joined.height})
    left.keep("hand out of view", pl.col("box").is_not_null())
    boxed = faults.good(
        left.rows["box"].list.len().eq_missing(4).to_numpy(),
        "damaged box",
        lambda row: f"{path}: a box must be four numbers x1, y1, x2, y2",
    )
    left.rows = left.rows.filter(boxed)
    return left


def _leave_out_listed(left: Selection, path: Path) -> None:
    """Leave out what the owner's list of bad hands names, where there is that list."""
    if path.is_file():
        listed = set(path.read_text(errors="replace").split("\n"))
        number = pl.when(pl.col("side") == "right").then(pl.lit(",0")).otherwise(pl.lit(",1"))
        name = pl.col("file_name") + number
        left.keep("hand on the owner's list of bad ones", ~name.is_in([line.strip() for line in listed]))


def _joints(rows: pl.DataFrame, world: World, path: Path) -> tuple[NDArray[np.bool_], Floats]:
    """Which joints are in view (N, 21), and the joints (N, 21, 3) in the world, NaN where not in view."""
    frame = rows["world"].to_numpy()
    order = np.array([ORDERS[f"interhand-{side}"] for side in rows["side"]])
    both = flags(rows["joint_valid"], 42, path) & world.valid[frame]
    valid = np.take_along_axis(both, order, axis=1)
    raw = np.take_along_axis(world.joints[frame], order[..., None], axis=1)
    raw[~valid] = np.nan
    return valid, raw


def _cameras(path: Path, rows: pl.DataFrame, faults: Faults) -> tuple[list[int], list[tuple[Floats, Floats]]]:
    """Which rows have a camera, and for each (3, 4) world to camera and (3, 3) intrinsics."""
    document = json_files.read_json(path, "cameras of each sequence and frame")

    def camera_of(key: tuple[str, str, int]) -> tuple[Floats, Floats]:
        sequence, camera, frame = key
        try:
            record: dict[str, Any] = document["calibration"][sequence]
            views = record["extrinsics"][f"{frame:06d}"]
            name = camera if camera in views else camera + _SUFFIX
            pose = files.numbers(views[name])[:3].reshape(3, 4)
            intrinsics = files.numbers(record["intrinsics"][name]).reshape(3, 3)
        except (KeyError, TypeError, ValueError, IndexError):
            pose = intrinsics = np.full((3, 3), np.nan)
        if not (np.isfinite(pose).all() and np.isfinite(intrinsics).all()):
            place = f"sequence {sequence}, frame {frame}, camera {camera}"
            raise HandbenchError(
                f"{path}: {place}: expected 3 x 4 extrinsics and 3 x 3 intrinsics", "damaged camera"
            ) from None
        return pose, intrinsics

    return faults.each(rows.select("seq_name", "camera", "frame_idx").iter_rows(), camera_of)
