"""A model of MANO's shapes that is no MANO, its pickles, and the same equations again, hand by hand in loops."""

from __future__ import annotations

import pickle
import sys
import types
from dataclasses import dataclass

import numpy as np
from hand_maker import BONES, KNUCKLES, MANO_ROWS, THUMB_BONES
from scipy import sparse
from scipy.spatial.transform import Rotation

PARENTS = [-1, 0, 1, 2, 0, 4, 5, 0, 7, 8, 0, 10, 11, 0, 13, 14]
# Thumb, index, middle, ring, little: the vertices that stand for the tips.
TIP_VERTICES = {"right": [745, 317, 444, 556, 673], "left": [745, 317, 445, 556, 673]}


def skeleton():
    """(21, 3) an open right hand in our order: fingers along +y, index toward +x, palm toward +z."""
    joints = np.zeros((21, 3))
    for start, (x, y) in KNUCKLES.items():
        joints[start, :2] = x, y
        for step, length in enumerate(BONES[start]):
            joints[start + step + 1] = joints[start + step] + [0, length, 0]
    joints[1] = THUMB_BONES[0]
    way = np.array([0.6, 0.7, 0.39]) / np.linalg.norm([0.6, 0.7, 0.39])
    for step, length in enumerate(THUMB_BONES[1:]):
        joints[step + 2] = joints[step + 1] + way * length
    return joints


@dataclass
class Model:
    """The arrays by their names in the file."""

    side: str
    arrays: dict


def model(side="right", seed=0, mirrored=True):
    """A model whose skin lies around the bones; the left one is the mirror image."""
    draw = np.random.default_rng(seed)
    theirs = skeleton()[MANO_ROWS]
    rest, tips = theirs[:16], theirs[16:]
    ends = {3: 1, 6: 2, 9: 4, 12: 3, 15: 0}  # the tip that a finger's last joint leads to
    owner = np.arange(778) % 16
    vertices = np.zeros((778, 3))
    for number in range(778):
        joint = owner[number]
        children = [child for child, parent in enumerate(PARENTS) if parent == joint]
        end = rest[children[number % len(children)]] if children else tips[ends[joint]]
        vertices[number] = rest[joint] + (end - rest[joint]) * draw.uniform() + draw.normal(0, 0.004, 3)
    regressor = np.zeros((16, 778))
    for joint in range(16):
        pair = [100 + 2 * joint, 101 + 2 * joint]
        away = draw.normal(0, 0.005, 3)
        vertices[pair] = rest[joint] + away, rest[joint] - away
        owner[pair] = joint
        regressor[joint, pair] = 0.5
    vertices[TIP_VERTICES[side]] = tips
    owner[TIP_VERTICES[side]] = [15, 3, 6, 12, 9]
    weights = np.zeros((778, 16))
    weights[np.arange(778), owner] = 0.85
    weights[np.arange(778), [max(PARENTS[joint], 0) for joint in owner]] += 0.15
    shapes = draw.normal(0, 0.001, (778, 3, 10))
    if side == "left":
        vertices = vertices * [-1, 1, 1]
        if mirrored:
            shapes = shapes * np.array([-1, 1, 1])[:, None]
    components = np.linalg.qr(draw.normal(size=(45, 45)))[0]
    arrays = {
        "v_template": vertices,
        "shapedirs": shapes,
        "posedirs": draw.normal(0, 1e-4, (778, 3, 135)),
        "J_regressor": regressor,
        "weights": weights,
        "kintree_table": np.array([[2**32 - 1, *PARENTS[1:]], range(16)], np.int64),
        "hands_mean": draw.normal(0, 0.03, 45),
        "hands_components": components,
        "f": np.zeros((1538, 3), np.uint32),
        "bs_type": "lrotmin",
    }
    return Model(side, arrays)


