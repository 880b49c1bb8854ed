"""Parts of the report that are there only where a run has what they are about: controls, confidence, chain."""

from __future__ import annotations

from typing import Any

import polars as pl
from markupsafe import Markup

from handbench.hand.skeleton import JOINTS
from handbench.reports import chain, confidence, consistency, difficulty
from handbench.reports.drawing import TITLES
from handbench.reports.environment import template
from handbench.reports.findings import BLIND, kind
from handbench.runs.folder import RunFolder
from handbench.runs.parts import model_name


def html(
    folder: RunFolder,
    manifest: dict[str, Any],
    options: Any,
    published: pl.DataFrame,
    questions: pl.DataFrame,
    readings: pl.DataFrame,
    rows: pl.DataFrame,
    scores: pl.DataFrame,
    hands: pl.DataFrame,
) -> Markup:
    """All sections that apply, one after another.

    Args:
        folder: the run.
        manifest: its record.
        options: the task's options.
        published: the task's published numbers.
        questions: main questions.
        readings: main readings.
        rows: the readings with ``about_descriptor, truth_index, truth_rank, cluster``.
        scores: the ``scores`` table.
        hands: the ``hands`` table.
    """
    models = scores["model"].cast(pl.String).unique(maintain_order=True).to_list()
    seeing = [model for model in models if kind(model) not in BLIND]
    by_model = {model: rows.filter(pl.col("model").cast(pl.String) == model) for model in models}
    hard = difficulty.factors(questions, hands)
    specs = {model_name(spec): spec for spec in manifest.get("models", [])}
    chains = []
    for model in seeing:
        poses = chain.poses_of(folder, specs[model]) if model in specs else None
        if poses is not None and (made := chain.of_model(model, hands, poses, questions, readings, options)):
            chains.append(made)
    text = template("sections.html.j2").render(
        titles={name: TITLES[name] for name in TITLES if name in set(questions["about_descriptor"].cast(pl.String))},
        controls=consistency.section(scores),
        confidence={model: told for model in models if (told := confidence.of_model(by_model[model])) is not None},
        difficulty={model: lines for model in seeing if (lines := difficulty.table(rows, hard, model))},
        difficulty_published=difficulty.published(published),
        chains=chains,
        joints=JOINTS,
    )
    return Markup(text)
