"""The real-world test set of Ge et al., "3D Hand Shape and Pose Estimation from a Single RGB Image" (2019).

583 crops of 256 x 256 pixels in ``images/``, ``pose_gt.mat`` with ``pose_gt`` (583, 21, 3) in centimetres
(OpenCV axes, OpenPose order), ``params.mat`` with ``cam_param`` (fx, fy, u0, v0 of the whole photo) and
``bbox`` (x, y, w, h of the crop in it).  Row = the number in the file name.  There is no side label: every
hand is a left one, as the photos, the joints (582 of 583 bend like left hands) and an estimator agree.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
from scipy.io import loadmat

from handbench.datasets import files
from handbench.datasets.build import Hands, Setting, finish
from handbench.datasets.selection import Skipped
from handbench.errors import HandbenchError
from handbench.hand.geometry import Floats
from handbench.protocols import ReadContext, Source, dataset
from handbench.specs import Options, Spec

NAME: Final = "ge"
SPLIT: Final = "test"
_METRES = 0.01


@dataset(NAME)
def read(spec: Spec, context: ReadContext) -> Source:
    """Read ``ge:PATH?side=left&hash=yes``.

    Args:
        spec: the folder that holds ``images/``, ``pose_gt.mat`` and ``params.mat``.
        context: the only split is ``test``.

    Raises:
        HandbenchError: a file is missing or damaged, rows do not match, or a guard failed.
    """
    options = Options(spec)
    side = options.choice("side", "left", ("left", "right"))
    hashed = options.flag("hash", default=True)
    options.done()
    if context.split not in (None, SPLIT):
        raise HandbenchError(f"{spec}: the only split is {SPLIT}, not {context.split!r}")
    root = files.folder(spec)
    poses = _array(root / "pose_gt.mat", "pose_gt", (21, 3), lenient=context.faults.keep_going)
    cameras = _array(root / "params.mat", "cam_param", (4,))
    boxes = _array(root / "params.mat", "bbox", (4,))
    for name, rows in (("cam_param", cameras), ("bbox", boxes)):
        if len(rows) != len(poses):
            raise HandbenchError(
                f"{root / 'params.mat'}: {name} has {len(rows)} rows, expected {len(poses)} as in pose_gt.mat"
            )
    listed = [f"images/{path}" for path in files.list_images(root / "images")]
    found = files.numbered(listed)
    rows = np.array(sorted(row for row in found if row < len(poses)), np.intp)
    if len(rows) == 0:
        raise HandbenchError(
            f"{root}: no image such as images/00000.jpg that pose_gt.mat ({len(poses)} rows) speaks of"
        )
    images = [found[int(row)] for row in rows]
    good, sizes = files.readable(root, images, context.faults)
    if not good.any():
        files.refuse_nothing(root, context.faults)
    rows, images, sizes = rows[good], [images[row] for row in np.flatnonzero(good)], sizes[good]
    keys = [f"{row:05d}" for row in rows]
    hands = Hands(
        images=images,
        keys=keys,
        sides=[side] * len(rows),
        clusters=keys,
        sizes=sizes,
        joints_cam=poses[rows] * _METRES,
        intrinsics=_crop_intrinsics(cameras[rows], boxes[rows], sizes.astype(np.float64)),
        raw=poses[rows],
    )
    skipped = Skipped({"no image": len(poses) - len(good), "image without annotation": len(listed) - len(good)})
    known = set(found.values())
    for reason, lone in (
        ("no image", [f"images/{row:05d}.jpg" for row in range(len(poses)) if row not in found]),
        ("image without annotation", [path for path in listed if path not in known or _number(path) >= len(poses)]),
    ):
        if lone:
            skipped.firsts[reason] = lone[0]
    notes = [f"{NAME}: no side labels; all hands are taken as {side} hands (?side=)"]
    return finish(hands, Setting(NAME, SPLIT, root, root, context, hashed, skipped, notes))


def _number(path: str) -> int:
    return int(Path(path).stem)


def _array(path: Path, key: str, shape: tuple[int, ...], *, lenient: bool = False) -> Floats:
    """(N, *shape) finite numbers of a MATLAB file; where lenient, a row may be NaN."""
    files.must_exist(path, f"the MATLAB file with {key}")
    try:
        content = loadmat(path, variable_names=[key])
    except Exception as error:  # whatever a damaged file makes of the parser
        said = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
        raise HandbenchError(f"{path}: expected a MATLAB 5 file with {key}: {said}") from None
    if key not in content:
        raise HandbenchError(f"{path}: expected the variable {key}, found none of that name")
    try:
        values = files.numbers(content[key])
    except ValueError as error:
        raise HandbenchError(f"{path}: {key} must be numbers: {error}") from None
    if values.ndim != 1 + len(shape) or values.shape[1:] != shape:
        expected = " x ".join(("rows", *map(str, shape)))
        raise HandbenchError(f"{path}: {key} must be {expected}, found {' x '.join(map(str, values.shape))}")
    bad = ~np.isfinite(values.reshape(len(values), -1)).all(axis=1)
    if lenient:
        values[bad] = np.nan
    elif bad.any():
        raise HandbenchError(f"{path}: {key}, row {int(np.flatnonzero(bad)[0])}: not a finite number")
    return values


def _crop_intrinsics(cameras: Floats, boxes: Floats, sizes: Floats) -> Floats:
    """(N, 3, 3) cameras of the crops, from those of the whole photos."""
    scale = sizes / boxes[:, 2:]
    intrinsics = np.zeros((len(cameras), 3, 3))
    intrinsics[:, [0, 1], [0, 1]] = cameras[:, :2] * scale
    intrinsics[:, :2, 2] = (cameras[:, 2:] - boxes[:, :2]) * scale
    intrinsics[:, 2, 2] = 1
    return intrinsics
