"""One picture of what tuning did: bars before and after, and hands with what was said of them."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from PIL import Image

from handbench.reports.drawing import COLOURS, TITLES, style
from handbench.runs.answering import image_root
from handbench.runs.folder import RunFolder

KEY: Final = ["question_id", "variant"]
SHOWN: Final = 3
NAMES: Final = {"prior": "commonest answer", "before": "base", "after": "tuned"}
_COLOURS: Final = {"prior": COLOURS[1], "before": COLOURS[0], "after": COLOURS[2]}


def write(folder: RunFolder, before: str, after: str) -> Path:
    """Draw ``before-after.png`` of a scored run.

    Args:
        folder: the run, with answers of both models and of ``prior``.
        before: the base's name.
        after: the tuned model's.

    Returns:
        The picture's path.
    """
    scores = folder.read("scores").with_columns(pl.col(pl.Categorical).cast(pl.String))
    path = folder.root / "before-after.png"
    with style():
        figure = Figure(figsize=(11, 7.4), layout="constrained")
        parts: Any = figure.subfigures(2, 1, height_ratios=[1, 1.15])
        top, bottom = parts
        _bars(top, scores, {"prior": "prior", "before": before, "after": after})
        _hands(bottom, folder, before, after)
        figure.savefig(path, dpi=130)
    return path


def _bars(figure: Any, scores: pl.DataFrame, models: dict[str, str]) -> None:
    axes = figure.add_subplot()
    width = 0.26
    for place, (kind, model) in enumerate(models.items()):
        values, errors = [], []
        for name in TITLES:
            row = scores.filter(
                pl.col("model") == model, pl.col("descriptor") == name, pl.col("slice") == "all",
                pl.col("metric") == "accuracy",
            ).row(0, named=True)  # fmt: skip
            values.append(100 * row["value"])
            errors.append([100 * (row["value"] - row["low"]), 100 * (row["high"] - row["value"])])
        at = np.arange(len(TITLES)) + (place - 1) * width
        axes.bar(at, values, width * 0.92, color=_COLOURS[kind], label=NAMES[kind])
        axes.errorbar(at, values, np.array(errors).T, fmt="none", ecolor="#22262b", elinewidth=0.8, capsize=2)
        for x, value in zip(at, values, strict=True):
            axes.text(x, 2, f"{value:.0f}", ha="center", fontsize=8.5, color="white")
    axes.set_xticks(range(len(TITLES)), list(TITLES.values()))
    axes.set_ylabel("right, percent")
    axes.set_ylim(0, 100)
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    axes.set_title("The same questions before and after tuning", loc="left", fontsize=12, fontweight="bold")


def _hands(figure: Any, folder: RunFolder, before: str, after: str) -> None:
    """Hands with a question that the base has wrong and the tuned model right, one of each of three descriptors."""
    questions = folder.read("questions")
    readings = folder.read("readings").with_columns(pl.col("model").cast(pl.String))
    answers = folder.read("answers").with_columns(pl.col("model").cast(pl.String))
    wrong = readings.filter(pl.col("model") == before, ~pl.col("correct")).select(KEY)
    right = readings.filter(pl.col("model") == after, pl.col("correct")).select(KEY)
    won = questions.join(wrong, on=KEY, how="semi").join(right, on=KEY, how="semi")
    won = _different(won)
    root = image_root(folder, folder.manifest())
    columns = figure.subplots(1, SHOWN, squeeze=False)[0]
    for axes, row in zip(columns, won.head(SHOWN).iter_rows(named=True), strict=False):
        said = {
            kind: answers.filter(
                pl.col("model") == model, pl.col("question_id") == row["question_id"],
                pl.col("variant") == row["variant"],
            )["reply"][0]
            for kind, model in (("before", before), ("after", after))
        }  # fmt: skip
        with Image.open(root / row["images"][0]) as image:
            axes.imshow(np.asarray(image.convert("RGB")))
        axes.set_xlabel(
            f"base:  ✗ {_wrapped(said['before'])}\ntuned: ✓ {_wrapped(said['after'])}", fontsize=8.2, loc="left",
            linespacing=1.35,
        )  # fmt: skip
        axes.set_title(TITLES[row["about_descriptor"]], fontsize=10, loc="left")
    for axes in columns:
        axes.set_xticks([])
        axes.set_yticks([])
        for side in axes.spines.values():
            side.set_visible(False)


def _different(rows: pl.DataFrame) -> pl.DataFrame:
    """The first row of each descriptor whose hand is not shown yet."""
    shown: list[pl.DataFrame] = []
    for descriptor in rows["about_descriptor"].unique(maintain_order=True):
        seen = [row["hand_id"][0] for row in shown]
        first = rows.filter(pl.col("about_descriptor") == descriptor, ~pl.col("hand_id").is_in(seen)).head(1)
        shown += [first] if first.height else []
    return pl.concat(shown) if shown else rows


def _wrapped(text: str) -> str:
    return "\n             ".join(textwrap.wrap(text or "(nothing)", 40))
