"""``synth:scenes``: rendered scenes of a pointing hand over a table, as the ``scenes`` table.

Boxes hold a whole thing, parts that others hide included, and are cut at the picture's edge; the hand's box leaves
out the forearm.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from handbench import tables
from handbench.errors import HandbenchError
from handbench.protocols import ReadContext, Source
from handbench.specs import Options, Spec
from handbench.synth import backgrounds
from handbench.synth.drawing import SERIAL_BELOW, draw_missing, spread
from handbench.synth.picture import compose, develop
from handbench.synth.raster import Fragments, project
from handbench.synth.scene import Camera, Scene, Thing, make_scene, stream
from handbench.synth.scene_words import captions, question, referents
from handbench.synth.shading import Surface, decode, draw, painted
from handbench.synth.skin import tone_name
from handbench.synth.solids import COLOURS
from handbench.synth.surfaces import hand_surface

DATASET: Final = "synth-scenes"
SPLITS: Final = ("test", "train", "val")
"""Splits share no scene: each has seeds of its own."""

_TABLE: Final = 26
"""Squares of the table top along each side: those behind the camera are left out, and none is cut."""


def read(spec: Spec, context: ReadContext) -> Source:
    """Read ``synth:scenes?n=300&seed=0&width=512&negatives=0.15&occluded=0.425&supersample=2``.

    Args:
        spec: how many scenes, of which seed, how large (three quarters as high as wide), the share with a negative and
            that of targets which are more than a quarter hidden.
        context: split ``test`` (default), ``train`` or ``val``; where images are cached; processes.

    Returns:
        The source; ``factor_*`` columns tell occlusion, side, pose, tone and the like.
    """
    options = Options(spec)
    count = options.integer("n", 300, least=1)
    seed = options.integer("seed", 0, least=0)
    width = options.integer("width", 512, least=64)
    negatives = options.number("negatives", 0.15)
    occluded = options.number("occluded", 0.425)
    supersample = options.integer("supersample", 2, least=1)
    options.done()
    split = context.split or "test"
    if split not in SPLITS:
        raise HandbenchError(f"{spec}: splits are {', '.join(SPLITS)}, not {split!r}")
    drawn = len(SPLITS) * seed + SPLITS.index(split)
    make = partial(make_scene, drawn, width=width, negatives=negatives, occluded=occluded)
    rows = []
    workers = context.workers if count >= SERIAL_BELOW else 1
    for row in spread(partial(_row, make=make, split=split), range(count), workers):
        rows.append(row)
        context.progress(len(rows), count, "arranging scenes")
    scenes = pl.DataFrame(rows, infer_schema_length=None, schema_overrides=_TYPES)
    root = context.cache or Path("images")
    picture = partial(_picture, make=make, supersample=supersample)
    return Source(
        name=DATASET,
        frames=tables.conform(scenes, "frames", DATASET),
        hands=tables.empty("hands"),
        scenes=tables.conform(scenes, "scenes", DATASET).sort("scene_id"),
        root=root,
        synthetic=True,
        notes=[
            "Rendered scenes: exact boxes, no photograph; scores on them are no evidence about photos.",
            "Boxes hold the whole thing, hidden parts included, and are cut at the picture's edge.",
        ],
        images=partial(draw_missing, what="drawing scenes", picture=picture, root=root, workers=context.workers),
    )


_TYPES: Final[dict[str, pl.DataType | type[pl.DataType]]] = {
    "hand_box": tables.BOX,
    "target_box": tables.BOX,
    "ray_px": tables.BOX,
    "candidate_boxes": pl.List(tables.BOX),
    "hand_px": tables.JOINTS_2D,
}


def _row(index: int, *, make: Callable[[int], Scene], split: str) -> dict[str, Any]:
    scene = make(index)
    image = _image(index, scene.seed, split)
    name = f"{DATASET}/{split}/{Path(image).stem}"
    boxes, target = scene.boxes(), scene.target
    words = stream(scene.seed, index, 1)
    said, answer = question(scene, words)
    told = captions(scene)
    hidden = None if target is None else float(scene.hidden[target])
    key = (scene.seed, index, scene.camera, scene.negative, [t.category + t.colour for t in scene.things])
    digest = blake2b(repr(key).encode() + boxes.tobytes() + scene.hand.joints.tobytes(), digest_size=12).hexdigest()
    return {
        "scene_id": name,
        "image": image,
        "image_hash": f"recipe-{digest}",
        "dataset": DATASET,
        "split": split,
        "source": "rendered",
        "width": scene.camera.width,
        "height": scene.camera.picture_height,
        "annotated": True,
        "hand_box": scene.hand_box().tolist(),
        "hand_side": scene.hand.side,
        "hand_px": project(scene.hand.joints[:21], scene.camera.matrix).tolist(),
        "ray_px": scene.ray_px().tolist() if scene.hand.pose == "point" else None,
        "target_box": None if target is None else boxes[target].tolist(),
        "target_category": None if target is None else scene.things[target].category,
        "negative": scene.negative,
        "occluded": hidden,
        "candidate_boxes": boxes.tolist(),
        "candidate_categories": [thing.category for thing in scene.things],
        "referents": referents(scene, words),
        "question": said,
        "answer": answer,
        **{f"caption_{what}": text for what, text in told.items()},
        "cluster": name,
        "factor_side": scene.hand.side,
        "factor_tone": tone_name(scene.hand.tone),
    }


def _image(index: int, seed: int, split: str) -> str:
    return f"{split}-{seed}-{index:06d}.jpg"


def render_scene(scene: Scene, *, supersample: int = 1) -> NDArray[np.uint8]:
    """Draw a scene: (H, W, 3) sRGB."""
    camera = scene.camera
    width, height = camera.width, camera.picture_height
    things = [_coloured(thing, camera) for thing in scene.things]
    hand = scene.hand
    things.append(hand_surface(hand.vertices, hand.joints, hand.side, hand.tone, hand.tint))
    rng = stream(scene.seed, scene.index, 2)
    picture = backgrounds.background(rng, "room", width)[:height].copy()
    # The table has no outline worth a finer grid, and would be most of the work on one.
    compose(picture, *draw([_table(scene), *things], camera.matrix, width, height, scene.light, things), 1)
    if supersample > 1:
        fine = np.diag([supersample, supersample, 1.0]) @ camera.matrix
        compose(picture, *draw(things, fine, width * supersample, height * supersample, scene.light), supersample)
    return develop(rng, picture, rng.uniform(0.4, 0.9) / 256, rng.uniform(0.002, 0.01))


def _coloured(thing: Thing, camera: Camera) -> Surface:
    mesh = thing.mesh
    paint = np.broadcast_to(np.array(COLOURS[thing.colour]), mesh.vertices.shape)
    # Little of the sky reaches the foot of a thing.
    openness = 0.55 + 0.45 * np.clip(camera.placed(mesh.vertices)[:, 1] / 0.05, 0, 1)
    return Surface(mesh.vertices, mesh.faces, painted(paint, mesh.faces, 0.18), openness, 0.0)


def _table(scene: Scene) -> Surface:
    """The table top: boards of wood, or one plain colour."""
    rng = stream(scene.seed, scene.index, 3)
    camera = scene.camera
    x, z = np.meshgrid(np.linspace(-1.3, 1.3, _TABLE), np.linspace(0.12, 1.35, _TABLE))
    flat = np.stack([x.ravel(), np.zeros(x.size), z.ravel()], axis=1)
    corner = (np.arange(_TABLE - 1)[:, None] * _TABLE + np.arange(_TABLE - 1)).ravel()
    a, b, c, d = corner, corner + 1, corner + _TABLE, corner + _TABLE + 1
    faces = np.concatenate([np.stack([a, b, c], 1), np.stack([b, d, c], 1)])
    vertices = camera.seen(flat)
    tone = np.array([[0.70, 0.53, 0.37], [0.46, 0.32, 0.22], [0.83, 0.80, 0.75], [0.36, 0.38, 0.41]])[rng.integers(4)]
    tone = np.clip(tone * rng.uniform(0.85, 1.1), 0, 1)
    grain = rng.uniform(0.02, 0.10) * (rng.random() < 0.7)
    phases = rng.uniform(0, 2 * np.pi, 6)
    boards = rng.uniform(0.09, 0.16)
    places = flat[faces]

    def material(fragments: Fragments) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
        place = fragments.of(places)
        board = np.floor(place[:, 0] / boards)
        shade = np.sin(board * 12.9898 + phases[0]) * 0.5
        veins = np.sin(place[:, 0] * 60 + 2.5 * np.sin(place[:, 2] * 4 + 1.7 * board + phases[1]) + phases[2])
        veins = veins + 0.5 * np.sin(place[:, 0] * 150 + 3 * np.sin(place[:, 2] * 2.3 + board + phases[3]))
        colour = tone * (1 + grain * (shade + 0.3 * veins))[:, None]
        return decode(np.clip(colour, 0, 1)), np.full(len(colour), 0.05)

    return Surface(vertices, faces, material, np.ones(len(vertices)), 0.0)


def _picture(image: str, *, make: Callable[[int], Scene], supersample: int) -> NDArray[np.uint8]:
    return render_scene(make(int(Path(image).stem.rsplit("-", 1)[1])), supersample=supersample)
