"""HandVQA's report: one HTML file with tables, pictures and a sheet of questions."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import polars as pl
from markupsafe import Markup

from handbench.controls.names import main
from handbench.hand.descriptors import DESCRIPTORS
from handbench.protocols import ReadContext
from handbench.reports import biases, consistency, figures, findings, sections, sheet
from handbench.reports.answerers import answered
from handbench.reports.board import COLUMNS, ceiling_row, model_rows, published_rows
from handbench.reports.drawing import TITLES, colours
from handbench.reports.environment import template
from handbench.runs.answering import image_root, task_of
from handbench.runs.asking import ensure_images
from handbench.runs.ceilings import read_ceiling
from handbench.runs.folder import RunFolder
from handbench.runs.strategies import last_turns

SHEET_HANDS: Final = 24
KEY = ["question_id", "variant"]
_ABOUT: Final = ("about_descriptor", "truth_rank", "truth_index", "truth_value", "truth_margin", "cluster")


def write(folder: RunFolder, context: ReadContext | None = None) -> Path:
    """Write ``report.html`` of a scored run.

    Args:
        folder: the run.
        context: workers and progress, for rendered images that the sheet needs.

    Returns:
        The report's path.
    """
    manifest = folder.manifest()
    task, options = task_of(manifest)
    questions, scores = main(folder.read("questions")), folder.read("scores")
    readings, hands, answers = main(folder.read("readings")), folder.read("hands"), last_turns(folder.read("answers"))
    models = scores["model"].cast(pl.String).unique(maintain_order=True).to_list()
    rows = readings.join(
        questions.select(*KEY, *_ABOUT),
        on=KEY,
        how="inner",
        maintain_order="left",
    )
    measured = rows.filter(pl.col("truth_margin").is_not_null())  # released questions tell no values
    labels = {descriptor.name: descriptor.asked_labels for descriptor in DESCRIPTORS}
    chance = {name: 1 / len(known) for name, known in labels.items()}
    rivals, note = published_rows(task.published(), manifest["source"]["name"])
    text = template("report.html.j2").render(
        manifest=manifest,
        version=version("handbench"),
        columns=COLUMNS,
        rows=model_rows(scores),
        ceiling=ceiling_row(read_ceiling(folder)),
        published=rivals,
        published_note=note,
        verdicts=[*findings.verdicts(scores), *biases.of_run(folder)],
        unseen=consistency.unseen_rows(scores),
        sections=sections.html(folder, manifest, options, task.published(), questions, readings, rows, scores, hands),
        dots=Markup(figures.accuracy_dots(scores, chance)),
        margins=Markup(figures.accuracy_against_margin(measured, models, chance)) if measured.height else "",
        values=Markup(figures.accuracy_over_value(measured, models)) if measured.height else "",
        models=models,
        colours=colours(models),
        confusions={model: findings.confusions(rows, model, labels) for model in models},
        grids={model: findings.factor_grids(scores, model) for model in models},
        weakest={
            model: [*findings.weakest(scores, model, "pair"), *findings.weakest(scores, model, "joint", 4)]
            for model in models
        },
        statuses=_statuses(readings),
        answered=answered(folder),
        flips=task.extent_flips(hands, options).to_dicts(),
        cards=_cards(folder, manifest, questions, answers, readings, hands, context),
        titles=TITLES,
        protocol=" + ".join(
            scores["protocol"].cast(pl.String).str.replace(r";interval=.*", "").unique(maintain_order=True)
        ),
        clusters=questions["cluster"].n_unique(),
    )
    folder.report.write_text(text, encoding="utf-8")
    return folder.report


def _cards(
    folder: RunFolder,
    manifest: dict[str, Any],
    questions: pl.DataFrame,
    answers: pl.DataFrame,
    readings: pl.DataFrame,
    hands: pl.DataFrame,
    context: ReadContext | None,
) -> list[sheet.Card]:
    chosen = sheet.pick(questions, SHEET_HANDS)
    shown = hands.filter(pl.col("hand_id").is_in(chosen))
    ensure_images(folder, shown["image"].to_list(), context)
    some = questions.filter(pl.col("hand_id").is_in(chosen))
    root = image_root(folder, manifest)
    keys = some.select(KEY)
    return sheet.cards(
        root, some, answers.join(keys, on=KEY, how="semi"), readings.join(keys, on=KEY, how="semi"), shown
    )


def _statuses(readings: pl.DataFrame) -> dict[str, list[tuple[str, str, int]]]:
    """Per model: status, rule and how often, commonest first."""
    counted = (
        readings.group_by("model", "status", "rule", maintain_order=True)
        .len()
        .sort("len", descending=True, maintain_order=True)
    )
    result: dict[str, list[tuple[str, str, int]]] = {}
    for model, status, rule, count in counted.iter_rows():
        result.setdefault(model, []).append((status, rule, count))
    return result
