"""First-token likelihoods: plainly, or with the tokens that prompts about an image begin with computed once.

Sharing: the common beginning (image before question) goes through the model once; its cache is repeated for every
prompt, and only the rest of each is added.  The rests are padded between the shared beginning and the rest, with
positions that skip the padding, so that each prompt's last token stands last.  Both ways give the same logits up to
rounding, or sharing is not used: see :func:`disagreement`.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Sequence
from typing import Any, Final

from handbench.models._hf_load import Loaded

TOLERANCE: Final = {"float32": 1e-3, "float16": 0.05, "bfloat16": 0.25}
"""Greatest difference of log-likelihoods between the two ways that counts as rounding, by number format."""


def plain(loaded: Loaded, inputs: Any, keep: int = 1) -> Any:
    """Log-likelihoods of the token behind each of the last positions of a padded batch.

    Args:
        loaded: the model.
        inputs: rows padded on the left.
        keep: how many positions.

    Returns:
        (B, V) float32 for one position, else (B, keep, V).
    """
    import torch

    positions = {} if _own_positions(loaded.model) else {"position_ids": _positions(inputs["attention_mask"])}
    with torch.inference_mode():
        output = loaded.model(**inputs, **positions, logits_to_keep=keep, use_cache=False)
    return _likelihoods(output.logits, keep)


def shared(loaded: Loaded, first: Any, prompts: Sequence[Sequence[int]]) -> Any:
    """The same as :func:`plain` for prompts about the same images, their common beginning computed once.

    Args:
        loaded: the model.
        first: the inputs of the first prompt alone, images included.
        prompts: token ids of all prompts, the first one's included.

    Returns:
        (B, V) float32 log-likelihoods.
    """
    common = common_length(prompts)
    return continued(loaded, first, beginning(loaded, first, common), common, prompts)


def beginning(loaded: Loaded, first: Any, common: int) -> Any:
    """The model's cache after the first tokens of a prompt, images included."""
    import torch

    start = {key: value[:, :common] if per_token(key) else value for key, value in first.items()}
    with torch.inference_mode():
        return getattr(loaded.model(**start, use_cache=True, logits_to_keep=1), _cache_name(loaded.model))


def continued(loaded: Loaded, first: Any, cache: Any, common: int, rows: Sequence[Sequence[int]], keep: int = 1) -> Any:
    """Log-likelihoods behind the last positions of rows that go on from a common beginning.

    Args:
        loaded: the model.
        first: inputs on the model's device.
        cache: of the beginning; it stays as it is.
        common: tokens of the beginning.
        rows: token ids, the beginning included; each is longer than it.
        keep: how many positions.

    Returns:
        As :func:`plain`.
    """
    import torch

    model, device = loaded.model, first["input_ids"].device
    rests = [list(row[common:]) for row in rows]
    longest = max(map(len, rests))
    ids = torch.zeros((len(rests), longest), dtype=torch.long)
    real = torch.zeros((len(rests), longest), dtype=torch.long)
    for row, rest in enumerate(rests):
        ids[row, longest - len(rest) :] = torch.tensor(rest)
        real[row, longest - len(rest) :] = 1
    positions = (common + real.cumsum(1) - 1).clamp(min=0)
    mask = torch.cat([torch.ones((len(rests), common), dtype=torch.long), real], 1)
    with torch.inference_mode():
        repeated = copy.deepcopy(cache)
        repeated.batch_repeat_interleave(len(rests))
        output = model(
            input_ids=ids.to(device),
            attention_mask=mask.to(device),
            position_ids=_with_offsets(model, positions.to(device)),
            use_cache=True,
            logits_to_keep=keep,
            **{_cache_name(model): repeated},
        )
    return _likelihoods(output.logits, keep)


def _cache_name(model: Any) -> str:
    """What the model's forward calls its cache; it was renamed in transformers 5."""
    return "cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values"


def _likelihoods(logits: Any, keep: int) -> Any:
    kept = logits[:, -1] if keep == 1 else logits[:, -keep:]
    return kept.float().log_softmax(-1)


def common_length(prompts: Sequence[Sequence[int]]) -> int:
    """How many tokens all prompts begin with; at least one token of each is left over."""
    most = min(map(len, prompts)) - 1
    first = prompts[0]
    for place in range(most):
        if any(prompt[place] != first[place] for prompt in prompts):
            return place
    return most


def disagreement(loaded: Loaded, one: Any, other: Any) -> float | None:
    """The greatest difference of two sets of log-likelihoods where it is more than rounding, else None."""
    worst = float((one - other).abs().max())
    return None if worst <= TOLERANCE[str(loaded.model.dtype).removeprefix("torch.")] else worst


def per_token(key: str) -> bool:
    return key in ("input_ids", "attention_mask", "mm_token_type_ids", "token_type_ids")


def _own_positions(model: Any) -> bool:
    """Whether the model makes positions of several axes itself, from the images' grids."""
    return hasattr(getattr(model, "model", model), "rope_deltas")


def _positions(mask: Any) -> Any:
    return (mask.cumsum(1) - 1).clamp(min=0)


def _with_offsets(model: Any, positions: Any) -> Any:
    """Positions as the model wants them: with three axes and the image's offset for multi-axis rotation."""
    if not _own_positions(model):
        return positions
    offset = model.model.rope_deltas
    moved = positions + (0 if offset is None else offset[:1].to(positions.device))
    return moved[None].expand(3, -1, -1)
