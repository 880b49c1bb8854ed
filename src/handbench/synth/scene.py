"""A table with coloured things on it and a hand that points along a known ray, seen by the one whose hand it is.

The camera is a pinhole with OpenCV axes; it looks down on the table.  In the table's own axes x points right, y up
and z away from the wearer, with the origin below the camera.  Everything follows from (seed, index) alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from handbench.errors import HandbenchError
from handbench.synth import poses
from handbench.synth.kinematics import mirrored, mirrored_faces, pose, skin
from handbench.synth.mesh import rest_hand, template, unit
from handbench.synth.raster import DepthBuffer, project, rasterise
from handbench.synth.sample import draw_light, draw_shape
from handbench.synth.shading import Light
from handbench.synth.solids import COLOURS, SOLIDS, Mesh, first_hit

Floats = NDArray[np.float64]

NEGATIVES: Final = ("not-pointing", "empty-ray", "contradiction")
"""Why a referent has no target: the hand does not point; its ray meets nothing; what is said is not what is shown."""

IDLE: Final = ("open_palm", "fist", "relaxed")
"""Poses of a hand that does not point."""

OCCLUSION: Final = ((0.02, "none"), (0.25, "slight"), (0.5, "moderate"), (1.0, "severe"))
"""Upper ends of the hidden part, and names."""

MUCH: Final = OCCLUSION[1][0]
"""A thing of which more is hidden counts as occluded in EgoPoint-Ground's section 2.1."""

_KNUCKLE, _TIP = 5, 8
_MOST_HIDDEN = 0.75
_TRIES = 400


@dataclass(frozen=True)
class Thing:
    """One thing on the table.

    Attributes:
        category: a key of :data:`handbench.synth.solids.SOLIDS`.
        colour: a key of :data:`handbench.synth.solids.COLOURS`.
        mesh: its surface, camera axes.
        middle: (3,) the middle of its box in table axes, brought into camera axes.
    """

    category: str
    colour: str
    mesh: Mesh
    middle: Floats


@dataclass(frozen=True)
class Camera:
    """Where the camera is and what it sees.

    Attributes:
        height: over the table, metres.
        pitch: degrees that it looks down.
        focal: in pixels.
        width: pixels.
        picture_height: pixels.
    """

    height: float
    pitch: float
    focal: float
    width: int
    picture_height: int

    @property
    def axes(self) -> Floats:
        """(3, 3) rows: the table's x, y and z in camera axes."""
        p = np.radians(self.pitch)
        return np.array([[1.0, 0.0, 0.0], [0.0, -np.cos(p), -np.sin(p)], [0.0, -np.sin(p), np.cos(p)]])

    @property
    def matrix(self) -> Floats:
        """(3, 3) intrinsics."""
        return np.array([[self.focal, 0, self.width / 2], [0, self.focal, self.picture_height / 2], [0, 0, 1.0]])

    def seen(self, points: Floats) -> Floats:
        """(..., 3) table axes → camera axes."""
        return np.asarray((points - np.array([0.0, self.height, 0.0])) @ self.axes)

    def placed(self, points: Floats) -> Floats:
        """(..., 3) camera axes → table axes."""
        return np.asarray(points @ self.axes.T + np.array([0.0, self.height, 0.0]))


@dataclass(frozen=True)
class Hand:
    """The wearer's hand, camera axes.

    Attributes:
        side: ``left`` or ``right``.
        pose: name of the pose.
        joints: (22, 3) the 21 joints and the elbow.
        vertices: (V, 3) the skin, with the forearm.
        faces: (T, 3).
        tone: of the skin, 0 to 1.
        tint: of the skin.
    """

    side: str
    pose: str
    joints: Floats
    vertices: Floats
    faces: NDArray[np.int64]
    tone: float
    tint: tuple[float, float, float]

    @property
    def ray(self) -> tuple[Floats, Floats]:
        """Fingertip and unit direction, from the index knuckle through the tip."""
        return self.joints[_TIP], unit(self.joints[_TIP] - self.joints[_KNUCKLE])


