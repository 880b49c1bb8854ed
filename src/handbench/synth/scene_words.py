"""What is said about a rendered scene: referents, a question with its answer, captions."""

from __future__ import annotations

from typing import Final

import numpy as np

from handbench.synth.scene import Scene
from handbench.synth.solids import SOLIDS

_DEICTIC: Final = ("this one", "that one", "this", "that thing", "this thing here", "what I am pointing at")
_BY_CATEGORY: Final = ("this {category}", "that {category}", "the {category} over there")
_BY_COLOUR: Final = ("that {colour} thing", "this {colour} one", "the {colour} thing")
_QUESTIONS: Final = ("what is this?", "what am I pointing at?", "what is that called?", "which object is this?")


def referents(scene: Scene, rng: np.random.Generator) -> list[str]:
    """Three underspecified expressions: by pointing alone, by category, by colour.

    Where the negative is a contradiction the last two name a category that is not in the scene, and the first as well.
    """
    if scene.negative == "contradiction":
        here = {thing.category for thing in scene.things}
        absent = [name for name in SOLIDS if name not in here]
        picked = [str(name) for name in rng.choice(absent, 3)]
        return [str(rng.choice(_BY_CATEGORY)).format(category=name) for name in picked]
    if scene.target is None:
        # Nothing is meant, so nothing can be named: each says no more than "this".
        return [str(text) for text in rng.choice(_DEICTIC, 3, replace=False)]
    target = scene.things[scene.target]
    return [
        str(rng.choice(_DEICTIC)),
        str(rng.choice(_BY_CATEGORY)).format(category=target.category),
        str(rng.choice(_BY_COLOUR)).format(colour=target.colour),
    ]


def question(scene: Scene, rng: np.random.Generator) -> tuple[str, str | None]:
    """A question about the target and its answer, the category; no answer where nothing is pointed at."""
    said = str(rng.choice(_QUESTIONS))
    return said, None if scene.target is None else scene.things[scene.target].category


def captions(scene: Scene) -> dict[str, str | None]:
    """Of the image, of the target and of the hand."""
    counted: dict[str, int] = {}
    for thing in scene.things:
        name = f"{thing.colour} {thing.category}"
        counted[name] = counted.get(name, 0) + 1
    listed = ", ".join(f"a {name}" if count == 1 else f"{count} {name}s" for name, count in counted.items())
    hand = scene.hand
    if hand.pose != "point":
        gesture = f"a {hand.side} hand rests in the picture and points at nothing"
    else:
        x, y = scene.ray_px()[2:]
        across = "right" if x > 0.38 else "left" if x < -0.38 else ""
        along = "up" if y < -0.38 else "down" if y > 0.38 else ""
        way = " and ".join(filter(None, (along, across))) or "ahead"
        gesture = f"a {hand.side} hand with the index finger stretched out points {way}"
    target = None if scene.target is None else scene.things[scene.target]
    return {
        "image": f"A table with {listed}, seen by the person whose {hand.side} hand is in the picture.",
        "object": None if target is None else f"a {target.colour} {target.category}",
        "hand": gesture,
    }
