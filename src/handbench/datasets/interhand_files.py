"""The annotation files of InterHand2.6M: where they lie, and what is in them as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from handbench.datasets import files, json_files
from handbench.datasets.selection import Skipped
from handbench.errors import HandbenchError
from handbench.faults import Faults
from handbench.hand.geometry import Floats

OWNER_SPLITS: Final = ("train", "val", "test")

_LAYOUTS: Final = (
    # v1.0, the 5 fps version included.
    "annotations/{split}/InterHand2.6M_{split}_data.json",
    "annotations/InterHand2.6M_{split}_data.json",
    # v0.0: all annotations where there are such, else those of people, else those of the machine.
    "annotations/all/InterHand2.6M_{split}_data.json",
    "annotations/human_annot/InterHand2.6M_{split}_data.json",
    "annotations/machine_annot/InterHand2.6M_{split}_data.json",
)


_IMAGES: Final[json_files.Fields] = {
    "id": pl.Int64,
    "file_name": pl.String,
    "width": pl.Int64,
    "height": pl.Int64,
    "capture": pl.String,
    "subject": pl.String,
    "seq_name": pl.String,
    "camera": pl.String,
    "frame_idx": pl.Int64,
}
_ANNOTATIONS: Final[json_files.Fields] = {
    "image_id": pl.Int64,
    "bbox": pl.List(pl.Float64),
    # Flat lists of flags are taken as well.
    "joint_valid": pl.List(pl.List(pl.Int8)),
    "hand_type": pl.String,
    "hand_type_valid": pl.Float64,
}


@dataclass(frozen=True)
class Files:
    """Where one of the owner's splits lies.

    Attributes:
        data: images and what is seen in them.
        camera: cameras of each capture.
        joints: joints of each frame in the world.
        images: folder of the images, relative to the dataset's root; empty for the root itself.
    """

    data: Path
    images: str

    @property
    def camera(self) -> Path:
        """Cameras of each capture."""
        return self.data.with_name(self.data.name.replace("_data.json", "_camera.json"))

    @property
    def mano(self) -> Path:
        """MANO parameters of each frame in the world, where the owner's are there."""
        return self.data.with_name(self.data.name.replace("_data.json", "_MANO_NeuralAnnot.json"))

    @property
    def joints(self) -> Path:
        """World joints of each frame."""
        return self.data.with_name(self.data.name.replace("_data.json", "_joint_3d.json"))


def find_splits(root: Path) -> dict[str, Files]:
    """The owner's splits that are there.

    Besides the owner's layouts, a bare folder of images with ``test_*_data.json`` beside them is taken.

    Raises:
        HandbenchError: there is none.
    """
    found: dict[str, Files] = {}
    for split in OWNER_SPLITS:
        for layout in _LAYOUTS:
            data = root / layout.format(split=split)
            if data.is_file():
                found[split] = Files(data, f"images/{split}")
                break
        else:
            for data in sorted(root.glob(f"{split}_*_data.json")):
                found.setdefault(split, Files(data, ""))
    if not found:
        raise HandbenchError(
            f"{root}: no InterHand2.6M annotations; expected {_LAYOUTS[0].format(split='train')} in it"
        )
    return found


def read_images(path: Path, faults: Faults) -> tuple[pl.DataFrame, dict[str, int]]:
    """One row per image with its annotation.

    Returns:
        A frame with ``file_name``, ``width``, ``height``, ``capture``, ``subject``, ``seq_name``, ``camera``,
        ``frame_idx``, ``bbox``, ``joint_valid``, ``hand_type``, ``hand_type_valid``; and what had no partner.

    Raises:
        HandbenchError: a field is missing.
    """
    lists = {"images": _IMAGES, "annotations": _ANNOTATIONS}
    optional = ("subject", "hand_type_valid")
    images, annotations = json_files.read_json_records(path, "images and annotations", lists, optional, faults)
    annotations = annotations.with_columns(pl.col("hand_type_valid").fill_null(1))
    twice = annotations.filter(pl.col("image_id").is_duplicated())
    if twice.height:
        raise HandbenchError(f"{path}: image {twice['image_id'][0]} is annotated more than once")
    boxed = faults.good(
        annotations["bbox"].list.len().eq_missing(4).to_numpy(),
        "damaged box",
        lambda row: f"{path}: annotations: record {row}: bbox must be four numbers x, y, width, height",
    )
    annotations = annotations.filter(boxed)
    joined = images.join(annotations, left_on="id", right_on="image_id", maintain_order="left")
    counts = {
        "image without annotation": images.height - joined.height,
        "annotation without image": annotations.height - joined.height,
    }
    alone = images.join(annotations, left_on="id", right_on="image_id", how="anti")
    stray = annotations.join(images, left_on="image_id", right_on="id", how="anti")
    firsts = {
        "image without annotation": alone["file_name"][:1].to_list(),
        "annotation without image": [f"image_id {number}" for number in stray["image_id"][:1]],
    }
    return joined, Skipped(counts, {reason: names[0] for reason, names in firsts.items() if names})


