"""One training: TRL's trainer with our batches, a checkpoint every so often, and what it cost."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

from handbench.errors import HandbenchError
from handbench.protocols import Progress
from handbench.tune import together
from handbench.tune.batches import Batches
from handbench.tune.lessons import Lesson
from handbench.tune.settings import Settings


@dataclass(frozen=True)
class Trained:
    """What a training gave.

    Attributes:
        model: the base with its adapter, as it was trained.
        losses: (step, epoch, loss, learning rate) of each step.
        seconds: spent in this process.
        steps: of the whole training.
        resumed: the step that it was taken up at, 0 where it was begun.
        processes: how many worked together.
        per_step: questions in a step, on average.
    """

    model: Any
    losses: list[dict[str, float]]
    seconds: float
    steps: int
    resumed: int = 0
    processes: int = 1
    per_step: float = 0.0


@dataclass
class Order:
    """Row numbers → lessons, for a trainer that wants a table.

    Attributes:
        lessons: by row number.
        batches: makes the tensors.
    """

    lessons: Sequence[Lesson]
    batches: Batches
    waiting: list[int] = field(default_factory=list)

    def __call__(self, rows: list[dict[str, Any]]) -> dict[str, Any]:
        """The batch of some rows."""
        return self.batches([self.lessons[row["lesson"]] for row in rows])


def train(
    model: Any,
    processor: Any,
    lessons: Sequence[Lesson],
    batches: Batches,
    settings: Settings,
    folder: Path,
    progress: Progress,
    stop_at: int | None = None,
) -> Trained:
    """Train the adapter of a model, or take up a training that was broken off.

    Args:
        model: a PEFT model; only its adapter asks for gradients.
        processor: the model's.
        lessons: one row each.
        batches: the collator.
        settings: how.
        folder: of the checkpoints.
        progress: told of every step.
        stop_at: break off after that step, as if the machine had.

    Raises:
        HandbenchError: the trainer's package is missing.
    """
    try:
        from safetensors import SafetensorError
        from transformers.trainer_utils import get_last_checkpoint
        from trl import SFTTrainer

        from datasets import Dataset
    except ImportError as error:
        raise HandbenchError(f"tune: {error}; pip install 'handbench[tune]' brings what is needed") from None
    per_row = sum(map(len, lessons)) / len(lessons)
    processes = together.processes()
    plan = _plan(settings, per_row, processes, folder)
    trainer = SFTTrainer(
        model=model,
        args=plan,
        train_dataset=Dataset.from_dict({"lesson": list(range(len(lessons)))}),
        data_collator=Order(lessons, batches),
        processing_class=processor,
        callbacks=[_teller(progress, stop_at)],
    )
    _silence(trainer)
    last = get_last_checkpoint(str(folder)) if folder.is_dir() else None
    begun = time.perf_counter()
    try:
        history = _finished(model, Path(last)) if last else None
        if history is None:
            trainer.train(resume_from_checkpoint=last)
    except (OSError, ValueError, KeyError, RuntimeError, EOFError, UnpicklingError, SafetensorError) as error:
        if last is None or trainer.state.global_step > _step(last) or "out of memory" in str(error):
            raise
        raise HandbenchError(
            f"{last}: the checkpoint cannot be read ({type(error).__name__}); delete that folder and repeat the "
            "command: it goes on from the one before, or from the beginning"
        ) from None
    losses = [
        {"step": row["step"], "epoch": row["epoch"], "loss": row["loss"], "rate": row["learning_rate"]}
        for row in (trainer.state.log_history if history is None else history)
        if "loss" in row
    ]
    return Trained(
        trainer.accelerator.unwrap_model(trainer.model),
        losses,
        time.perf_counter() - begun,
        trainer.state.max_steps if history is None else len(losses),
        _step(last) if last else 0,
        processes,
        per_row * plan.per_device_train_batch_size * plan.gradient_accumulation_steps * processes,
    )


def _plan(settings: Settings, per_row: float, processes: int, folder: Path) -> Any:
    """The settings in the trainer's own words."""
    import torch
    from trl import SFTConfig

    hardware = torch.cuda.is_available()
    return SFTConfig(
        output_dir=str(folder),
        num_train_epochs=settings.epochs,
        max_steps=settings.steps or -1,
        per_device_train_batch_size=settings.rows_at_once(per_row, processes),
        gradient_accumulation_steps=settings.accumulation(per_row, processes),
        learning_rate=settings.rate,
        warmup_steps=settings.warmup,
        lr_scheduler_type="cosine",
        max_grad_norm=settings.clip,
        weight_decay=0.0,
        seed=settings.seed,
        data_seed=settings.seed,
        bf16=hardware and torch.cuda.is_bf16_supported(),
        fp16=False,
        use_cpu=together.on_processors(),
        gradient_checkpointing=hardware,
        logging_steps=1,
        logging_nan_inf_filter=False,
        save_steps=settings.save_every,
        save_total_limit=2,
        report_to="none",
        disable_tqdm=True,
        max_length=None,
        remove_unused_columns=False,
        dataset_kwargs={"skip_prepare_dataset": True},
    )


def _step(checkpoint: str) -> int:
    return int(checkpoint.rpartition("-")[2])


def _finished(model: Any, checkpoint: Path) -> list[dict[str, float]] | None:
    """Take the weights of a checkpoint after the last step, and give its history; None where steps are left.

    To go on from there would be to make one step too many.
    """
    from peft import set_peft_model_state_dict
    from safetensors.torch import load_file

    state = json.loads((checkpoint / "trainer_state.json").read_text(encoding="utf-8"))
    if state["global_step"] < state["max_steps"]:
        return None
    set_peft_model_state_dict(model, load_file(checkpoint / "adapter_model.safetensors"))
    return list(state["log_history"])


def _silence(trainer: Any) -> None:
    """Take off the callback that prints every log line: the progress bar tells the same."""
    from transformers.trainer_callback import PrinterCallback

    trainer.remove_callback(PrinterCallback)


def _teller(progress: Progress, stop_at: int | None) -> Any:
    from transformers import TrainerCallback

    class Teller(TrainerCallback):  # type: ignore[misc]
        """Passes on how far the training is; stops it where that is wanted."""

        def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            """After each step."""
            progress(state.global_step, state.max_steps, "tuning")
            if stop_at is not None and state.global_step >= stop_at:
                control.should_training_stop = True

    return Teller()