def posed(made, pose, shape, translation=(0, 0, 0)):
    """Vertices (778, 3) and joints (21, 3) in our order of one hand, by the papers' equations in loops.

    ``pose`` is (48,) absolute rotation vectors.
    """
    a = made.arrays
    turns = [Rotation.from_rotvec(vector).as_matrix() for vector in np.reshape(pose, (16, 3))]
    shaped = a["v_template"] + sum(a["shapedirs"][:, :, number] * shape[number] for number in range(len(shape)))
    rest = [
        sum(a["J_regressor"][joint, v] * shaped[v] for v in range(778) if a["J_regressor"][joint, v])
        for joint in range(16)
    ]
    corrected = shaped.copy()
    entries = [entry for turn in turns[1:] for entry in (turn - np.eye(3)).ravel()]
    for number, entry in enumerate(entries):
        corrected += a["posedirs"][:, :, number] * entry
    chains = []
    for joint, parent in enumerate(PARENTS):
        step = np.eye(4)
        step[:3, :3] = turns[joint]
        step[:3, 3] = rest[joint] - (rest[parent] if parent >= 0 else 0)
        chains.append(chains[parent] @ step if parent >= 0 else step)
    places = np.array([chain[:3, 3] for chain in chains])
    vertices = np.zeros((778, 3))
    for vertex in range(778):
        moved = np.zeros(3)
        for joint in range(16):
            weight = a["weights"][vertex, joint]
            if weight:
                local = np.append(corrected[vertex] - rest[joint], 1)
                moved += weight * (chains[joint] @ local)[:3]
        vertices[vertex] = moved
    theirs = np.concatenate([places, vertices[TIP_VERTICES[made.side]]])
    ours = np.zeros((21, 3))
    ours[MANO_ROWS] = theirs
    return vertices + translation, ours + translation


def parameters(count, side="right", seed=0):
    """Poses (count, 48) of flexed hands turned at random, and shapes (count, 10)."""
    draw = np.random.default_rng(seed)
    pose = np.zeros((count, 16, 3))
    pose[:, 0] = Rotation.random(count, rng=draw).as_rotvec()
    pose[:, 1:13, 0] = draw.uniform(0.2, 0.9, (count, 12))  # about +x: fingers toward the palm
    pose[:, 13:] = draw.normal(0, 0.1, (count, 3, 3))
    pose[:, 1:13, 1:] = draw.normal(0, 0.03, (count, 12, 2))
    if side == "left":
        pose[:, 1:, 1:] *= -1
    return pose.reshape(count, 48), draw.normal(0, 0.5, (count, 10))


def dump(path, made, kind="plain", **changed):
    """Write a model's pickle: plain arrays, or chumpy objects and sparse matrices as in the official files."""
    arrays = {**made.arrays, **changed}
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "plain":
        path.write_bytes(pickle.dumps(arrays, protocol=2))
        return path
    before = set(sys.modules)
    try:
        ch, reordering = _foreign("chumpy.ch", "Ch"), _foreign("chumpy.reordering", "Select", "Tile")
        wrapped = ch.Ch(x=arrays["shapedirs"].ravel(), dirty=True)
        wide = arrays["shapedirs"].shape
        arrays["shapedirs"] = reordering.Select(a=wrapped, idxs=np.arange(np.prod(wide)), preferred_shape=wide)
        arrays["v_template"] = ch.Ch(x=arrays["v_template"])
        arrays["J_regressor"] = sparse.csc_matrix(arrays["J_regressor"])
        if kind == "unknown":
            arrays["weights"] = reordering.Tile(a=wrapped)
        raw = pickle.dumps(arrays, protocol=0 if kind == "old" else 2)
        # As Python 2 and the scipy of its day named it.
        raw = raw.replace(b"scipy.sparse._csc", b"scipy.sparse.csc") if kind == "old" else raw
        path.write_bytes(raw)
    finally:
        for name in set(sys.modules) - before:
            if name.startswith("chumpy"):
                del sys.modules[name]
    return path


def _foreign(module, *names):
    package = sys.modules.setdefault("chumpy", types.ModuleType("chumpy"))
    made = types.ModuleType(module)
    for name in names:
        kind = type(name, (), {"__init__": lambda self, **state: self.__dict__.update(state), "__module__": module})
        setattr(made, name, kind)
    sys.modules[module] = made
    setattr(package, module.split(".")[1], made)
    return made


def write_models(folder, left=True, mirrored=True):
    """Both files in a folder."""
    dump(folder / "MANO_RIGHT.pkl", model())
    if left:
        dump(folder / "MANO_LEFT.pkl", model("left", mirrored=mirrored))
    return folder
