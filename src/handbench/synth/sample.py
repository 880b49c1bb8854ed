"""One hand, one picture: its recipe, its exact annotation, its pixels.

- :func:`recipe` draws everything that determines a picture, from (seed, index) alone;
- :func:`annotate` computes joints, extent and visibility from a recipe, without any pixel;
- :func:`render` draws the picture.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from handbench.errors import HandbenchError
from handbench.synth import backgrounds, camera, poses
from handbench.synth.kinematics import mirrored, mirrored_faces, pose, skin
from handbench.synth.mesh import RestHand, rest_hand, template
from handbench.synth.picture import compose, develop
from handbench.synth.raster import project
from handbench.synth.shading import Light, draw
from handbench.synth.surfaces import hand_surface
from handbench.synth.visibility import visible_joints

__all__ = ["SIDES", "Annotation", "Recipe", "annotate", "compose", "develop", "recipe", "render"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

SIDES = ("left", "right")

_OPEN_HAND = 0.17
"""Length of an open hand from wrist to middle tip, metres."""


@dataclass(frozen=True)
class Recipe:
    """Everything that determines one picture.

    Attributes:
        seed: of the set.
        index: in the set.
        pose: name of the pose, a key of :data:`handbench.synth.poses.NAMED` or ``random``.
        angles: (23,) degrees, as :data:`handbench.synth.kinematics.ANGLES`.
        shape: (morph, strength) pairs.
        side: ``left`` or ``right``.
        view: one of :data:`handbench.synth.camera.VIEWS`.
        azimuth: degrees, of the right hand; see :func:`handbench.synth.camera.rotation`.
        elevation: degrees.
        roll: degrees.
        translation: (3,) metres, where the right hand's wrist is in the camera frame.
        focal: focal length in picture widths.
        tone: of the skin, 0 (lightest) to 1 (darkest).
        tint: factor of red, green and blue of the skin.
        light: direction toward the sun, its colour, the sky's colour.
        background: one of :data:`handbench.synth.backgrounds.BACKGROUNDS`.
        blur: standard deviation of the lens's blur, in parts of the picture's side.
        grain: standard deviation of the picture's noise, sRGB 0..1.
        size: side of the square picture in pixels.
    """

    seed: int
    index: int
    pose: str
    angles: tuple[float, ...]
    shape: tuple[tuple[str, float], ...]
    side: str
    view: str
    azimuth: float
    elevation: float
    roll: float
    translation: tuple[float, float, float]
    focal: float
    tone: float
    tint: tuple[float, float, float]
    light: Light
    background: str
    blur: float
    grain: float
    size: int


@dataclass(frozen=True)
class Annotation:
    """The truth about one picture; camera axes, metres; pixels of the picture.

    Attributes:
        joints_cam: (21, 3) joints.
        joints_px: (21, 2) their projections.
        elbow_cam: (3,) the elbow.
        vertices_cam: (V, 3) vertices of the hand without the forearm.
        arm_cam: (A, 3) all vertices, with the forearm, as the mesh's faces index them.
        intrinsics: (3, 3).
        visible: (21,) inside the picture and seen; see :mod:`handbench.synth.visibility`.
        occluded: (21,) inside the picture and not seen.
        in_frame: (21,) inside the picture.
    """

    joints_cam: Floats
    joints_px: Floats
    elbow_cam: Floats
    vertices_cam: Floats
    arm_cam: Floats
    intrinsics: Floats
    visible: Bools
    occluded: Bools
    in_frame: Bools

    @property
    def center(self) -> Floats:
        """(3,) mean of the hand's vertices."""
        return np.asarray(self.vertices_cam.mean(axis=0))

    @property
    def extent(self) -> Floats:
        """(3,) size of the hand's axis-aligned bounding box."""
        return np.asarray(np.ptp(self.vertices_cam, axis=0))


