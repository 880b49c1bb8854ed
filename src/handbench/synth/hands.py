"""``synth:hands``: rendered hands with exact truth, as source tables.

Truth comes from the recipe alone, before any pixel is drawn; images are drawn when somebody needs them.
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
from handbench.synth.drawing import SERIAL_BELOW, draw_missing, spread
from handbench.synth.sample import Recipe, annotate, recipe, render

DATASET: Final = "synth-hands"
SPLITS: Final = ("test", "train", "val")
"""Splits share no recipe: each has seeds of its own."""

TO_TEST_ON: Final = 200
TO_LEARN_FROM: Final = 6_000
"""How many hands where nothing is said: a training on a few hundred would teach nothing."""

_CHUNK = 25


def read(spec: Spec, context: ReadContext) -> Source:
    """Read ``synth:hands?n=200&seed=0&size=256&supersample=2&pose=&view=&side=&background=``.

    Args:
        spec: how many hands (200, and 6,000 of the split ``train``), of which seed, and what to fix (a pose, a view, a
            side, a background).
        context: split ``test`` (default), ``train`` or ``val``; where images are cached; processes.

    Returns:
        The source; ``factor_*`` columns tell pose, view, tone, light, background and the share of visible
        joints.
    """
    options = Options(spec)
    split = context.split or "test"
    count = options.integer("n", TO_LEARN_FROM if split == "train" else TO_TEST_ON, least=1)
    seed = options.integer("seed", 0, least=0)
    size = options.integer("size", 256, least=16)
    supersample = options.integer("supersample", 2, least=1)
    fixed = {key: options.text(key, "") or None for key in ("pose", "view", "side", "background")}
    options.done()
    if split not in SPLITS:
        raise HandbenchError(f"{spec}: splits are {', '.join(SPLITS)}, not {split!r}")
    draw = partial(_recipe, seed=seed, split=split, size=size, fixed=fixed)
    make = partial(_rows, draw=draw, split=split)
    rows: list[dict[str, Any]] = []
    for part in spread(make, _chunks(count), context.workers if count >= SERIAL_BELOW else 1):
        rows += part
        context.progress(len(rows), count, "posing hands")
    root = context.cache or Path("images")
    picture = partial(_picture, draw=draw, supersample=supersample)
    return Source(
        name=DATASET,
        frames=_frames(rows),
        hands=_hands(rows).sort("hand_id"),
        root=root,
        synthetic=True,
        notes=["Rendered hands: exact truth, no photograph; scores on them are no evidence about photos."],
        images=partial(draw_missing, what="drawing hands", picture=picture, root=root, workers=context.workers),
    )


def _recipe(index: int, *, seed: int, split: str, size: int, fixed: dict[str, str | None]) -> Recipe:
    return recipe(len(SPLITS) * seed + SPLITS.index(split), index, size=size, **fixed)


def _chunks(count: int) -> list[range]:
    return [range(start, min(start + _CHUNK, count)) for start in range(0, count, _CHUNK)]


def _rows(indices: range, *, draw: Callable[[int], Recipe], split: str) -> list[dict[str, Any]]:
    return [_row(draw(index), index, split) for index in indices]


def _row(made: Recipe, index: int, split: str) -> dict[str, Any]:
    truth = annotate(made)
    name = f"{split}-{made.seed}-{index:06d}"
    hand_id = f"{DATASET}/{split}/{name}/{made.side}"
    return {
        "hand_id": hand_id,
        "image": f"{name}.jpg",
        "image_hash": "recipe-" + blake2b(repr(made).encode(), digest_size=12).hexdigest(),
        "dataset": DATASET,
        "split": split,
        "width": made.size,
        "height": made.size,
        "annotated": True,
        "side": made.side,
        "cluster": hand_id,
        "joints_cam": truth.joints_cam,
        "joints_px": truth.joints_px,
        "visible": truth.visible,
        "occluded": truth.occluded,
        "in_frame": truth.in_frame,
        "intrinsics": truth.intrinsics,
        "center": truth.center,
        "extent": truth.extent,
        "extent_source": "mesh",
        "verified": True,
        "factor_pose": made.pose,
        "factor_view": made.view,
        "factor_tone": ("light", "medium", "dark")[min(int(made.tone * 3), 2)],
        "factor_light": _side_of_light(made.light.direction),
        "factor_background": made.background,
        "factor_visible": _visible_share(truth.visible),
    }


def _side_of_light(direction: Any) -> str:
    x = float(np.asarray(direction)[0])
    return "from the left" if x < -1 / 3 else "from the right" if x > 1 / 3 else "from the front"


def _visible_share(visible: np.ndarray[Any, np.dtype[np.bool_]]) -> str:
    count = int(visible.sum())
    if count == len(visible):
        return "all joints"
    return "over half" if count * 2 > len(visible) else "half or fewer"


_FACTORS: Final = ("pose", "view", "tone", "light", "background", "visible")


def _columns(rows: list[dict[str, Any]], table: str) -> pl.DataFrame:
    schema = tables.SCHEMAS[table]
    data = {}
    for name in [*schema, *(f"factor_{factor}" for factor in _FACTORS)]:
        if name in rows[0]:
            values = [row[name] for row in rows]
            data[name] = pl.Series(name, np.stack(values) if isinstance(values[0], np.ndarray) else values)
    return tables.conform(pl.DataFrame(data), table, DATASET)


def _frames(rows: list[dict[str, Any]]) -> pl.DataFrame:
    return _columns(rows, "frames")


def _hands(rows: list[dict[str, Any]]) -> pl.DataFrame:
    return _columns(rows, "hands")


def _picture(image: str, *, draw: Callable[[int], Recipe], supersample: int) -> NDArray[np.uint8]:
    return render(draw(int(Path(image).stem.rpartition("-")[2])), supersample=supersample)
