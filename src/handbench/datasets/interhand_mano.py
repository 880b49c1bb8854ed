"""MANO parameters of InterHand2.6M (NeuralAnnot), and what the released code of HandVQA makes of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from handbench.datasets.interhand_files import Cameras
from handbench.datasets.json_files import read_json
from handbench.datasets.mano import load_model
from handbench.datasets.mano_meshes import Parameters, pose_parameters
from handbench.errors import HandbenchError
from handbench.hand.geometry import Floats, center_and_extent

RELEASED_TURNS: Final = {"400053": (75.0, "y"), "400064": (10.0, "x")}
"""Degrees and axis by which the released code turns the hands of each camera, whatever the camera's own pose."""

LIMIT: Final = 0.015
"""Metres that a mesh's joints may lie from the annotated ones; see :data:`FITTING_ERROR` for the mean."""

FITTING_ERROR: Final = 0.005
"""Metres: how far the owner says that the MANO joints are off (read-me of the dataset's code, 2020-11-26)."""

_METRES = 1e-3
_TO_VIEWER = np.array([1.0, -1.0, -1.0])


@dataclass(frozen=True)
class Fitted:
    """Parameters of F hands, in the world.

    Attributes:
        index: ``capture``, ``frame_idx`` and ``side`` of each row, and ``mano``, the row's number.
        pose: (F, 48) rotation vectors, the mean pose not yet added.
        shape: (F, 10).
        translation: (F, 3) metres.
    """

    index: pl.DataFrame
    pose: Floats
    shape: Floats
    translation: Floats


def read_fitted(path: Path) -> Fitted:
    """Read the owner's ``InterHand2.6M_train_MANO_NeuralAnnot.json``.

    Raises:
        HandbenchError: it is missing, or a hand has other numbers than 48 of pose, 10 of shape, 3 of translation.
    """
    document = read_json(path, "MANO parameters of each capture and frame")
    keys: list[tuple[str, int, str]] = []
    rows: list[list[float]] = []
    place = "the file"
    try:
        for capture, frames in document.items():
            for frame, hands in frames.items():
                for side in ("right", "left"):
                    place = f"capture {capture}, frame {frame}, {side}"
                    # A hand that could not be fitted is null, or not there at all.
                    if hands is None or hands.get(side) is None:
                        continue
                    hand = hands[side]
                    numbers = [*hand["pose"], *hand["shape"], *hand["trans"]]
                    if (len(hand["pose"]), len(hand["shape"]), len(hand["trans"])) != (48, 10, 3):
                        raise ValueError
                    keys.append((str(capture), int(frame), side))
                    rows.append(numbers)
        values = np.array(rows, np.float64).reshape(-1, 61)
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
        raise HandbenchError(f"{path}: {place}: expected pose of 48, shape of 10 and trans of 3 numbers") from None
    bad = ~np.isfinite(values).all(axis=1)
    if bad.any():
        capture, frame, side = keys[int(np.flatnonzero(bad)[0])]
        raise HandbenchError(f"{path}: capture {capture}, frame {frame}, {side}: not a finite number")
    schema = {"capture": pl.String, "frame_idx": pl.Int64, "side": pl.String}
    index = pl.DataFrame(keys, schema=schema, orient="row").with_row_index("mano")
    return Fitted(index, values[:, :48], values[:, 48:58], values[:, 58:])


def parameters_of(fitted: Fitted, hands: pl.DataFrame, views: Cameras) -> Parameters:
    """Parameters of N hands in their cameras.

    Args:
        fitted: as read.
        hands: ``capture, frame_idx, side`` and ``view``, the row of the camera, of each hand.
        views: the cameras.
    """
    joined = hands.select("capture", "frame_idx", "side", "view").join(
        fitted.index, on=["capture", "frame_idx", "side"], how="left", maintain_order="left"
    )
    given = joined["mano"].is_not_null().to_numpy()
    row = joined["mano"].fill_null(0).to_numpy()
    view = joined["view"].to_numpy()
    turn = views.rotation[view]
    empty = len(fitted.pose) == 0
    pose, shape, translation = (
        np.zeros((len(row), part.shape[1])) if empty else part[row]
        for part in (fitted.pose, fitted.shape, fitted.translation)
    )
    return Parameters(
        sides=joined["side"].to_numpy(),
        pose=pose,
        shape=shape,
        translation=translation,
        rotation=turn,
        origin=-np.einsum("nij,nj->ni", turn, views.position[view]) * _METRES,
        given=given,
        # The owner poses with a layer that adds the mean, and with the left hand's shape basis put right.
        mean=True,
    )


def released_joints(
    folder: Path, parameters: Parameters, cameras: NDArray[np.str_], places: Floats
) -> tuple[Floats, Floats]:
    """Joints and extents as the released code has them.

    It poses MANO without translation, takes the extent in the world's axes, turns the hand by 180 degrees about x
    and then by a fixed angle for each camera (rows times matrix), and never looks at the camera's own pose.

    Args:
        folder: where the models are.
        parameters: of N hands, all of them given, all of one side.
        cameras: (N,) names of the cameras.
        places: (N, 3) where to put the middle of each mesh, metres, camera frame: nothing that is asked depends on it.

    Returns:
        (N, 21, 3) joints in a frame like the camera's (x right, y down, z away), metres, about ``places``; and
        (N, 3) extents of the meshes along the world's axes.
    """
    model = load_model(folder, str(parameters.sides[0]))
    rows = np.arange(len(parameters.pose))
    vertices, joints = pose_parameters(model, parameters, rows, mean=True)
    center, extent = center_and_extent(vertices)
    turns = np.stack([_viewer_turn(*RELEASED_TURNS[camera]) for camera in cameras.tolist()])
    # As in the code: row vectors times the matrix; back to axes with y down and z away, as all joints are kept.
    seen = np.einsum("npi,nij->npj", joints - center[:, None], turns) * _TO_VIEWER
    return seen + places[:, None], extent


def _viewer_turn(degrees: float, axis: str) -> Floats:
    """(3, 3) the turn by 180 degrees about x, then by an angle about x or y, for row vectors."""
    cosine, sine = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    if axis == "x":
        turn = np.array([[1, 0, 0], [0, cosine, -sine], [0, sine, cosine]])
    else:
        turn = np.array([[cosine, 0, sine], [0, 1, 0], [-sine, 0, cosine]])
    return np.asarray(np.diag(_TO_VIEWER) @ turn)