def recipe(
    seed: int,
    index: int,
    *,
    size: int = 256,
    pose: str | None = None,
    view: str | None = None,
    side: str | None = None,
    background: str | None = None,
) -> Recipe:
    """Draw the recipe of picture ``index`` of set ``seed``.

    A pure function: the same numbers give the same recipe whatever was drawn before, in any process. Fixing one choice
    leaves the others as they would be, as far as they do not depend on it.

    Args:
        seed: of the set, not negative.
        index: in the set, not negative.
        size: side of the square picture in pixels.
        pose: a pose instead of a drawn one.
        view: a view instead of a drawn one.
        side: ``left`` or ``right`` instead of a drawn one.
        background: a background instead of a drawn one.

    Raises:
        HandbenchError: a name is not known, or a number is negative.
    """
    _check("pose", pose, poses.POSE_NAMES)
    _check("view", view, camera.VIEWS)
    _check("side", side, SIDES)
    _check("background", background, backgrounds.BACKGROUNDS)
    if seed < 0 or index < 0 or size < 16:
        raise HandbenchError(f"rendered hand: seed {seed}, index {index}, size {size}: need >= 0, >= 0 and >= 16")
    # One stream per concern, so that a fixed pose does not change the light.
    streams = np.random.SeedSequence([seed, index]).spawn(5)
    of_choice, of_shape, of_pose, of_camera, of_look = (np.random.Generator(np.random.PCG64(s)) for s in streams)

    named = of_choice.random() < 0.5
    drawn_pose = str(of_choice.choice(list(poses.NAMED))) if named else "random"
    drawn_side = SIDES[of_choice.integers(2)]
    drawn_view = str(of_choice.choice(camera.VIEWS, p=camera.VIEW_SHARES))
    pose, side = pose or drawn_pose, side or drawn_side
    thumbs = {"like": 0.0, "dislike": 180.0}
    if view is None:
        # Thumb up and down are told apart by the roll, which a view along the thumb would hide.
        view = ("palm", "back")[of_choice.integers(2)] if pose in thumbs else drawn_view

    shape = draw_shape(of_shape)
    hand = rest_hand(dict(shape))
    angles = poses.draw_random(of_pose, hand) if pose == "random" else poses.draw_named(of_pose, hand, pose)
    placed = _draw_camera(of_camera, hand, angles, view, thumbs.get(pose))

    tone = float(of_look.random())
    tint = tuple(float(c) for c in of_look.normal(1, [0.02, 0.025, 0.035]))
    drawn_background = str(of_look.choice(backgrounds.BACKGROUNDS))
    return Recipe(
        seed=seed,
        index=index,
        pose=pose,
        angles=tuple(float(a) for a in angles),
        shape=shape,
        side=side,
        view=view,
        **placed,
        tone=tone,
        tint=(tint[0], tint[1], tint[2]),
        light=draw_light(of_look),
        background=background or drawn_background,
        blur=float(of_look.uniform(0.5, 1.1) / 256),
        grain=float(of_look.uniform(0.002, 0.014)),
        size=size,
    )


def _check(what: str, value: str | None, known: tuple[str, ...]) -> None:
    if value is not None and value not in known:
        raise HandbenchError(f"rendered hand: unknown {what} {value!r}; known are {', '.join(known)}")


def draw_shape(rng: np.random.Generator) -> tuple[tuple[str, float], ...]:
    """Strengths of the morphs: a few of the body, then finger length and girth either way."""
    ranges = {
        "male": (-1.0, 1.0),
        "old": (0.0, 0.6),
        "max_muscle": (0.0, 0.5),
        "min_weight": (0.0, 0.5),
        "max_weight": (0.0, 0.6),
        "african": (0.0, 1.0),
        "asian": (0.0, 1.0),
    }
    strength = {
        name: float(value)
        for (name, (low, high)) in ranges.items()
        if (value := rng.uniform(low, high) * (rng.random() < 0.6))
    }
    for part, mean, deviation in (("diameter", 0.25, 0.3), ("length", 0.0, 0.2)):
        amount = np.clip(rng.normal(mean, deviation), mean - 2 * deviation, mean + 2 * deviation)
        strength[f"finger_{part}_{'incr' if amount > 0 else 'decr'}"] = float(abs(amount))
    return tuple(strength.items())


class _Placing(TypedDict):
    """What the camera sees: the fields of :class:`Recipe` that say so."""

    azimuth: float
    elevation: float
    roll: float
    translation: tuple[float, float, float]
    focal: float


