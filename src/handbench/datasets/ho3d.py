"""HO-3D v2 and v3 (Hampali et al., CVPR 2020 and 2022).

``train/ABF10/meta/0000.pkl`` beside ``train/ABF10/rgb/0000.png`` (v2) or ``.jpg`` (v3), as listed in
``train.txt`` and ``evaluation.txt``.  ``handJoints3D`` are 21 joints in metres, OpenGL axes, MANO's joints
followed by the tips; right hands alone.  Images are 640 x 480.  The pickles of the evaluation hold the wrist
alone; its joints are in ``evaluation_xyz.json``, where the owner's later release is there.

The mesh is there as ``handPose`` (absolute rotation vectors), ``handBeta`` and ``handTrans`` of MANO, also in OpenGL
axes; with the user's own MANO files it gives the hand's centre and size.
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
from handbench.datasets.unpickle import load_pickle
from handbench.errors import HandbenchError
from handbench.hand.geometry import Floats
from handbench.hand.skeleton import reorder
from handbench.protocols import ReadContext, Source, dataset
from handbench.specs import Options, Spec

NAME: Final = "ho3d"
SPLITS: Final = ("train", "evaluation")

_SIZE = (640, 480)
_FROM_OPENGL = np.array([1.0, -1.0, -1.0])


@dataset(NAME)
def read(spec: Spec, context: ReadContext) -> Source:
    """Read ``ho3d:PATH?hash=yes``.

    Args:
        spec: the folder that holds ``train/`` and ``evaluation/``.
        context: split ``train`` (the default) or ``evaluation``.

    Raises:
        HandbenchError: a file is missing or damaged, nothing is left, or a guard failed.
    """
    options = Options(spec)
    hashed = options.flag("hash", default=True)
    options.done()
    split = context.split or "train"
    if split not in SPLITS:
        raise HandbenchError(f"{spec}: no split {split!r}; there are {', '.join(SPLITS)}")
    root = files.folder(spec)
    names = _names(root, split)
    later = _later_release(root, split, len(names))
    rows = []
    joints: list[Floats] = []
    cameras: list[Floats] = []
    posed: list[Floats | None] = []
    skipped: dict[str, int] = {}
    for row, (sequence, frame) in enumerate(names):
        if row % 256 == 0:
            context.progress(row, len(names), "reading annotations")
        meta = root / split / sequence / "meta" / f"{frame}.pkl"
        try:
            found = _annotation(meta, None if later is None else later[row])
        except HandbenchError as error:
            context.faults.bad(error)
            continue
        if isinstance(found, str):
            skipped[found] = skipped.get(found, 0) + 1
            continue
        joints.append(found[0])
        cameras.append(found[1])
        posed.append(found[2])
        rows.append((sequence, frame, _image(root, split, sequence, frame)))
    schema = {"sequence": pl.String, "frame": pl.String, "image": pl.String}
    left = Selection(pl.DataFrame(rows, schema=schema, orient="row").with_row_index("row"), skipped)
    left.keep("no image", pl.col("image").is_not_null())
    left.refuse_empty(root, f"the split {split}")

    rest = left.rows
    pick = rest["row"].to_numpy()
    raw = reorder(np.stack(joints), "mano")[pick]
    key = rest["sequence"] + "/" + rest["frame"]
    hands = Hands(
        images=rest["image"].to_list(),
        keys=key.to_list(),
        sides=["right"] * rest.height,
        clusters=[_take(name) for name in rest["sequence"]],
        sizes=np.tile(_SIZE, (rest.height, 1)),
        joints_cam=raw * _FROM_OPENGL,
        intrinsics=np.stack(cameras)[pick],
        sequences=rest["sequence"],
        videos=rest["sequence"],
        numbers=rest["frame"].cast(pl.Int64),
        order="mano",
        raw=raw,
    )
    notes = []
    if context.mano is not None:
        parameters = _parameters([posed[row] for row in pick])
        notes = give_meshes(hands, root / split, NAME, parameters, LIMIT, context)
    return finish(hands, Setting(NAME, split, root, root / split, context, hashed, left.skipped, notes))


def _parameters(given: list[Floats | None]) -> Parameters:
    """MANO parameters of each hand: 48 of pose, 10 of shape, 3 of translation; NaN where there are none."""
    numbers = np.array([np.zeros(61) if row is None else row for row in given]).reshape(-1, 61)
    count = len(numbers)
    return Parameters(
        sides=np.full(count, "right"),
        pose=numbers[:, :48],
        shape=numbers[:, 48:58],
        translation=numbers[:, 58:],
        rotation=np.tile(np.diag(_FROM_OPENGL), (count, 1, 1)),
        origin=np.zeros((count, 3)),
        given=np.array([row is not None for row in given], bool),
    )


def _names(root: Path, split: str) -> list[tuple[str, str]]:
    """Sequence and frame of each row of the owner's list."""
    path = files.must_exist(root / f"{split}.txt", f"the list of {split} frames, such as ABF10/0000")
    names = []
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        match = re.fullmatch(r"([\w-]+)/(\d+)", line.strip())
        if match:
            names.append((match[1], match[2]))
        elif line.strip():
            raise HandbenchError(f"{path}, line {number}: expected SEQUENCE/FRAME, found {line.strip()[:40]!r}")
    return names


