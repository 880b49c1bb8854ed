"""What each estimator is: paradigm, detector, native points, mapping, licence (the paper's Table 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from handbench.specs import Spec


@dataclass(frozen=True)
class Described:
    """An estimator in the words of a table.

    Attributes:
        name: as it is called on the command line.
        paradigm: hand-specific, whole-body, reconstruction or imported.
        detector: what finds the hands.
        points: native keypoints.
        mapping: how they become 21.
        side: where left and right are from.
        licence: of the weights.
        caution: what must be known when its numbers are read.
    """

    name: str
    paradigm: str
    detector: str
    points: str
    mapping: str
    side: str
    licence: str
    caution: str = ""


_BLAZE: Final = "MediaPipe palm detector, {0}; followed from the last landmarks on videos"

TABLE: Final[dict[str, Described]] = {
    "blaze-full": Described(
        "blaze-full", "hand-specific", _BLAZE.format("full"), "21", "none", "own network output", "Apache-2.0"
    ),
    "blaze-lite": Described(
        "blaze-lite", "hand-specific", _BLAZE.format("lite"), "21", "none", "own network output", "Apache-2.0"
    ),
    "yoha": Described(
        "yoha",
        "hand-specific",
        "MediaPipe palm detector, full, on every frame",
        "21",
        "rows permuted",
        "own network output, mirrored",
        "MIT",
        "Its regions come from the palm network of blaze-full, so its detection is not independent of that one.",
    ),
    "rtm-onnx": Described(
        "rtm-onnx", "hand-specific or whole-body", "palm detector, or the user's boxes", "21 or 133",
        "wholebody rows 91–132", "palm detector's landmarks, or body", "the user's own file",
    ),
    "mediapipe-0.10": Described(
        "mediapipe-0.10", "hand-specific", "MediaPipe palm detector", "21", "none", "own output, mirrored", "Apache-2.0"
    ),
    "holistic": Described(
        "holistic", "whole-body", "MediaPipe pose", "543", "left and right hand rows", "body side", "Apache-2.0"
    ),
    "poses": Described(
        "poses", "run elsewhere", "its own", "as in the file", "by layout", "as in the file", "its own"
    ),
}  # fmt: skip
"""What is known of each estimator of this package."""


def described(spec: str) -> Described:
    """The table's entry for an estimator by its spec; one from a plug-in is named and nothing more."""
    parsed = Spec.parse(spec)
    found = TABLE.get(parsed.kind)
    if found is None:
        return Described(spec, "plug-in", "–", "–", "–", "–", "–")
    return Described(
        parsed.options.get("name", spec), found.paradigm, found.detector, found.points, found.mapping, found.side,
        found.licence, found.caution,
    )  # fmt: skip