@dataclass(frozen=True)
class Scene:
    """One picture's truth.

    Attributes:
        seed: of the set.
        index: in the set.
        camera: the camera.
        things: what is on the table.
        hand: the hand.
        target: number of the thing that the ray meets first, None where it meets none or the hand does not point.
        negative: one of :data:`NEGATIVES`, or None.
        light: the light.
        hidden: (T,) part of each thing's outline that something else or the picture's edge hides.
    """

    seed: int
    index: int
    camera: Camera
    things: tuple[Thing, ...]
    hand: Hand
    target: int | None
    negative: str | None
    light: Light
    hidden: Floats

    def boxes(self) -> Floats:
        """(T, 4) of every thing, hidden parts included, cut at the picture's edge; pixels."""
        return np.array([_box(thing.mesh.vertices, self.camera) for thing in self.things]).reshape(-1, 4)

    def hand_box(self) -> Floats:
        """(4,) of the hand without the forearm."""
        return _box(self.hand.vertices[template().on_hand], self.camera)

    def ray_px(self) -> Floats:
        """(4,) fingertip and unit direction in the picture."""
        tip, knuckle = project(self.hand.joints[[_TIP, _KNUCKLE]], self.camera.matrix)
        return np.concatenate([tip, (tip - knuckle) / np.linalg.norm(tip - knuckle)])


