"""The verb ``experiment``: base and tuned models × datasets × descriptors, in one file (HandVQA, Tables 2, 3, 7–12).

Every cell is a tuning or a run of its own, in a folder of its own: what is done is found again, so an experiment that
was broken off goes on where it stopped.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final

import polars as pl

from handbench import api, tuning
from handbench.errors import HandbenchError
from handbench.protocols import Progress, no_progress
from handbench.reports import experiment as report
from handbench.runs.folder import slug
from handbench.runs.parts import check_model, model_name
from handbench.specs import Spec
from handbench.tune.run import Base
from handbench.tune.run import tune as train
from handbench.tune.settings import Settings, recipe
from handbench.tuning import How, Lessons, Test

UNIFIED: Final = "all"
"""The name of the training set that joins all datasets."""

_KEYS: Final = {"task", "bases", "besides", "vision", "unified", "recipe", "tuning", "datasets"}


@dataclass(frozen=True)
class Dataset:
    """One dataset of the matrix.

    Attributes:
        name: as the report calls it.
        train: what is learned from.
        test: what is asked.
    """

    name: str
    train: Lessons
    test: Test


@dataclass(frozen=True)
class Plan:
    """The whole matrix.

    Attributes:
        bases: models that are asked as they are and tuned.
        datasets: each to train and to test on.
        besides: further models that are asked (``prior``).
        vision: pose estimators for the vision-only row.
        unified: also tune on all datasets together.
        recipe: of the tuning, None for the base's own.
        changes: settings other than the recipe's.
    """

    bases: tuple[str, ...]
    datasets: tuple[Dataset, ...]
    besides: tuple[str, ...] = ("prior",)
    vision: tuple[str, ...] = ()
    unified: bool = True
    recipe: str | None = None
    changes: dict[str, Any] = field(default_factory=dict)

    def settings(self, base: str, data: str) -> Settings:
        """How a base is tuned on a dataset."""
        return replace(recipe(self.recipe, Spec.parse(base).kind, Spec.parse(data).kind), **self.changes).checked()

    def training_sets(self) -> dict[str, list[Dataset]]:
        """Each dataset by itself, and all of them."""
        made = {dataset.name: [dataset] for dataset in self.datasets}
        return {**made, UNIFIED: list(self.datasets)} if self.unified and len(made) > 1 else made


def read_plan(path: Path) -> Plan:
    """Read a matrix from TOML.

    Args:
        path: see ``docs/tune.md`` for the form.

    Raises:
        HandbenchError: a key is unknown or missing, or a name leads nowhere.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise HandbenchError(f"{path}: expected a TOML file: {error}") from None
    if strange := sorted(set(table) - _KEYS):
        raise HandbenchError(f"{path}: unknown key {strange[0]!r}; keys are {', '.join(sorted(_KEYS))}")
    task = str(table.get("task", "handvqa"))
    if Spec.parse(task).kind != "handvqa":
        raise HandbenchError(f"{path}: task {task!r}: the matrix is of handvqa; handbench run asks other tasks")
    rows = table.get("datasets")
    if not isinstance(rows, dict) or not rows:
        raise HandbenchError(f"{path}: expected [datasets.NAME] with data, and train and test splits")
    datasets = tuple(_dataset(path, name, row, task) for name, row in rows.items())
    changes, unified = table.get("tuning", {}), table.get("unified", True)
    if not isinstance(changes, dict):
        raise HandbenchError(f"{path}: [tuning]: expected a table of settings, not {changes!r}")
    if not isinstance(unified, bool) or not isinstance(table.get("recipe", ""), str):
        raise HandbenchError(f"{path}: expected unified = true or false, and the name of a recipe")
    known = {one.name for one in fields(Settings)}
    if strange := sorted(set(changes) - known):
        raise HandbenchError(f"{path}: [tuning] {strange[0]}: settings are {', '.join(sorted(known))}")
    plan = Plan(
        _words(path, table, "bases"), datasets, _words(path, table, "besides", ("prior",)),
        _words(path, table, "vision", ()), unified, table.get("recipe"), changes,
    )  # fmt: skip
    try:
        for name in (*plan.bases, *plan.besides, *plan.vision):
            check_model(name)
        for base in plan.bases:
            Base.named(base)
            for dataset in datasets:
                plan.settings(base, dataset.train.data)
    except HandbenchError as error:
        raise HandbenchError(f"{path}: {error}") from None
    return plan


def _dataset(path: Path, name: str, row: Any, task: str) -> Dataset:
    if name == UNIFIED:
        raise HandbenchError(f"{path}: no dataset may be called {UNIFIED!r}: that is what all together are called")
    if not isinstance(row, dict) or not {"data"} <= set(row) <= {"data", "train", "test", "train_data"}:
        raise HandbenchError(f"{path}: [datasets.{name}]: expected data, and if wanted train_data, train and test")
    if strange := [key for key, value in row.items() if not isinstance(value, str) or not value]:
        raise HandbenchError(f"{path}: [datasets.{name}] {strange[0]}: expected a text, not {row[strange[0]]!r}")
    data = row["data"]
    return Dataset(
        name,
        Lessons(task, str(row.get("train_data", data)), str(row.get("train", "train"))),
        Test(task, data, str(row.get("test", "test"))),
    )


