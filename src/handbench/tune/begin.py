"""What a training begins with: a new adapter, or one to go on from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from handbench.datasets.files import hash_images
from handbench.errors import HandbenchError
from handbench.models import _seen
from handbench.models._hf_load import Loaded, lay_on
from handbench.tune import adapter
from handbench.tune.settings import Settings


def refuse_another_shape(start: Path, settings: Settings) -> None:
    """Look that an adapter to go on from is of the shape that the settings tell.

    Raises:
        HandbenchError: it is none, or of another rank or scale.
    """
    try:
        config = json.loads((start / "adapter_config.json").read_text(encoding="utf-8"))
        shape = {"rank": int(config["r"]), "alpha": int(config["lora_alpha"])}
    except FileNotFoundError:
        raise HandbenchError(f"--from {start}: no adapter_config.json there") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise HandbenchError(f"--from {start}: adapter_config.json cannot be read ({error!r})") from None
    for name, there in shape.items():
        if (asked := getattr(settings, name)) != there:
            raise HandbenchError(f"--from {start}: its {name} is {there}, not {asked}; go on with --{name} {there}")


def begin(loaded: Loaded, path: str, settings: Settings, start: Path | None) -> Any:
    """The base with its adapter, ready to be trained.

    Args:
        loaded: the base.
        path: its folder.
        settings: how.
        start: an adapter to go on from.

    Raises:
        HandbenchError: peft is missing, or the adapter does not fit.
    """
    try:
        from peft import get_peft_model
    except ImportError as error:
        raise HandbenchError(f"tune: {error}; pip install 'handbench[tune]' brings what is needed") from None
    import torch

    torch.manual_seed(settings.seed)
    adapter.hold_still(loaded.model, settings.vision)
    if start is None:
        return get_peft_model(loaded.model, adapter.config(loaded.model, settings))
    encoder = adapter.vision_encoder(loaded.model)[0]
    model = lay_on(loaded.model, path, str(start), trainable=True)
    sees = any(encoder in name for name, weight in model.named_parameters() if weight.requires_grad)
    if sees != settings.vision:
        told = ("", "with") if sees else ("not ", "without")
        raise HandbenchError(f"--from {start}: its vision encoder is {told[0]}tuned; go on {told[1]} --vision")
    return model


def seen(chosen: pl.DataFrame, mixed: Sequence[str], start: Path | None) -> pl.DataFrame:
    """What the adapter has seen in the end: these questions, what was mixed in, and what the one before it saw.

    Args:
        chosen: the questions.
        mixed: images of other instructions, absolute paths.
        start: the adapter that was gone on from.
    """
    parts = [_seen.seen_in(chosen)]
    if start and (before := _seen.read(start)) is not None:
        parts.append(before)
    if mixed:
        hashes = hash_images(Path("/"), sorted(set(mixed)))
        parts.append(pl.DataFrame({"kind": ["image"] * len(hashes), "name": list(hashes.values())}))
    return pl.concat(parts).unique().sort("kind", "name")
