"""``synth:gestures``: rendered hands that show a gesture, as the ``gestures`` table.

``stop, fist, call, like`` are shown as they are made, upright as people show them; ``point`` aims sideways; ``mute``
raises the index finger before the lips of a simply drawn face.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from handbench import tables
from handbench.errors import HandbenchError
from handbench.processes import process_pool
from handbench.protocols import Progress, ReadContext, Source
from handbench.specs import Options, Spec
from handbench.synth import backgrounds, camera
from handbench.synth.kinematics import pose
from handbench.synth.mesh import rest_hand
from handbench.synth.sample import Annotation, Recipe, annotate, compose, develop, recipe
from handbench.synth.shading import draw
from handbench.synth.skin import tone_name
from handbench.synth.surfaces import hand_surface

DATASET: Final = "synth-gestures"
GESTURES: Final = ("stop", "fist", "call", "point", "mute", "like")
SPLITS: Final = ("test", "train", "val")
"""Splits share no recipe: each has seeds of its own."""

_VIEWS: Final = {"point": ("back", "thumb_side"), "mute": ("thumb_side", "back")}
_SERIAL_BELOW: Final = 64
_INDEX_LENGTH: Final = 0.075
"""Metres from knuckle to tip, by which the face is sized."""


@dataclass(frozen=True)
class GestureRecipe:
    """Everything that determines one picture.

    Attributes:
        gesture: the gesture shown.
        hand: the hand and the camera.
        face: seed of the face behind the hand, None where there is none.
    """

    gesture: str
    hand: Recipe
    face: int | None


def gesture_recipe(gesture: str, seed: int, index: int, size: int) -> GestureRecipe:
    """Draw the recipe of one picture, a pure function of its arguments."""
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, index, GESTURES.index(gesture), 7])))
    views = _VIEWS.get(gesture, ("palm", "palm", "back") if gesture == "stop" else ("palm", "back"))
    number = index * len(GESTURES) + GESTURES.index(gesture)
    made = recipe(seed, number, size=size, pose=gesture, view=views[rng.integers(len(views))])
    if gesture == "point":
        aimed = rng.choice([-1, 1]) * rng.uniform(55, 115)
        return GestureRecipe(gesture, _aim(rng, made, aimed, fill=(0.36, 0.6), down=0.0), None)
    if gesture == "mute":
        aimed = rng.normal(0, 8)
        return GestureRecipe(gesture, _aim(rng, made, aimed, fill=(0.34, 0.42), down=0.16), int(rng.integers(2**31)))
    return GestureRecipe(gesture, made, None)


def _aim(rng: np.random.Generator, made: Recipe, degrees: float, *, fill: tuple[float, float], down: float) -> Recipe:
    """Turn the hand in the picture until its index finger points so many degrees clockwise from up."""
    joints = pose(rest_hand(dict(made.shape)), np.array(made.angles)).joints
    sign = -1 if made.side == "left" else 1  # a left hand is the mirror image of what the recipe poses
    best = made
    for _ in range(24):
        azimuth, elevation, _ = camera.draw_view(rng, made.view)
        level = joints[:21] @ camera.rotation(azimuth, elevation, 0).T
        x, y, _ = level[8] - level[5]
        roll = float(sign * degrees - np.degrees(np.arctan2(x, -y)))
        turned = joints @ camera.rotation(azimuth, elevation, roll).T
        translation = camera.place(turned[:21], made.focal, rng.uniform(*fill), (rng.normal(0, 0.03), down))
        place = (float(translation[0]), float(translation[1]), float(translation[2]))
        best = replace(made, azimuth=float(azimuth), elevation=float(elevation), roll=roll, translation=place)
        if camera.shows_no_elbow(turned + translation, made.focal):
            break
    return best


def read(spec: Spec, context: ReadContext) -> Source:
    """Read ``synth:gestures?n=100&seed=42&size=256&supersample=2``.

    Args:
        spec: how many pictures of each gesture, of which seed.
        context: split ``test`` (default), ``train`` or ``val``; where images are cached; processes.

    Returns:
        The source; ``factor_*`` columns tell view, tone, background, side and whether a face is drawn.
    """
    options = Options(spec)
    count = options.integer("n", 100, least=1)
    seed = options.integer("seed", 42, least=0)
    size = options.integer("size", 256, least=16)
    supersample = options.integer("supersample", 2, least=1)
    options.done()
    split = context.split or "test"
    if split not in SPLITS:
        raise HandbenchError(f"{spec}: splits are {', '.join(SPLITS)}, not {split!r}")
    drawn = len(SPLITS) * seed + SPLITS.index(split)
    recipes = {
        f"{split}-{seed}-{gesture}-{index:05d}.jpg": partial(gesture_recipe, gesture, drawn, index, size)
        for gesture in GESTURES
        for index in range(count)
    }
    rows = [_row(image, make(), split) for image, make in recipes.items()]
    root = context.cache or Path("images")
    gestures = pl.DataFrame(rows)
    return Source(
        name=DATASET,
        frames=tables.conform(gestures, "frames", DATASET),
        hands=tables.empty("hands"),
        gestures=tables.conform(gestures, "gestures", DATASET).sort("gesture_id"),
        root=root,
        synthetic=True,
        notes=["Rendered gestures: exact labels, no photograph; scores on them are no evidence about photos."],
        images=partial(_draw_missing, recipes=recipes, root=root, supersample=supersample, workers=context.workers),
    )


def _row(image: str, made: GestureRecipe, split: str) -> dict[str, Any]:
    name = f"{DATASET}/{split}/{Path(image).stem}"
    return {
        "gesture_id": name,
        "image": image,
        "image_hash": "recipe-" + blake2b(repr(made).encode(), digest_size=12).hexdigest(),
        "dataset": DATASET,
        "split": split,
        "gesture": made.gesture,
        "source_label": made.gesture,
        "side": made.hand.side,
        "cluster": name,
        "width": made.hand.size,
        "height": made.hand.size,
        "annotated": True,
        "factor_view": made.hand.view,
        "factor_tone": tone_name(made.hand.tone),
        "factor_background": made.hand.background,
        "factor_side": made.hand.side,
        "factor_face": "no" if made.face is None else "yes",
    }


def render_gesture(made: GestureRecipe, *, supersample: int = 1) -> NDArray[np.uint8]:
    """Draw a picture: (size, size, 3) sRGB."""
    hand = made.hand
    truth = annotate(hand)
    matrix = camera.intrinsics(hand.focal, hand.size * supersample)
    joints = np.vstack([truth.joints_cam, truth.elbow_cam])
    surface = hand_surface(truth.arm_cam, joints, hand.side, hand.tone, hand.tint)
    pixel, colour = draw([surface], matrix, hand.size * supersample, hand.size * supersample, hand.light)
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence([hand.seed, hand.index, 1])))
    picture = backgrounds.background(rng, hand.background, hand.size)
    if made.face is not None:
        picture = _with_face(picture, truth, hand.tone, made.face)
    compose(picture, pixel, colour, supersample)
    return develop(rng, picture, hand.blur, hand.grain)


def _with_face(picture: NDArray[np.float32], truth: Annotation, tone: float, seed: int) -> NDArray[np.float32]:
    """Draw head, neck and shoulders such that the lips lie behind the last bones of the index finger."""
    rng = np.random.Generator(np.random.PCG64(seed))
    scale = 2
    image = Image.fromarray(np.asarray(np.clip(picture, 0, 1) * 255 + 0.5).astype(np.uint8))
    image = image.resize((image.width * scale, image.height * scale), Image.Resampling.BICUBIC)
    joints = truth.joints_px * scale
    unit = float(np.linalg.norm(joints[8] - joints[5])) / _INDEX_LENGTH  # pixels per metre at the finger
    x, y = (joints[7] + joints[8]) / 2
    skin = _mixed((232, 190, 165), (84, 54, 40), tone)
    dark = _mixed(skin, (40, 20, 15), 0.55)
    hair = tuple(int(c) for c in rng.choice([(30, 24, 20), (70, 45, 25), (120, 90, 50), (150, 150, 150)]))
    shirt = tuple(int(c) for c in rng.integers(40, 200, 3))
    pen = ImageDraw.Draw(image)

    def oval(cx: float, cy: float, rx: float, ry: float, fill: tuple[int, ...]) -> None:
        """An ellipse about a point given in metres from the lips."""
        middle = x + cx * unit, y + cy * unit
        box = (middle[0] - rx * unit, middle[1] - ry * unit, middle[0] + rx * unit, middle[1] + ry * unit)
        pen.ellipse(box, fill=fill)

    oval(0, 0.26, 0.21, 0.15, shirt)
    oval(0, 0.09, 0.055, 0.09, _mixed(skin, (0, 0, 0), 0.15))
    oval(0, -0.065, 0.085, 0.115, hair)
    oval(0, -0.04, 0.074, 0.1, skin)
    for side in (-1, 1):
        oval(side * 0.031, -0.062, 0.012, 0.0065, (245, 245, 242))
        oval(side * 0.031, -0.062, 0.0055, 0.0055, (40, 30, 25))
        oval(side * 0.031, -0.079, 0.016, 0.0028, hair)
    oval(0, -0.024, 0.009, 0.012, _mixed(skin, dark, 0.25))
    oval(0, 0.0, 0.024, 0.0085, _mixed((190, 95, 90), dark, 0.3 + 0.4 * tone))
    small = image.resize((picture.shape[1], picture.shape[0]), Image.Resampling.LANCZOS)
    return np.asarray(small, dtype=np.float32) / np.float32(255)


def _mixed(one: tuple[int, ...], other: tuple[int, ...], part: float) -> tuple[int, ...]:
    return tuple(round(a + (b - a) * part) for a, b in zip(one, other, strict=True))


def _draw_one(job: tuple[str, Callable[[], GestureRecipe]], *, root: Path, supersample: int) -> str:
    image, make = job
    draft = root / f".{image}.part"
    Image.fromarray(render_gesture(make(), supersample=supersample)).save(
        draft, format="JPEG", quality=95, subsampling=0
    )
    draft.replace(root / image)
    return image


def _draw_missing(
    frames: pl.DataFrame,
    progress: Progress,
    *,
    recipes: Mapping[str, Callable[[], GestureRecipe]],
    root: Path,
    supersample: int,
    workers: int,
) -> None:
    root.mkdir(parents=True, exist_ok=True)
    wanted = frames["image"].unique(maintain_order=True).to_list()
    jobs = [(image, recipes[image]) for image in wanted if not (root / image).exists()]
    work = partial(_draw_one, root=root, supersample=supersample)
    if workers < 2 or len(jobs) < _SERIAL_BELOW:
        for done, _ in enumerate(map(work, jobs), 1):
            progress(done, len(jobs), "drawing gestures")
        return
    with process_pool(workers) as pool:
        for done, _ in enumerate(pool.map(work, jobs, chunksize=8), 1):
            progress(done, len(jobs), "drawing gestures")