def stream(seed: int, index: int, concern: int) -> np.random.Generator:
    """The random stream of one concern of one picture."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, index, concern, 41])))


def make_scene(seed: int, index: int, width: int = 512, negatives: float = 0.15, occluded: float = 0.425) -> Scene:
    """Make picture ``index`` of set ``seed``: a pure function of its arguments.

    Args:
        seed: of the set, not negative.
        index: in the set, not negative.
        width: of the picture in pixels; it is three quarters as high.
        negatives: share of pictures with a negative, of the three kinds in turn.
        occluded: share of targets that are more than a quarter hidden; the default is EgoPoint-Ground's (section 2.1).

    Raises:
        HandbenchError: a number is out of its range.
    """
    if seed < 0 or index < 0 or width < 64 or not 0 <= negatives <= 1 or not 0 <= occluded <= 1:
        raise HandbenchError(
            f"rendered scene: seed {seed}, index {index}, width {width}, negatives {negatives}, occluded {occluded}"
        )
    rng = stream(seed, index, 0)
    negative = NEGATIVES[rng.integers(3)] if rng.random() < negatives else None
    hide = bool(rng.random() < occluded)
    for _ in range(_TRIES):
        found = _attempt(rng, seed, index, width, negative, hide=hide)
        if found is not None:
            return found
    raise HandbenchError(f"rendered scene: seed {seed}, index {index}: no arrangement found in {_TRIES} tries")


def _attempt(
    rng: np.random.Generator, seed: int, index: int, width: int, negative: str | None, *, hide: bool
) -> Scene | None:
    """One arrangement, its target hidden by more than a quarter or not; None where it does not come out so."""
    camera = Camera(
        rng.uniform(0.46, 0.58), rng.uniform(36, 46), rng.uniform(0.74, 0.9) * width, width, round(width * 0.75)
    )
    things = _things(rng, camera)
    wanted = _wanted(rng, camera, things, hide=hide)
    aim = _aim(rng, camera, things, wanted, empty=negative == "empty-ray")
    hand = _hand(rng, camera, aim, "point" if negative != "not-pointing" else str(rng.choice(IDLE)))
    if hand is None or _collides(hand, things, camera):
        return None
    met = None
    if negative != "not-pointing":
        origin, direction = hand.ray
        depth = [first_hit(origin, direction, thing.mesh) for thing in things]
        met = int(np.argmin(depth)) if min(depth) < np.inf else None
        if met != (None if negative == "empty-ray" else wanted):
            return None
    scene = Scene(seed, index, camera, things, hand, met, negative, draw_light(rng), np.zeros(0))
    if negative == "empty-ray" and _ray_meets(scene.ray_px(), scene.boxes()).any():
        return None
    hidden = _hidden(scene)
    if (hidden > (_MOST_HIDDEN if met is None else 0.97)).any():
        return None
    if met is not None and (hidden[met] > _MOST_HIDDEN or (hidden[met] > MUCH) != hide):
        return None
    return Scene(seed, index, camera, things, hand, met, negative, scene.light, hidden)


def _wanted(rng: np.random.Generator, camera: Camera, things: tuple[Thing, ...], *, hide: bool) -> int:
    """The thing to point at: where it is to be hidden, rather one that another stands before."""
    boxes = np.array([_box(thing.mesh.vertices, camera) for thing in things])
    depth = np.array([thing.middle[2] for thing in things])
    low = np.maximum(boxes[:, None, :2], boxes[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], boxes[None, :, 2:])
    shared = np.clip(high - low, 0, None).prod(axis=2) / (boxes[:, 2:] - boxes[:, :2]).prod(axis=1)[:, None]
    covered = np.where(depth[None, :] < depth[:, None], shared, 0).max(axis=1)
    weight = 0.05 + 10 * covered**1.5 if hide else np.ones(len(things))
    return int(rng.choice(len(things), p=weight / weight.sum()))


def _things(rng: np.random.Generator, camera: Camera) -> tuple[Thing, ...]:
    """Two to eight things that do not touch, often several of a category, sometimes one behind another."""
    count = int(rng.integers(2, 9))
    names = list(SOLIDS)
    picked = [str(name) for name in rng.choice(names, count)]
    if rng.random() < 0.5:
        picked[: max(2, count // 2)] = [str(rng.choice(names))] * max(2, count // 2)
    things: list[Thing] = []
    spots: list[tuple[float, float, float]] = []
    colours: dict[str, list[str]] = {}
    for category in picked:
        size = rng.uniform(0.027, 0.042)
        radius = size * (2.1 if category == "book" else 1.5)
        behind = bool(spots) and rng.random() < 0.4
        for _ in range(40):
            if behind:
                # On the line of sight of another thing, a little farther and to the side.
                x, z, other = spots[rng.integers(len(spots))]
                away = 1 + (radius + other) * rng.uniform(1.0, 1.25) / np.hypot(x, z)
                x, z = x * away + rng.normal(0, 0.015), z * away
            else:
                x, z = rng.uniform(-0.34, 0.34), rng.uniform(0.46, 0.85)
            if all(np.hypot(x - a, z - b) > radius + r for a, b, r in spots) and _in_view(x, z, radius, camera):
                break
        else:
            continue
        spots.append((float(x), float(z), radius))
        # Two things of one category differ in colour where colours last.
        free = [name for name in COLOURS if name not in colours.get(category, [])]
        colour = str(rng.choice(free or list(COLOURS)))
        colours.setdefault(category, []).append(colour)
        things.append(_stand(category, colour, size, (float(x), float(z)), rng.uniform(0, 360), camera))
    return tuple(things)


def _in_view(x: float, z: float, radius: float, camera: Camera) -> bool:
    ends = np.array([[x - radius, 0, z], [x + radius, 0, z], [x, 0.1, z], [x, 0, z - radius]])
    seen = project(camera.seen(ends), camera.matrix)
    return bool(((seen > 3) & (seen < [camera.width - 3, camera.picture_height - 3])).all())


def _stand(category: str, colour: str, size: float, place: tuple[float, float], turn: float, camera: Camera) -> Thing:
    mesh = SOLIDS[category](size)
    angle = np.radians(turn)
    about_y = np.array([[np.cos(angle), 0, -np.sin(angle)], [0, 1, 0], [np.sin(angle), 0, np.cos(angle)]])
    standing = mesh.vertices @ about_y + np.array([place[0], 0, place[1]])
    middle = (standing.min(axis=0) + standing.max(axis=0)) / 2
    # The table's axes are left-handed as x right, y up, z away: in camera axes the triangles turn.
    return Thing(category, colour, Mesh(camera.seen(standing), mesh.faces[:, ::-1]), camera.seen(middle))


def _aim(rng: np.random.Generator, camera: Camera, things: tuple[Thing, ...], wanted: int, *, empty: bool) -> Floats:
    """(3,) the point aimed at, camera axes: within the thing wanted, or a free spot of the table."""
    if empty:
        return camera.seen(np.array([rng.uniform(-0.35, 0.35), 0.0, rng.uniform(0.55, 0.95)]))
    mesh = things[wanted].mesh
    reach = np.ptp(mesh.vertices, axis=0) / 2
    return np.asarray(things[wanted].middle + rng.uniform(-0.3, 0.3, 3) * reach)


def _hand(rng: np.random.Generator, camera: Camera, aim: Floats, name: str) -> Hand | None:
    """A hand whose index finger points at ``aim``, back up; None where it leaves the picture or meets the table."""
    side = "left" if rng.random() < 0.35 else "right"
    sign = -1.0 if side == "left" else 1.0
    shape = draw_shape(rng)
    base, rest = template(), rest_hand(dict(shape))
    angles = poses.draw_named(rng, rest, name)
    posed = pose(rest, angles)
    tip = camera.seen(np.array([sign * rng.uniform(-0.04, 0.2), rng.uniform(0.07, 0.22), rng.uniform(0.36, 0.5)]))
    roll = np.radians(rng.uniform(-15, 55))
    tone, tint = float(rng.random()), tuple(float(c) for c in rng.normal(1, [0.02, 0.025, 0.035]))
    # Everything is worked out for a right hand; a left hand is the mirror image of one that aims at the mirror image.
    flip = np.array([sign, 1.0, 1.0])
    direction = unit(aim * flip - tip * flip)
    down, right = -camera.axes[1], camera.axes[0]
    turn = _turning(posed.joints, direction, down * np.cos(roll) - right * np.sin(roll))
    shift = tip * flip - turn @ posed.joints[_TIP]
    joints = posed.joints @ turn.T + shift
    vertices = skin(rest, posed) @ turn.T + shift
    faces = base.faces
    if side == "left":
        joints, vertices, faces = mirrored(joints), mirrored(vertices), mirrored_faces(faces)
    seen = project(joints[:21], camera.matrix)
    margin = 0.012 * camera.width
    inside = (seen > margin) & (seen < [camera.width - margin, camera.picture_height - margin])
    over = camera.placed(vertices[base.on_hand])[:, 1]
    if joints[:21, 2].min() < 0.12 or not inside.all() or over.min() < 0.004:
        return None
    if not _comes_from_below(joints, camera) or _shows_end(joints, vertices, camera):
        return None
    return Hand(side, name, joints, vertices, faces, tone, (tint[0], tint[1], tint[2]))


def _comes_from_below(joints: Floats, camera: Camera) -> bool:
    """Whether the forearm leaves the picture through its lower part, as the wearer's own does."""
    wrist, elbow = joints[0], joints[21]
    reach = np.linspace(0, 1, 12)[:, None]
    arm = wrist + reach * (elbow - wrist)
    arm = arm[arm[:, 2] > 0.05]
    x, y = project(arm, camera.matrix).T
    outside = np.flatnonzero((x < -40) | (x > camera.width + 40) | (y > camera.picture_height + 40))
    return bool(len(outside) and y[outside[0]] > 0.62 * camera.picture_height)


