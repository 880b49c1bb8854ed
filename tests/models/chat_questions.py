"""Small question tables and image files for the tests of models."""

from __future__ import annotations

import polars as pl
from PIL import Image

from handbench import tables


def question_table(count, images=None, prompts=None, system="Be brief."):
    """``count`` questions; ``images`` gives each one's list of paths (none by default)."""
    frame = pl.DataFrame(
        {
            "question_id": [f"t/{number:06d}" for number in range(count)],
            "variant": ["v"] * count,
            "task": ["handvqa"] * count,
            "kind": ["choice"] * count,
            "images": pl.Series(images or [[]] * count, dtype=pl.List(pl.String)),
            "system": [system] * count,
            "prompt": prompts or [f"question {number}" for number in range(count)],
            "options": [["the one", "the other"]] * count,
            "dataset": ["d"] * count,
            "split": ["s"] * count,
            "cluster": [str(number) for number in range(count)],
        }
    )
    return tables.conform(frame, "questions")


def draw(path, size=(40, 30), colour=(200, 30, 60), kind="JPEG"):
    """Write a plain image and return its bytes."""
    Image.new("RGB", size, colour).save(path, kind)
    return path.read_bytes()
