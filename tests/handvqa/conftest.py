from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

from handbench import tables
from handbench.hand.geometry import center_and_extent


def random_hands(count: int = 60, seed: int = 0, dataset: str = "made") -> pl.DataFrame:
    """Hands with plausible bones in random poses: enough to ask about, no dataset needed."""
    generator = np.random.default_rng(seed)
    joints = np.zeros((count, 21, 3))
    for finger in range(5):
        heading = generator.normal([0.25 * (finger - 2), -1, 0], 0.3, (count, 3))
        for step in range(4):
            heading = heading + generator.normal(0, 0.45, (count, 3))
            heading /= np.linalg.norm(heading, axis=1, keepdims=True)
            before = joints[:, 4 * finger + step] if step else joints[:, 0]
            joints[:, 4 * finger + step + 1] = before + heading * (0.08, 0.04, 0.03, 0.02)[step]
    joints += [0, 0, 0.6]
    center, extent = center_and_extent(joints)
    return tables.conform(
        pl.DataFrame(
            {
                "hand_id": [f"{dataset}/test/{index:06d}/right" for index in range(count)],
                "image": [f"{index:06d}.jpg" for index in range(count)],
                "dataset": [dataset] * count,
                "split": ["test"] * count,
                "side": ["right" if index % 3 else "left" for index in range(count)],
                "cluster": [str(index // 2) for index in range(count)],
                "joints_cam": pl.Series(joints),
                "center": pl.Series(center),
                "extent": pl.Series(extent),
                "extent_source": ["joints"] * count,
                "factor_view": ["palm" if index % 2 else "back" for index in range(count)],
            }
        ),
        "hands",
    )


@pytest.fixture
def hands() -> pl.DataFrame:
    return random_hands()


def write_source(folder: Path, hands: pl.DataFrame) -> str:
    """Write a hands table and its images (plain grey ones) and give its name as data."""
    folder.mkdir(parents=True, exist_ok=True)
    for image in hands["image"]:
        Image.new("RGB", (32, 24), (90, 90, 90)).save(folder / image)
    tables.write(hands, folder / "hands.parquet", "hands")
    return f"table:{folder}/hands.parquet"
