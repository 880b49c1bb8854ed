"""A user's own MANO files.

The files are those of mano.is.tue.mpg.de, version 1.2: ``MANO_RIGHT.pkl`` and ``MANO_LEFT.pkl``.  They are read
without running anything in them: arrays as they are, ``scipy.sparse`` matrices and chumpy's ``Ch`` and ``Select`` by
what they hold.  Any other object is refused, and so is any file whose arrays have other shapes.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from scipy import sparse

from handbench.datasets.unpickle import Inert, load_with_inert
from handbench.errors import HandbenchError
from handbench.hand.geometry import Floats
from handbench.hand.mano import JOINTS, PARENTS, VERTICES, HandModel

_FILES: Final = {"right": "MANO_RIGHT.pkl", "left": "MANO_LEFT.pkl"}
_PLACES: Final = ("", "mano", "models", "mano/models")
_FOREIGN: Final = ("chumpy", "scipy")
_SHAPES: Final[dict[str, tuple[int, ...]]] = {
    "v_template": (VERTICES, 3),
    "posedirs": (VERTICES, 3, 135),
    "J_regressor": (JOINTS, VERTICES),
    "weights": (VERTICES, JOINTS),
    "hands_mean": (45,),
    "hands_components": (45, 45),
}


def find(folder: Path, side: str) -> Path:
    """The file of one hand.

    Raises:
        HandbenchError: it is not there.
    """
    for place in _PLACES:
        path = folder / place / _FILES[side]
        if path.is_file():
            return path
    raise HandbenchError(
        f"{folder}: no {_FILES[side]} in it; get it from mano.is.tue.mpg.de and give its folder with --mano"
    )


def fingerprint(folder: Path) -> str:
    """What the files of a folder hold, in short: ``right 1a2b3c4d5e6f, left 0a1b2c3d4e5f``.

    Raises:
        HandbenchError: there is neither file.
    """
    parts = []
    for side in _FILES:
        for place in _PLACES:
            path = folder / place / _FILES[side]
            if path.is_file():
                parts.append(f"{side} {hashlib.sha256(path.read_bytes()).hexdigest()[:12]}")
                break
    if not parts:
        find(folder, "right")
    return ", ".join(parts)


def load_model(folder: Path, side: str, *, mirrored_shape: bool = True) -> HandModel:
    """Read a hand's model.

    In the official left hand, the shape basis moves vertices the wrong way along x (it was not mirrored with the
    template; vchoutas/smplx, issue 48).  Most datasets were fitted with that put right, some without.

    Args:
        folder: where the files are.
        side: ``left`` or ``right``.
        mirrored_shape: whether the left hand's shape basis is to be the right one's mirror image.

    Raises:
        HandbenchError: the file is missing, damaged or holds something else.
    """
    model = _read(find(folder, side), side)
    if side == "left":
        # The same sign along x in both hands is the fault: a mirrored basis has opposite signs.
        right = _read(find(folder, "right"), "right")
        wide = min(model.shape_basis.shape[2], right.shape_basis.shape[2])
        mine, other = model.shape_basis[:, 0, :wide], right.shape_basis[:, 0, :wide]
        mirrored = bool(np.abs(mine + other).sum() < np.abs(mine - other).sum())
        if mirrored != mirrored_shape:
            model = replace(model, shape_basis=model.shape_basis * np.array([-1.0, 1, 1])[:, None])
    return model


def _read(path: Path, side: str) -> HandModel:
    content = load_with_inert(path, "a MANO model", _FOREIGN)
    if not isinstance(content, dict):
        raise HandbenchError(f"{path}: expected a MANO model, a dict with v_template and more")
    arrays = {name: _array(path, content, name) for name in (*_SHAPES, "shapedirs")}
    for name, shape in _SHAPES.items():
        if arrays[name].shape != shape:
            found, expected = (" x ".join(map(str, one)) for one in (arrays[name].shape, shape))
            raise HandbenchError(f"{path}: {name} must be {expected}, found {found}")
    basis = arrays["shapedirs"]
    if basis.ndim != 3 or basis.shape[:2] != (VERTICES, 3) or basis.shape[2] < 10:
        found = " x ".join(map(str, basis.shape))
        raise HandbenchError(f"{path}: shapedirs must be {VERTICES} x 3 x 10, found {found}")
    tree = _array(path, content, "kintree_table")
    if tree.shape != (2, JOINTS) or tuple(tree[0, 1:].astype(int)) != PARENTS[1:]:
        raise HandbenchError(f"{path}: kintree_table must be that of MANO: index, middle, little, ring, thumb")
    return HandModel(
        side=side,
        template=arrays["v_template"],
        shape_basis=basis,
        pose_basis=arrays["posedirs"],
        regressor=arrays["J_regressor"],
        weights=arrays["weights"],
        mean_pose=arrays["hands_mean"],
        components=arrays["hands_components"],
    )


def _array(path: Path, content: dict[Any, Any], name: str) -> Floats:
    if name not in content:
        raise HandbenchError(f"{path}: expected a MANO model; {name} is missing (a SMPL or SMPL-X file is none)")
    try:
        values = np.asarray(_plain(content[name]), np.float64)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise HandbenchError(f"{path}: {name}: {str(error)[:200] or type(error).__name__}") from None
    if not np.isfinite(values[1:] if name == "kintree_table" else values).all():
        raise HandbenchError(f"{path}: {name} must be finite numbers")
    return values


def _plain(value: Any) -> Any:
    """The numbers of an array, a sparse matrix or one of chumpy's two wrappers."""
    if not isinstance(value, Inert):
        return value
    module, _, kind = value.origin.rpartition(".")
    state = value.state
    if not isinstance(state, dict):
        raise TypeError(f"an object of {value.origin} without its state")
    if module.startswith("scipy.sparse") and kind[:4] in ("csc_", "csr_"):
        shape = tuple(int(length) for length in state["_shape"])
        build = sparse.csc_matrix if kind.startswith("csc") else sparse.csr_matrix
        return build((state["data"], state["indices"], state["indptr"]), shape=shape).toarray()
    if value.origin == "chumpy.ch.Ch":
        return _plain(state["x"])
    if value.origin == "chumpy.reordering.Select":
        chosen = np.asarray(_plain(state["a"])).ravel()[np.asarray(_plain(state["idxs"]))]
        return chosen.reshape(state["preferred_shape"]) if "preferred_shape" in state else chosen
    raise TypeError(
        f"an object of {value.origin}; only arrays, scipy.sparse matrices and chumpy's Ch and Select are read, so save "
        "the model again with plain arrays"
    )
