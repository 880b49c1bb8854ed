"""The verb ``tune``: read, ask, tune, ask again before and after, report."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from handbench import api
from handbench.errors import HandbenchError
from handbench.models import _seen
from handbench.models.tiny import adapter_folder
from handbench.protocols import Progress, ReadContext, no_progress
from handbench.reports import tuning as report
from handbench.runs import asking
from handbench.runs.answering import image_root
from handbench.runs.folder import slug
from handbench.runs.parts import model_name
from handbench.specs import Spec
from handbench.stats.difference import paired_difference
from handbench.tune.begin import refuse_another_shape
from handbench.tune.lessons import read_mix
from handbench.tune.record import RECORD, read_record, refuse_what_is_not_ours
from handbench.tune.run import Base, Mix
from handbench.tune.run import tune as train
from handbench.tune.settings import Settings
from handbench.tune.together import main_first, main_process

KEY = ["question_id", "variant"]
TESTED: Final = 100
"""Rendered hands that are asked about before and after where no test is named."""


@dataclass(frozen=True)
class Test:
    """A task on data, asked before and after.

    Attributes:
        task: with its options.
        data: the source.
        split: its split, None for the source's own default.
    """

    task: str
    data: str
    split: str | None = None

    def __str__(self) -> str:
        """As it is written."""
        return "@".join(filter(None, (self.task, self.data, self.split)))

    @classmethod
    def parse(cls, text: str) -> Test:
        """Read ``TASK@DATA`` or ``TASK@DATA@SPLIT``."""
        parts = text.split("@")
        if len(parts) not in (2, 3) or not all(parts):
            raise HandbenchError(f"--test {text!r}: write TASK@DATA or TASK@DATA@SPLIT, as in handvqa@synth:hands@test")
        return cls(parts[0], parts[1], parts[2] if len(parts) == 3 else None)


@dataclass(frozen=True)
class Lessons:
    """A task on data, to be learned from.

    Attributes:
        task: with its options.
        data: the source.
        split: its split, None for the source's own default.
    """

    task: str
    data: str
    split: str | None = None

    def record(self) -> dict[str, str]:
        """As a record holds it."""
        return {"task": self.task, "data": self.data, "split": self.split or ""}


@dataclass(frozen=True)
class How:
    """How sources are read and who is told."""

    protocol: str = "paper"
    workers: int | None = None
    force: bool = False
    progress: Progress = no_progress


def gather(lessons: Sequence[Lessons], folders: Sequence[Path], settings: Settings, how: How) -> pl.DataFrame:
    """The questions to be learned from, one or several sources, their image paths absolute.

    Args:
        lessons: task, data and split of each.
        folders: where the questions of each are kept, and its rendered images.
        settings: where some of each image's questions are chosen, all of a hand's are made to choose from.
        how: how to read.
    """
    parts = []
    count = how.workers if how.workers is not None else os.cpu_count() or 1
    for lesson, folder in zip(lessons, folders, strict=True):
        asked = _all_questions(lesson.task) if settings.per_image is not None else lesson.task
        made = api.ask(
            asked, lesson.data, folder, split=lesson.split, protocol=how.protocol, workers=how.workers,
            force=how.force, progress=how.progress,
        )  # fmt: skip
        questions = made.table("questions")
        context = ReadContext(lesson.split, how.protocol, made.folder.images, count, how.force, how.progress)
        asking.ensure_images(made.folder, questions["images"].explode().drop_nulls().unique().to_list(), context)
        root = str(image_root(made.folder, made.manifest).resolve())
        parts.append(questions.with_columns(pl.col("images").list.eval(pl.lit(f"{root}/") + pl.element())))
    return pl.concat(parts, how="diagonal_relaxed")


def ask_questions(test: Test, place: Path, how: How) -> pl.DataFrame:
    """Make the questions of a test, so that what is wrong with its name is said before anything is trained."""
    made = api.ask(
        test.task, test.data, place, split=test.split, protocol=how.protocol, workers=how.workers, force=how.force,
        progress=how.progress,
    )  # fmt: skip
    return made.table("questions")


def refuse_overlap(asked: Mapping[Test, pl.DataFrame], learned: pl.DataFrame) -> None:
    """Look that nothing is asked about what is learned from.

    Args:
        asked: the questions of each test.
        learned: the questions to be learned from.

    Raises:
        HandbenchError: a test shares an image, a recording or a person with them.
    """
    seen = _seen.seen_in(learned)
    for test, questions in asked.items():
        if counts := _seen.overlap(questions, seen):
            raise HandbenchError(
                f"{test}: {counts['questions']} of its questions share something with what is to be learned from "
                f"({_seen.kinds(counts)}); take another split, or --allow-overlap to count them and go on"
            )


def ask_models(test: Test, models: Sequence[str], place: Path, how: How) -> api.Run:
    """Ask models a test; what is answered already is not asked again."""
    return api.run(
        test.task, test.data, list(models), place, split=test.split, protocol=how.protocol, workers=how.workers,
        force=how.force, progress=how.progress,
    )  # fmt: skip


def with_adapter(base: str, adapter: Path, allow_overlap: bool = False) -> str:
    """The name of a base with an adapter: ``tiny?adapter=PATH``."""
    spec = Spec.parse(base)
    options = {**spec.options, "adapter": str(adapter)}
    if allow_overlap:
        options["allow_overlap"] = "yes"
    return str(Spec(spec.kind, spec.name, options))


def tune(
    data: str,
    base: str,
    out: str | Path,
    *,
    settings: Settings,
    task: str = "handvqa",
    split: str | None = None,
    start: Path | None = None,
    mix: str | None = None,
    tests: Sequence[str] | None = None,
    allow_overlap: bool = False,
    protocol: str = "paper",
    workers: int | None = None,
    force: bool = False,
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Tune a base on the questions of a source; call it again to go on where it was broken off.

    Args:
        data: the source, e.g. ``synth:hands?n=2000``.
        base: ``tiny`` or ``hf:FOLDER``.
        out: the adapter's folder.
        settings: how.
        task: whose questions; with a balanced choice all of a hand's questions are made to choose from.
        split: of the source, ``train`` by default where it is rendered.
        start: an adapter to go on from.
        mix: ``FILE:SHARE`` of other instructions.
        tests: ``TASK@DATA`` or ``TASK@DATA@SPLIT``, asked of the base and of the tuned model; None asks other
            rendered hands where the data is ``synth:hands``, and nothing elsewhere.
        allow_overlap: count test questions that share something with the training; else they are refused.
        protocol: ``paper`` or ``released``.
        workers: processes, by default one per processor.
        force: go on where a guard would stop.
        progress: told how far it is.

    Returns:
        The record; ``changes`` has a row per test and descriptor.
    """
    settings, folder = settings.checked(), Path(out)
    named, mixed = Base.named(base), Mix.parse(mix) if mix else None
    if start:
        start = Path(adapter_folder(str(start))) if named.spec == "tiny" else start
        refuse_another_shape(start, settings)
    if mixed:
        read_mix(mixed.path)
    refuse_what_is_not_ours(folder)
    wanted = default_tests(task, data) if tests is None else [Test.parse(text) for text in tests]
    places = {test: folder / "tests" / slug(f"{test.task}-{test.data}-{test.split or ''}") for test in wanted}
    lesson = Lessons(task, data, split or ("train" if Spec.parse(data).kind == "synth" else None))
    how = How(protocol, workers, force, progress)
    with main_first():
        if not (folder / RECORD).exists():
            shutil.rmtree(folder / "tests", ignore_errors=True)  # answers of a training that is no more
        asked = {test: ask_questions(test, place, how) for test, place in places.items()}
        questions = gather([lesson], [folder / "questions"], settings, how)
    if not allow_overlap:
        refuse_overlap(asked, questions)
    record = train(
        questions, Path(), named, settings, folder, start=start, mix=mixed, about={"lessons": [lesson.record()]},
        progress=progress,
    )  # fmt: skip
    if not main_process():
        return {**record, "changes": []}
    changes: list[dict[str, Any]] = []
    for test, place in places.items():
        models = [base, with_adapter(base, folder, allow_overlap)]
        changes += compare(ask_models(test, [*models, "prior"], place, how), models[0], models[1], test)
    full = {**record, "changes": changes}
    report.write(folder, full)
    return full


