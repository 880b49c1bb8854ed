"""How hands move in a rendered clip: a plan of keyframes, and the exact hand at any time.

A hand goes from keyframe to keyframe along minimum-jerk curves (Flash and Hogan 1985): it holds a gesture, changes to
the next one while it moves, leaves the picture and comes back.  Everything is of a right hand; a left hand is the
mirror image of the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from handbench.synth import backgrounds, poses
from handbench.synth.mesh import RestHand, rest_hand
from handbench.synth.sample import draw_light, draw_shape
from handbench.synth.shading import Light

Floats = NDArray[np.float64]

RATE: Final = 30
"""Frames per second."""

GESTURES: Final = (
    *("open_palm", "fist", "point", "like", "victory", "ok", "three", "call", "grasp", "relaxed", "pinch", "two_up"),
    *("rock", "stop", "four", "three2"),
)

PLANS: Final = ("right", "left", "both", "occluder", "one_then_other")
"""What happens in a clip: a hand that leaves and returns (right or left); a right hand that a left one joins for a
while; a hand that passes behind a face-sized occluder; a right hand, then nobody, then a left one."""

VIEWS: Final = ("third_person", "first_person")

HAND_LENGTH: Final = 0.18
"""Metres: a hand of this length fills ``fill`` picture widths."""

_HOLD: Final = (0.25, 0.7)
_CHANGE: Final = (0.25, 0.6)
"""Seconds that a gesture is held, and that the change to the next one takes."""


_SWAY: Final = np.array([1.2] * 23 + [0.004, 0.004, 0.002] + [1.5, 1.5, 1.0])
"""How far a held hand sways: degrees of its angles, shares of the picture of its place, degrees of its turn."""


@dataclass(frozen=True)
class Key:
    """A keyframe of one hand.

    Attributes:
        seconds: when.
        gesture: the pose's name.
        angles: (23,) degrees.
        place: middle of the palm in shares of the picture, and the fill.
        turn: azimuth, elevation and roll, degrees.
    """

    seconds: float
    gesture: str
    angles: tuple[float, ...]
    place: tuple[float, float, float]
    turn: tuple[float, float, float]


@dataclass(frozen=True)
class HandPath:
    """One hand through a clip.

    Attributes:
        side: left or right.
        keys: the keyframes, in the order of time.
        sway: (frequency in hertz, phase) of each of the 29 numbers of a keyframe: a held hand is never quite still.
    """

    side: str
    keys: tuple[Key, ...]
    sway: tuple[tuple[float, float], ...] = ()

    @cached_property
    def _arrays(self) -> tuple[Floats, Floats]:
        times = np.array([key.seconds for key in self.keys])
        values = np.array([[*key.angles, *key.place, *key.turn] for key in self.keys])
        return times, values

    def at(self, seconds: float) -> tuple[Floats, Floats, Floats]:
        """(23,) angles, (3,) place and (3,) turn at a time."""
        times, values = self._arrays
        after = int(np.clip(np.searchsorted(times, seconds, "right"), 1, len(times) - 1))
        span = times[after] - times[after - 1]
        part = float(np.clip((seconds - times[after - 1]) / span, 0, 1)) if span > 0 else 1.0
        smooth = part**3 * (10 - 15 * part + 6 * part * part)
        now = values[after - 1] + smooth * (values[after] - values[after - 1])
        if self.sway:
            frequency, phase = np.array(self.sway).T
            now = now + _SWAY * np.sin(2 * np.pi * frequency * seconds + phase)
        return now[:23], now[23:26], now[26:29]

    def gesture_at(self, seconds: float) -> str | None:
        """The gesture that is held at a time, None while it changes."""
        times, _ = self._arrays
        after = int(np.clip(np.searchsorted(times, seconds, "right"), 1, len(times) - 1))
        one, other = self.keys[after - 1], self.keys[after]
        return one.gesture if one.gesture == other.gesture else None


@dataclass(frozen=True)
class ClipRecipe:
    """Everything that determines a clip.

    Attributes:
        seed: of the set.
        index: in the set.
        frames: how many.
        size: side of the square picture in pixels.
        plan: one of :data:`PLANS`.
        view: one of :data:`VIEWS`.
        shape: (morph, strength) pairs of the person's hands.
        hands: the hands' paths.
        focal: focal length in picture widths.
        tone: of the skin, 0 to 1.
        tint: factor of red, green and blue.
        light: sun and sky.
        background: one of the backgrounds.
        person: lips (x, y) of a person behind the hands and pixels per metre in shares of the picture; None for none.
        occluder: middle (x, y) and half height of an occluder before the hands, in shares; None for none.
        exposure: share of the frame's time that the shutter is open.
        blur: of the lens, in parts of the side.
        grain: of the sensor.
    """

    seed: int
    index: int
    frames: int
    size: int
    plan: str
    view: str
    shape: tuple[tuple[str, float], ...]
    hands: tuple[HandPath, ...]
    focal: float
    tone: float
    tint: tuple[float, float, float]
    light: Light
    background: str
    person: tuple[float, float, float] | None
    occluder: tuple[float, float, float] | None
    exposure: float
    blur: float
    grain: float


def clip_recipe(seed: int, index: int, *, frames: int = 90, size: int = 320) -> ClipRecipe:
    """Draw the recipe of clip ``index`` of set ``seed``, a pure function of its arguments.

    Plans and views follow the index, so that ten clips hold each plan in each view.
    """
    streams = np.random.SeedSequence([seed, index, 11]).spawn(3)
    of_look, of_camera, of_hands = (np.random.Generator(np.random.PCG64(stream)) for stream in streams)
    plan, view = PLANS[index % len(PLANS)], VIEWS[index % len(VIEWS)]
    shape = draw_shape(of_look)
    tone = float(of_look.random())
    red, green, blue = (float(c) for c in of_look.normal(1, [0.02, 0.025, 0.035]))
    light = draw_light(of_look)
    first = view == "first_person"
    background = str(of_look.choice(("desk", "clutter", "room") if first else backgrounds.BACKGROUNDS))
    focal = float(of_camera.uniform(0.8, 1.2) if first else of_camera.uniform(1.1, 2.0))
    lips = (
        float(of_camera.uniform(0.42, 0.58)),
        float(of_camera.uniform(0.34, 0.44)),
        float(of_camera.uniform(0.9, 1.3)),
    )
    hand = rest_hand(dict(shape))
    return ClipRecipe(
        seed=seed,
        index=index,
        frames=frames,
        size=size,
        plan=plan,
        view=view,
        shape=shape,
        hands=_hands(of_hands, hand, plan, view, frames / RATE),
        focal=focal,
        tone=tone,
        tint=(red, green, blue),
        light=light,
        background=background,
        person=None if first else lips,
        occluder=_occluder(of_camera) if plan == "occluder" else None,
        exposure=float(of_camera.uniform(0.15, 0.95)),
        blur=float(of_look.uniform(0.5, 1.0) / 320),
        grain=float(of_look.uniform(0.002, 0.012)),
    )


def _occluder(rng: np.random.Generator) -> tuple[float, float, float]:
    return float(rng.uniform(0.52, 0.66)), float(rng.uniform(0.5, 0.66)), float(rng.uniform(0.12, 0.15))


def _hands(rng: np.random.Generator, hand: RestHand, plan: str, view: str, length: float) -> tuple[HandPath, ...]:
    """The paths of a plan; times are shares of the clip's length."""
    spans: dict[str, list[tuple[str, float, float]]] = {
        "right": [("right", 0.0, 0.52), ("right", 0.66, 1.0)],
        "left": [("left", 0.0, 0.5), ("left", 0.62, 1.0)],
        "both": [("right", 0.0, 1.0), ("left", 0.22, 0.8)],
        "occluder": [("right", 0.04, 0.97)],
        "one_then_other": [("right", 0.0, 0.42), ("left", 0.56, 1.0)],
    }
    paths: dict[str, list[Key]] = {}
    for side, begin, end in spans[plan]:
        crowded = plan == "both"
        whole = begin == 0.0, end == 1.0
        paths.setdefault(side, []).extend(
            _visit(rng, hand, view, begin * length, end * length, crowded=crowded, inside=whole)
        )
    return tuple(HandPath(side, tuple(keys), _sway(rng)) for side, keys in paths.items())


