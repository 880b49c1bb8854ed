"""``synth:gestures``: rendered hands that show a gesture, as the ``gestures`` table.

``stop, fist, call, like`` are shown as they are made, upright as people show them; ``point`` aims sideways; ``mute``
raises the index finger before the lips of a simply drawn face.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
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
from handbench.synth import camera
from handbench.synth.drawing import draw_missing
from handbench.synth.face import draw_face
from handbench.synth.kinematics import pose
from handbench.synth.mesh import rest_hand
from handbench.synth.sample import Recipe, recipe, render
from handbench.synth.skin import tone_name

DATASET: Final = "synth-gestures"
GESTURES: Final = ("stop", "fist", "call", "point", "mute", "like")
SPLITS: Final = ("test", "train", "val")
"""Splits share no recipe: each has seeds of its own."""

_VIEWS: Final = {"point": ("back", "thumb_side"), "mute": ("thumb_side", "back")}


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
    rows = [
        _row(f"{split}-{seed}-{gesture}-{index:05d}.jpg", gesture_recipe(gesture, drawn, index, size), split)
        for gesture in GESTURES
        for index in range(count)
    ]
    picture = partial(_picture, drawn=drawn, size=size, supersample=supersample)
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
        images=partial(draw_missing, what="drawing gestures", picture=picture, root=root, workers=context.workers),
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
    behind = None if made.face is None else partial(draw_face, tone=made.hand.tone, seed=made.face)
    return render(made.hand, supersample=supersample, behind=behind)


def _picture(image: str, *, drawn: int, size: int, supersample: int) -> NDArray[np.uint8]:
    gesture, index = Path(image).stem.split("-")[-2:]
    return render_gesture(gesture_recipe(gesture, drawn, int(index), size), supersample=supersample)
