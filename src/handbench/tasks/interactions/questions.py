"""Labelled clips → questions over a few frames each (HandVQA, sections 4.3 and 8.5)."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from handbench import tables
from handbench.tasks import one_right
from handbench.tasks.interactions.options import InteractionOptions

TASK: Final = "interactions"
SYSTEM: Final = "You look at frames of a video and say what the hands do."


def question(frames: int) -> str:
    """What is asked of so many frames."""
    if frames == 1:
        return "The image is a frame of a video. Which of these is being done in it?"
    return f"The {frames} images are frames of one video in the order of time. Which of these is being done in them?"


def ask(rows: pl.DataFrame, options: InteractionOptions) -> tuple[pl.DataFrame, dict[str, int]]:
    """Make the questions of a chunk of clips.

    Args:
        rows: of the ``clips`` table.
        options: how to ask.

    Returns:
        The ``questions`` table, one row per clip, and how many clips have no action, or one that is not known.
    """
    skipped: dict[str, int] = {}
    parts = []
    for (dataset,), part in rows.with_columns(pl.col("action", "dataset").cast(pl.String)).group_by(
        "dataset", maintain_order=True
    ):
        acted = part.drop_nulls("action")
        _count(skipped, "no action told", part.height - acted.height)
        labels = options.labels(str(dataset), sorted(acted["action"].unique()))
        known = acted.filter(pl.col("action").is_in(labels.names))
        _count(skipped, "an action that is not listed", acted.height - known.height)
        if known.height:
            parts.append(_ask(known, labels, options))
    return (pl.concat(parts) if parts else tables.empty("questions")), skipped


def _count(skipped: dict[str, int], reason: str, count: int) -> None:
    if count:
        skipped[reason] = skipped.get(reason, 0) + count


def _ask(rows: pl.DataFrame, labels: one_right.Labels, options: InteractionOptions) -> pl.DataFrame:
    place = {name: number for number, name in enumerate(labels.names)}
    truth = np.array([place[name] for name in rows["action"]], np.int64)
    shown = one_right.draw_options(rows["clip_id"].to_list(), truth, labels, options.seed)
    words = np.array([name.replace("_", " ") for name in labels.names], dtype=object)
    texts = words[shown].tolist()
    images = [spread(frames, options.frames) for frames in rows["images"].to_list()]
    prompts = [
        "\n".join(
            [question(len(seen)), "", "Options:", *one_right.lettered(text), "", one_right.ANSWER_LINES[options.answer]]
        )
        for seen, text in zip(images, texts, strict=True)
    ]
    about = rows.select(
        pl.concat_str(pl.lit(f"{TASK}/"), "clip_id").alias("question_id"),
        pl.Series("images", images, dtype=pl.List(pl.String)),
        "dataset", "split", "subject", "sequence", "cluster",
        pl.col("side").alias("about_side"),
        *(name for name in rows.columns if name.startswith("factor_")),
    )  # fmt: skip
    return one_right.finish(about, TASK, labels, truth, shown, texts, prompts, SYSTEM, options.tag, "action")


def spread(frames: list[str], count: int) -> list[str]:
    """So many frames of a clip, one from the middle of each of as many equal parts; all of a shorter clip."""
    if len(frames) <= count:
        return frames
    return [frames[int((number + 0.5) * len(frames) / count)] for number in range(count)]
