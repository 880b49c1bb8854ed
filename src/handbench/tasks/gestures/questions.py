"""Labelled gesture images → questions (HandVQA, section 8.5)."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from handbench import draws, tables
from handbench.tasks import one_right
from handbench.tasks.gestures.options import KINDS, GestureOptions

TASK: Final = "gestures"
SYSTEM: Final = "You look at pictures of people and say which gesture their hands make."
QUESTION: Final = "Which of these descriptions fits the hand or hands in the image?"


def ask(rows: pl.DataFrame, options: GestureOptions) -> tuple[pl.DataFrame, dict[str, int]]:
    """Make the questions of a chunk of images.

    Args:
        rows: of the ``gestures`` table.
        options: how to ask.

    Returns:
        The ``questions`` table, one row per image, and how many images have a label without a description.
    """
    skipped: dict[str, int] = {}
    parts = []
    for (dataset,), part in rows.group_by(pl.col("dataset").cast(pl.String), maintain_order=True):
        labels = options.labels(str(dataset))
        listed = pl.col("gesture").cast(pl.String).is_in(labels.names)
        for name, count in part.filter(~listed)["gesture"].cast(pl.String).value_counts().iter_rows():
            skipped[f"no option for {name}"] = skipped.get(f"no option for {name}", 0) + count
        if (known := part.filter(listed)).height:
            parts.append(_ask(known, labels, options))
    return (pl.concat(parts) if parts else tables.empty("questions")), skipped


def _ask(known: pl.DataFrame, labels: one_right.Labels, options: GestureOptions) -> pl.DataFrame:
    place = {name: number for number, name in enumerate(labels.names)}
    truth = np.array([place[name] for name in known["gesture"].cast(pl.String)], np.int64)
    ids = known["gesture_id"].to_list()
    shown = one_right.draw_options(ids, truth, labels, options.seed)
    kind = _kinds(ids, options)
    table = np.array(
        [[getattr(d, name) for name in KINDS] for d in map(options.descriptions.get, labels.names)], dtype=object
    )
    texts = table[shown, kind[:, None]].tolist()
    prompts = [
        "\n".join([QUESTION, "", "Options:", *one_right.lettered(text), "", one_right.ANSWER_LINES[options.answer]])
        for text in texts
    ]
    about = known.select(
        pl.concat_str(pl.lit(f"{TASK}/"), "gesture_id").alias("question_id"),
        pl.concat_list(pl.col("image")).alias("images"),
        "image_hash", "dataset", "split", "subject", "sequence", "cluster",
        pl.col("gesture").alias("about_gesture"),
        pl.col("side").alias("about_side"),
        pl.Series("factor_description", [KINDS[number] for number in kind]),
        *(name for name in known.columns if name.startswith("factor_")),
    )  # fmt: skip
    return one_right.finish(about, TASK, labels, truth, shown, texts, prompts, SYSTEM, options.tag, "gesture")


def _kinds(ids: list[str], options: GestureOptions) -> np.ndarray:
    """(N,) which description each question uses: all its options have the same kind."""
    if options.describe in KINDS:
        return np.full(len(ids), KINDS.index(options.describe))
    keys = draws.pair_keys(draws.name_keys(ids), draws.name_keys(["description"]), options.seed)[:, 0]
    return (keys % np.uint64(len(KINDS))).astype(np.int64)
