"""Stage 1: rendered hands with exact truth, in shards; and what can be done to a picture with its truth kept exact.

A roll about the optical axis turns picture and joints by the same angle, a zoom is a longer focal length, a mirror
image shows the other hand.  The labels need the mesh's extent after the roll: the width of the mesh in 36 directions of
the image plane is stored instead of the mesh.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handbench.hand.descriptors import PAPER, categorise, describe
from handbench.hand.geometry import Scale, normalise
from handbench.processes import process_pool
from handbench.synth.hands import SPLITS
from handbench.synth.sample import annotate, recipe, render

RENDERED = 100
"""Side of the pictures as rendered, pixels; the processor makes every picture as large."""
SEEN = 80
"""Side of the middle that the tower sees."""
DIRECTIONS = 36
SHARD = 500

Array = NDArray[Any]


@dataclass(frozen=True)
class Pictures:
    """N pictures and their truth.

    Attributes:
        image: (N, 100, 100, 3) uint8.
        joints: (N, 21, 3) metres, camera frame.
        center: (N, 3) mean of the mesh.
        depth: (N,) extent of the mesh along the optical axis.
        widths: (N, 36) width of the mesh along directions of 0, 5, ... 175 degrees in the image plane.
        pixels: (N, 21, 2) joints in the picture, -1 to 1 from edge to edge.
        left: (N,) whether it is a left hand.
    """

    image: Array
    joints: Array
    center: Array
    depth: Array
    widths: Array
    pixels: Array
    left: Array

    def __len__(self) -> int:
        return len(self.left)

    def take(self, rows: Array | slice) -> Pictures:
        """Some of the pictures."""
        return Pictures(*(getattr(self, field.name)[rows] for field in fields(self)))


@dataclass(frozen=True)
class Truth:
    """What is true of N pictures as seen.

    Attributes:
        joints: (N, 21, 3) centred on the mesh's mean and scaled by its largest extent; x right, y up, z to the camera.
        ranks: (N, 107) rank of the label among those asked, -1 where the question is not asked.
        angles: (N, 15) degrees.
        pixels: (N, 21, 2) in what is seen, -1 to 1.
        left: (N,) bool.
    """

    joints: Array
    ranks: Array
    angles: Array
    pixels: Array
    left: Array


def make(folder: Path, split: str, count: int, seed: int, workers: int, say: Callable[[str], None]) -> Pictures:
    """Render what is missing of a split's shards and load all of them."""
    folder.mkdir(parents=True, exist_ok=True)
    starts = range(0, count, SHARD)
    paths = [folder / f"{split}-{seed}-{start:06d}.npz" for start in starts]
    jobs = [(path, split, seed, start, min(SHARD, count - start)) for path, start in zip(paths, starts, strict=True)]
    missing = [job for job in jobs if not job[0].exists()]
    if missing:
        with process_pool(workers) as pool:
            for done, path in enumerate(pool.map(_render_shard, missing), 1):
                say(f"pictures: {path} ({done} of {len(missing)})")
    shards = [np.load(path) for path in paths]
    return Pictures(*(np.concatenate([shard[field.name] for shard in shards]) for field in fields(Pictures)))


def _render_shard(job: tuple[Path, str, int, int, int]) -> Path:
    path, split, seed, start, count = job
    rows = [_row(len(SPLITS) * seed + SPLITS.index(split), index) for index in range(start, start + count)]
    draft = path.with_suffix(f".{os.getpid()}.npz")
    np.savez(draft, **{key: np.stack([row[key] for row in rows]) for key in rows[0]})
    draft.replace(path)
    return path


def _row(seed: int, index: int) -> dict[str, Any]:
    made = recipe(seed, index, size=RENDERED)
    truth = annotate(made)
    angle = np.radians(np.arange(DIRECTIONS) * 180 / DIRECTIONS)
    along = truth.vertices_cam[:, :2] @ np.stack([np.cos(angle), np.sin(angle)])
    return {
        "image": render(made, truth, supersample=2),
        "joints": truth.joints_cam.astype(np.float32),
        "center": truth.center.astype(np.float32),
        "depth": np.float32(truth.extent[2]),
        "widths": np.ptp(along, axis=0).astype(np.float32),
        "pixels": (truth.joints_px / RENDERED * 2 - 1).astype(np.float32),
        "left": np.bool_(made.side == "left"),
    }


