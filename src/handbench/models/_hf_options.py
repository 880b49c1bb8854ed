"""Likelihoods of options, of their letters or of their sentences, with an image encoded once for all its questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from handbench.errors import HandbenchError
from handbench.models._hf_inputs import Inputs
from handbench.models._hf_load import Loaded
from handbench.models._hf_prefix import disagreement, plain, shared
from handbench.models._hf_sentences import plain_sentences, sentence_tokens, shared_sentences
from handbench.models._reply import LETTERS
from handbench.models._request import Ask

CHECKED: Final = 3
"""Questions on which the shared way must agree with the plain one before it is used."""


class Weigher:
    """Weighs the options of questions about the same images.

    Attributes:
        sharing: ``not tried``, ``on``, or ``off`` and why.
        sentences: whether an option's likelihood is that of its whole sentence, else of its letter.
    """

    def __init__(self, loaded: Loaded, sentences: bool = False) -> None:
        self.sharing = "not tried"
        self.sentences = sentences
        self._loaded = loaded
        self._letters: dict[int, list[list[int]]] = {}

    def weigh(self, inputs: Inputs, asks: Sequence[Ask]) -> tuple[list[list[float]], list[int], Any]:
        """Log-likelihoods of each ask's options, the prompts' lengths, and inputs to tell sizes from.

        Raises:
            HandbenchError: a question has no options, or a letter is not one token.
        """
        letters = [] if self.sentences else [self._tokens(inputs, ask) for ask in asks]
        texts = [sentence_tokens(self._loaded, inputs.text(ask), ask.options) for ask in asks if self.sentences]
        if (shown := self._shared_inputs(inputs, asks)) is not None:
            first, prompts = shown
            lengths = [len(prompt) for prompt in prompts]
            if self.sentences:
                return shared_sentences(self._loaded, first, prompts, texts), lengths, first
            return _weights(shared(self._loaded, first, prompts), letters), lengths, first
        given = inputs.batch(asks)
        lengths = given["attention_mask"].sum(1).tolist()
        if self.sentences:
            return plain_sentences(self._loaded, inputs, asks, texts), lengths, given
        return _weights(plain(self._loaded, given), letters), lengths, given

    def _shared_inputs(self, inputs: Inputs, asks: Sequence[Ask]) -> tuple[Any, list[list[int]]] | None:
        """The first ask's inputs and all asks' tokens where their image may be shared, else None."""
        if not asks[0].images or len(asks) == 1 or self.sharing.startswith("off"):
            return None
        first = inputs.batch(asks[:1])
        prompts = inputs.tokens_like(first, asks)
        if prompts is None:
            self.sharing = "off: the place of the image in the prompt is not known"
        elif self.sharing == "not tried":
            self.sharing = self._check(inputs, first, asks[:CHECKED], prompts[:CHECKED])
        return (first, prompts) if prompts is not None and self.sharing == "on" else None

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