def _sway(rng: np.random.Generator) -> tuple[tuple[float, float], ...]:
    return tuple((float(rng.uniform(0.25, 0.9)), float(rng.uniform(0, 2 * np.pi))) for _ in range(len(_SWAY)))


def _visit(
    rng: np.random.Generator,
    hand: RestHand,
    view: str,
    begin: float,
    end: float,
    *,
    crowded: bool,
    inside: tuple[bool, bool],
) -> list[Key]:
    """A hand's visit to the picture: in, through gestures, out."""
    keys: list[Key] = []
    now = begin
    key = _key(rng, hand, view, now, crowded=crowded)
    if not inside[0]:
        keys.append(_outside(key, now))
        now += rng.uniform(0.3, 0.5)
    while True:
        held = rng.uniform(*_HOLD)
        keys += [_at(key, now), _at(key, min(now + held, end))]
        now += held + rng.uniform(*_CHANGE)
        if now >= end - 0.3:
            break
        key = _key(rng, hand, view, now, crowded=crowded, before=key)
    if inside[1]:
        return [*keys, _at(keys[-1], end + 1.0)]
    return [*keys, _outside(keys[-1], keys[-1].seconds + rng.uniform(0.3, 0.5))]


def _at(key: Key, seconds: float) -> Key:
    return Key(seconds, key.gesture, key.angles, key.place, key.turn)


