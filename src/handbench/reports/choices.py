"""The report of tasks with one right option: scores, paired differences with their numbers, and the questions."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from PIL import Image, UnidentifiedImageError
from rich.table import Table

from handbench.controls.names import main
from handbench.protocols import ReadContext
from handbench.reports import consistency
from handbench.reports.board import Cell
from handbench.reports.drawing import colours
from handbench.reports.environment import template
from handbench.reports.sheet import LONGEST_REPLY, thumbnail
from handbench.reports.terminal_table import plain
from handbench.runs.answering import image_root, task_of
from handbench.runs.asking import ensure_images
from handbench.runs.folder import RunFolder
from handbench.stats.difference import Difference, paired_difference

SHOWN: Final = 24
"""Questions on the sheet."""
KEY: Final = ["question_id", "variant"]


@dataclass(frozen=True)
class Line:
    """One model on the board."""

    name: str
    accuracy: Cell
    answered: Cell
    n: int
    clusters: int


@dataclass(frozen=True)
class Gap:
    """Two models, question by question."""

    first: str
    second: str
    difference: Difference

    @property
    def text(self) -> str:
        """``+2.6 points``."""
        return f"{100 * self.difference.value:+.1f} points"

    @property
    def interval(self) -> str:
        """``-3.1 to +8.4``."""
        return f"{100 * self.difference.low:+.1f} to {100 * self.difference.high:+.1f}"

    @property
    def settled(self) -> bool:
        """Whether the interval leaves nothing out."""
        return self.difference.low > 0 or self.difference.high < 0


def lines(scores: pl.DataFrame) -> list[Line]:
    """A line per model, in the run's order."""
    whole = scores.filter(pl.col("slice").cast(pl.String) == "all")
    made = []
    for (model,), part in whole.group_by("model", maintain_order=True):
        found = {row["metric"]: row for row in part.iter_rows(named=True)}
        cells = [
            Cell(row["value"], row["low"], row["high"]) if (row := found.get(name)) else Cell(None)
            for name in ("accuracy", "answer_rate")
        ]
        made.append(Line(str(model), cells[0], cells[1], found["accuracy"]["n"], found["accuracy"]["clusters"]))
    return made


def gaps(questions: pl.DataFrame, readings: pl.DataFrame) -> list[Gap]:
    """Every pair of models on the questions that both were asked."""
    names = readings["model"].cast(pl.String).unique(maintain_order=True).to_list()
    about = questions.select(*KEY, "cluster")
    right = {
        name: readings.filter(pl.col("model").cast(pl.String) == name, pl.col("repeat") == 0)
        .join(about, on=KEY, how="inner")
        .sort(KEY)
        for name in names
    }
    made = []
    for first, second in combinations(names, 2):
        both = right[first].join(right[second].select(*KEY, pl.col("correct").alias("other")), on=KEY, how="inner")
        if both.height:
            numbers = both["cluster"].rank("dense").to_numpy().astype(np.int64)
            gap = paired_difference(both["correct"].to_numpy(), both["other"].to_numpy(), numbers)
            made.append(Gap(first, second, gap))
    return made


def board(scores: pl.DataFrame, title: str) -> Table:
    """The scores on a terminal."""
    table = plain(title, "Percent; 95 % intervals by cluster.")
    table.add_column("model", overflow="fold", min_width=24)
    for heading in ("accuracy", "answered", "N", "clusters"):
        table.add_column(heading, justify="right", no_wrap=True)
    for line in lines(scores):
        accuracy = f"[bold]{line.accuracy.text}[/bold] [dim]{line.accuracy.interval}[/dim]"
        table.add_row(line.name, accuracy, line.answered.text, str(line.n), str(line.clusters))
    return table


def sentences(questions: pl.DataFrame, readings: pl.DataFrame) -> list[str]:
    """Each difference between two models, with the questions that it rests on."""
    return [
        f"{gap.second} against {gap.first}: {gap.text} ({gap.interval}), N = {gap.difference.n} questions in "
        f"{gap.difference.clusters} clusters; {gap.difference.only_second} right only with the one, "
        f"{gap.difference.only_first} only with the other."
        for gap in gaps(questions, readings)
    ]


def write(folder: RunFolder, context: ReadContext | None = None) -> Path:
    """Write ``report.html`` of a scored run.

    Args:
        folder: the run.
        context: workers and progress, for rendered images that the sheet needs.
    """
    manifest = folder.manifest()
    task, _ = task_of(manifest)
    questions, scores = main(folder.read("questions")), folder.read("scores")
    readings, answers = main(folder.read("readings")), folder.read("answers")
    models = scores["model"].cast(pl.String).unique(maintain_order=True).to_list()
    text = template("choices.html.j2").render(
        manifest=manifest,
        version=version("handbench"),
        task=task.name,
        lines=lines(scores),
        gaps=gaps(questions, readings),
        published=task.published().to_dicts(),
        labels=_by_label(scores, models),
        models=models,
        controls=consistency.section(scores),
        colours=colours(models),
        cards=_cards(folder, manifest, questions, answers, readings, context),
    )
    folder.report.write_text(text, encoding="utf-8")
    return folder.report


def _by_label(scores: pl.DataFrame, models: list[str]) -> list[dict[str, Any]]:
    """Accuracy of each model by true label: a row per label, the hardest first."""
    part = scores.filter(
        pl.col("slice").cast(pl.String) == "label", pl.col("metric").cast(pl.String) == "accuracy"
    ).with_columns(pl.col("model").cast(pl.String))
    rows = []
    for (label,), group in part.group_by("slice_value", maintain_order=True):
        values = dict(group.select("model", "value").iter_rows())
        rows.append({"label": label, "n": int(group["n"][0]), "values": [values.get(model) for model in models]})
    last = len(models) - 1
    return sorted(rows, key=lambda row: (row["values"][last] is None, row["values"][last]))


def _cards(
    folder: RunFolder,
    manifest: dict[str, Any],
    questions: pl.DataFrame,
    answers: pl.DataFrame,
    readings: pl.DataFrame,
    context: ReadContext | None,
) -> list[dict[str, Any]]:
    shown = questions.gather_every(max(1, questions.height // SHOWN)).head(SHOWN)
    ensure_images(folder, shown["images"].explode().drop_nulls().unique().to_list(), context)
    root = image_root(folder, manifest)
    said = answers.join(readings, on=[*KEY, "model", "repeat"], how="inner").filter(pl.col("repeat") == 0)
    made = []
    for row in shown.iter_rows(named=True):
        replies = said.filter(pl.col("question_id") == row["question_id"], pl.col("variant") == row["variant"])
        made.append(
            {
                "id": row["question_id"],
                "pictures": [_picture(root / image) for image in row["images"]],
                "options": row["options"],
                "truth": row["truth_index"],
                "replies": [
                    {"model": r["model"], "text": (r["reply"] or "")[:LONGEST_REPLY], "correct": r["correct"],
                     "status": r["status"]}
                    for r in replies.iter_rows(named=True)
                ],
            }
        )  # fmt: skip
    return made


def _picture(path: Path) -> str | None:
    try:
        with Image.open(path) as image:
            return thumbnail(image)
    except (OSError, UnidentifiedImageError):
        return None
