"""From a reader's arrays to a checked ``Source``, the same way for every dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from handbench import tables
from handbench.datasets import files
from handbench.datasets.guards import Evidence, guard
from handbench.datasets.selection import LACKING
from handbench.datasets.soundness import Columns, sound
from handbench.errors import HandbenchError
from handbench.hand.camera import project
from handbench.hand.geometry import Floats, center_and_extent
from handbench.protocols import ReadContext, Source

Texts = Sequence[str | None] | pl.Series


@dataclass
class Hands(Columns):
    """N annotated hands of one split, as columns.

    Attributes:
        images: path of each hand's image, relative to the dataset's folder.
        keys: what identifies the image in ``hand_id``; the same wherever the folder stands.
        sides: ``left`` or ``right``.
        clusters: the unit that is drawn again in every interval.
        sizes: (N, 2) width and height of the images.
        joints_cam: (N, 21, 3) metres, camera frame, NaN where not annotated; None for 2D alone.
        joints_px: (N, 21, 2) the owner's own; projected through ``intrinsics`` where None.
        intrinsics: (N, 3, 3) pixels.
        visible: (N, 21).
        occluded: (N, 21).
        center: (N, 3) metres, of the mesh; of the joints where None.
        extent: (N, 3) metres, of the mesh; of the joints where None.
        by_mesh: (N,) whose ``center`` and ``extent`` are the mesh's, the others being of the joints; all where
            None.
        stand_in: (N, 21, 3) joints to give out instead of ``joints_cam``, which the guards look at and which
            lie where the image shows them.
        subjects: the person.
        sequences: the recording.
        videos: the video.
        numbers: the frame's number in the video.
        annotated: whether all hands of the image are annotated.
        order: key of ``skeleton.ORDERS`` that the joints were taken by; for the guards.
        raw: (N, 21, D) the file's own numbers, NaN where not annotated; for the guards.
        boxes: (N, 4) [x1, y1, x2, y2] around the hands; for the guards.
    """

    images: Sequence[str]
    keys: Sequence[str]
    sides: Sequence[str]
    clusters: Sequence[str]
    sizes: NDArray[np.integer[Any]]
    joints_cam: Floats | None = None
    joints_px: Floats | None = None
    intrinsics: Floats | None = None
    visible: NDArray[np.bool_] | None = None
    occluded: NDArray[np.bool_] | None = None
    center: Floats | None = None
    extent: Floats | None = None
    by_mesh: NDArray[np.bool_] | None = None
    stand_in: Floats | None = None
    subjects: Texts | None = None
    sequences: Texts | None = None
    videos: Texts | None = None
    numbers: Sequence[int] | NDArray[np.integer[Any]] | pl.Series | None = None
    annotated: NDArray[np.bool_] | bool = True
    order: str = "openpose"
    raw: NDArray[np.floating] | None = None
    boxes: NDArray[np.floating] | None = None


@dataclass(frozen=True)
class Setting:
    """Whose hands they are, and how they are to be finished.

    Attributes:
        name: the dataset's.
        split: its name.
        root: the folder that images are relative to.
        source: what to call the annotations in an error.
        context: as given to the reader.
        hashed: whether image files are hashed.
        skipped: rows left out, by reason.
        notes: facts for the report.
        paper_images: how many images the paper counts in each of its splits.
        synthetic: whether the images are rendered.
        joint_error: mean 3D error of a joint that the owner publishes, metres.
    """

    name: str
    split: str
    root: Path
    source: Path
    context: ReadContext
    hashed: bool = True
    skipped: Mapping[str, int] = field(default_factory=dict)
    notes: Sequence[str] = ()
    paper_images: Mapping[str, int] = field(default_factory=dict)
    synthetic: bool = False
    joint_error: float | None = None


def finish(hands: Hands, setting: Setting) -> Source:
    """Check hands, look at their images and make the tables.

    Raises:
        HandbenchError: a guard failed, an image is damaged or of another size, or two hands have one id.
    """
    notes = list(setting.notes)
    hands = sound(hands, setting.root, setting.source, setting.context)
    left_out, told = setting.context.faults.take()
    notes += told
    if hands.joints_cam is not None:
        evidence = Evidence(
            hands.joints_cam,
            hands.sides,
            hands.order,
            raw=hands.raw,
            intrinsics=hands.intrinsics,
            sizes=hands.sizes,
            boxes=hands.boxes,
            pixels=hands.joints_px,
        )
        notes += guard(setting.source, evidence, setting.context)
    files.same_sizes(setting.root, hands.images, hands.sizes)
    shown = sorted(set(hands.images))
    if setting.split in setting.paper_images and len(shown) != setting.paper_images[setting.split]:
        counted = setting.paper_images[setting.split]
        off = f"{abs(len(shown) - counted):,} {'fewer' if len(shown) < counted else 'more'} than the"
        notes.append(f"warning: {setting.split} has {len(shown):,} images here, {off} {counted:,} of the paper")
    hashes = None
    if setting.hashed:
        hashes = files.hash_images(setting.root, shown, setting.context.workers, setting.context.progress)
    return Source(
        name=setting.name,
        frames=_frames(hands, setting, hashes),
        hands=_hands(hands, setting, hashes),
        root=setting.root,
        synthetic=setting.synthetic,
        skipped={reason: count for reason, count in ({**setting.skipped, **left_out}).items() if count},
        notes=notes,
        joint_error=setting.joint_error,
        incomplete=_lacks(setting, len(hands.images)),
    )


def _lacks(setting: Setting, rows: int) -> list[str]:
    """What a folder lacks that is nearly whole; one that holds the lesser part is a part taken on purpose."""
    firsts = getattr(setting.skipped, "firsts", {})
    said = []
    for reason in LACKING:
        count = setting.skipped.get(reason, 0)
        if 0 < count <= rows:
            first = f", the first {firsts[reason]}" if reason in firsts else ""
            said.append(
                f"{setting.source}: {reason}: {count} beside {rows} whole ones{first}; expected an image for each "
                "annotation and the reverse (--keep-going leaves them out)"
            )
    return said


def _hands(hands: Hands, setting: Setting, hashes: Mapping[str, str] | None) -> pl.DataFrame:
    points = hands.joints_px
    if points is None and hands.joints_cam is not None and hands.intrinsics is not None:
        points = project(hands.joints_cam, hands.intrinsics)
    prefix = f"{setting.name}/{setting.split}"
    named = [f"{prefix}/{key}/{side}" for key, side in zip(hands.keys, hands.sides, strict=True)]
    columns: dict[str, Any] = _common(hands, hashes) | {
        "hand_id": named,
        "side": hands.sides,
        "cluster": hands.clusters,
        "joints_px": points,
        "joints_cam": hands.joints_cam,
        "intrinsics": hands.intrinsics,
        "visible": hands.visible,
        "occluded": hands.occluded,
    }
    if points is not None:
        # NaN is inside nothing, and so is a point behind the camera.
        columns["in_frame"] = ((points >= 0) & (points < hands.sizes[:, None])).all(axis=-1)
    joints = hands.joints_cam if hands.stand_in is None else hands.stand_in
    if joints is not None:
        center, extent = center_and_extent(joints)
        mesh: NDArray[np.bool_] = np.zeros(len(named), bool)
        if hands.extent is not None and hands.center is not None:
            mesh = np.ones(len(named), bool) if hands.by_mesh is None else hands.by_mesh
            center[mesh], extent[mesh] = hands.center[mesh], hands.extent[mesh]
        columns |= {"joints_cam": joints}
        if hands.stand_in is not None:
            columns["intrinsics"] = None  # they would put the stand-ins elsewhere than the image shows the hand
        columns |= {"center": center, "extent": extent, "extent_source": np.where(mesh, "mesh", "joints").tolist()}
    table = _frame(columns, "hands", setting).sort("hand_id")
    twice = table.filter(pl.col("hand_id").is_duplicated())
    if twice.height:
        first = twice["hand_id"][0]
        times = twice.filter(pl.col("hand_id") == first).height
        raise HandbenchError(f"{setting.source}: {first} is annotated {times} times; expected once")
    return table


def _frames(hands: Hands, setting: Setting, hashes: Mapping[str, str] | None) -> pl.DataFrame:
    annotated = np.broadcast_to(np.asarray(hands.annotated), len(hands.images))
    columns = _common(hands, hashes) | {
        "width": hands.sizes[:, 0],
        "height": hands.sizes[:, 1],
        "annotated": annotated,
        "video": hands.videos,
        "frame": hands.numbers,
    }
    return _frame(columns, "frames", setting).unique("image", keep="first").sort("image")


def _common(hands: Hands, hashes: Mapping[str, str] | None) -> dict[str, Any]:
    return {
        "image": hands.images,
        "image_hash": [hashes[image] for image in hands.images] if hashes is not None else None,
        "subject": hands.subjects,
        "sequence": hands.sequences,
    }


def _frame(columns: dict[str, Any], table: str, setting: Setting) -> pl.DataFrame:
    schema = tables.SCHEMAS[table]
    series = [
        pl.Series(name, values, dtype=None if isinstance(values, np.ndarray) else _plain(schema[name]))
        for name, values in columns.items()
        if values is not None
    ]
    frame = pl.DataFrame(series)
    frame = frame.with_columns(dataset=pl.lit(setting.name), split=pl.lit(setting.split))
    return tables.conform(frame, table, setting.source)


def _plain(column: tables.Column) -> pl.DataType | type[pl.DataType]:
    return pl.String() if column.dtype == tables.WORD else column.dtype
