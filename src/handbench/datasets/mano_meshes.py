"""The meshes of datasets that ship MANO parameters instead of vertices, held against their joints."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from handbench.datasets.build import Hands
from handbench.datasets.guards import stop_or_note
from handbench.datasets.mano import fingerprint, load_model
from handbench.hand.geometry import Floats, center_and_extent
from handbench.hand.mano import HandModel, pose_hands
from handbench.protocols import ReadContext

USERS: Final = ("interhand", "ho3d", "dexycb", "h2o", "arctic")
"""The datasets that ship MANO parameters and no vertices."""

LIMIT: Final = 0.01
"""Metres that a mesh's joints may lie from annotated joints that were made by posing MANO."""

_BLOCK: Final = 2_048


def not_used(kind: str) -> list[str]:
    """What is to be said where ``--mano`` is given for a dataset that has no use for it."""
    return [] if kind in USERS else [f"--mano is not used: {kind} has no meshes that MANO would have to be posed for"]


@dataclass(frozen=True)
class Parameters:
    """MANO parameters of N hands, as their owner gives them.

    Attributes:
        sides: N times ``left`` or ``right``.
        pose: (N, 48) rotation vectors, or the wrist's rotation vector and 45 coefficients of the components.
        shape: (N, 10).
        translation: (N, 3) metres.
        rotation: (N, 3, 3) from the parameters' frame to the camera's.
        origin: (N, 3) the place of that frame in the camera's: ``X_cam = rotation X + origin``, metres.
        given: (N,) whether the owner gives any.
        coefficients: whether ``pose`` holds coefficients of the components.
        mean: whether the model's mean pose is to be added; None where the owner does not say, so that what
            fits the joints better is taken.
        mirrored_shape: see :func:`load_model`; None as for ``mean``.
    """

    sides: NDArray[np.str_]
    pose: Floats
    shape: Floats
    translation: Floats
    rotation: Floats
    origin: Floats
    given: NDArray[np.bool_]
    coefficients: bool = False
    mean: bool | None = False
    mirrored_shape: bool | None = True


@dataclass(frozen=True)
class Meshes:
    """Where the meshes of N hands lie.

    Attributes:
        center: (N, 3) metres, camera frame.
        extent: (N, 3) metres.
        found: (N,) which hands have a mesh that fits their joints; the others have 0 in the two above.
        notes: what must be said of them.
    """

    center: Floats
    extent: Floats
    found: NDArray[np.bool_]
    notes: list[str]


def pose_parameters(
    model: HandModel, parameters: Parameters, rows: NDArray[np.intp], mean: bool
) -> tuple[Floats, Floats]:
    """Vertices (n, 778, 3) and joints (n, 21, 3) of some rows, in the parameters' own frame, without translation."""
    pose = parameters.pose[rows]
    fingers = pose[:, 3:] @ model.components if parameters.coefficients else pose[:, 3:]
    if mean:
        fingers = fingers + model.mean_pose
    return pose_hands(model, np.concatenate([pose[:, :3], fingers], axis=1), parameters.shape[rows])


def fit_meshes(
    source: str | Path, name: str, joints_cam: Floats, parameters: Parameters, limit: float, context: ReadContext
) -> Meshes:
    """Pose the meshes of a dataset and hold them against its joints.

    Args:
        source: what to call the data in an error.
        name: the dataset's.
        joints_cam: (N, 21, 3) the annotated joints, metres, NaN where not annotated.
        parameters: of the same hands.
        limit: metres that the joints of a mesh may lie from the annotated ones in the mean (tips, which are
            defined in several ways, do not count); a hand beyond it keeps the extent of its joints.
        context: ``mano`` is where the models are; ``force`` turns a stop into a note.

    Raises:
        HandbenchError: a model is missing, or most meshes lie far from the joints: the parameters or the model
            are not what they are taken for.
    """
    assert context.mano is not None
    count = len(joints_cam)
    center, extent = np.zeros((count, 3)), np.zeros((count, 3))
    gap = np.full(count, np.nan)
    said: list[str] = []
    done = 0
    for side in sorted(set(parameters.sides[parameters.given].tolist())):
        rows = np.flatnonzero(parameters.given & (parameters.sides == side))
        model, mean, words = _convention(context.mano, side, joints_cam, parameters, rows)
        said += words
        for start in range(0, len(rows), _BLOCK):
            part = rows[start : start + _BLOCK]
            vertices, joints = _in_camera(model, parameters, part, mean)
            center[part], extent[part] = center_and_extent(vertices)
            gap[part] = _gaps(joints, joints_cam[part])
            done += len(part)
            context.progress(done, int(parameters.given.sum()), "posing MANO meshes")
    known = np.isfinite(gap)
    notes = []
    if known.any() and np.median(gap[known]) > limit:
        cause = (
            f"MANO posed by the owner's parameters lies {1000 * np.median(gap[known]):.0f} mm from the annotated "
            f"joints, expected at most {1000 * limit:.0f}: another model file, or parameters of another version"
        )
        notes.append(stop_or_note(source, cause, context))
    good = known & (gap <= limit)
    center[~good], extent[~good] = 0, 0
    if good.any():
        off = 1000 * float(np.mean(gap[good]))
        notes.append(
            f"{name}: centre and size of {int(good.sum())} of {count} hands are those of the MANO mesh posed by the "
            f"owner's parameters, whose joints lie {off:.1f} mm from the annotated ones ({fingerprint(context.mano)})"
        )
    for reason, rest in (
        ("there are no parameters of them", ~parameters.given),
        (f"the mesh lies more than {1000 * limit:.0f} mm from the joints", parameters.given & ~good),
    ):
        if rest.any():
            notes.append(f"{name}: centre and size of {int(rest.sum())} hands are those of their joints: {reason}")
    if said:
        notes.append(f"{name}: MANO as fits the joints best, since its owner does not say: {', '.join(said)}")
    return Meshes(center, extent, good, notes)