def _shows_end(joints: Floats, vertices: Floats, camera: Camera) -> bool:
    """Whether the open end of the forearm is in the picture, or the arm passes the camera in sight."""
    arm = joints[21] - joints[0]
    along = (vertices - joints[0]) @ arm / (arm @ arm)
    end = vertices[(along > 0.9 * along.max()) | (vertices[:, 2] < 0.13)]
    end = end[end[:, 2] > 0.005]
    seen = project(end, camera.matrix)
    return bool(((seen > -2) & (seen < [camera.width + 2, camera.picture_height + 2])).all(axis=1).any())


def _turning(joints: Floats, direction: Floats, palm: Floats) -> Floats:
    """(3, 3) rotation that brings the index finger into a direction and the palm nearest to another."""

    def frame(first: Floats, second: Floats) -> Floats:
        along = unit(first)
        across = unit(second - along * (second @ along))
        return np.stack([along, across, np.cross(along, across)], axis=1)

    own = frame(joints[_TIP] - joints[_KNUCKLE], np.array([0.0, 0.0, 1.0]))
    return np.asarray(frame(direction, palm) @ own.T)


def _collides(hand: Hand, things: tuple[Thing, ...], camera: Camera) -> bool:
    """Whether the hand or forearm comes within a centimetre of a thing's box in table axes."""
    skin_points = camera.placed(hand.vertices)
    for thing in things:
        own = camera.placed(thing.mesh.vertices)
        low, high = own.min(axis=0) - 0.01, own.max(axis=0) + 0.01
        if ((skin_points > low) & (skin_points < high)).all(axis=1).any():
            return True
    return False


