"""The verbs, in Python; the command line has the same ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

import polars as pl

from handbench.errors import HandbenchError
from handbench.protocols import Progress, ReadContext, no_progress
from handbench.reports import description
from handbench.reports.html import write_report
from handbench.runs import answering, asking, merging, posebench, scoring
from handbench.runs.asking import Shard
from handbench.runs.costs import Estimate, Price, budget_of, price_of, read_prices
from handbench.runs.folder import RunFolder, slug
from handbench.runs.parts import Answerer, check_model
from handbench.runs.reading import Reading, context_of


@dataclass(frozen=True)
class Run:
    """A run on disk.

    Attributes:
        folder: where its tables are.
    """

    folder: RunFolder

    @classmethod
    def open(cls, path: str | Path) -> Run:
        """Open a run that exists.

        Raises:
            HandbenchError: the folder holds no run.
        """
        run = cls(RunFolder(Path(path)))
        run.folder.manifest()
        return run

    @property
    def manifest(self) -> dict[str, Any]:
        """What was asked, of what, with which versions."""
        return self.folder.manifest()

    def table(self, name: str) -> pl.DataFrame:
        """One of the run's tables: frames, hands, questions, answers, readings, scores."""
        return self.folder.read(name)

    @property
    def scores(self) -> pl.DataFrame:
        """The ``scores`` table."""
        return self.table("scores")

    @property
    def report(self) -> Path:
        """The report's path."""
        return self.folder.report


def ask(
    task: str,
    data: str | None,
    out: str | Path,
    *,
    shard: str = "1/1",
    sample: int | None = None,
    **how: Unpack[Reading],
) -> Run:
    """Source → questions.

    Args:
        task: the task and its options, e.g. ``handvqa?per_descriptor=all``.
        data: the source, e.g. ``ge:PATH`` or ``synth:hands?n=200``; None where the questions are text alone.
        out: the run's folder; if these very questions are there already, nothing is done.
        shard: ``i/N``: the i-th of N parts of the hands.
        sample: take so many of the questions, stratified by dataset, descriptor and label; a smaller sample is part
            of every larger one.
        how: how the source is read, see :class:`handbench.runs.reading.Reading`.
    """
    if posebench.is_pose_task(task):
        raise HandbenchError(f"{task} asks no questions: handbench run {task} --data ... --estimator NAME")
    folder = RunFolder(Path(out))
    context = context_of(how, folder.images)
    asking.ask(folder, task, data or asking.NO_DATA, context, Shard.parse(shard), sample)
    return Run(folder)


def answer(
    run: Run | str | Path,
    model: str | Sequence[str],
    *,
    strategy: str | None = None,
    retry_errors: bool = False,
    budget: float | None = None,
    prices: str | Path | None = None,
    workers: int | None = None,
    progress: Progress = no_progress,
) -> Run:
    """Questions → answers, by one model or several; what is answered already is not asked again.

    Args:
        run: a run with questions, or its folder.
        model: one model or several, e.g. ``["chance", "server:x?base_url=..."]``.
        strategy: how each model is asked turn by turn, e.g. ``sv-cot``; by default every question is asked once.
            A model that is asked by a strategy is a row of its own: ``server:x + sv-cot``.
        retry_errors: ask again where the answer is an error.
        budget: stop when one model's answers have cost so much, in the currency of the prices.
        prices: a TOML file; see :func:`handbench.runs.costs.read_prices`.
        workers: processes, by default one per processor.
        progress: told how far it is.

    Raises:
        HandbenchError: a model cannot be asked, or its budget is spent; what was answered is kept.
    """
    run = run if isinstance(run, Run) else Run.open(run)
    context = context_of({"workers": workers, "progress": progress}, run.folder.images)
    table = _prices(prices)
    asked = _answerers(model, strategy)
    budgets = [budget_of(who.name, budget, table) for who in asked]
    for who, limit in zip(asked, budgets, strict=True):
        answering.answer(run.folder, str(who), context, retry_errors=retry_errors, budget=limit)
    return run


def _prices(file: str | Path | None) -> dict[str, Price]:
    return read_prices(Path(file)) if file is not None else {}


def _answerers(model: str | Sequence[str], strategy: str | None) -> list[Answerer]:
    """Who is to be asked; each name is looked at before any work is done and before it is written down."""
    asked = [Answerer.parse(name, strategy) for name in ([model] if isinstance(model, str) else model)]
    for who in asked:
        check_model(str(who))
    return asked


def estimate(
    run: Run | str | Path,
    model: str | Sequence[str],
    *,
    strategy: str | None = None,
    prices: str | Path | None = None,
) -> dict[str, Estimate]:
    """What asking would take: requests, images, tokens and cost of what is not answered yet, by model; nothing is sent.

    Where a model is asked turn by turn, it is the first turn of each question that is estimated.

    Args:
        run: a run with questions, or its folder.
        model: see :func:`answer`.
        strategy: see :func:`answer`.
        prices: see :func:`answer`.
    """
    run = run if isinstance(run, Run) else Run.open(run)
    table = _prices(prices)
    return {
        who.name: answering.estimate_left(run.folder, who, price_of(who.name, table))
        for who in _answerers(model, strategy)
    }


def score(run: Run | str | Path) -> Run:
    """Answers → readings → scores."""
    run = run if isinstance(run, Run) else Run.open(run)
    if run.manifest.get("kind") == "poses":
        posebench.score(run.folder)
    else:
        scoring.score(run.folder)
    return run


