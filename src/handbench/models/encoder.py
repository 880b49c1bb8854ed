"""Image and text encoders such as CLIP (Radford et al. 2021), from a folder: both into one space of unit vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from handbench.errors import HandbenchError
from handbench.models._hf_load import fingerprint

Floats = NDArray[np.float32]

BATCH: Final = 16


@dataclass(frozen=True)
class Encoder:
    """A model with a tower for images and one for texts.

    Attributes:
        name: its folder's name, and a fingerprint of its weights.
        model: a transformers model with ``get_image_features`` and ``get_text_features``.
        processor: its processor.
    """

    name: str
    model: Any
    processor: Any

    def images(self, paths: Sequence[Path], tell: Callable[[int], None] = lambda done: None) -> Floats:
        """(N, D) unit vectors of images.

        Args:
            paths: image files.
            tell: told how many are done.

        Raises:
            HandbenchError: a file is no image.
        """
        parts = []
        for part in _batches(paths):
            inputs = self.processor.image_processor([_picture(path) for path in part], return_tensors="pt")
            parts.append(self._unit(self.model.get_image_features, inputs))
            tell(sum(map(len, parts)))
        return np.concatenate(parts)

    def texts(self, texts: Sequence[str]) -> tuple[Floats, NDArray[np.bool_]]:
        """(N, D) unit vectors of texts, and (N,) whether a text was too long and lost its end."""
        words, limit = self.processor.tokenizer, self._limit()
        # SigLIP learned on texts filled up to the full length; CLIP masks what is filled.  Places count from the left.
        filled = "max_length" if str(self.model.config.model_type).startswith("siglip") else True
        parts = [
            self._unit(
                self.model.get_text_features,
                words(
                    list(part),
                    padding=filled,
                    padding_side="right",
                    truncation=True,
                    max_length=limit,
                    return_tensors="pt",
                ),
            )
            for part in _batches(texts)
        ]
        cut = [len(ids) > limit for ids in words(list(texts), verbose=False)["input_ids"]]
        return np.concatenate(parts), np.array(cut)

    def _limit(self) -> int:
        return int(
            min(self.model.config.text_config.max_position_embeddings, self.processor.tokenizer.model_max_length)
        )

    def _unit(self, tower: Callable[..., Any], inputs: Any) -> Floats:
        import torch

        with torch.inference_mode():
            found = tower(**inputs)
        vectors = found if isinstance(found, torch.Tensor) else found.pooler_output
        return np.asarray(torch.nn.functional.normalize(vectors.float(), dim=-1).numpy())


def load(path: str) -> Encoder:
    """Load an encoder.

    Args:
        path: the folder of a CLIP-like model and its processor, as ``save_pretrained`` writes it.

    Raises:
        HandbenchError: a package, the folder, the model or the processor is missing, or it has not both towers.
    """
    if not Path(path).is_dir():
        raise HandbenchError(f"--encoder {path}: expected the folder of a CLIP-like model, found none there")
    try:
        from transformers import AutoModel, AutoProcessor
    except ImportError as error:
        raise HandbenchError(f"--encoder {path}: {error}; pip install 'handbench[hf]' brings what is needed") from None
    try:
        processor = AutoProcessor.from_pretrained(path)
        model = AutoModel.from_pretrained(path)
    except Exception as error:
        line = (" ".join(str(error).split()) or type(error).__name__)[:200]
        raise HandbenchError(f"--encoder {path}: model and processor could not be loaded: {line}") from None
    towers = all(hasattr(model, f"get_{what}_features") for what in ("image", "text"))
    if not towers or not all(hasattr(processor, part) for part in ("image_processor", "tokenizer")):
        raise HandbenchError(
            f"--encoder {path}: a {type(model).__name__} does not lay images and texts into one space, as CLIP does"
        )
    return Encoder(f"{Path(path).resolve().name} ({fingerprint([Path(path)])})", model.eval(), processor)


def _batches(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(items), BATCH):
        yield items[start : start + BATCH]


def _picture(path: Path) -> Image.Image:
    try:
        with Image.open(path) as picture:
            return picture.convert("RGB")
    except (OSError, ValueError) as error:
        raise HandbenchError(f"{path}: cannot be read as an image ({error})") from None