def _later_release(root: Path, split: str, rows: int) -> Floats | None:
    path = root / "evaluation_xyz.json"
    if split != "evaluation" or not path.is_file():
        return None
    joints = np.concatenate([*json_files.read_json_stack(path, (21, 3), "joints of each evaluation frame")])
    if len(joints) != rows:
        raise HandbenchError(f"{path}: {len(joints)} rows, expected {rows} as in evaluation.txt")
    return joints


def _annotation(path: Path, joints: Any) -> tuple[Floats, Floats, Floats | None] | str:
    """Joints (21, 3) as in the file, camera (3, 3) and MANO parameters (61), or why there are no joints."""
    if not path.is_file():
        return "no pickle of the frame"  # the owner's copy lacks whole stretches
    content = load_pickle(path, "one frame's annotation")
    if not isinstance(content, dict) or "handJoints3D" not in content or "camMat" not in content:
        raise HandbenchError(f"{path}: expected a dict with handJoints3D and camMat")
    joints = content["handJoints3D"] if joints is None else joints
    if joints is None or content["camMat"] is None:
        return "not annotated"
    try:
        joints, camera = files.numbers(joints), files.numbers(content["camMat"])
    except (TypeError, ValueError):
        raise HandbenchError(f"{path}: handJoints3D and camMat must be numbers") from None
    if joints.size == 3:
        return "wrist alone annotated"
    if joints.shape != (21, 3) or camera.shape != (3, 3) or not np.isfinite(joints).all():
        raise HandbenchError(f"{path}: expected handJoints3D of 21 x 3 and camMat of 3 x 3 finite numbers")
    return joints, camera, _mano(content)


def _mano(content: dict[str, Any]) -> Floats | None:
    """Pose, shape and translation in one row, None where not all of them are there."""
    parts = [content.get(name) for name in ("handPose", "handBeta", "handTrans")]
    try:
        row = np.concatenate([files.numbers(part).ravel() for part in parts])
    except (TypeError, ValueError):
        return None
    return row if row.shape == (61,) and np.isfinite(row).all() else None


def _image(root: Path, split: str, sequence: str, frame: str) -> str | None:
    for suffix in ("png", "jpg"):
        image = f"{split}/{sequence}/rgb/{frame}.{suffix}"
        if (root / image).is_file():
            return image
    return None


def _take(sequence: str) -> str:
    """The take that several cameras saw: of a two-digit name such as ABF10, the last digit is the camera."""
    match = re.fullmatch(r"([A-Za-z]+\d)\d", sequence)
    return match[1] if match else sequence
