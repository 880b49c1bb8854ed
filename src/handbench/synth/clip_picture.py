"""One frame of a rendered clip: its exact truth, and its picture with motion blur."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from handbench.synth import backgrounds, camera
from handbench.synth.clip_motion import HAND_LENGTH, RATE, ClipRecipe, HandPath
from handbench.synth.kinematics import mirrored, mirrored_faces, pose, skin
from handbench.synth.mesh import RestHand, rest_hand, template
from handbench.synth.person import Person, draw_looks, draw_person
from handbench.synth.picture import compose, develop
from handbench.synth.raster import project
from handbench.synth.shading import decode, draw, encode
from handbench.synth.surfaces import hand_surface
from handbench.synth.visibility import first_hits, visible_joints

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

_PALM: Final = (0, 5, 17)
_STEP: Final = 2.5
"""Pixels that a joint moves from one sub-frame to the next, at most."""
_SUBFRAMES: Final = 8
_HIDDEN: Final = 0.012
"""A joint is hidden by the other hand where that is so much nearer, metres."""
FEWEST_JOINTS: Final = 5
"""A hand with fewer joints inside the frame is not annotated."""


@dataclass(frozen=True)
class PlacedHand:
    """One hand at one moment; camera axes, metres; pixels of the picture."""

    side: str
    joints: Floats
    vertices: Floats
    pixels: Floats

    @property
    def depth(self) -> float:
        """Mean depth of the joints."""
        return float(self.joints[:21, 2].mean())


@dataclass(frozen=True)
class HandTruth:
    """The truth about one hand of a frame.

    Attributes:
        side: left or right.
        joints_cam: (21, 3).
        joints_px: (21, 2).
        vertices_cam: (V, 3) of the hand without the forearm.
        visible: (21,) inside the frame and seen; ``occluded``: inside and not seen; ``in_frame``: inside.
        gesture: the gesture held, None while it changes.
    """

    side: str
    joints_cam: Floats
    joints_px: Floats
    vertices_cam: Floats
    visible: Bools
    occluded: Bools
    in_frame: Bools
    gesture: str | None


def place_hand(recipe: ClipRecipe, hand: RestHand, path: HandPath, seconds: float) -> PlacedHand:
    """Where a hand is at a time."""
    angles, (x, y, fill), (azimuth, elevation, roll) = path.at(seconds)
    posed = pose(hand, angles)
    turn = camera.rotation(azimuth, elevation, roll)
    depth = recipe.focal * HAND_LENGTH / fill
    middle = posed.joints[list(_PALM)].mean(axis=0) @ turn.T
    shift = np.array([(x - 0.5) * depth / recipe.focal, (y - 0.5) * depth / recipe.focal, depth]) - middle
    joints, vertices = posed.joints @ turn.T + shift, skin(hand, posed) @ turn.T + shift
    if path.side == "left":
        joints, vertices = mirrored(joints), mirrored(vertices)
    pixels = project(joints[:21], camera.intrinsics(recipe.focal, recipe.size))
    return PlacedHand(path.side, joints, vertices, pixels)


def moment(recipe: ClipRecipe, hand: RestHand, seconds: float) -> list[tuple[HandPath, PlacedHand]]:
    """The hands in or near the picture at a time, the farthest first."""
    found = [(path, place_hand(recipe, hand, path, seconds)) for path in recipe.hands]
    near = [
        (path, placed)
        for path, placed in found
        if (placed.joints[:, 2].min() > 0.02 or placed.joints[:21, 2].min() > 0.05)
        and (np.abs(placed.pixels / recipe.size - 0.5) < 0.75).all(axis=1).any()
    ]
    return sorted(near, key=lambda pair: -pair[1].depth)


def annotate_frame(recipe: ClipRecipe, number: int) -> list[HandTruth]:
    """The truth about a frame, in the middle of its exposure."""
    hand = rest_hand(dict(recipe.shape))
    seconds = number / RATE
    placed = moment(recipe, hand, seconds)
    found = []
    for path, mine in placed:
        faces = _faces(mine.side)
        inside: Bools = np.asarray(((mine.pixels >= 0) & (mine.pixels < recipe.size)).all(axis=1))
        if inside.sum() < FEWEST_JOINTS:
            continue
        seen = visible_joints(hand, mine.joints[:21], mine.vertices, faces)
        for _, other in placed:
            if other is not mine:
                _, depth = first_hits(mine.joints[:21], other.vertices, _faces(other.side))
                seen &= ~(depth < mine.joints[:21, 2] - _HIDDEN)
        if recipe.occluder is not None:
            seen &= ~_behind(recipe.occluder, mine.pixels / recipe.size)
        found.append(
            HandTruth(
                side=mine.side,
                joints_cam=mine.joints[:21],
                joints_px=mine.pixels,
                vertices_cam=mine.vertices[template().on_hand],
                visible=inside & seen,
                occluded=inside & ~seen,
                in_frame=inside,
                gesture=path.gesture_at(seconds),
            )
        )
    return sorted(found, key=lambda truth: truth.side)


def _faces(side: str) -> NDArray[np.int64]:
    return mirrored_faces(template().faces) if side == "left" else template().faces


def _behind(occluder: tuple[float, float, float], shares: Floats) -> Bools:
    """(21,) joints behind the occluder's head: an ellipse in shares of the picture."""
    x, y, half = occluder
    across, down = (shares[:, 0] - x) / (0.72 * half), (shares[:, 1] - y) / half
    return np.asarray(across**2 + down**2 < 1)


