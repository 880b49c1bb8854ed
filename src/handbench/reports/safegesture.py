"""The SafeGesture report: the paper's tables in its layout, the cells, failures, births of errors, costs, items."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl
from markupsafe import Markup

from handbench.controls.names import main as without_controls
from handbench.errors import HandbenchError
from handbench.protocols import ReadContext
from handbench.reports import consistency
from handbench.reports import safegesture_figures as figures
from handbench.reports import safegesture_grids as grids
from handbench.reports import safegesture_tables as lines
from handbench.reports.answerers import answered
from handbench.reports.environment import template
from handbench.reports.safegesture_board import MAIN, board, items_of_cells, printed_rows, sentences, studentised
from handbench.reports.safegesture_chain import births, chains
from handbench.reports.safegesture_items import sheet
from handbench.runs.answering import task_of
from handbench.runs.folder import RunFolder
from handbench.specs import Spec
from handbench.tasks.safegesture import printed_confusions
from handbench.tasks.safegesture.cells import Cells
from handbench.tasks.safegesture.items import Items, items_of
from handbench.tasks.safegesture.measures import TAXONOMY

_TABLE_4 = ("variant_A_SA", "main_SA", "variant_B_SA", "image_contribution", "oracle_gain")


def write(folder: RunFolder, context: ReadContext | None = None, beside: Sequence[RunFolder] = ()) -> Path:
    """Write ``report.html`` of a scored SafeGesture run.

    Args:
        folder: the run.
        context: workers and progress, for rendered images that the items need.
        beside: scored runs of the other variants about the same cells, for the table of ablations.

    Returns:
        The report's path.

    Raises:
        HandbenchError: a run beside is of another task or about other cells.
    """
    manifest = folder.manifest()
    task, options = task_of(manifest)
    cells: Cells = options.cells
    questions, readings = (without_controls(folder.read(name)) for name in ("questions", "readings"))
    scores = folder.read("scores")
    own = lines.own_scores(scores)
    models = own["model"].unique(maintain_order=True).to_list()
    items = {
        str(model): items_of(questions, part, cells)
        for (model,), part in readings.group_by("model", maintain_order=True)
    }
    others = [_scores_beside(other, manifest) for other in beside]
    published = printed_rows(task.published(), cells)
    text = template("safegesture.html.j2").render(
        manifest=manifest,
        answered=answered(folder),
        version=version("handbench"),
        cells=cells,
        variant=options.variant,
        controls=consistency.section(scores),
        models=models,
        main=MAIN,
        board=board(scores, published, cells),
        studentised=studentised(scores, models),
        sentences=sentences(own, models, cells),
        beside=[(label, [lines.number_of(own, model, name) for model in models]) for name, label in lines.BESIDE],
        births=births(items, cells),
        chains=chains(folder, manifest, questions, cells, context) if options.variant == "image" else [],
        sheet=sheet(folder, manifest, questions, cells, context),
        ablation=lines.ablation([(options.variant, own), *others]),
        **_cell_maps(items, cells, printed_confusions() if published.height else {}),
        **_tables(own, models, items, cells, published),
        **_pictures(own, models, cells, published),
    )
    folder.report.write_text(text, encoding="utf-8")
    return folder.report


def _scores_beside(folder: RunFolder, manifest: dict[str, Any]) -> tuple[str, pl.DataFrame]:
    """Variant and scores of a run that is shown beside this one."""
    other = folder.manifest()["asked"]
    asked = manifest["asked"]
    if Spec.parse(other["task"]).kind != Spec.parse(asked["task"]).kind:
        raise HandbenchError(f"{folder.root}: a run of {other['task']} cannot stand beside one of {asked['task']}")
    if other["options"]["cells"] != asked["options"]["cells"]:
        raise HandbenchError(f"{folder.root}: is about other cells ({other['options']['cells']}) than this run")
    return str(other["options"]["variant"]), lines.own_scores(folder.read("scores"))


def _cell_maps(items: dict[str, Items], cells: Cells, printed: dict[str, list[list[int]]]) -> dict[str, Any]:
    return {
        "short": grids.short_labels(cells),
        "legend": list(zip(grids.short_labels(cells), cells.label_ids, grids.label_colours(cells), strict=True)),
        "truth": grids.truth_grid(cells),
        "predictions": {model: grids.prediction_grid(mine, cells) for model, mine in items.items()},
        "agreements": {model: grids.agreement_grid(mine, cells) for model, mine in items.items()},
        "confusions": {model: grids.confusion(mine, cells) for model, mine in items.items()},
        "printed_confusions": {name: grids.printed_confusion(matrix, cells) for name, matrix in printed.items()},
        "named": {model: grids.named(mine, cells) for model, mine in items.items() if mine.asked_gesture},
    }


def _tables(
    own: pl.DataFrame, models: list[str], items: dict[str, Items], cells: Cells, published: pl.DataFrame
) -> dict[str, Any]:
    gestures, scenarios, labels = cells.gesture_ids, cells.scenario_ids, cells.label_ids
    models_only = published.filter(pl.col("model") != "Ground truth")
    return {
        "label_use": _label_use(items, cells),
        "label_rivals": lines.rivals(models_only, "Table 3", "label", labels),
        "printed_ablation": lines.printed_metrics(published, "Table 4", _TABLE_4),
        "by_scenario": lines.slices(own, models, "scenario", scenarios, ("safety_accuracy",)),
        "scenario_rivals": lines.rivals(published, "Appendix C", "scenario", scenarios),
        "taxonomy": [name.upper() for name in TAXONOMY],
        "shares": lines.taxonomy_lines(own, models),
        "share_rivals": lines.rivals(published, "Appendix D", "category", [name.upper() for name in TAXONOMY]),
        "by_gesture": lines.slices(own, models, "gesture", gestures, ("gesture_accuracy", "safety_accuracy")),
        "gesture_rivals": lines.rivals(published, "Appendix E", "gesture", gestures),
        "classes": lines.class_lines(own, models, labels),
        "class_rivals": lines.printed_classes(published, labels),
        "paired": lines.paired(own, models),
        "paired_rivals": lines.printed_pairs(published),
        "modal": lines.model_lines(own, models, lines.MODAL),
        "modal_rivals": lines.printed_metrics(published, "Appendix I", lines.MODAL),
    }


def _label_use(items: dict[str, Items], cells: Cells) -> list[tuple[str, list[int]]]:
    """Table 3: how often each label is right and how often it is said, then how often none is readable."""
    truth = [("Ground truth", mine.truth_counts(cells)) for mine in list(items.values())[:1]]
    return [*truth, *((model, mine.label_counts(cells)) for model, mine in items.items())]


def _pictures(own: pl.DataFrame, models: list[str], cells: Cells, published: pl.DataFrame) -> dict[str, Markup]:
    shares = {line.name: [number.value or 0.0 for number in line.numbers] for line in lines.taxonomy_lines(own, models)}
    for name, texts in lines.rivals(published, "Appendix D", "category", [name.upper() for name in TAXONOMY]):
        shares[f"{name} (paper)"] = [float(text) / 100 for text in texts]
    errors = {
        model: tuple(lines.value_of(own, model, f"{side}_safety_any_gesture") for side in ("under", "over"))
        for model in models
    }
    asked = items_of_cells(own, cells)
    acting = float(asked[cells.intervention[cells.flat_truth]].sum() / max(asked.sum(), 1))
    trivial = {"always intervene": (0.0, 1 - acting), "never intervene": (acting, 0.0)}
    return {
        "bars": Markup(figures.failure_bars(shares) if any(model in shares for model in models) else ""),
        "curves": Markup(figures.cost_curves(errors, trivial)),
    }
