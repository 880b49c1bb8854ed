"""InterHand2.6M v1.0 (Moon et al., ECCV 2020), at 30 or 5 frames per second.

42 joints, right hand first, each finger from its tip, in world millimetres; ``X_cam = R (X_world - campos)``.
The papers' splits are cut from the official train split (HandVQA, section 7.1): right hands seen by cameras
400053 and 400064; subjects 5 to 26 for training and 1 to 4 for testing.

The mesh is there as MANO parameters only (``InterHand2.6M_train_MANO_NeuralAnnot.json``).  With the user's own MANO
files, centre and size of a hand are the posed mesh's; without, they are those of its joints.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from handbench.datasets import files
from handbench.datasets.build import Hands, Setting, finish
from handbench.datasets.guards import BY_FORCE, stop_or_note
from handbench.datasets.interhand_files import (
    Cameras,
    Files,
    World,
    find_splits,
    flags,
    read_cameras,
    read_images,
    read_world,
)
from handbench.datasets.interhand_mano import (
    FITTING_ERROR,
    LIMIT,
    RELEASED_TURNS,
    parameters_of,
    read_fitted,
    released_joints,
)
from handbench.datasets.mano_meshes import Parameters, fit_meshes
from handbench.datasets.selection import Selection
from handbench.errors import HandbenchError
from handbench.hand.geometry import Floats
from handbench.hand.skeleton import ORDERS
from handbench.protocols import ReadContext, Source, dataset
from handbench.specs import Options, Spec

NAME: Final = "interhand"
PAPER_CAMERAS: Final = ("400053", "400064")
PAPER_IMAGES: Final = {"paper-train": 5348, "paper-test": 3934}
"""Images that the paper counts (section 7.1)."""

_TEST_PEOPLE = tuple(str(number) for number in range(1, 5))
_TRAIN_PEOPLE = tuple(str(number) for number in range(5, 27))
_RELEASED_SEQUENCES = 40
_METRES = 1e-3
_BY_JOINTS = "centre and size of a hand are those of its joints; the paper takes the MANO mesh (--mano)"
_RELEASED = (
    "protocol released: MANO joints without the camera's pose, turned by a fixed angle for each camera, and the extent "
    "along the world's axes; the joints lie near their images only, so no camera is given"
)


@dataset(NAME)
def read(spec: Spec, context: ReadContext) -> Source:
    """Read ``interhand:PATH?hands=right&cameras=400053,400064&interacting=no&hash=yes``.

    Options: ``hands`` (right, left, both); ``cameras``; ``interacting``, whether a hand that is labelled
    together with the other one counts (no for the papers' splits, else yes); ``hash``.

    Args:
        spec: the folder that holds ``images/`` and ``annotations/``.
        context: split ``train``, ``val``, ``test``, ``paper-train`` or ``paper-test`` (where train is there,
            the default).  Protocol ``paper`` divides the papers' splits by subject.  ``released`` does all as the
            released code: by capture, in the sequences named like the first 40 of Capture24, right hands whatever
            else is in the image, MANO joints turned by a fixed angle; it needs ``mano``.

    Raises:
        HandbenchError: a file is missing or damaged, nothing is left, or a guard failed.
    """
    root = files.folder(spec)
    split, where = _choose_split(root, context.split)
    paper = split in PAPER_IMAGES
    released = paper and context.protocol == "released"
    options = Options(spec)
    wanted = options.choice("hands", "right", ("right", "left", "both"))
    sides = ("right", "left") if wanted == "both" else (wanted,)
    cameras = options.text("cameras", ",".join(PAPER_CAMERAS) if paper else "")
    interacting = options.flag("interacting", default=not paper)
    hashed = options.flag("hash", default=True)
    options.done()
    if released:
        _check_released(spec, context, wanted, cameras)

    context.progress(0, None, "reading annotations")
    rows, alone = read_images(where.data, context.faults)
    left = Selection(rows, alone)
    notes = [f"{NAME}: {_BY_JOINTS}"] if context.mano is None else []
    if paper:
        notes += _keep_people(left, split, where.data, context)
    if cameras:
        left.keep("other camera", pl.col("camera").is_in(cameras.split(",")))
    kinds = [*sides, "interacting"] if interacting else list(sides)
    if not released:
        left.keep("other kind of hand", pl.col("hand_type").is_in(kinds))
        left.keep("kind of hand not valid", pl.col("hand_type_valid") != 0)
    world, views = read_world(where.joints, context.faults), read_cameras(where.camera)
    left.match("no 3D joints of the frame", world.index, ("capture", "frame_idx"))
    left.match("no camera of the image", views.index, ("capture", "camera"))
    fitted = read_fitted(where.mano) if context.mano is not None else None
    if released and fitted is not None:
        known = fitted.index.filter(pl.col("side") == "right").select("capture", "frame_idx")
        left.match("no MANO parameters of the hand", known, ("capture", "frame_idx"))
    left.rows = left.rows.with_columns(
        image=pl.lit(f"{where.images}/" if where.images else "") + pl.col("file_name"),
        sequence=pl.col("capture") + "/" + pl.col("seq_name"),
    )
    left.keep("no image", pl.Series(files.existing(root, left.rows["image"].to_list())))
    left.refuse_empty(where.data, f"the split {split}")

    hands, rows, unseen = _hands(left.rows, sides, world, views, where.data, labelled=not released)
    left.count("hand without annotated joint", unseen)
    if fitted is not None:
        notes += _pose(hands, parameters_of(fitted, rows, views), rows, where.data, context, released)
    error = FITTING_ERROR if released else None
    setting = Setting(
        NAME, split, root, where.data, context, hashed, left.skipped, notes, PAPER_IMAGES, joint_error=error
    )
    return finish(hands, setting)


def _check_released(spec: Spec, context: ReadContext, hands: str, cameras: str) -> None:
    """Refuse what the released code cannot do."""
    if context.mano is None:
        raise HandbenchError(
            f"{spec}: --protocol released poses MANO as the released code does; give the folder of your own "
            "MANO_RIGHT.pkl with --mano DIR"
        )
    others = set(cameras.split(",")) - set(RELEASED_TURNS)
    if hands != "right" or others:
        raise HandbenchError(
            f"{spec}: --protocol released knows right hands and the cameras {', '.join(RELEASED_TURNS)} alone"
        )


def _pose(
    hands: Hands,
    parameters: Parameters,
    rows: pl.DataFrame,
    source: Path,
    context: ReadContext,
    released: bool,
) -> list[str]:
    """Give the hands their meshes, or their joints as the released code has them; what must be said of it."""
    assert hands.joints_cam is not None
    assert context.mano is not None
    meshes = fit_meshes(source, NAME, hands.joints_cam, parameters, LIMIT, context)
    hands.center, hands.extent, hands.by_mesh = meshes.center, meshes.extent, meshes.found
    if not released:
        return meshes.notes
    places = np.nan_to_num(np.nanmean(hands.joints_cam, axis=1))
    hands.stand_in, hands.extent = released_joints(context.mano, parameters, rows["camera"].to_numpy(), places)
    hands.center, hands.by_mesh = places, np.ones(rows.height, bool)
    return [*(note for note in meshes.notes if note.startswith(BY_FORCE)), f"{NAME}: {_RELEASED}"]


def _choose_split(root: Path, asked: str | None) -> tuple[str, Files]:
    """The split's name and the owner's files that it is cut from."""
    there = find_splits(root)
    known = [*there, *(PAPER_IMAGES if "train" in there else ())]
    split = asked or ("paper-test" if "train" in there else known[-1])
    if split not in known:
        raise HandbenchError(f"{root}: no split {split!r} here; there are {', '.join(known)}")
    return split, there["train" if split in PAPER_IMAGES else split]


def _keep_people(left: Selection, split: str, source: Path, context: ReadContext) -> list[str]:
    """Keep what belongs to one of the papers' splits."""
    if context.protocol == "paper":
        people = _TEST_PEOPLE if split == "paper-test" else _TRAIN_PEOPLE
        left.keep("other subject", pl.col("subject").is_in(people))
        return []
    # The released code takes Capture5 to Capture26 for training and whatever else lies there for testing.
    trains = pl.col("capture").is_in(_TRAIN_PEOPLE)
    model = left.rows.filter(pl.col("capture") == "24")["seq_name"].unique().sort()[:_RELEASED_SEQUENCES]
    left.keep("other capture", ~trains if split == "paper-test" else trains)
    if model.len() == 0:
        cause = "the released code takes the sequences named like those of Capture24, which is not here"
        return [stop_or_note(source, cause, context)]
    left.keep("other sequence", pl.col("seq_name").is_in(model.to_list()))
    return []


def _hands(
    rows: pl.DataFrame, sides: tuple[str, ...], world: World, views: Cameras, source: Path, labelled: bool
) -> tuple[Hands, pl.DataFrame, int]:
    """Every annotated hand in its camera, the row of each with its side, and how many had not one annotated joint.

    ``labelled`` tells whether a hand counts by its label; else it counts wherever it has a joint.
    """
    frame, view = rows["world"].to_numpy(), rows["view"].to_numpy()
    valid = flags(rows["joint_valid"], 42, source) & world.valid[frame]
    picked: list[NDArray[np.intp]] = []
    raws: list[Floats] = []
    unseen = 0
    for side in sides:
        order = list(ORDERS[f"interhand-{side}"])
        mine = rows["hand_type"].is_in([side, "interacting"]).to_numpy() | (not labelled)
        seen = valid[:, order].any(axis=1)
        pick = np.flatnonzero(mine & seen)
        unseen += int((mine & ~seen).sum())
        raw = world.joints[frame[pick]][:, order]
        raw[~valid[pick][:, order]] = np.nan
        picked.append(pick)
        raws.append(raw)
    pick, raw = np.concatenate(picked), np.concatenate(raws)
    named = [side for side, part in zip(sides, picked, strict=True) for _ in part]
    row, view = rows[pick].with_columns(side=pl.Series(named, dtype=pl.String)), view[pick]
    turned = np.einsum("nij,npj->npi", views.rotation[view], raw - views.position[view][:, None])
    boxes = np.array(row["bbox"].to_list(), np.float64).reshape(-1, 4)
    boxes[:, 2:] += boxes[:, :2]
    hands = Hands(
        images=row["image"].to_list(),
        keys=[files.stem(name) for name in row["file_name"]],
        sides=named,
        clusters=(row["sequence"] + "/" + row["frame_idx"].cast(pl.String)).to_list(),
        sizes=row.select("width", "height").to_numpy(),
        joints_cam=turned * _METRES,
        intrinsics=views.intrinsics[view],
        subjects=row["subject"],
        sequences=row["sequence"],
        videos=row["sequence"] + "/" + row["camera"],
        numbers=row["frame_idx"],
        # Beside a hand that is labelled alone there may be one without label.
        annotated=(row["hand_type"] == "interacting").to_numpy(),
        # Both hands have one order, 21 rows apart.
        order="interhand-right",
        raw=raw,
        boxes=boxes,
    )
    return hands, row, unseen
