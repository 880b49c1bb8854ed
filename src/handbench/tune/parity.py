"""Checks that two ways of computing the same thing agree: packed with plain rows, a tuned model with its files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from handbench.tune.batches import Batches
from handbench.tune.lessons import Lesson
from handbench.tune.packing import IGNORED

_NEAR: Final = {"float32": 2e-3, "float16": 0.03, "bfloat16": 0.08}
"""Greatest relative difference of loss and gradients that counts as rounding, by number format."""

QUESTIONS: Final = 3
LESSONS: Final = 2


@dataclass(frozen=True)
class PackingCheck:
    """Whether packed rows give the loss and the gradients of single questions.

    Attributes:
        passed: whether they do.
        loss: relative difference of the losses.
        gradient: the greatest difference of a gradient, relative to the greatest gradient.
        reason: why not, empty where passed.
    """

    passed: bool
    loss: float
    gradient: float
    reason: str = ""


def check_packing(model: Any, packed: Batches, plain: Batches, lessons: Sequence[Lesson]) -> PackingCheck:
    """Compute loss and gradients of a few lessons both ways.

    Args:
        model: with the parameters that will be trained asking for gradients.
        packed: makes packed rows.
        plain: makes a row per question.
        lessons: what is trained on; the first with several questions are taken.
    """
    few = [lesson.few(QUESTIONS) for lesson in lessons if len(lesson) > 1][:LESSONS]
    if not few:
        return PackingCheck(False, 0.0, 0.0, "no image has two questions")
    try:
        one_loss, one = _loss_and_gradients(model, plain(few))
        other_loss, other = _loss_and_gradients(model, packed(few))
    except (RuntimeError, ValueError, IndexError, TypeError, AttributeError) as error:
        model.zero_grad()
        return PackingCheck(False, float("inf"), float("inf"), f"{type(error).__name__}: {error}"[:200])
    finally:
        packed.tokens = packed.plain_tokens = plain.tokens = plain.plain_tokens = 0
    largest = max(float(gradient.abs().max()) for gradient in one) or 1.0
    differences = [float((a - b).abs().max()) for a, b in zip(one, other, strict=True)]
    loss, gradient = abs(one_loss - other_loss) / max(abs(one_loss), 1e-9), max(differences) / largest
    near = _NEAR[str(next(model.parameters()).dtype).removeprefix("torch.")]
    passed = loss <= near and gradient <= near
    return PackingCheck(passed, loss, gradient, "" if passed else "loss or gradients differ")


def _loss_and_gradients(model: Any, batch: dict[str, Any]) -> tuple[float, list[Any]]:
    import torch

    model.eval()  # dropout would make any two ways differ
    model.zero_grad()
    labels = batch.pop("labels")
    logits = model(**batch, use_cache=False).logits[:, :-1].float()
    wanted = labels[:, 1:]
    asked = wanted != IGNORED
    loss = torch.nn.functional.cross_entropy(logits[asked], wanted[asked])
    loss.backward()
    gradients = [p.grad.detach().clone() for p in model.parameters() if p.requires_grad and p.grad is not None]
    model.zero_grad()
    return float(loss.detach()), gradients


@dataclass(frozen=True)
class FilesCheck:
    """Greatest differences of log-likelihoods between a model in training and what became of it.

    Attributes:
        merged: with the adapter merged into the weights.
        reloaded: with base and adapter loaded anew from their files.
        passed: whether both are rounding.
    """

    merged: float
    reloaded: float
    passed: bool


def logprobs(model: Any, batches: Batches, lessons: Sequence[Lesson]) -> Any:
    """Log-likelihoods of all tokens after each position of a few questions, (positions, vocabulary) float32."""
    import torch

    model.eval()
    batch = Batches.__call__(batches, [lesson.few(1) for lesson in lessons[:LESSONS]])
    labels = batch.pop("labels")
    with torch.no_grad():
        logits = model(**batch, use_cache=False).logits
    return logits[labels != IGNORED].float().log_softmax(-1).cpu()


def compare(trained: Any, merged: Any, reloaded: Any, dtype: str) -> FilesCheck:
    """Compare what :func:`logprobs` gives before and after."""
    limit = {"float32": 1e-2, "float16": 0.1, "bfloat16": 0.5}[dtype]
    first, second = (float((trained - other).abs().max()) for other in (merged, reloaded))
    return FilesCheck(first, second, first <= limit and second <= limit)