def _outside(key: Key, seconds: float) -> Key:
    """The same hand below the picture or beside it."""
    x, y, fill = key.place
    below = (x, 1.0 + 1.2 * fill, fill) if x < 0.75 else (1.0 + 1.1 * fill, y + 0.1, fill)
    return Key(seconds, key.gesture, key.angles, below, key.turn)


def _key(
    rng: np.random.Generator, hand: RestHand, view: str, seconds: float, *, crowded: bool, before: Key | None = None
) -> Key:
    gesture = str(rng.choice([name for name in GESTURES if before is None or name != before.gesture]))
    angles = tuple(float(a) for a in poses.draw_named(rng, hand, gesture))
    if view == "first_person":
        fill = rng.uniform(0.3, 0.42)
        place = (rng.uniform(0.6, 0.74) if crowded else rng.uniform(0.4, 0.68), rng.uniform(0.45, 0.62), fill)
        azimuth = 180.0 if rng.random() < 0.6 else 0.0
        turn = (azimuth + rng.normal(0, 14), rng.uniform(5, 35), -14 + rng.normal(0, 10))
    else:
        fill = rng.uniform(0.24, 0.36)
        # A right hand that is shown to the camera is at the picture's left; the wearer's own is at the right.
        place = (rng.uniform(0.2, 0.36) if crowded else rng.uniform(0.26, 0.62), rng.uniform(0.36, 0.64), fill)
        azimuth = 0.0 if rng.random() < 0.7 else 180.0
        turn = (azimuth + rng.normal(0, 14), rng.normal(0, 12), rng.normal(8, 14))
    if before is not None and abs(turn[0] - before.turn[0]) > 90:
        turn = (before.turn[0] + rng.normal(0, 12), turn[1], turn[2])  # a hand rarely turns over between two gestures
    x, y, size = (float(v) for v in place)
    azimuth, elevation, roll = (float(v) for v in turn)
    return Key(float(seconds), gesture, angles, (x, y, size), (azimuth, elevation, roll))
