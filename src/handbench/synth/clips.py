"""``synth:clips``: rendered clips of moving hands at 30 frames a second, exact truth for every frame.

Hands move through gestures with the poses between them, leave and come back; there are stretches with two hands and
stretches with none; views from outside and from the head; motion blur, and a face-sized occluder in some clips.
"""

from __future__ import annotations

from functools import cache, partial
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
from handbench.synth.clip_motion import RATE, ClipRecipe, clip_recipe
from handbench.synth.clip_picture import annotate_frame, render_frame
from handbench.synth.drawing import draw_missing, spread
from handbench.synth.skin import tone_name

DATASET: Final = "synth-clips"
SPLITS: Final = ("test", "train", "val")
"""Splits share no recipe: each has seeds of its own."""

_SERIAL_BELOW: Final = 4
"""With fewer clips, processes cost more than they save."""


def read(spec: Spec, context: ReadContext) -> Source:
    """Read ``synth:clips?n=10&frames=90&seed=0&size=320``.

    Args:
        spec: how many clips, of how many frames, of which seed and size.
        context: split ``test`` (default), ``train`` or ``val``; where images are cached; processes.

    Returns:
        The source, with a ``clips`` table of held gestures besides ``frames`` and ``hands``; ``factor_*`` columns tell
        plan, view, tone, background and gesture.
    """
    options = Options(spec)
    count = options.integer("n", 10, least=1)
    length = options.integer("frames", 90, least=2)
    seed = options.integer("seed", 0, least=0)
    size = options.integer("size", 320, least=64)
    options.done()
    split = context.split or "test"
    if split not in SPLITS:
        raise HandbenchError(f"{spec}: splits are {', '.join(SPLITS)}, not {split!r}")
    make = partial(_clip, drawn=len(SPLITS) * seed + SPLITS.index(split), frames=length, size=size)
    names = [f"{split}-{seed}-{index:03d}" for index in range(count)]
    work = partial(_annotated, make=make, split=split)
    jobs = list(enumerate(names))
    parts = []
    for part in spread(work, jobs, context.workers if count >= _SERIAL_BELOW else 1):
        parts.append(part)
        context.progress(len(parts), count, "moving hands")
    root = context.cache or Path("images")
    frames = pl.concat([part[0] for part in parts])
    hands = pl.concat([part[1] for part in parts])
    clips = pl.concat([part[2] for part in parts])
    return Source(
        name=DATASET,
        frames=tables.conform(frames, "frames", DATASET),
        hands=tables.conform(hands, "hands", DATASET).sort("hand_id"),
        clips=tables.conform(clips, "clips", DATASET).sort("clip_id"),
        root=root,
        synthetic=True,
        notes=["Rendered clips: exact truth, no photograph; scores on them are no evidence about real videos."],
        images=partial(
            draw_missing,
            what="drawing frames",
            picture=partial(_picture, make=make),
            root=root,
            workers=context.workers,
        ),
    )


@cache
def _clip(index: int, *, drawn: int, frames: int, size: int) -> ClipRecipe:
    return clip_recipe(drawn, index, frames=frames, size=size)


def _annotated(job: tuple[int, str], *, make: Any, split: str) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """The tables of one clip."""
    index, name = job
    recipe = make(index)
    frames, hands = [], []
    held: list[tuple[str, str, int]] = []
    print_of = blake2b(repr(recipe).encode(), digest_size=12).hexdigest()
    origin = {"dataset": DATASET, "split": split, "sequence": name}
    for number in range(recipe.frames):
        image = f"{name}/{number:06d}.jpg"
        shared = {**origin, "image": image, "image_hash": f"recipe-{print_of}-{number}"}
        frames.append(
            {
                **shared,
                "video": name,
                "frame": number,
                "seconds": number / RATE,
                "width": recipe.size,
                "height": recipe.size,
                "annotated": True,
            }
        )
        for truth in annotate_frame(recipe, number):
            if truth.gesture is not None:
                held.append((truth.side, truth.gesture, number))
            hands.append({**shared, **_hand(recipe, name, number, truth, split)})
    return _frame(frames), _hands(hands), _held(held, name, origin)


def _hand(recipe: ClipRecipe, name: str, number: int, truth: Any, split: str) -> dict[str, Any]:
    return {
        "hand_id": f"{DATASET}/{split}/{name}/{number:06d}/{truth.side}",
        "side": truth.side,
        "cluster": name,
        "joints_cam": truth.joints_cam,
        "joints_px": truth.joints_px,
        "visible": truth.visible,
        "occluded": truth.occluded,
        "in_frame": truth.in_frame,
        "intrinsics": camera.intrinsics(recipe.focal, recipe.size),
        "center": truth.vertices_cam.mean(axis=0),
        "extent": np.ptp(truth.vertices_cam, axis=0),
        "extent_source": "mesh",
        "verified": True,
        "factor_plan": recipe.plan.replace("_", " "),
        "factor_view": recipe.view.replace("_", " "),
        "factor_tone": tone_name(recipe.tone),
        "factor_background": recipe.background,
        "factor_gesture": (truth.gesture or "in between").replace("_", " "),
    }


def _frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    return tables.conform(pl.DataFrame(rows), "frames", DATASET)


def _hands(rows: list[dict[str, Any]]) -> pl.DataFrame:
    if not rows:
        return tables.empty("hands")
    data = {
        name: pl.Series(name, np.stack([row[name] for row in rows]) if isinstance(value, np.ndarray) else
                        [row[name] for row in rows])
        for name, value in rows[0].items()
    }  # fmt: skip
    return tables.conform(pl.DataFrame(data), "hands", DATASET)


def _held(held: list[tuple[str, str, int]], name: str, origin: dict[str, str]) -> pl.DataFrame:
    """The ``clips`` table: a row for every stretch of frames in which a hand holds a gesture."""
    rows: list[dict[str, Any]] = []
    for side in ("left", "right"):
        mine = [(gesture, number) for other, gesture, number in held if other == side]
        stretch: list[tuple[str, int]] = []
        for entry in [*mine, ("", -1)]:
            if stretch and (entry[0] != stretch[-1][0] or entry[1] != stretch[-1][1] + 1):
                rows.append(_stretch(stretch, name, side, origin))
                stretch = []
            stretch.append(entry)
    return tables.conform(pl.DataFrame(rows), "clips", DATASET) if rows else tables.empty("clips")


def _stretch(stretch: list[tuple[str, int]], name: str, side: str, origin: dict[str, str]) -> dict[str, Any]:
    numbers = [number for _, number in stretch]
    return {
        **origin,
        "clip_id": f"{DATASET}/{origin['split']}/{name}/{numbers[0]:06d}/{side}",
        "images": [f"{name}/{number:06d}.jpg" for number in numbers],
        "action": stretch[0][0],
        "start": numbers[0],
        "end": numbers[-1],
        "side": side,
        "cluster": name,
    }


def _picture(image: str, *, make: Any) -> NDArray[np.uint8]:
    folder, _, file = image.partition("/")
    return render_frame(make(int(folder.rpartition("-")[2])), int(Path(file).stem))
