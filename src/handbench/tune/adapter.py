"""The LoRA adapter: which layers it sits on."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from handbench.errors import HandbenchError
from handbench.tune.settings import Settings


def language_model(model: Any) -> tuple[str, Any]:
    """The name and the module of the language model inside a vision-language model.

    Raises:
        HandbenchError: it does not tell.
    """
    decoder = model.get_decoder()
    for name, module in model.named_modules():
        if module is decoder and name:
            return name, module
    raise HandbenchError(f"tune: {type(model).__name__} does not tell which part of it is the language model")


def vision_encoder(model: Any) -> tuple[str, Any]:
    """The name and the module of the vision encoder: the outermost part that is named so.

    Raises:
        HandbenchError: there is none by a usual name.
    """
    usual = ("vision_tower", "vision_model", "visual", "vision_encoder")
    for name, module in model.named_modules():
        if name.rpartition(".")[2] in usual:
            return name, module
    raise HandbenchError(f"tune: {type(model).__name__} has no part called {', '.join(usual)}")


def targets(model: Any, vision: bool) -> str:
    """A pattern that matches every linear layer of the language model, and of the vision encoder where wanted.

    The head that turns states into tokens is none of them, nor is the projector.
    """
    import torch

    parts = [language_model(model), *([vision_encoder(model)] if vision else [])]
    patterns = []
    for place, part in parts:
        layers = {
            name.rpartition(".")[2] for name, module in part.named_modules() if isinstance(module, torch.nn.Linear)
        }
        if not layers:
            raise HandbenchError(f"tune: {place} has no linear layer")
        patterns.append(rf"{re.escape(place)}\..*\b({'|'.join(sorted(map(re.escape, layers)))})")
    return "|".join(f"({pattern})" for pattern in patterns)


def hold_still(model: Any, vision: bool) -> None:
    """Keep in evaluation mode what is not trained, whatever the trainer asks for.

    A batch normalisation in training mode would replace its statistics by those of the batches, and they are no part of
    an adapter: the files would give another model than the one that was trained.

    Args:
        model: the base, before or after its adapter.
        vision: whether the vision encoder is tuned; if not, all of it is held still.
    """
    import torch

    parts = [m for m in model.modules() if isinstance(m, torch.nn.modules.batchnorm._BatchNorm)]
    if not vision:
        parts.append(vision_encoder(model)[1])
    for part in parts:
        part.train = partial(_eval, part)  # whoever says train() is given eval()
        part.train()


def _eval(part: Any, mode: bool = True) -> Any:
    return type(part).train(part, False)


def config(model: Any, settings: Settings) -> Any:
    """The PEFT configuration."""
    from peft import LoraConfig

    return LoraConfig(
        r=settings.rank,
        lora_alpha=settings.alpha,
        lora_dropout=settings.dropout,
        target_modules=targets(model, settings.vision),
        task_type="CAUSAL_LM",
    )