def render_frame(recipe: ClipRecipe, number: int) -> NDArray[np.uint8]:
    """Draw a frame: sub-frames over the exposure, averaged in linear light; (size, size, 3) sRGB."""
    hand = rest_hand(dict(recipe.shape))
    scene, looks = _scene(recipe)
    middle, half = number / RATE, recipe.exposure / RATE / 2
    count = _subframes(recipe, hand, middle, half)
    if count == 1:
        picture = _layered(recipe, hand, scene, looks, middle, supersample=2)
    else:
        offsets = (np.arange(count) + 0.5) / count * 2 - 1
        light = np.zeros(scene.shape)
        for offset in offsets:
            light += decode(_layered(recipe, hand, scene, looks, middle + half * offset, supersample=1))
        picture = encode(light / count).astype(np.float32)
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence([recipe.seed, recipe.index, 13, number])))
    return develop(rng, picture, recipe.blur, recipe.grain)


def _subframes(recipe: ClipRecipe, hand: RestHand, middle: float, half: float) -> int:
    """How many sub-frames the fastest joint in view asks for."""
    fastest = 0.0
    for path in recipe.hands:
        ends = [place_hand(recipe, hand, path, middle + half * sign).pixels for sign in (-1, 1)]
        fastest = max(fastest, float(np.linalg.norm(ends[1] - ends[0], axis=1).max()))
    return int(np.clip(np.ceil(fastest / _STEP), 1, _SUBFRAMES))


@lru_cache(maxsize=4)
def _scene(recipe: ClipRecipe) -> tuple[NDArray[np.float32], Person]:
    """What does not move: the background and the person behind the hands; kept, since frames of a clip share it."""
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence([recipe.seed, recipe.index, 12])))
    picture = backgrounds.background(rng, recipe.background, recipe.size)
    looks = draw_looks(rng, recipe.tone)
    if recipe.person is not None:
        x, y, unit = recipe.person
        picture = _drawn(picture, lambda pen, scale: _body(pen, scale * recipe.size, x, y, unit, looks))
    return picture, looks


def _body(pen: ImageDraw.ImageDraw, side: float, x: float, y: float, unit: float, looks: Person) -> None:
    """A person with shoulders and a chest that fill the picture's lower part."""
    top = (y + 0.17 * unit) * side
    pen.rounded_rectangle(
        ((x - 0.23 * unit) * side, top, (x + 0.23 * unit) * side, 1.5 * side),
        radius=0.1 * unit * side,
        fill=looks.shirt,
    )
    draw_person(pen, x * side, y * side, unit * side, looks)


def _drawn(picture: NDArray[np.float32], work: Any, scale: int = 2) -> NDArray[np.float32]:
    """Draw with a pen on an enlarged picture, so that outlines come out smooth."""
    image = Image.fromarray(np.asarray(np.clip(picture, 0, 1) * 255 + 0.5).astype(np.uint8))
    image = image.resize((image.width * scale, image.height * scale), Image.Resampling.BICUBIC)
    work(ImageDraw.Draw(image), scale)
    small = image.resize((picture.shape[1], picture.shape[0]), Image.Resampling.BOX)
    return np.asarray(small, dtype=np.float32) / np.float32(255)


def _layered(
    recipe: ClipRecipe, hand: RestHand, scene: NDArray[np.float32], looks: Person, seconds: float, *, supersample: int
) -> NDArray[np.float32]:
    """The scene with its hands, sleeves and occluder at a moment."""
    picture = scene.copy()
    matrix = camera.intrinsics(recipe.focal, recipe.size * supersample)
    for _, placed in moment(recipe, hand, seconds):
        surface = hand_surface(placed.vertices, placed.joints, placed.side, recipe.tone, recipe.tint)
        pixel, colour = draw([surface], matrix, recipe.size * supersample, recipe.size * supersample, recipe.light)
        compose(picture, pixel, colour, supersample)
        picture = _sleeve(recipe, picture, placed, looks)
    if recipe.occluder is not None:
        x, y, half = recipe.occluder
        other = Person(looks.skin, looks.dark, looks.hair, looks.shirt, looks.tone)
        side = recipe.size
        # The head's ellipse reaches 0.115 m from its middle, which lies 0.065 m above the lips.
        unit = half / 0.115
        picture = _drawn(
            picture,
            lambda pen, scale: draw_person(
                pen, x * side * scale, (y + 0.065 * unit) * side * scale, unit * side * scale, other, body=False
            ),
        )
    return picture


def _sleeve(recipe: ClipRecipe, picture: NDArray[np.float32], placed: PlacedHand, looks: Person) -> NDArray[np.float32]:
    """Cover the end of the forearm with a sleeve that leaves the picture below, where the end can be seen."""
    wrist, elbow = placed.joints[0], placed.joints[21]
    if elbow[2] < 0.08:
        return picture
    start = wrist + 0.55 * (elbow - wrist)
    at, end = (project(point[None], camera.intrinsics(recipe.focal, recipe.size))[0] for point in (start, elbow))
    if not (np.abs(end / recipe.size - 0.5) < 0.8).all():
        return picture
    half = 0.055 * recipe.focal * recipe.size / elbow[2]
    along = (end - at) / max(float(np.linalg.norm(end - at)), 1e-6)
    shoulder = np.array([end[0] + 0.3 * (0.5 * recipe.size - end[0]), 1.3 * recipe.size])
    line = [tuple(float(v) for v in point) for point in (at, end + 0.3 * half * along, shoulder)]

    def work(pen: ImageDraw.ImageDraw, scale: int) -> None:
        points = [(x * scale, y * scale) for x, y in line]
        pen.line(points, fill=looks.shirt, width=max(int(2 * half * scale), 1), joint="curve")
        for x, y in points[:2]:
            r = half * scale
            pen.ellipse((x - r, y - r, x + r, y + r), fill=looks.shirt)

    return _drawn(picture, work)