def _words(path: Path, table: dict[str, Any], key: str, default: tuple[str, ...] | None = None) -> tuple[str, ...]:
    value = table.get(key, default)
    if (
        isinstance(value, list | tuple)
        and all(isinstance(word, str) for word in value)
        and (value or default is not None)
    ):
        return tuple(value)
    raise HandbenchError(f"{path}: {key}: expected a list of names, e.g. {key} = ['tiny']")


def run(
    path: Path, out: Path, *, workers: int | None = None, force: bool = False, progress: Progress = no_progress
) -> pl.DataFrame:
    """Run the matrix, or what is left of it.

    Args:
        path: the plan's file.
        out: the folder of all cells and of the report.
        workers: processes, by default one per processor.
        force: go on where a guard would stop.
        progress: told how far it is.

    Returns:
        One row per model, dataset and number: ``base, tuned_on, evaluated_on`` beside the ``scores`` columns.
    """
    plan = read_plan(path)
    how = How(workers=workers, force=force, progress=progress)
    for dataset in plan.datasets:  # what is wrong with a test is said before anything is trained
        tuning.ask_questions(dataset.test, out / "runs" / slug(dataset.name), how)
    tuned = _tune_all(plan, out, how)
    runs = _ask_all(plan, tuned, out, how)
    results = _results(plan, tuned, runs)
    results.write_parquet(out / "results.parquet")
    gaps = [
        {**row, "base": base, "tuned_on": name, "evaluated_on": dataset.name}
        for dataset in plan.datasets
        for (base, name), model in tuned.items()
        for row in tuning.compare(runs[dataset.name], base, model, dataset.test)
    ]
    names = [dataset.name for dataset in plan.datasets]
    report.write(out, results, gaps, names, _questions(runs), _chance(runs))
    return results


def _tune_all(plan: Plan, out: Path, how: How) -> dict[tuple[str, str], str]:
    """(base, training set) → the name of the tuned model."""
    made = {}
    cells = [(base, name, parts) for base in plan.bases for name, parts in plan.training_sets().items()]
    for number, (base, name, parts) in enumerate(cells, 1):
        how.progress(number - 1, len(cells), "trainings")
        settings = plan.settings(base, parts[0].train.data)
        folder = out / "tuned" / slug(f"{base}-{name}")
        kept = "lessons" if settings.per_image is None else "lessons-all"  # questions to choose from are more
        places = [out / kept / slug(part.name) for part in parts]
        questions = tuning.gather([part.train for part in parts], places, settings, how)
        about = {"lessons": [part.train.record() for part in parts]}
        train(questions, Path(), Base.named(base), settings, folder, about=about, progress=how.progress)
        made[base, name] = tuning.with_adapter(base, folder)
    return made


def _ask_all(plan: Plan, tuned: dict[tuple[str, str], str], out: Path, how: How) -> dict[str, api.Run]:
    models = [*plan.besides, *plan.vision, *plan.bases, *tuned.values()]
    return {
        dataset.name: tuning.ask_models(dataset.test, models, out / "runs" / slug(dataset.name), how)
        for dataset in plan.datasets
    }


def _results(plan: Plan, tuned: dict[tuple[str, str], str], runs: dict[str, api.Run]) -> pl.DataFrame:
    names = {model_name(name): (name, "") for name in (*plan.besides, *plan.vision, *plan.bases)}
    names.update({model_name(model): (base, name) for (base, name), model in tuned.items()})
    parts = []
    for dataset, made in runs.items():
        scores = made.scores.with_columns(pl.col(pl.Categorical).cast(pl.String))
        parts.append(
            scores.with_columns(
                pl.col("model").replace_strict({name: base for name, (base, _) in names.items()}).alias("base"),
                pl.col("model").replace_strict({name: on for name, (_, on) in names.items()}).alias("tuned_on"),
                pl.lit(dataset).alias("evaluated_on"),
            )
        )
    return pl.concat(parts)


def _questions(runs: dict[str, api.Run]) -> dict[str, int]:
    return {name: made.table("questions").height for name, made in runs.items()}


def _chance(runs: dict[str, api.Run]) -> dict[str, float]:
    """Accuracy of a random answer by descriptor, over all that was asked."""
    asked = pl.concat([made.table("questions").select("about_descriptor", "options") for made in runs.values()])
    return dict(
        asked.group_by(pl.col("about_descriptor").cast(pl.String))
        .agg((1 / pl.col("options").list.len()).mean())
        .iter_rows()
    )


def cells(plan: Plan) -> Sequence[tuple[str, str, str]]:
    """(base, tuned on, evaluated on) of every cell, the untuned ones included."""
    return [
        (base, name, dataset.name)
        for base in plan.bases
        for name in ("", *plan.training_sets())
        for dataset in plan.datasets
    ]