def _in_camera(model: HandModel, parameters: Parameters, rows: NDArray[np.intp], mean: bool) -> tuple[Floats, Floats]:
    places = pose_parameters(model, parameters, rows, mean)
    shift = parameters.translation[rows][:, None]
    turn, origin = parameters.rotation[rows], parameters.origin[rows][:, None]
    vertices, joints = (np.einsum("nij,npj->npi", turn, points + shift) + origin for points in places)
    return vertices, joints


def _convention(
    folder: Path, side: str, joints_cam: Floats, parameters: Parameters, rows: NDArray[np.intp]
) -> tuple[HandModel, bool, list[str]]:
    """The model and whether its mean pose is added, as the owner says or else as fits best; and what was found."""
    means = (False, True) if parameters.mean is None else (parameters.mean,)
    open_shape = parameters.mirrored_shape is None and side == "left"
    shapes = (True, False) if open_shape else (parameters.mirrored_shape is not False,)
    some = rows[np.unique(np.linspace(0, len(rows) - 1, min(64, len(rows))).astype(int))]
    tried = []
    for shape in shapes:
        model = load_model(folder, side, mirrored_shape=shape)
        for mean in means:
            gap = _gaps(_in_camera(model, parameters, some, mean)[1], joints_cam[some])
            tried.append((float(np.nanmedian(gap)) if np.isfinite(gap).any() else np.inf, model, mean, shape))
    _, model, mean, shape = min(tried, key=lambda one: one[0])
    said = [f"{side}: mean pose {'added' if mean else 'not added'}"] if len(means) > 1 else []
    said += [f"{side}: shape basis {'mirrored' if shape else 'as in the official file'}"] if open_shape else []
    return model, mean, said


def _gaps(posed: Floats, annotated: Floats) -> Floats:
    """(N,) mean distance of the joints that are no tips, metres; NaN where none is annotated."""
    body = [joint for joint in range(21) if joint not in (4, 8, 12, 16, 20)]
    distance = np.linalg.norm(posed[:, body] - annotated[:, body], axis=-1)
    there = np.isfinite(distance)
    total, number = np.where(there, distance, 0).sum(axis=1), there.sum(axis=1)
    return np.asarray(np.divide(total, number, out=np.full(len(posed), np.nan), where=number > 0), np.float64)


def give_meshes(
    hands: Hands, source: str | Path, name: str, parameters: Parameters, limit: float, context: ReadContext
) -> list[str]:
    """Give hands the centre and extent of their MANO meshes, as far as these fit; what must be said of it.

    Raises:
        HandbenchError: see :func:`fit_meshes`.
    """
    assert hands.joints_cam is not None
    meshes = fit_meshes(source, name, hands.joints_cam, parameters, limit, context)
    hands.center, hands.extent, hands.by_mesh = meshes.center, meshes.extent, meshes.found
    return meshes.notes


def camera_frame(count: int) -> tuple[Floats, Floats]:
    """The frame of the camera itself, for N hands: (N, 3, 3) rotations and (N, 3) origins."""
    return np.tile(np.eye(3), (count, 1, 1)), np.zeros((count, 3))
