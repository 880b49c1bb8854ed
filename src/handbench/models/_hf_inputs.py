"""Questions → model inputs through the processor's own chat template, and what the model then sees."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from PIL import Image, UnidentifiedImageError

from handbench.models._hf_load import Loaded
from handbench.models._request import Ask
from handbench.models._trouble import IMAGE, Trouble


class Inputs:
    """Makes inputs; the few last images stay decoded."""

    def __init__(self, loaded: Loaded, root: Path, max_side: int | None, system_role: bool) -> None:
        self._loaded = loaded
        self._max_side = max_side
        self._system_role = system_role
        self._image = lru_cache(maxsize=16)(lambda name: decode(root / name, max_side))

    def messages(self, ask: Ask) -> list[dict[str, Any]]:
        """The chat: system text, then images and prompt.

        Raises:
            Trouble: an image cannot be read.
        """
        shown = [{"type": "image", "image": self._image(name)} for name in ask.images]
        system, prompt = ask.system, ask.prompt
        chat = []
        if system and self._system_role:
            chat.append({"role": "system", "content": [{"type": "text", "text": system}]})
        elif system:
            prompt = f"{system}\n\n{prompt}"
        return [*chat, {"role": "user", "content": [*shown, {"type": "text", "text": prompt}]}]

    def batch(self, asks: Sequence[Ask]) -> Any:
        """Model inputs of several asks, padded on the left, on the model's device."""
        inputs = self._loaded.processor.apply_chat_template(
            [self.messages(ask) for ask in asks],
            add_generation_prompt=True,
            tokenize=True,
            return_dict=True,
            return_tensors="pt",
            processor_kwargs={"padding": True},
        )
        return inputs.to(self._loaded.model.device, dtype=self._loaded.model.dtype)

    def tokens(self, inputs: Any) -> list[list[int]]:
        """Token ids of each row, without padding."""
        rows = zip(inputs["input_ids"], inputs["attention_mask"], strict=True)
        return [ids[mask.bool()].tolist() for ids, mask in rows]

    def text(self, ask: Ask) -> str:
        """The rendered prompt, with one mark for each image."""
        rendered = self._loaded.processor.apply_chat_template(
            self.messages(ask), add_generation_prompt=True, tokenize=False
        )
        return str(rendered)

    def tokens_like(self, first: Any, asks: Sequence[Ask]) -> list[list[int]] | None:
        """Token ids of asks about the same images as the first one's, whose images are not processed again.

        What the first one's image marks became is put in place of theirs.

        Args:
            first: the inputs of the first ask alone.
            asks: all asks, the first included.

        Returns:
            Ids of each ask, or None where a mark cannot be told from text.
        """
        (whole,) = self.tokens(first)
        plain = [self._loaded.tokenizer(self.text(ask), add_special_tokens=False)["input_ids"] for ask in asks]
        mark = self.image_token
        if mark not in plain[0]:
            return None
        start, end = plain[0].index(mark), len(plain[0]) - plain[0][::-1].index(mark)
        tail = len(plain[0]) - end
        shown, same = whole[: len(whole) - tail], plain[0][:end]
        if whole[:start] != plain[0][:start] or whole[len(shown) :] != plain[0][end:]:
            return None
        if any(ids[:end] != same or mark in ids[end:] for ids in plain):
            return None
        return [shown + ids[end:] for ids in plain]

    def sizes(self, asks: Sequence[Ask], inputs: Any) -> list[tuple[tuple[int, int], ...]]:
        """Width and height, in pixels, at which the model sees each image (of one tile, where it cuts tiles)."""
        counts = [len(ask.images) for ask in asks]
        if "image_grid_thw" in inputs:
            patch = self._loaded.processor.image_processor.patch_size
            seen = [(int(width) * patch, int(height) * patch) for _, height, width in inputs["image_grid_thw"]]
        elif "pixel_values" in inputs:
            height, width = inputs["pixel_values"].shape[-2:]
            seen = [(int(width), int(height))] * sum(counts)
        else:
            seen = []
        taken = iter(seen)
        return [tuple(next(taken) for _ in range(count)) for count in counts]

    def visual_tokens(self, inputs: Any) -> list[int]:
        """How many tokens of each row stand for images."""
        return [int(count) for count in (inputs["input_ids"] == self.image_token).sum(1)]

    @property
    def image_token(self) -> int:
        """The token that stands for a piece of an image; -1 where the model names none."""
        config = self._loaded.model.config
        token = getattr(config, "image_token_id", None)
        token = getattr(config, "image_token_index", None) if token is None else token
        return -1 if token is None else int(token)


def decode(path: Path, max_side: int | None) -> Image.Image:
    """Decode an image to RGB; made smaller (Lanczos) where its longer side exceeds ``max_side``.

    Raises:
        Trouble: it is missing or no image.
    """
    try:
        with Image.open(path) as image:
            colour = image.convert("RGB")
    except FileNotFoundError:
        raise Trouble(IMAGE, f"{path}: the image is missing; was the dataset's folder moved?") from None
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise Trouble(IMAGE, f"{path}: not a readable image ({error})") from None
    if max_side is not None and max(colour.size) > max_side:
        scale = max_side / max(colour.size)
        width, height = (max(1, round(side * scale)) for side in colour.size)
        return colour.resize((width, height), Image.Resampling.LANCZOS)
    return colour
