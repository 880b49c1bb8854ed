"""Questions → answers: every question once, stored as it comes, taken up where it was left."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from handbench.errors import HandbenchError
from handbench.protocols import Model, NeedsAllQuestions, NeedsImages, ReadContext, Task, TellsFacts
from handbench.runs.asking import ensure_images, source_table
from handbench.runs.costs import Budget
from handbench.runs.facts import Session
from handbench.runs.folder import RunFolder
from handbench.runs.log import AnswerLog
from handbench.runs.parts import find_task, make_model, model_name
from handbench.runs.posing import estimate
from handbench.specs import Spec

KEY = ["question_id", "variant"]

_SLAB = 2_000


@dataclass
class PoseModel:
    """A hand-pose estimator that takes the test: its joints, put through the task's own geometry."""

    name: str
    task: Task
    options: Any
    hands: pl.DataFrame
    poses: pl.DataFrame

    def answer(self, questions: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """Answer from the poses, slab by slab."""
        for start in range(0, questions.height, _SLAB):
            slab = questions[start : start + _SLAB]
            yield self.task.answer_from_poses(slab, self.poses, self.hands, self.name, self.options)


def answer(
    folder: RunFolder, spec: str, context: ReadContext, *, retry_errors: bool = True, budget: Budget | None = None
) -> pl.DataFrame:
    """Have a model answer all questions of a run that it has not answered yet.

    Args:
        folder: a run with questions.
        spec: the model, e.g. ``chance`` or ``pose:blaze-full``.
        context: workers and whom to tell about progress.
        retry_errors: ask again where the answer is an error; else such questions stay as they are.
        budget: what may be spent; the answers there are already are counted in.

    Returns:
        The model's ``answers``, in the order of the questions.

    Raises:
        HandbenchError: the budget is spent; what was answered is kept.
    """
    questions = folder.read("questions")
    name = model_name(spec)
    with AnswerLog(folder.log(name), name) as log:
        kept = log.done.filter(pl.col("finish") != "error") if retry_errors else log.done
        left = questions.join(kept.select(KEY), on=KEY, how="anti", maintain_order="left")
        done = questions.height - left.height
        if budget is not None:
            budget.add(log.done)
            _stop_if_gone(name, budget, left.height)
        if left.height:
            model = _model(folder, spec, context)
            if isinstance(model, NeedsAllQuestions):
                model.prepare(questions)
            if isinstance(model, NeedsImages):
                ensure_images(folder, left["images"].explode().drop_nulls().unique().to_list(), context)
                model.images_at(image_root(folder, folder.manifest()))
            with Session(folder.facts(name), model if isinstance(model, TellsFacts) else None):
                for answers in model.answer(left):
                    log.append(answers)
                    done += answers.height
                    context.progress(done, questions.height, f"answers of {name}")
                    if budget is not None:
                        budget.add(answers)
                        _stop_if_gone(name, budget, questions.height - done)
    return answers_of(folder, name, questions)


def _stop_if_gone(name: str, budget: Budget, left: int) -> None:
    if budget.gone and left:
        raise HandbenchError(
            f"{name}: the budget of {budget.limit:g} is spent ({budget.spent:.4g}); {left} questions are left; "
            "repeat the command with a larger --budget to go on"
        )


def answers_of(folder: RunFolder, name: str, questions: pl.DataFrame) -> pl.DataFrame:
    """What a model has answered so far, in the order of the questions."""
    with AnswerLog(folder.log(name), name) as log:
        return questions.select(KEY).join(log.done, on=KEY, how="inner", maintain_order="left")


def _model(folder: RunFolder, text: str, context: ReadContext) -> Model:
    spec = Spec.parse(text)
    if spec.kind != "pose":
        return make_model(text)
    manifest = folder.manifest()
    task, options = task_of(manifest)
    estimator = str(Spec(spec.name, "", {key: value for key, value in spec.options.items() if key != "name"}))
    images = folder.read("frames")["image"].to_list()
    ensure_images(folder, images, context)
    poses = estimate(
        estimator,
        image_root(folder, manifest),
        images,
        folder.poses(estimator),
        workers=context.workers,
        progress=context.progress,
    )
    return PoseModel(model_name(text), task, options, folder.read(source_table(options) or "hands"), poses)


def image_root(folder: RunFolder, manifest: dict[str, Any]) -> Path:
    """The folder that image paths are relative to: the dataset's own, or the run's for rendered ones."""
    return folder.images if manifest["source"]["rendered"] else Path(manifest["source"]["root"])


def task_of(manifest: dict[str, Any]) -> tuple[Task, Any]:
    """The task and the options that a run was made with."""
    return find_task(str(manifest["asked"]["task"]), str(manifest["asked"]["protocol"]))
