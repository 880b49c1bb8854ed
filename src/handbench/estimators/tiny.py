"""``tiny``: the eyes of the package's own tiny vision-language model, with the head that taught them joints.

What the tower sees is all that the model can know: its joints, put through the task's geometry, are the vision-only
row beside the model's own answers (HandVQA, Table 11).  It takes every picture to show one hand, as its training
pictures do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from handbench.errors import HandbenchError
from handbench.loading import quiet_where_small
from handbench.protocols import Estimator, estimator
from handbench.specs import Options, Spec

FOLDER: Final = Path(str(files("handbench.models"))) / "tiny_vlm"
HAND: Final = 0.18
"""Metres given to the hand's largest extent: the tower does not know sizes, and no descriptor needs them."""


@dataclass(frozen=True)
class TinyHand:
    """The hand that the tower takes a picture to show."""

    side: str | None
    score: float
    keypoints_px: NDArray[np.float64]
    keypoint_scores: None
    keypoints_cam: NDArray[np.float64]
    center: NDArray[np.float64]
    extent: NDArray[np.float64]


class TinyTower:
    """Regresses 21 joints from the middle of a picture.

    Attributes:
        name: ``tiny``.
    """

    name = "tiny"

    def __init__(self, folder: Path = FOLDER) -> None:
        try:
            import torch
            from safetensors.torch import load_file
            from transformers import AutoModelForImageTextToText, AutoProcessor
        except ImportError as error:
            raise HandbenchError(f"pose:tiny: {error}; pip install 'handbench[hf]' brings what is needed") from None
        if not (folder / "joints.safetensors").exists():
            raise HandbenchError(f"pose:tiny: {folder}: no weights there; make them with tools/train_tiny_vlm.py")
        with quiet_where_small(folder):
            model = AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.float32)
        self._tower = model.model.vision_tower.eval()
        self._pixels = AutoProcessor.from_pretrained(folder).image_processor
        self._heads = {name: weight.float() for name, weight in load_file(folder / "joints.safetensors").items()}

    def __call__(self, image: NDArray[np.uint8]) -> Sequence[TinyHand]:
        """The one hand of a picture.

        Args:
            image: (H, W, 3) uint8 RGB.
        """
        import torch

        given = self._pixels(images=image, return_tensors="pt", input_data_format="channels_last")["pixel_values"]
        with torch.inference_mode():
            out = self._regress(self._tower(given, output_hidden_states=True).hidden_states[-1])[0].numpy()
        joints = out[:63].reshape(21, 3).astype(float) * 0.25 * [1, -1, -1]  # viewer frame → camera frame
        height, width = image.shape[:2]
        # The shorter side is scaled, and of that the middle is seen.
        seen = min(height, width) * self._pixels.crop_size["height"] / self._pixels.size["shortest_edge"]
        pixels = out[63:105].reshape(21, 2) * 0.5 * seen / 2 + [width / 2, height / 2]
        left = 1 / (1 + np.exp(-float(out[120])))
        side = "left" if left > 0.5 else "right"
        # The joints were taught about the mesh's middle, in parts of its largest extent.
        return [TinyHand(side, max(left, 1 - left), pixels, None, joints * HAND, np.zeros(3), np.full(3, HAND))]

    def _regress(self, tokens: Any) -> Any:
        """The head: narrower tokens, laid end to end, through two layers."""
        import torch
        from torch.nn.functional import gelu, linear

        weights = self._heads
        narrow = linear(tokens, weights["narrow.weight"], weights["narrow.bias"]).flatten(1)
        hidden = gelu(linear(narrow, weights["regress.0.weight"], weights["regress.0.bias"]))
        return torch.as_tensor(linear(hidden, weights["regress.2.weight"], weights["regress.2.bias"]))


@estimator("tiny")
def tiny(spec: Spec, options: Options) -> Estimator:
    """``tiny``."""
    return TinyTower()
