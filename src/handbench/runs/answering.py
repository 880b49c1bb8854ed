"""Questions → answers: every question once, stored as it comes, taken up where it was left."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from handbench.controls.names import control_names, main
from handbench.errors import HandbenchError
from handbench.protocols import (
    Model,
    NeedsAllQuestions,
    NeedsImages,
    NeedsRows,
    ReadContext,
    ResizesImages,
    Stoppable,
    Task,
    TellsFacts,
)
from handbench.runs import controls
from handbench.runs.asking import ensure_images, source_table
from handbench.runs.costs import Budget, Estimate, Price
from handbench.runs.costs import estimate as estimate_cost
from handbench.runs.facts import Session, refuse_another
from handbench.runs.folder import RunFolder
from handbench.runs.log import AnswerLog, read_log
from handbench.runs.parts import Answerer, find_task, make_model, make_strategy
from handbench.runs.posing import estimate, imported
from handbench.runs.strategies import drive, unanswered
from handbench.runs.telling import Told
from handbench.specs import Options, Spec

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
            named = control_names(slab["variant"]).alias("control")
            for (control,), part in slab.with_columns(named).group_by("control", maintain_order=True):
                part = part.drop("control")
                hands = controls.hands_shown(self.hands, part, None if control is None else str(control))
                yield self.task.answer_from_poses(part, self.poses, hands, self.name, self.options)


def answer(
    folder: RunFolder, spec: str, context: ReadContext, *, retry_errors: bool = False, budget: Budget | None = None
) -> pl.DataFrame:
    """Have a model answer all questions of a run that it has not answered yet.

    Args:
        folder: a run with questions.
        spec: the model, e.g. ``chance`` or ``pose:blaze-full``, or model and strategy: ``server:x + sv-cot``.
        context: workers and whom to tell about progress.
        retry_errors: ask again where the answer is an error; else such questions stay as they are.
        budget: what may be spent; the answers there are already are counted in.

    Returns:
        The model's ``answers``, every turn, in the order of the questions.

    Raises:
        HandbenchError: the budget is spent; what was answered is kept.
    """
    questions = controls.located(folder, folder.read("questions"))
    who = Answerer.parse(spec)
    _refuse_namesake(folder, who)
    strategy = make_strategy(who.strategy) if who.strategy else None
    with AnswerLog(folder.log(who.name), who.name) as log:
        kept = log.done.filter(pl.col("finish").cast(pl.String) != "error") if retry_errors else log.done
        left = unanswered(strategy, questions, kept)
        if budget is not None:
            budget.add(log.done)
            _stop_if_gone(who.name, budget, left.height)
        if left.height:
            model = _model(folder, who, context)
            if isinstance(model, TellsFacts) and log.done.height:
                refuse_another(folder.facts(who.name), who.name, model)
            enlist(folder, who, budget)
            _make_ready(folder, [model, strategy], questions, left, context)
            told = Told(context, who.name, questions.height, questions.height - left.height, model, budget)
            frames = model.answer(left) if strategy is None else drive(model, strategy, questions, kept, told.turn)
            with Session(folder.facts(who.name), model if isinstance(model, TellsFacts) else None):
                _store(frames, log, told, model, budget)
        else:
            enlist(folder, who, budget)
    return answers_of(folder, who.name, questions)


def _store(frames: Iterator[pl.DataFrame], log: AnswerLog, told: Told, model: Model, budget: Budget | None) -> None:
    """Keep answers as they come; when the budget is spent, what is under way is still waited for."""
    for answers in frames:
        log.append(answers)
        if budget is not None:
            budget.add(answers)
        told.come(answers)
        if budget is not None and budget.gone:
            if not isinstance(model, Stoppable):
                break
            model.stop()
    if budget is not None:
        _stop_if_gone(told.name, budget, told.total - told.done)


def enlist(folder: RunFolder, who: Answerer, budget: Budget | None = None) -> None:
    """Write down in the run's record that a model answers it, and at what price."""
    manifest = folder.manifest()
    models = {Answerer.parse(other).name: other for other in manifest.get("models", [])}
    models[who.name] = str(who)
    changed = {**manifest, "models": list(models.values())}
    if budget is not None:
        changed["prices"] = {**manifest.get("prices", {}), who.name: budget.price.entry()}
    if changed != manifest:
        folder.write_manifest(changed)


