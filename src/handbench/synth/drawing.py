"""Rendered pictures on disk: drawn once, when somebody needs them, in processes where that pays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray
from PIL import Image

from handbench.processes import process_pool
from handbench.protocols import Progress

SERIAL_BELOW: Final = 64
"""With fewer things to make, processes cost more than they save."""

Item = TypeVar("Item")
Made = TypeVar("Made")


def spread(make: Callable[[Item], Made], items: Iterable[Item], workers: int) -> Iterator[Made]:
    """Map in order, in processes where there are several workers."""
    if workers < 2:
        yield from map(make, items)
        return
    with process_pool(workers) as pool:
        yield from pool.map(make, items)


def draw_missing(
    frames: pl.DataFrame,
    progress: Progress,
    *,
    picture: Callable[[str], NDArray[np.uint8]],
    root: Path,
    workers: int,
    what: str,
) -> None:
    """Draw the pictures that are not on disk yet.

    Args:
        frames: the ``frames`` wanted; ``image`` is a path below ``root``.
        progress: told how far it is.
        picture: that path → (H, W, 3) sRGB; called in other processes.
        root: the folder, made where it is missing.
        workers: processes.
        what: what is being done, for ``progress``.
    """
    root.mkdir(parents=True, exist_ok=True)
    missing = [image for image in frames["image"].unique(maintain_order=True) if not (root / image).exists()]
    write = partial(_write, picture=picture, root=root)
    for done, _ in enumerate(spread(write, missing, workers if len(missing) >= SERIAL_BELOW else 1), 1):
        progress(done, len(missing), what)


def _write(image: str, *, picture: Callable[[str], NDArray[np.uint8]], root: Path) -> None:
    target = root / image
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.part")
    Image.fromarray(picture(image)).save(draft, format="JPEG", quality=95, subsampling=0)
    draft.replace(target)