def flags(column: pl.Series, width: int, path: Path) -> NDArray[np.bool_]:
    """(N, width) flags from a column of lists, be they ``[1, 0, ...]`` or ``[[1], [0], ...]``.

    Raises:
        HandbenchError: a row has another number of flags.
    """
    lengths = column.list.len()
    if (lengths != width).any():
        row = int((lengths != width).arg_true()[0])
        raise HandbenchError(f"{path}: {column.name}, row {row}: {lengths[row]} flags, expected {width}")
    if isinstance(column.dtype, pl.List) and isinstance(column.dtype.inner, pl.List):
        single = column.list.eval(pl.element().list.len() == 1).list.all()
        if not single.all():
            row = int((~single).arg_true()[0])
            raise HandbenchError(f"{path}: {column.name}, row {row}: expected {width} flags, [1] or [0] each")
    while isinstance(column.dtype, pl.List):
        column = column.explode()
    return np.asarray(column.to_numpy() != 0).reshape(-1, width)


@dataclass(frozen=True)
class World:
    """Joints of F frames.

    Attributes:
        index: ``capture`` and ``frame_idx`` of each row, and ``world``, the row's number.
        joints: (F, 42, 3) millimetres, world axes, right hand first.
        valid: (F, 42).
    """

    index: pl.DataFrame
    joints: Floats
    valid: NDArray[np.bool_]


def read_world(path: Path, faults: Faults, key: str | None = None) -> World:
    """Read the joints of all frames.

    Args:
        path: the file.
        faults: what is done about a frame that has not 42 joints of three numbers, finite where valid.
        key: under which key of it the captures are; None for the whole.

    Raises:
        HandbenchError: a frame has not 42 joints of three numbers, finite where valid.
    """
    document = json_files.read_json(path, "world joints of each capture and frame")
    keys: list[tuple[str, int]] = []
    points: list[Any] = []
    valid: list[Any] = []
    try:
        for capture, frames in (document if key is None else document[key]).items():
            for frame, record in frames.items():
                keys.append((capture, int(frame)))
                points.append(record["world_coord"])
                valid.append(record["joint_valid"])
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
        raise HandbenchError(
            f"{path}: expected {{capture: {{frame: {{world_coord, joint_valid}}}}}}"
            + (f"; capture {keys[-1][0]}, frame {keys[-1][1]} is not so" if keys else "")
        ) from None
    index = pl.DataFrame(
        {"capture": [key[0] for key in keys], "frame_idx": [key[1] for key in keys]},
        schema={"capture": pl.String, "frame_idx": pl.Int64},
    ).with_row_index("world")
    joints, flagged = _stack(points, (42, 3), path, keys), _stack(valid, (42,), path, keys) != 0
    good = faults.good(
        ~(flagged & ~np.isfinite(joints).all(axis=2)).any(axis=1),
        "joints not finite",
        lambda row: f"{path}: capture {keys[row][0]}, frame {keys[row][1]}: a valid joint is not a finite number",
    )
    index = index.filter(good).drop("world").with_row_index("world")
    return World(index, joints[good], flagged[good])


def _stack(values: list[Any], shape: tuple[int, ...], path: Path, keys: list[tuple[str, int]]) -> Floats:
    try:
        return files.numbers(values).reshape(len(values), *shape)
    except ValueError:
        for value, (capture, frame) in zip(values, keys, strict=True):
            try:
                files.numbers(value).reshape(shape)
            except ValueError:
                expected = " x ".join(map(str, shape))
                raise HandbenchError(f"{path}: capture {capture}, frame {frame}: expected {expected} numbers") from None
        raise


@dataclass(frozen=True)
class Cameras:
    """C cameras.

    Attributes:
        index: ``capture`` and ``camera`` of each row, and ``view``, the row's number.
        position: (C, 3) camera centres in the world, millimetres.
        rotation: (C, 3, 3) world to camera.
        intrinsics: (C, 3, 3) pixels.
    """

    index: pl.DataFrame
    position: Floats
    rotation: Floats
    intrinsics: Floats


def read_cameras(path: Path) -> Cameras:
    """Read the cameras of all captures.

    Raises:
        HandbenchError: a camera lacks a number.
    """
    document = json_files.read_json(path, "cameras of each capture")
    try:
        keys = [(capture, camera) for capture, record in document.items() for camera in record["campos"]]
        parts = {
            name: files.numbers([document[capture][name][camera] for capture, camera in keys])
            for name in ("campos", "camrot", "focal", "princpt")
        }
        intrinsics = np.zeros((len(keys), 3, 3))
        intrinsics[:, [0, 1], [0, 1]] = parts["focal"].reshape(-1, 2)
        intrinsics[:, :2, 2] = parts["princpt"].reshape(-1, 2)
        intrinsics[:, 2, 2] = 1
        position, rotation = parts["campos"].reshape(-1, 3), parts["camrot"].reshape(-1, 3, 3)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise HandbenchError(
            f"{path}: expected campos, camrot, focal and princpt of every camera of every capture: {error!r}"
        ) from None
    index = pl.DataFrame(
        {"capture": [key[0] for key in keys], "camera": [key[1] for key in keys]},
        schema={"capture": pl.String, "camera": pl.String},
    ).with_row_index("view")
    return Cameras(index, position, rotation, intrinsics)