def report(
    run: Run | str | Path,
    *,
    beside: Sequence[str | Path] = (),
    workers: int | None = None,
    progress: Progress = no_progress,
) -> Path:
    """Write the report of a scored run and return its path; ``beside`` are scored runs that it is to show as well."""
    run = run if isinstance(run, Run) else Run.open(run)
    others = [Run.open(other).folder for other in beside]
    context = context_of({"workers": workers, "progress": progress}, run.folder.images)
    return write_report(run.folder, context, others)


def default_folder(task: str, data: str | None) -> Path:
    """Where a run lives unless it is told: a folder named after task and data under ``runs``."""
    return Path("runs") / slug(f"{task}-{data}" if data else task)


def run(
    task: str,
    data: str | None,
    model: str | Sequence[str] = (),
    out: str | Path | None = None,
    *,
    strategy: str | None = None,
    sample: int | None = None,
    retry_errors: bool = False,
    budget: float | None = None,
    prices: str | Path | None = None,
    estimator: str | Sequence[str] = (),
    cleanup: str | None = None,
    truth: str | None = None,
    **how: Unpack[Reading],
) -> Run:
    """Ask, answer, score and report; call it again to go on where it was broken off.

    Args:
        task: see :func:`ask`.
        data: see :func:`ask`.
        model: one model or several, e.g. ``["chance", "prior", "pose:blaze-full"]``.
        out: the run's folder, by default one named after task and data under ``runs``.
        strategy: see :func:`answer`.
        sample: see :func:`ask`.
        retry_errors: see :func:`answer`.
        budget: see :func:`answer`.
        prices: see :func:`answer`.
        estimator: for a task that scores pose estimators: one or several, e.g. ``["blaze-full", "yoha"]``.
        cleanup: for such a task: ``off`` (default), ``spatial``, ``temporal``, ``both``, ``majority`` or ``ablation``.
        truth: for such a task: a file of annotations, where the data has none of its own.
        how: how the source is read, see :class:`handbench.runs.reading.Reading`.
    """
    if posebench.is_pose_task(task):
        if model or data is None:
            raise HandbenchError(f"{task} scores pose estimators on data: name them with --estimator, not --model")
        folder = RunFolder(Path(out) if out is not None else default_folder(task, data))
        return _run_poses(task, data, estimator, context_of(how, folder.images), folder, cleanup, truth)
    if not model or estimator or cleanup or truth:
        raise HandbenchError(f"{task} asks models: name them with --model; an estimator answers as pose:NAME")
    for who in _answerers(model, strategy):
        budget_of(who.name, budget, _prices(prices))
    workers, progress = how.get("workers"), how.get("progress", no_progress)
    made = ask(task, data, out if out is not None else default_folder(task, data), sample=sample, **how)
    answer(
        made,
        model,
        strategy=strategy,
        retry_errors=retry_errors,
        budget=budget,
        prices=prices,
        workers=workers,
        progress=progress,
    )
    progress(0, None, "scoring")
    score(made)
    progress(0, None, "writing the report")
    report(made, workers=workers, progress=progress)
    return made


def _run_poses(
    task: str,
    data: str,
    estimator: str | Sequence[str],
    context: ReadContext,
    folder: RunFolder,
    cleanup: str | None,
    truth: str | None,
) -> Run:
    """Poses, cleanup, scores and report."""
    estimators = [estimator] if isinstance(estimator, str) else list(estimator)
    posebench.check_estimators(task, estimators)
    posebench.prepare(folder, task, data, context, truth)
    posebench.pose_all(folder, estimators, context)
    context.progress(0, None, "scoring")
    posebench.score(folder, cleanup)
    context.progress(0, None, "writing the report")
    write_report(folder, context)
    return Run(folder)


def describe(
    targets: str | Path | Sequence[str | Path],
    *,
    against: str | None = None,
    noise: str | None = None,
    encoder: str | None = None,
    task: str = "handvqa",
    **how: Unpack[Reading],
) -> dict[str, pl.DataFrame]:
    """What is in the questions of runs or sources, as tables by name.

    Args:
        targets: a run's folder or a source such as ``ge:PATH``, or several that count together.
        against: ``paper``: counts beside those that the task's paper prints.
        noise: the truth's ceiling at a mean 3D joint error such as ``3mm``, or ``published``; kept with a run.
        encoder: the folder of a CLIP-like model: compare a run's images with their captions; kept with the run.
        task: the task that the questions of a source are of.
        how: how a source is read, see :class:`handbench.runs.reading.Reading`.
    """
    named = [str(target) for target in ([targets] if isinstance(targets, str | Path) else targets)]
    return description.describe(
        named, against=against, noise=noise, encoder=encoder, task=task, context=context_of(how, None)
    )


def merge(shards: Sequence[str | Path], out: str | Path) -> Run:
    """Lay the questions of shards end to end: the same files as if they had been made in one.

    Args:
        shards: run folders made with ``shard="1/N"`` to ``"N/N"``, in any order.
        out: the folder of the whole.

    Raises:
        HandbenchError: a shard is missing, comes twice, or is of other questions.
    """
    return Run(merging.merge([Run.open(path).folder for path in shards], Path(out)))


__all__ = ["Run", "answer", "ask", "default_folder", "describe", "estimate", "merge", "report", "run", "score"]
