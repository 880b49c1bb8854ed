"""Our own tables: a ``hands`` table, and the ``frames`` table that goes with it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from handbench import tables
from handbench.datasets import files
from handbench.datasets.guards import Evidence, guard
from handbench.datasets.selection import Selection
from handbench.errors import HandbenchError
from handbench.protocols import ReadContext, Source, dataset
from handbench.specs import Options, Spec

NAME: Final = "table"


@dataset(NAME)
def read(spec: Spec, context: ReadContext) -> Source:
    """Read ``table:FILE?frames=FILE&images=DIR``.

    Options: ``frames``, the table of frames (``frames.parquet`` beside the hands where there is one, else
    sizes are read from the images); ``images``, the folder of the images (that of the hands by default).

    Args:
        spec: a ``hands`` table, or a folder with ``hands.parquet`` and ``frames.parquet``.
        context: a split that the table has, or None for all rows.

    Raises:
        HandbenchError: it is no such table, nothing is left, or a guard failed.
    """
    options = Options(spec)
    if not spec.name:
        raise HandbenchError(f"{spec}: expected a hands table after the colon, e.g. table:hands.parquet")
    path = Path(spec.name).expanduser()
    path = path / "hands.parquet" if (path / "hands.parquet").exists() else path
    beside = path.parent / "frames.parquet"
    named = options.text("frames", str(beside) if beside.exists() else "")
    root = path.parent / options.text("images", ".")
    options.done()

    left = Selection(tables.read(path, "hands"))
    if context.split is not None:
        known = left.rows["split"].cast(pl.String).unique().sort().to_list()
        if context.split not in known:
            raise HandbenchError(f"{path}: no split {context.split!r}; there are {', '.join(known)}")
        left.keep("other split", pl.col("split").cast(pl.String) == context.split)
    left.keep(
        "no image",
        pl.Series(files.existing(root, left.rows["image"].to_list(), anywhere=True), dtype=pl.Boolean),
    )
    left.refuse_empty(path, "its hands")
    left.rows = left.rows.filter(files.not_empty(root, left.rows["image"].to_list(), context.faults))
    left_out, told = context.faults.take()
    if left.rows.is_empty():
        raise HandbenchError(f"{path}: nothing is left ({told[0]})")
    hands = left.rows.sort("hand_id")
    twice = hands.filter(pl.col("hand_id").is_duplicated())
    if twice.height:
        raise HandbenchError(f"{path}: hand_id {twice['hand_id'][0]} stands in it more than once")
    frames = _frames(hands, Path(named), root) if named else _frames_of_images(hands, root)
    names = hands["dataset"].cast(pl.String).unique().to_list()
    return Source(
        name=names[0] if len(names) == 1 else NAME,
        frames=frames,
        hands=hands,
        root=root,
        skipped={**left.skipped, **left_out},
        notes=[*told, *_guard(hands, frames, path, context)],
    )


def _frames(hands: pl.DataFrame, path: Path, root: Path) -> pl.DataFrame:
    frames = tables.read(path, "frames")
    lost = hands.join(frames, on="image", how="anti")
    if lost.height:
        raise HandbenchError(f"{path}: no frame {lost['image'][0]}, which the hands table speaks of")
    return frames.filter(pl.Series(files.existing(root, frames["image"].to_list(), anywhere=True))).sort("image")


def _frames_of_images(hands: pl.DataFrame, root: Path) -> pl.DataFrame:
    shared = ["image", "image_hash", "dataset", "split", "subject", "sequence"]
    frames = hands.select(shared).unique("image", keep="first").sort("image")
    sizes = files.image_sizes(root, frames["image"].to_list())
    frames = frames.with_columns(width=sizes[:, 0], height=sizes[:, 1], annotated=pl.lit(False))
    return tables.conform(frames, "frames", root)


def _guard(hands: pl.DataFrame, frames: pl.DataFrame, path: Path, context: ReadContext) -> list[str]:
    rows = hands.filter(pl.col("joints_cam").is_not_null())
    if rows.height == 0:
        return []
    sizes = rows.join(frames.select("image", "width", "height"), on="image", maintain_order="left")
    whole = rows["intrinsics"].null_count() == 0
    drawn = rows["joints_px"].null_count() == 0
    evidence = Evidence(
        np.asarray(rows["joints_cam"].to_numpy(), np.float64),
        rows["side"].cast(pl.String).to_list(),
        intrinsics=np.asarray(rows["intrinsics"].to_numpy(), np.float64) if whole else None,
        sizes=sizes.select("width", "height").to_numpy(),
        pixels=np.asarray(rows["joints_px"].to_numpy(), np.float64) if drawn else None,
    )
    return guard(path, evidence, context)
