"""A simply drawn person: head, neck and shoulders, sized in metres about the lips."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PIL import ImageDraw

Colour = tuple[int, ...]


@dataclass(frozen=True)
class Person:
    """What a person looks like.

    Attributes:
        skin: colour of the face.
        dark: a darker shade of it.
        hair: colour of hair and brows.
        shirt: colour of the shoulders.
        tone: of the skin, 0 (lightest) to 1 (darkest).
    """

    skin: Colour
    dark: Colour
    hair: Colour
    shirt: Colour
    tone: float


def draw_looks(rng: np.random.Generator, tone: float) -> Person:
    """Hair and shirt by chance, skin by its tone."""
    skin = mixed((232, 190, 165), (84, 54, 40), tone)
    hair = tuple(int(c) for c in rng.choice([(30, 24, 20), (70, 45, 25), (120, 90, 50), (150, 150, 150)]))
    shirt = tuple(int(c) for c in rng.integers(40, 200, 3))
    return Person(skin, mixed(skin, (40, 20, 15), 0.55), hair, shirt, tone)


def draw_person(pen: ImageDraw.ImageDraw, x: float, y: float, unit: float, looks: Person, *, body: bool = True) -> None:
    """Draw a person whose lips are at a point.

    Args:
        pen: draws on an RGB picture.
        x: of the lips, pixels.
        y: of the lips, pixels.
        unit: pixels per metre.
        looks: the colours.
        body: whether neck and shoulders are drawn, too.
    """

    def oval(cx: float, cy: float, rx: float, ry: float, fill: Colour) -> None:
        """An ellipse about a point given in metres from the lips."""
        middle = x + cx * unit, y + cy * unit
        box = (middle[0] - rx * unit, middle[1] - ry * unit, middle[0] + rx * unit, middle[1] + ry * unit)
        pen.ellipse(box, fill=fill)

    if body:
        oval(0, 0.26, 0.21, 0.15, looks.shirt)
        oval(0, 0.09, 0.055, 0.09, mixed(looks.skin, (0, 0, 0), 0.15))
    oval(0, -0.065, 0.085, 0.115, looks.hair)
    oval(0, -0.04, 0.074, 0.1, looks.skin)
    for side in (-1, 1):
        oval(side * 0.031, -0.062, 0.012, 0.0065, (245, 245, 242))
        oval(side * 0.031, -0.062, 0.0055, 0.0055, (40, 30, 25))
        oval(side * 0.031, -0.079, 0.016, 0.0028, looks.hair)
    oval(0, -0.024, 0.009, 0.012, mixed(looks.skin, looks.dark, 0.25))
    oval(0, 0.0, 0.024, 0.0085, mixed((190, 95, 90), looks.dark, 0.3 + 0.4 * looks.tone))


def mixed(one: Colour, other: Colour, part: float) -> Colour:
    """A colour between two."""
    return tuple(round(a + (b - a) * part) for a, b in zip(one, other, strict=True))
