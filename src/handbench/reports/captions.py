"""Captions beside their images, by an encoder: similarity, and the plane (EgoPoint-Ground, section 2.1 and Fig. 3)."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from handbench import draws, tables
from handbench.errors import HandbenchError
from handbench.models import encoder as encoders
from handbench.protocols import ReadContext
from handbench.runs.answering import image_root
from handbench.runs.asking import ensure_images
from handbench.runs.folder import RunFolder

Floats = NDArray[np.float64]

MOST_COMPARED: Final = 1000
"""Images whose captions are compared with one another's: all pairs of them."""


def keep(folder: RunFolder, path: str, context: ReadContext) -> pl.DataFrame:
    """Encode images and captions of a run, and keep them with it: its next report shows them.

    Args:
        folder: a run of a task on scenes.
        path: the encoder's folder.
        context: workers and progress, for images that are rendered.

    Returns:
        The ``captions`` table.

    Raises:
        HandbenchError: the run has no scenes with captions, or the encoder cannot be used.
    """
    scenes = folder.read("scenes") if folder.table("scenes").exists() else tables.empty("scenes")
    captioned = scenes.filter(pl.col("caption_image").is_not_null())
    if captioned.is_empty():
        raise HandbenchError(f"{folder.root}: --encoder compares images with captions, and no image here has one")
    encoder = encoders.load(path)
    images = captioned["image"].to_list()
    ensure_images(folder, images, context)
    root = image_root(folder, folder.manifest())
    texts, cut = encoder.texts(captioned["caption_image"].to_list())
    seen = encoder.images(
        [root / image for image in images], lambda done: context.progress(done, len(images), "encoding images")
    )
    kept = captioned.select("scene_id", pl.col("caption_image").alias("caption"), "target_category").with_columns(
        pl.lit(encoder.name).alias("encoder"),
        pl.Series("cut", cut),
        pl.Series("image_vector", seen.tolist(), dtype=pl.List(pl.Float32)),
        pl.Series("caption_vector", texts.tolist(), dtype=pl.List(pl.Float32)),
    )
    tables.write(kept, folder.table("captions"), "captions")
    return folder.read("captions")


def read(folder: RunFolder) -> pl.DataFrame | None:
    """The captions that are stored with a run, None where there are none."""
    return folder.read("captions") if folder.table("captions").exists() else None


def vectors(captions: pl.DataFrame, what: str) -> Floats:
    """(N, D) unit vectors: ``what`` is ``image`` or ``caption``."""
    return np.array(captions[f"{what}_vector"].to_list(), dtype=np.float64)


def sample(captions: pl.DataFrame, most: int) -> pl.DataFrame:
    """So many rows, the same ones each time, in the order of the table."""
    keys = draws.name_keys(captions["scene_id"].to_list())
    taken: pl.DataFrame = captions[np.sort(np.argsort(keys, kind="stable")[:most]).tolist()]
    return taken


def own_and_others(captions: pl.DataFrame) -> tuple[Floats, Floats]:
    """Cosine similarities (eq. 1): (N,) of each image and its caption, (M,) of images and captions of others.

    The others are all pairs among :data:`MOST_COMPARED` images at most; equal captions are no others.
    """
    own = (vectors(captions, "image") * vectors(captions, "caption")).sum(axis=1)
    some = sample(captions, MOST_COMPARED)
    text = some["caption"].to_numpy()
    pairs = vectors(some, "image") @ vectors(some, "caption").T
    return own, pairs[text[:, None] != text[None, :]]


def similarity(captions: pl.DataFrame) -> pl.DataFrame:
    """How similar images are to their own caption and to others': ``caption, pairs, mean, sd, least, most, cut``."""
    rows = []
    for name, found in zip(("its own", "another's"), own_and_others(captions), strict=True):
        known = found if len(found) else np.array([np.nan])
        told = {"mean": known.mean(), "sd": known.std(), "least": known.min(), "most": known.max()}
        rows.append({"caption": name, "pairs": len(found), **{key: float(value) for key, value in told.items()}})
    return pl.DataFrame(rows).with_columns(
        pl.lit(int(captions["cut"].sum())).alias("cut"), pl.lit(captions["encoder"][0]).alias("encoder")
    )


def plane(points: Floats) -> tuple[Floats, Floats]:
    """(N, 2) first two principal components of (N, D) points, and (2,) their shares of the variance."""
    centred = points - points.mean(axis=0)
    left, size, _ = np.linalg.svd(centred, full_matrices=False)
    share = size**2 / max(float((size**2).sum()), np.finfo(float).tiny)
    return left[:, :2] * size[:2], share[:2]
