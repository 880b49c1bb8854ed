"""Items: every image in every scenario, or the scenarios and cells as text alone (sections 3.3 and 3.8)."""

from __future__ import annotations

import numpy as np
import polars as pl

from handbench import tables
from handbench.errors import HandbenchError
from handbench.tasks.safegesture.baselines import policy
from handbench.tasks.safegesture.cells import Cells, fingerprint
from handbench.tasks.safegesture.options import SafeGestureOptions
from handbench.tasks.safegesture.text import ideal_reply, prompt

TASK = "safegesture"
TEXT_DATASET = "cells"
_ORIGIN = ("dataset", "split", "subject", "sequence")


def ask(rows: pl.DataFrame | None, options: SafeGestureOptions) -> tuple[pl.DataFrame, dict[str, int]]:
    """Make the items.

    Args:
        rows: rows of the ``gestures`` table; None for the variants without an image.
        options: variant and cells.

    Returns:
        The ``questions`` table, eight per image (or 8 and 48 in all for the text variants), and what could not
        be asked, counted by reason.
    """
    if options.variant == "scenario-only":
        return _by_scenario(options), {}
    if options.variant == "gesture-as-text" or rows is None:
        return _by_cell(options), {}
    cells = options.cells
    known = rows.filter(pl.col("gesture").cast(pl.String).is_in(cells.gesture_ids))
    skipped = rows.height - known.height
    missing = {"gesture not among the cells": skipped} if skipped else {}
    return _by_image(known, options), missing


def _by_image(rows: pl.DataFrame, options: SafeGestureOptions) -> pl.DataFrame:
    """Every image crossed with every scenario; scenarios run fastest."""
    cells = options.cells
    factors = [name for name in rows.columns if name.startswith("factor_")]
    kept = rows.select(
        pl.col("gesture_id").alias("item"),
        pl.concat_list("image").alias("images"),
        pl.col("image_hash"),
        *_ORIGIN,
        pl.col("gesture").cast(pl.String).alias("about_gesture"),
        *factors,
    )
    crossed = kept.join(_scenarios(cells), how="cross").join(
        _cell_frame(cells), on=["about_gesture", "about_scenario"], how="left", maintain_order="left"
    )
    prompts = {scenario.id: prompt(cells, "image", scenario) for scenario in cells.scenarios}
    replies = [ideal_reply(label, gesture) for gesture in cells.gesture_ids for label in cells.label_ids]
    gesture = pl.col("about_gesture").replace_strict(dict(_numbered(cells.gesture_ids)), return_dtype=pl.Int8)
    return _finish(
        crossed.with_columns(
            pl.concat_str("item", "about_scenario", separator="/").alias("question_id"),
            pl.col("about_scenario").replace_strict(prompts, return_dtype=pl.String).alias("prompt"),
            (gesture * len(cells.labels) + pl.col("truth_rank")).cast(pl.Int8).alias("truth_index"),
        ),
        replies,
        [label for _ in cells.gesture_ids for label in cells.label_ids],
        options,
        factors,
    )


def _by_cell(options: SafeGestureOptions) -> pl.DataFrame:
    cells = options.cells
    texts = [
        prompt(cells, "gesture-as-text", scenario, gesture)
        for gesture in cells.gestures
        for scenario in cells.scenarios
    ]
    frame = _cell_frame(cells).with_columns(
        pl.concat_str(
            pl.lit(f"{TEXT_DATASET}/gesture-as-text"), "about_gesture", "about_scenario", separator="/"
        ).alias("question_id"),
        pl.Series("prompt", texts),
        pl.col("truth_rank").alias("truth_index"),
    )
    return _finish(_without_image(frame), *_label_replies(cells), options, [])


def _by_scenario(options: SafeGestureOptions) -> pl.DataFrame:
    """One call per scenario; its truth is the commonest label there, the best that one answer can be."""
    cells = options.cells
    best = policy("scenario-majority", cells)[0]
    frame = _scenarios(cells).with_columns(
        pl.concat_str(pl.lit(f"{TEXT_DATASET}/scenario-only"), "about_scenario", separator="/").alias("question_id"),
        pl.Series("prompt", [prompt(cells, "scenario-only", scenario) for scenario in cells.scenarios]),
        pl.lit(None, pl.String).alias("about_gesture"),
        pl.Series("truth_rank", best.astype(np.int8)),
        pl.Series("truth_index", best.astype(np.int8)),
        pl.Series("truth_category", [cells.label_ids[label] for label in best]),
        pl.concat_str(pl.lit("*"), "about_scenario", separator="/").alias("cluster"),
    )
    return _finish(_without_image(frame), *_label_replies(cells), options, [])


def _label_replies(cells: Cells) -> tuple[list[str], list[str]]:
    return [ideal_reply(label) for label in cells.label_ids], list(cells.label_ids)


def _without_image(frame: pl.DataFrame) -> pl.DataFrame:
    nothing = pl.Series("images", [[]] * frame.height, dtype=pl.List(pl.String))
    return frame.with_columns(nothing, pl.lit(TEXT_DATASET).alias("dataset"), pl.lit("text").alias("split"))


def _finish(
    frame: pl.DataFrame, replies: list[str], labels: list[str], options: SafeGestureOptions, factors: list[str]
) -> pl.DataFrame:
    """Add what all items share.  ``options`` are whole replies, so that chance, prior and oracle can give them."""
    shared = frame.with_columns(
        pl.concat_str(pl.lit(TASK), "question_id", separator="/").alias("question_id"),
        pl.lit(options.tag).alias("variant"),
        pl.lit(TASK).alias("task"),
        pl.lit("fields").alias("kind"),
        pl.lit("").alias("system"),
        pl.lit("safety").alias("about_descriptor"),
        pl.lit(pl.Series([replies], dtype=pl.List(pl.String))).first().alias("options"),
        pl.lit(pl.Series([labels], dtype=pl.List(pl.String))).first().alias("option_labels"),
    )
    return tables.conform(shared, "questions", TASK)


def _scenarios(cells: Cells) -> pl.DataFrame:
    return pl.DataFrame({"about_scenario": cells.scenario_ids})


def _cell_frame(cells: Cells) -> pl.DataFrame:
    """A row per cell: gesture, scenario, the right label and the cluster that is drawn again."""
    gestures = [gesture for gesture in cells.gesture_ids for _ in cells.scenarios]
    scenarios = [scenario for _ in cells.gestures for scenario in cells.scenario_ids]
    return pl.DataFrame(
        {
            "about_gesture": gestures,
            "about_scenario": scenarios,
            "truth_rank": cells.flat_truth.astype(np.int8),
            "truth_category": [cells.label_ids[label] for label in cells.flat_truth],
            "cluster": [f"{gesture}/{scenario}" for gesture, scenario in zip(gestures, scenarios, strict=True)],
        }
    )


def _numbered(names: tuple[str, ...]) -> list[tuple[str, int]]:
    return [(name, number) for number, name in enumerate(names)]


def check_cells(questions: pl.DataFrame, cells: Cells) -> None:
    """Hold the cells that questions were made from against those at hand.

    Raises:
        HandbenchError: the file of cells has changed since.
    """
    made = questions["variant"].cast(pl.String).str.extract(r";cells=(\w+)").drop_nulls().unique()
    if made.len() and made.to_list() != [fingerprint(cells)]:
        raise HandbenchError(
            "the file of cells has changed since these questions were made; put it back, or ask anew in another folder"
        )
