"""Likelihoods of whole sentences after a prompt: the sum over their tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from handbench.errors import HandbenchError
from handbench.models._hf_inputs import Inputs
from handbench.models._hf_load import Loaded
from handbench.models._hf_prefix import beginning, common_length, continued, per_token, plain
from handbench.models._request import Ask

_ROWS: Final = 32
"""Sentences that go through the model at once."""

Tokens = Sequence[int]


def sentence_tokens(loaded: Loaded, prompt: str, options: Sequence[str]) -> list[list[int]]:
    """The tokens of each option as the whole reply to a prompt.

    Args:
        loaded: the model.
        prompt: a rendered prompt, up to where the reply begins.
        options: the sentences.

    Raises:
        HandbenchError: there are fewer than two, or a sentence changes the prompt's own tokens, so that they are not
            its own.
    """
    if len(options) < 2:
        raise HandbenchError(f"mode=options asks questions with 2 options or more; one has {len(options)}")
    encode = loaded.tokenizer
    before = encode(prompt, add_special_tokens=False)["input_ids"]
    found = []
    for option in options:
        after = encode(prompt + option, add_special_tokens=False)["input_ids"]
        if after[: len(before)] != before or len(after) == len(before):
            raise HandbenchError(
                f"mode=options: {option[:40]!r} has no tokens of its own after this model's prompt; use mode=generate"
            )
        found.append(after[len(before) :])
    return found


def shared_sentences(
    loaded: Loaded, first: Any, prompts: Sequence[Tokens], options: Sequence[Sequence[Tokens]]
) -> list[list[float]]:
    """Log-likelihoods of sentences after prompts about the same images, the common beginning computed once.

    Args:
        loaded: the model.
        first: the inputs of the first prompt alone, images included.
        prompts: token ids of all prompts.
        options: token ids of each prompt's sentences.
    """
    common = min(common_length(prompts), *(len(prompt) - 1 for prompt in prompts))
    cache = beginning(loaded, first, common)
    values: list[float] = []
    for part in _parts([(prompt, said) for prompt, ways in zip(prompts, options, strict=True) for said in ways]):
        rows = [[*prompt, *said] for prompt, said in part]
        ends = [said for _, said in part]
        values += _sums(continued(loaded, first, cache, common, rows, _keep(ends)), ends)
    return _by_question(values, options)


def plain_sentences(
    loaded: Loaded, inputs: Inputs, asks: Sequence[Ask], options: Sequence[Sequence[Tokens]]
) -> list[list[float]]:
    """The same, with every prompt and its images computed for every sentence."""
    values: list[float] = []
    for part in _parts([(ask, said) for ask, ways in zip(asks, options, strict=True) for said in ways]):
        ends = [said for _, said in part]
        given = _lengthened(inputs.batch([ask for ask, _ in part]), ends)
        values += _sums(plain(loaded, given, _keep(ends)), ends)
    return _by_question(values, options)


def _parts(pairs: list[tuple[Any, Tokens]]) -> Iterator[list[tuple[Any, Tokens]]]:
    for start in range(0, len(pairs), _ROWS):
        yield pairs[start : start + _ROWS]


def _keep(ends: Sequence[Tokens]) -> int:
    """Positions whose next token is one of a sentence's: one before its first, and all but its last."""
    return max(map(len, ends)) + 1


def _sums(values: Any, ends: Sequence[Tokens]) -> list[float]:
    """Sum of the log-likelihoods of the tokens that each row ends with.

    Args:
        values: (B, keep, V) log-likelihoods of the token behind each of the last positions.
        ends: the tokens.
    """
    return [
        float(sum(values[row, place - len(end) - 1, token] for place, token in enumerate(end)))
        for row, end in enumerate(ends)
    ]


def _by_question(values: list[float], options: Sequence[Sequence[Tokens]]) -> list[list[float]]:
    taken = iter(values)
    return [[next(taken) for _ in ways] for ways in options]


def _lengthened(given: Any, ends: Sequence[Tokens]) -> Any:
    """Inputs with tokens behind each row's own, padded on the left again."""
    import torch

    ids, mask = given["input_ids"], given["attention_mask"].bool()
    longest = max(int(real.sum()) + len(end) for real, end in zip(mask, ends, strict=True))
    made = {key: value for key, value in given.items() if not per_token(key)}
    for key in (key for key in given if per_token(key)):
        rows = torch.zeros((len(ids), longest), dtype=given[key].dtype, device=ids.device)
        for row, end in enumerate(ends):
            own = given[key][row][mask[row]]
            added = end if key == "input_ids" else [1 if key == "attention_mask" else 0] * len(end)
            rows[row, longest - len(own) - len(end) :] = torch.cat([own, torch.tensor(added, dtype=own.dtype).to(own)])
        made[key] = rows
    return made