def _box(points: Floats, camera: Camera) -> Floats:
    seen = project(points, camera.matrix)
    limit = np.array([camera.width, camera.picture_height])
    return np.concatenate([np.clip(seen.min(axis=0), 0, limit), np.clip(seen.max(axis=0), 0, limit)])


def _ray_meets(ray: Floats, boxes: Floats) -> NDArray[np.bool_]:
    """(T,) whether a ray in the picture enters each box, grown by 2 %: the slab test."""
    grown = boxes + np.array([-1, -1, 1, 1]) * 0.02 * (boxes[:, 2:] - boxes[:, :2]).max(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        one, two = (grown[:, :2] - ray[:2]) / ray[2:], (grown[:, 2:] - ray[:2]) / ray[2:]
    enter, leave = np.minimum(one, two).max(axis=1), np.maximum(one, two).min(axis=1)
    return np.asarray((enter <= leave) & (leave >= 0))


def _hidden(scene: Scene) -> Floats:
    """(T,) part of each thing's outline that is not seen: behind others, behind the hand, outside the picture."""
    camera = scene.camera
    size = camera.width, camera.picture_height
    # A wider canvas holds what the picture's edge cuts off.
    pad = camera.width // 2
    shifted = camera.matrix + np.array([[0, 0, pad], [0, 0, pad], [0, 0, 0.0]])
    wide = size[0] + 2 * pad, size[1] + 2 * pad
    buffer = DepthBuffer(*wide)
    layers = []
    meshes = [*(thing.mesh for thing in scene.things), Mesh(scene.hand.vertices, scene.hand.faces)]
    for number, mesh in enumerate(meshes):
        layer = rasterise(project(mesh.vertices, shifted), mesh.vertices[:, 2], mesh.faces, *wide)
        buffer.draw(layer, number)
        layers.append(layer)
    hidden = []
    for number, layer in enumerate(layers[:-1]):
        row, column = np.divmod(buffer.seen(layer, number).pixel, wide[0])
        inside = (row >= pad) & (row < pad + size[1]) & (column >= pad) & (column < pad + size[0])
        hidden.append(1 - inside.sum() / max(len(layer.pixel), 1))
    return np.array(hidden)


def occlusion_name(hidden: float) -> str:
    """Name of a hidden part 0..1."""
    return next(name for limit, name in OCCLUSION if hidden <= limit)