def truth_of(pictures: Pictures, degrees: Array, mirror: Array) -> tuple[Array, Array]:
    """Joints, centre and extent after a mirroring and then a roll.

    Args:
        pictures: N pictures.
        degrees: (N,) roll, clockwise as seen.
        mirror: (N,) whether left and right are exchanged first.

    Returns:
        (N, 21, 3) joints and ranks (N, 107) with the normalised joints: see :class:`Truth`.
    """
    flip = np.where(mirror, -1.0, 1.0)[:, None]
    points = np.concatenate([pictures.joints, pictures.center[:, None]], axis=1).astype(np.float64)
    points[..., 0] *= flip
    radians = np.radians(degrees)[:, None]
    x, y = points[..., 0].copy(), points[..., 1].copy()
    points[..., 0] = np.cos(radians) * x - np.sin(radians) * y
    points[..., 1] = np.sin(radians) * x + np.cos(radians) * y
    # x' is the coordinate along direction -roll of the unrolled picture, y' along 90 - roll.
    sign = np.where(mirror, -1, 1)
    extent = np.stack(
        [_width(pictures.widths, -degrees * sign), _width(pictures.widths, (90 - degrees) * sign), pictures.depth],
        axis=1,
    )
    joints, center = points[:, :-1], points[:, -1]
    values = describe(joints, center, extent)
    categories = categorise(values, PAPER)
    ranks = categories.astype(np.int64)
    for index, descriptor in enumerate(PAPER.descriptors):
        if descriptor.dropped is not None:
            part = PAPER.columns(index)
            gone = descriptor.labels.index(descriptor.dropped)
            block = categories[:, part].astype(np.int64)
            ranks[:, part] = np.where(block == gone, -1, block - (block > gone))
    joined = np.concatenate([ranks, values[:, PAPER.columns(0)]], axis=1)
    return normalise(joints, center, extent, Scale.PAPER), joined


def _width(widths: Array, degrees: Array) -> Array:
    """Width along any direction, between the two nearest of those stored; the same every 180 degrees."""
    place = np.mod(degrees, 180) / (180 / DIRECTIONS)
    low = place.astype(int) % DIRECTIONS
    part = place - np.floor(place)
    rows = np.arange(len(widths))
    return widths[rows, low] * (1 - part) + widths[rows, (low + 1) % DIRECTIONS] * part


def augment(pictures: Pictures, rng: np.random.Generator, roll: float = 25.0) -> tuple[Any, Truth]:
    """Pictures rolled, zoomed, mirrored, shifted by a pixel or so, and in other light: with their truth.

    Args:
        pictures: N pictures.
        rng: what is drawn from.
        roll: standard deviation of the roll, degrees.

    Returns:
        (N, 3, 80, 80) float32 tensor from -1 to 1, and the truth of it.
    """
    import torch
    import torch.nn.functional as functional

    count = len(pictures)
    degrees, mirror = rng.normal(0, roll, count), rng.random(count) < 0.5
    zoom = rng.uniform(0.88, 1.1, count) * SEEN / RENDERED
    shift = rng.normal(0, 0.02, (count, 2))
    flip = np.where(mirror, -1.0, 1.0)
    cosine, sine = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    # Seen → rendered: unroll, zoom, unmirror.
    matrix = np.empty((count, 2, 3))
    matrix[:, 0, 0], matrix[:, 0, 1] = flip * zoom * cosine, flip * zoom * sine
    matrix[:, 1, 0], matrix[:, 1, 1] = -zoom * sine, zoom * cosine
    matrix[:, :, 2] = shift
    image = torch.from_numpy(pictures.image).permute(0, 3, 1, 2).float() / 255
    grid = functional.affine_grid(torch.from_numpy(matrix).float(), [count, 3, SEEN, SEEN], align_corners=False)
    image = functional.grid_sample(image, grid, align_corners=False, padding_mode="border")
    light, tint = rng.normal(1, 0.15, (count, 1, 1, 1)), rng.normal(0, 0.06, (count, 3, 1, 1))
    image = (image * torch.from_numpy(light).float() + torch.from_numpy(tint).float()).clamp(0, 1)
    image = image + 0.02 * torch.from_numpy(rng.standard_normal(image.shape, np.float32))
    pixels = np.einsum("nij,nkj->nki", np.linalg.inv(matrix[:, :, :2]), pictures.pixels - shift[:, None])
    joints, joined = truth_of(pictures, degrees, mirror)
    ranks, angles = joined[:, : len(PAPER.items)].astype(np.int64), joined[:, len(PAPER.items) :]
    return image * 2 - 1, Truth(joints, ranks, angles, pixels, pictures.left ^ mirror)


def plain(pictures: Pictures) -> tuple[Any, Truth]:
    """The middle of each picture, as the processor cuts it, and its truth."""
    import torch

    edge = (RENDERED - SEEN) // 2
    image = torch.from_numpy(pictures.image[:, edge : edge + SEEN, edge : edge + SEEN]).permute(0, 3, 1, 2).float()
    still = np.zeros(len(pictures))
    joints, joined = truth_of(pictures, still, still.astype(bool))
    ranks, angles = joined[:, : len(PAPER.items)].astype(np.int64), joined[:, len(PAPER.items) :]
    return image / 127.5 - 1, Truth(joints, ranks, angles, pictures.pixels * RENDERED / SEEN, pictures.left)
