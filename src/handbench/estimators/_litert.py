"""The vendored networks: checked, loaded and run by LiteRT."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from handbench.errors import HandbenchError

MODEL_SHA256: Final = {
    "palm_detection_full.tflite": "1b14e9422c6ad006cde6581a46c8b90dd573c07ab7f3934b5589e7cea3f89a54",
    "palm_detection_lite.tflite": "e9a4aaddf90dda56a87235303cf00e4c2d3fb28725f68fd88772997dac905c18",
    "hand_landmark_full.tflite": "11c272b891e1a99ab034208e23937a8008388cf11ed2a9d776ed3d01d0ba00e3",
    "hand_landmark_lite.tflite": "048edd3645c9bf7397d19a9f6e3a42957d6e414c9bea6598030a2e9b624156e6",
    "yoha_landmark.tflite": "3588e3b9858dd44ccb3db06b2af905e93714d998e75c78fb489e0d2eca86d73f",
}
"""sha256 of each vendored file, as in the release that it was taken from (``tools/fetch_models.py``)."""


def read_model(name: str, folder: Traversable | None = None) -> bytes:
    """Return the content of a vendored network after checking its sha256.

    Args:
        name: A key of ``MODEL_SHA256``.
        folder: Where to look; the package's own ``data/models`` by default.

    Raises:
        HandbenchError: The file is missing or is not the pinned one.
    """
    folder = folder or files("handbench") / "data" / "models"
    path = folder / name
    if not path.is_file():
        raise HandbenchError(f"{path}: the network is missing; reinstall handbench or run tools/fetch_models.py")
    content = path.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != MODEL_SHA256[name]:
        raise HandbenchError(
            f"{path}: sha256 is {found}, expected {MODEL_SHA256[name]}; "
            "the file was changed: reinstall handbench or run tools/fetch_models.py"
        )
    return content


class Network:
    """One network with one input, on one thread (so that a result does not depend on the machine's load).

    Not safe to share between threads: LiteRT keeps the tensors inside the interpreter.
    """

    def __init__(self, name: str) -> None:
        content = read_model(name)
        self._interpreter = _interpreter(content)
        self._interpreter.allocate_tensors()
        self._input = self._interpreter.get_input_details()[0]["index"]
        self._outputs = {detail["name"]: detail["index"] for detail in self._interpreter.get_output_details()}

    def __call__(self, image: NDArray[np.float32]) -> dict[str, NDArray[np.float32]]:
        """Run on one image (H, W, 3); returns output name -> array without the batch axis."""
        self._interpreter.set_tensor(self._input, image[None])
        self._interpreter.invoke()
        return {name: self._interpreter.get_tensor(index)[0] for name, index in self._outputs.items()}


def _interpreter(content: bytes) -> Any:
    try:
        from ai_edge_litert.interpreter import Interpreter
    except ImportError as error:
        raise HandbenchError(
            f"this hand-pose estimator needs LiteRT ({error}): pip install 'handbench[hands]'"
        ) from error
    return Interpreter(model_content=content, num_threads=1)
