"""Likelihoods of options: plainly, or with an image encoded once for all questions about it.

Sharing: the tokens that all prompts about an image begin with (image before question) go through the model once; its
cache is repeated for every question, and only the rest of each prompt is added.  The rests are padded between the
shared beginning and the rest, with positions that skip the padding, so that each prompt's last token stands last.
Both ways give the same logits up to rounding, or sharing is not used: see :func:`disagreement`.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, Final

from handbench.errors import HandbenchError
from handbench.models._hf_inputs import Inputs
from handbench.models._hf_load import Loaded
from handbench.models._reply import LETTERS
from handbench.models._request import Ask

TOLERANCE: Final = {"float32": 1e-3, "float16": 0.05, "bfloat16": 0.25}
"""Greatest difference of log-likelihoods between the two ways that counts as rounding, by number format."""


CHECKED: Final = 3
"""Questions on which the shared way must agree with the plain one before it is used."""


class Weigher:
    """Weighs the options of questions about the same images.

    Attributes:
        sharing: ``not tried``, ``on``, or ``off`` and why.
    """

    def __init__(self, loaded: Loaded) -> None:
        self.sharing = "not tried"
        self._loaded = loaded
        self._letters: dict[int, list[list[int]]] = {}

    def weigh(self, inputs: Inputs, asks: Sequence[Ask]) -> tuple[list[list[float]], list[int], Any]:
        """Log-likelihoods of each ask's options, the prompts' lengths, and inputs to tell sizes from.

        Raises:
            HandbenchError: a question has no options, or a letter is not one token.
        """
        tokens = [self._tokens(inputs, ask) for ask in asks]
        if asks[0].images and len(asks) > 1 and not self.sharing.startswith("off"):
            first = inputs.batch(asks[:1])
            prompts = inputs.tokens_like(first, asks)
            if prompts is None:
                self.sharing = "off: the place of the image in the prompt is not known"
            else:
                if self.sharing == "not tried":
                    self.sharing = self._check(inputs, first, asks[:CHECKED], prompts[:CHECKED])
                if self.sharing == "on":
                    values = shared(self._loaded, first, prompts)
                    return _weights(values, tokens), [len(prompt) for prompt in prompts], first
        given = inputs.batch(asks)
        return _weights(plain(self._loaded, given), tokens), given["attention_mask"].sum(1).tolist(), given

    def _tokens(self, inputs: Inputs, ask: Ask) -> list[list[int]]:
        count = len(ask.options)
        if not 2 <= count <= len(LETTERS):
            raise HandbenchError(f"mode=options asks questions with 2 to {len(LETTERS)} options; one has {count}")
        if count not in self._letters:
            self._letters[count] = letter_tokens(self._loaded, inputs.text(ask), count)
        return self._letters[count]

    def _check(self, inputs: Inputs, first: Any, asks: Sequence[Ask], prompts: Sequence[Sequence[int]]) -> str:
        """Whether sharing gives what the plain way gives on this model and these questions."""
        try:
            found = shared(self._loaded, first, prompts)
        except (TypeError, ValueError, NotImplementedError, AttributeError, IndexError) as error:
            return f"off: this architecture's cache cannot be shared ({' '.join(str(error).split())[:120]})"
        worst = disagreement(self._loaded, plain(self._loaded, inputs.batch(asks)), found)
        return "on" if worst is None else f"off: log-likelihoods differ from the plain way's by {worst:.3g}"


def _weights(values: Any, tokens: Sequence[Sequence[Sequence[int]]]) -> list[list[float]]:
    """Log-likelihood of each option's letter: its tokens' shares added up."""
    return [
        [float(row[list(ways)].logsumexp(0)) for ways in letters] for row, letters in zip(values, tokens, strict=True)
    ]


def letter_tokens(loaded: Loaded, prompt: str, count: int) -> list[list[int]]:
    """The tokens that say each option's letter right after a prompt: ``A`` and `` A`` where they differ.

    Args:
        loaded: the model.
        prompt: a rendered prompt, up to where the reply begins.
        count: number of options.

    Raises:
        HandbenchError: a letter is not one token there, so that one token's likelihood is not the letter's.
    """
    encode = loaded.tokenizer
    before = encode(prompt, add_special_tokens=False)["input_ids"]
    found = []
    for letter in LETTERS[:count]:
        tokens = []
        for text in (letter, " " + letter):
            after = encode(prompt + text, add_special_tokens=False)["input_ids"]
            if after[: len(before)] == before and len(after) == len(before) + 1:
                tokens.append(after[-1])
        if not tokens:
            raise HandbenchError(
                f"mode=options: the letter {letter} is not one token after this model's prompt; use mode=generate"
            )
        found.append(sorted(set(tokens)))
    return found


def plain(loaded: Loaded, inputs: Any) -> Any:
    """Log-likelihoods of the first reply token for each row of a padded batch: (B, V) float32."""
    import torch

    positions = {} if _own_positions(loaded.model) else {"position_ids": _positions(inputs["attention_mask"])}
    with torch.inference_mode():
        output = loaded.model(**inputs, **positions, logits_to_keep=1, use_cache=False)
    return output.logits[:, -1].float().log_softmax(-1)


def shared(loaded: Loaded, first: Any, prompts: Sequence[Sequence[int]]) -> Any:
    """The same as :func:`plain` for prompts about the same images, their common beginning computed once.

    Args:
        loaded: the model.
        first: the inputs of the first prompt alone, images included.
        prompts: token ids of all prompts, the first one's included.

    Returns:
        (B, V) float32 log-likelihoods.
    """
    import torch

    model, device = loaded.model, first["input_ids"].device
    common = common_length(prompts)
    rests = [list(prompt[common:]) for prompt in prompts]
    longest = max(map(len, rests))
    ids = torch.zeros((len(rests), longest), dtype=torch.long)
    real = torch.zeros((len(rests), longest), dtype=torch.long)
    for row, rest in enumerate(rests):
        ids[row, longest - len(rest) :] = torch.tensor(rest)
        real[row, longest - len(rest) :] = 1
    positions = (common + real.cumsum(1) - 1).clamp(min=0)
    mask = torch.cat([torch.ones((len(rests), common), dtype=torch.long), real], 1)
    start = {key: value[:, :common] if _per_token(key) else value for key, value in first.items()}
    with torch.inference_mode():
        cache = model(**start, use_cache=True, logits_to_keep=1).past_key_values
        cache.batch_repeat_interleave(len(rests))
        name = "cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values"
        output = model(
            input_ids=ids.to(device),
            attention_mask=mask.to(device),
            position_ids=_with_offsets(model, positions.to(device)),
            use_cache=True,
            logits_to_keep=1,
            **{name: cache},
        )
    return output.logits[:, -1].float().log_softmax(-1)


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


def _per_token(key: str) -> bool:
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