def default_tests(task: str, data: str) -> list[Test]:
    """What is asked before and after where nothing is named: others of the same rendered hands."""
    spec = Spec.parse(data)
    if (spec.kind, spec.name) != ("synth", "hands"):
        return []
    return [Test(task, str(Spec(spec.kind, spec.name, {**spec.options, "n": str(TESTED)})), "test")]


def _all_questions(task: str) -> str:
    """The task with every question of a hand, to choose from."""
    spec = Spec.parse(task)
    if spec.kind != "handvqa" or "per_descriptor" in spec.options:
        return task
    return str(Spec(spec.kind, spec.name, {**spec.options, "per_descriptor": "all"}))


def compare(run: api.Run, before: str, after: str, test: Test) -> list[dict[str, Any]]:
    """What changed, by descriptor, with the questions that it rests on.

    Args:
        run: a scored run of both models, and of ``prior`` where the commonest answer is to stand beside them.
        before: the base's name.
        after: the tuned model's.
        test: what was asked.

    Returns:
        A row per descriptor: both accuracies and their paired ``difference`` with its 95 % interval (``low, high``),
        how far the tuned model is ``above`` the commonest answer (None where that was not asked), and the counts.
    """
    questions = run.table("questions").select(*KEY, "about_descriptor", "cluster")
    readings = run.table("readings").filter(pl.col("repeat") == 0).with_columns(pl.col("model").cast(pl.String))
    both = questions
    for name, column in ((before, "before"), (after, "after")):
        both = both.join(_right(readings, model_name(name), column), on=KEY)
    both = both.join(_right(readings, "prior", "prior"), on=KEY, how="left")
    rows = []
    for (descriptor,), group in both.group_by(pl.col("about_descriptor").cast(pl.String), maintain_order=True):
        cluster = group["cluster"].rank("dense").to_numpy().astype(np.int64)
        gap = paired_difference(group["before"].to_numpy(), group["after"].to_numpy(), cluster)
        row = {
            "task": test.task, "data": test.data, "split": test.split or "", "descriptor": descriptor,
            "before": gap.first, "after": gap.second, "difference": gap.value, "low": gap.low, "high": gap.high,
            "n": gap.n, "clusters": gap.clusters, "lost": gap.only_first, "won": gap.only_second,
            "prior": None, "above": None, "above_low": None, "above_high": None,
        }  # fmt: skip
        if not group["prior"].null_count():
            over = paired_difference(group["prior"].to_numpy(), group["after"].to_numpy(), cluster)
            row |= {"prior": over.first, "above": over.value, "above_low": over.low, "above_high": over.high}
        rows.append(row)
    return rows


def _right(readings: pl.DataFrame, model: str, column: str) -> pl.DataFrame:
    return readings.filter(pl.col("model") == model).select(*KEY, pl.col("correct").alias(column))


def record_of(folder: str | Path) -> dict[str, Any]:
    """The record of an adapter."""
    return read_record(Path(folder))
