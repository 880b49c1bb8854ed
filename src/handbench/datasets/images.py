"""A folder of photos without annotations: frames alone, for estimators and models to look at."""

from __future__ import annotations

from typing import Final

import polars as pl

from handbench import tables
from handbench.datasets import files
from handbench.errors import HandbenchError
from handbench.faults import Faults
from handbench.protocols import ReadContext, Source, dataset
from handbench.specs import Options, Spec

NAME: Final = "images"
SPLIT: Final = "all"


@dataset(NAME)
def read(spec: Spec, context: ReadContext) -> Source:
    """Read ``images:DIR?hash=yes``.

    Args:
        spec: a folder; images in folders inside it count, too.
        context: the only split is ``all``.  ``force`` leaves out images that cannot be read, as ``--keep-going`` does.

    Raises:
        HandbenchError: there is no image, or one is damaged.
    """
    options = Options(spec)
    hashed = options.flag("hash", default=True)
    options.done()
    if context.split not in (None, SPLIT):
        raise HandbenchError(f"{spec}: the only split is {SPLIT}, not {context.split!r}")
    root = files.folder(spec)
    listed = files.list_images(root)
    faults = Faults(keep_going=True) if context.force else context.faults
    good, sizes = files.readable(root, listed, faults)
    kept = [image for image, whole in zip(listed, good, strict=True) if whole]
    left_out, notes = faults.take()
    if not kept:
        raise HandbenchError(f"{root}: no image in it; expected files such as .jpg or .png")
    hashes = files.hash_images(root, kept, context.workers, context.progress) if hashed else None
    width, height = sizes[good].T
    frames = pl.DataFrame({"image": kept, "width": width, "height": height}).with_columns(
        image_hash=pl.Series([hashes[image] for image in kept]) if hashes else pl.lit(None, pl.String),
        dataset=pl.lit(NAME),
        split=pl.lit(SPLIT),
        annotated=pl.lit(False),
    )
    return Source(
        name=NAME,
        frames=tables.conform(frames, "frames", root),
        hands=tables.empty("hands"),
        root=root,
        skipped=left_out,
        notes=[f"{NAME}: no annotations, so nothing can be scored against the truth", *notes],
    )