def _refuse_namesake(folder: RunFolder, who: Answerer) -> None:
    """Refuse a model whose name in tables another has: asked otherwise, it is another row."""
    for other in map(Answerer.parse, folder.manifest().get("models", [])):
        if other.name == who.name and other.asked != who.asked:
            raise HandbenchError(f"{who}: {other} has the name {who.name!r} already; give another with name=")


def _make_ready(
    folder: RunFolder, those: list[object], questions: pl.DataFrame, left: pl.DataFrame, context: ReadContext
) -> None:
    """Give what a model and a strategy need before the first question: all questions, images on disk."""
    _, options = task_of(folder.manifest())
    for one in those:
        if isinstance(one, NeedsAllQuestions):
            one.prepare(main(questions))
        if isinstance(one, NeedsRows):
            one.rows_are(folder.read(source_table(options) or "hands"))
        if isinstance(one, ResizesImages) and hasattr(options, "resize"):
            one.resize_by(options.resize)
        if isinstance(one, NeedsImages):
            ensure_images(folder, left["images"].explode().drop_nulls().unique().to_list(), context)
            one.images_at(image_root(folder, folder.manifest()))


def _stop_if_gone(name: str, budget: Budget, left: int) -> None:
    if budget.gone and left:
        raise HandbenchError(
            f"{name}: the budget of {budget.limit:g} is spent ({budget.spent:.4g}); {left} questions are left; "
            "repeat the command with a larger --budget to go on"
        )


def answers_of(folder: RunFolder, name: str, questions: pl.DataFrame) -> pl.DataFrame:
    """What a model has answered so far, every turn, in the order of the questions."""
    done = read_log(folder.log(name), name).sort("turn", maintain_order=True)
    return questions.select(KEY).join(done, on=KEY, how="inner", maintain_order="left_right")


def estimate_left(folder: RunFolder, who: Answerer, price: Price | None) -> Estimate:
    """What asking a model would take where it has no answer yet; of a strategy, the first turn.

    Args:
        folder: a run with questions.
        who: the model; it is not made.
        price: what its tokens cost, where that is known.
    """
    questions, options = controls.located(folder, folder.read("questions")), Options(who.model)
    strategy = make_strategy(who.strategy) if who.strategy else None
    left = unanswered(strategy, questions, read_log(folder.log(who.name), who.name))
    weighed = options.text("mode", "generate") == "options"
    max_tokens = 1 if weighed else options.integer("max_tokens", 128, least=1)
    side = options.integer("image_max_side", 0, least=0) or None
    return estimate_cost(left, folder.read("frames"), image_root(folder, folder.manifest()), max_tokens, price, side)


def lacking(questions: pl.DataFrame, spec: str, answers: pl.DataFrame) -> int:
    """How many questions a model is not through with.

    Args:
        questions: the run's.
        spec: the model, with its strategy if it is asked by one.
        answers: what it has answered so far, every turn.
    """
    who = Answerer.parse(spec)
    return unanswered(make_strategy(who.strategy) if who.strategy else None, questions, answers).height


def _model(folder: RunFolder, who: Answerer, context: ReadContext) -> Model:
    spec = who.model
    if spec.kind != "pose":
        return make_model(str(spec))
    manifest = folder.manifest()
    task, options = task_of(manifest)
    estimator = str(Spec(spec.name, "", {key: value for key, value in spec.options.items() if key != "name"}))
    images = [*folder.read("frames")["image"], *controls.images_of(folder, manifest)]
    if Spec.parse(spec.name).kind == "poses":  # made elsewhere: nothing is to be looked at
        poses, _ = imported(str(Spec(spec.name, "", dict(spec.options))), folder.read("frames"), folder.poses(who.name))
        return PoseModel(who.name, task, options, folder.read(source_table(options) or "hands"), poses)
    ensure_images(folder, images, context)
    poses = estimate(
        estimator,
        image_root(folder, manifest),
        images,
        folder.poses(estimator),
        workers=context.workers,
        progress=context.progress,
    )
    return PoseModel(who.name, task, options, folder.read(source_table(options) or "hands"), poses)


def image_root(folder: RunFolder, manifest: dict[str, Any]) -> Path:
    """The folder that image paths are relative to: the dataset's own, or the run's for rendered ones."""
    return folder.images if manifest["source"]["rendered"] else Path(manifest["source"]["root"])


def task_of(manifest: dict[str, Any]) -> tuple[Task, Any]:
    """The task and the options that a run was made with."""
    return find_task(str(manifest["asked"]["task"]), str(manifest["asked"]["protocol"]))
