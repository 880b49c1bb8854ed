"""Answers → readings → scores."""

from __future__ import annotations

from typing import Any

import polars as pl

from handbench import tables
from handbench.errors import HandbenchError
from handbench.models.people import UNASKED
from handbench.runs import control_scores
from handbench.runs.answering import answers_of, lacking, task_of
from handbench.runs.ceilings import keep_ceiling
from handbench.runs.folder import RunFolder
from handbench.runs.parts import model_name
from handbench.runs.strategies import last_turns


def complete(folder: RunFolder, manifest: dict[str, Any]) -> tuple[list[str], dict[str, int]]:
    """Which of a run's models have answered everything, and how many answers the others lack."""
    questions = folder.read("questions")
    whole, short = [], {}
    for spec in manifest.get("models", []):
        name = model_name(spec)
        if not folder.log(name).exists():
            short[name] = questions.height
            continue
        missing = lacking(questions, spec, answers_of(folder, name, questions))
        if missing:
            short[name] = missing
        else:
            whole.append(name)
    return whole, short


def score(folder: RunFolder) -> pl.DataFrame:
    """Read and score the answers of every model that has answered all questions.

    Writes ``answers.parquet`` (every turn), ``readings.parquet`` (of each question's last turn) and
    ``scores.parquet``.

    Returns:
        The ``scores`` table.

    Raises:
        HandbenchError: no model has answered all questions.
    """
    manifest = folder.manifest()
    whole, short = complete(folder, manifest)
    if not whole:
        told = ", ".join(f"{name} lacks {count}" for name, count in short.items()) or "no model was asked"
        raise HandbenchError(f"{folder.root}: nothing to score yet: {told}; go on with handbench answer")
    task, _ = task_of(manifest)
    questions = folder.read("questions")
    answers = tables.concat(answers_of(folder, name, questions) for name in whole)
    answers = answers.filter(pl.col("finish").cast(pl.String) != UNASKED)
    tables.write(answers, folder.table("answers"), "answers")
    turns = answers if getattr(task, "reads_turns", False) else last_turns(answers)
    readings = tables.concat(task.read(questions, part) for part in turns.partition_by("model"))
    tables.write(readings, folder.table("readings"), "readings")
    plain, main, varied = control_scores.split(questions, readings)
    scores = tables.concat([task.score(plain, main), control_scores.score(questions, main, varied, task.name)])
    tables.write(scores, folder.table("scores"), "scores")
    keep_ceiling(folder, questions=questions)
    return tables.conform(scores, "scores")