def _draw_camera(rng: np.random.Generator, hand: RestHand, angles: Floats, view: str, thumb: float | None) -> _Placing:
    """View, lens and place, such that the hand lies inside the picture and the elbow outside."""
    joints = pose(hand, angles).joints
    while True:
        azimuth, elevation, roll = camera.draw_view(rng, view)
        focal = camera.draw_focal(rng, view)
        fill = rng.uniform(0.36, 0.62)
        offset = rng.normal(0, 0.06, 2)
        if thumb is not None:
            upright = joints[:21] @ camera.rotation(azimuth, elevation, 0).T
            roll = camera.thumb_roll(upright, thumb + rng.normal(0, 10))
        turned = joints @ camera.rotation(azimuth, elevation, roll).T
        # A fist is not brought as much nearer as it is smaller than an open hand.
        compact = min(1.0, np.sqrt(np.ptp(turned[:21, :2], axis=0).max() / _OPEN_HAND))
        translation = camera.place(turned[:21], focal, fill * compact, (offset[0], offset[1]))
        if camera.shows_no_elbow(turned + translation, focal):
            x, y, z = (float(c) for c in translation)
            return {
                "azimuth": float(azimuth),
                "elevation": float(elevation),
                "roll": float(roll),
                "translation": (x, y, z),
                "focal": focal,
            }


def draw_light(rng: np.random.Generator) -> Light:
    """A sun from above or the side in front of the hand, of warm or cold colour, and a sky."""
    direction = (rng.uniform(-1, 1), rng.uniform(-1.2, -0.1), rng.uniform(-1.3, -0.45))
    warmth = rng.normal(0, 0.05)
    strength = rng.uniform(0.6, 0.95)
    sky = rng.uniform(0.28, 0.50)
    key = (strength * (1 + warmth), strength * 0.97, strength * (0.92 - warmth))
    return Light(direction, key, (sky * 0.97, sky, sky * (1.05 + warmth)))


def annotate(recipe: Recipe) -> Annotation:
    """Compute the truth about a recipe's picture."""
    base = template()
    hand = rest_hand(dict(recipe.shape))
    posed = pose(hand, np.array(recipe.angles))
    turn = camera.rotation(recipe.azimuth, recipe.elevation, recipe.roll)
    joints = posed.joints @ turn.T + np.array(recipe.translation)
    vertices = skin(hand, posed) @ turn.T + np.array(recipe.translation)
    faces = base.faces
    if recipe.side == "left":
        joints, vertices, faces = mirrored(joints), mirrored(vertices), mirrored_faces(faces)
    matrix = camera.intrinsics(recipe.focal, recipe.size)
    pixels = project(joints[:21], matrix)
    in_frame = np.asarray(((pixels >= 0) & (pixels < recipe.size)).all(axis=1))
    seen = visible_joints(hand, joints[:21], vertices, faces)
    return Annotation(
        joints_cam=joints[:21],
        joints_px=pixels,
        elbow_cam=joints[21],
        vertices_cam=vertices[base.on_hand],
        arm_cam=vertices,
        intrinsics=matrix,
        visible=in_frame & seen,
        occluded=in_frame & ~seen,
        in_frame=in_frame,
    )


def render(
    recipe: Recipe,
    annotation: Annotation | None = None,
    *,
    supersample: int = 1,
    behind: Callable[[NDArray[np.float32], Annotation], NDArray[np.float32]] | None = None,
) -> NDArray[np.uint8]:
    """Draw the picture of a recipe.

    Args:
        recipe: what to draw.
        annotation: of this recipe, if at hand already.
        supersample: rays per pixel and axis; 2 gives smooth outlines at about a third of the speed.
        behind: background → background with something drawn on it (a face), (size, size, 3) sRGB 0..1.

    Returns:
        (size, size, 3) sRGB.
    """
    truth = annotation or annotate(recipe)
    size = recipe.size * supersample
    matrix = camera.intrinsics(recipe.focal, size)
    joints = np.vstack([truth.joints_cam, truth.elbow_cam])
    surface = hand_surface(truth.arm_cam, joints, recipe.side, recipe.tone, recipe.tint)
    pixel, colour = draw([surface], matrix, size, size, recipe.light)
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence([recipe.seed, recipe.index, 1])))
    picture = backgrounds.background(rng, recipe.background, recipe.size)
    if behind is not None:
        picture = behind(picture, truth)
    compose(picture, pixel, colour, supersample)
    return develop(rng, picture, recipe.blur, recipe.grain)
