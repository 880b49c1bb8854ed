"""The verbs, in Python; the command line has the same ones."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from handbench import tables
from handbench.errors import HandbenchError
from handbench.faults import Faults
from handbench.protocols import Progress, ReadContext, no_progress
from handbench.reports.html import write_report
from handbench.runs import answering, asking, scoring, source_cache
from handbench.runs.asking import Shard
from handbench.runs.folder import RunFolder, slug
from handbench.runs.parts import Answerer, check_model, model_name


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


def _context(
    split: str | None,
    protocol: str,
    workers: int | None,
    force: bool,
    progress: Progress,
    folder: RunFolder,
    keep_going: bool = False,
    cache: str | Path | bool = False,
    mano: str | Path | None = None,
) -> ReadContext:
    if protocol not in ("paper", "released"):
        raise HandbenchError(f"--protocol {protocol!r}: protocols are paper and released")
    count = workers if workers is not None else os.cpu_count() or 1
    store = source_cache.user_folder() if cache is True else Path(cache) if cache else None
    own = Path(mano).expanduser() if mano is not None else None
    return ReadContext(split, protocol, folder.images, count, force, progress, Faults(keep_going), store, own)


def ask(
    task: str,
    data: str | None,
    out: str | Path,
    *,
    split: str | None = None,
    protocol: str = "paper",
    shard: str = "1/1",
    workers: int | None = None,
    force: bool = False,
    keep_going: bool = False,
    cache: str | Path | bool = True,
    mano: str | Path | None = None,
    progress: Progress = no_progress,
) -> Run:
    """Source → questions.

    Args:
        task: the task and its options, e.g. ``handvqa?per_descriptor=all``.
        data: the source, e.g. ``ge:PATH`` or ``synth:hands?n=200``; None where the questions are text alone.
        out: the run's folder; if these very questions are there already, nothing is done.
        split: the owner's split, or ``paper-train``, ``paper-test``.
        protocol: ``paper``, or ``released`` for the released code's rules.
        shard: ``i/N``: the i-th of N parts of the hands.
        workers: processes, by default one per processor.
        force: go on where a guard would stop.
        keep_going: leave bad rows of the source out and count them, instead of stopping at the first.
        cache: where the tables of a dataset are kept once they are read: a folder, True for the user's cache
            folder, False for nowhere.
        mano: your own folder of ``MANO_RIGHT.pkl`` and ``MANO_LEFT.pkl``, for datasets that ship MANO parameters.
        progress: told how far it is.
    """
    folder = RunFolder(Path(out))
    context = _context(split, protocol, workers, force, progress, folder, keep_going, cache, mano)
    asking.ask(folder, task, data or asking.NO_DATA, context, Shard.parse(shard))
    return Run(folder)


def answer(
    run: Run | str | Path,
    model: str | Sequence[str],
    *,
    strategy: str | None = None,
    workers: int | None = None,
    progress: Progress = no_progress,
) -> Run:
    """Questions → answers, by one model or several; what is answered already is not asked again.

    Args:
        run: a run with questions, or its folder.
        model: one model or several, e.g. ``["chance", "server:x?base_url=..."]``.
        strategy: how each model is asked turn by turn, e.g. ``sv-cot``; by default every question is asked once.
            A model that is asked by a strategy is a row of its own: ``server:x + sv-cot``.
        workers: processes, by default one per processor.
        progress: told how far it is.
    """
    run = run if isinstance(run, Run) else Run.open(run)
    context = _context(None, "paper", workers, False, progress, run.folder)
    for name in [model] if isinstance(model, str) else model:
        canonical = str(Answerer.parse(name, strategy))
        check_model(canonical)  # before its name is written down
        manifest = run.manifest
        models = [*manifest.get("models", [])]
        if canonical not in models:
            _refuse_namesake(canonical, models)
            run.folder.write_manifest({**manifest, "models": [*models, canonical]})
        answering.answer(run.folder, canonical, context)
    return run


def _refuse_namesake(spec: str, others: Sequence[str]) -> None:
    for other in others:
        if model_name(other) == model_name(spec):
            raise HandbenchError(f"{spec}: {other} has the name {model_name(spec)!r} already; give another with name=")


def score(run: Run | str | Path) -> Run:
    """Answers → readings → scores."""
    run = run if isinstance(run, Run) else Run.open(run)
    scoring.score(run.folder)
    return run


def report(run: Run | str | Path, *, workers: int | None = None, progress: Progress = no_progress) -> Path:
    """Write the report of a scored run and return its path."""
    run = run if isinstance(run, Run) else Run.open(run)
    return write_report(run.folder, _context(None, "paper", workers, False, progress, run.folder))


def run(
    task: str,
    data: str | None,
    model: str | Sequence[str],
    out: str | Path | None = None,
    *,
    strategy: str | None = None,
    split: str | None = None,
    protocol: str = "paper",
    workers: int | None = None,
    force: bool = False,
    keep_going: bool = False,
    cache: str | Path | bool = True,
    mano: str | Path | None = None,
    progress: Progress = no_progress,
) -> Run:
    """Ask, answer, score and report; call it again to go on where it was broken off.

    Args:
        task: see :func:`ask`.
        data: see :func:`ask`.
        model: one model or several, e.g. ``["chance", "prior", "pose:blaze-full"]``.
        out: the run's folder, by default one named after task and data under ``runs``.
        strategy: see :func:`answer`.
        split: see :func:`ask`.
        protocol: see :func:`ask`.
        workers: processes, by default one per processor.
        force: go on where a guard would stop.
        keep_going: see :func:`ask`.
        cache: see :func:`ask`.
        mano: see :func:`ask`.
        progress: told how far it is.
    """
    for name in [model] if isinstance(model, str) else model:
        check_model(str(Answerer.parse(name, strategy)))
    place = Path(out) if out is not None else Path("runs") / slug(f"{task}-{data}" if data else task)
    made = ask(
        task,
        data,
        place,
        split=split,
        protocol=protocol,
        workers=workers,
        force=force,
        keep_going=keep_going,
        cache=cache,
        mano=mano,
        progress=progress,
    )
    answer(made, model, strategy=strategy, workers=workers, progress=progress)
    progress(0, None, "scoring")
    score(made)
    progress(0, None, "writing the report")
    report(made, workers=workers, progress=progress)
    return made


def merge(shards: Sequence[str | Path], out: str | Path) -> Run:
    """Lay the questions of shards end to end: the same files as if they had been made in one.

    Args:
        shards: run folders made with ``shard="1/N"`` to ``"N/N"``, in any order.
        out: the folder of the whole.

    Raises:
        HandbenchError: a shard is missing, comes twice, or is of other questions.
    """
    runs = [Run.open(path) for path in shards]
    numbered = {run.manifest["asked"]["shard"]: run for run in runs}
    total = len(runs)
    wanted = [f"{number}/{total}" for number in range(1, total + 1)]
    if sorted(numbered) != sorted(wanted):
        there = ", ".join(sorted(numbered))
        raise HandbenchError(f"merge: expected the shards {', '.join(wanted)}, found {there}")
    ordered = [numbered[name] for name in wanted]
    first = ordered[0].manifest
    for other in ordered[1:]:
        for key, value in other.manifest["asked"].items():
            if key != "shard" and value != first["asked"][key]:
                raise HandbenchError(f"{other.folder.root}: {key} is {value!r}, elsewhere {first['asked'][key]!r}")
    folder = RunFolder(Path(out))
    counts = dict.fromkeys(("count", "hands", "images"), 0)
    not_asked: dict[str, int] = {}
    for name in ("questions", "hands", "frames"):
        with tables.Writer(folder.table(name), name) as writer:
            for part in ordered:
                for frame in tables.iterate(part.folder.table(name), name):
                    writer.add(frame)
        counts["count" if name == "questions" else "images" if name == "frames" else name] = writer.rows
    for part in ordered:
        for reason, count in part.manifest["not_asked"].items():
            not_asked[reason] = not_asked.get(reason, 0) + count
    questions = {**counts, "hash": tables.content_hash(folder.table("questions"), "questions")}
    folder.write_manifest(
        {
            **first,
            "asked": {**first["asked"], "shard": "1/1"},
            "questions": questions,
            "not_asked": dict(sorted(not_asked.items())),
            "models": [],
        }
    )
    return Run(folder)


__all__ = ["Run", "answer", "ask", "merge", "report", "run", "score"]
