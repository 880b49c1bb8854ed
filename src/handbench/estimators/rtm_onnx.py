"""``rtm-onnx:FILE``: a user's own RTMPose-hand (21 points) or RTMW (133 points) in ONNX.

No weights are shipped.  Input and output are those of the released ONNX files (Jiang et al. 2023, RTMPose): RGB
normalised by ImageNet's mean and deviation, SimCC distributions over x and y at twice the input's resolution.  A hand
model is given the regions of MediaPipe's palm detector, as upright boxes; a whole-body model the whole picture.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from handbench.errors import HandbenchError
from handbench.estimators._hand import require_rgb
from handbench.estimators._palm import PalmDetector, box_iou
from handbench.estimators.blaze import LandmarkNet
from handbench.estimators.imported import side_by_palm
from handbench.estimators.keypoint_maps import LAYOUTS
from handbench.protocols import Estimator, estimator
from handbench.specs import Options, Spec

Floats = NDArray[np.float64]

_MEAN: Final = np.array([123.675, 116.28, 103.53], np.float32)
_DEVIATION: Final = np.array([58.395, 57.12, 57.375], np.float32)
_PADDING: Final = 1.25
_SAME_HAND: Final = 0.6


class Session(Protocol):
    """What is used of onnxruntime's ``InferenceSession``."""

    def get_inputs(self) -> list[Any]:
        """The inputs, with ``name`` and ``shape``."""
        ...

    def run(self, names: Any, feed: dict[str, Any]) -> list[Any]:
        """Run on a batch."""
        ...


@dataclass(frozen=True)
class RtmHand:
    """One hand; see :class:`handbench.protocols.DetectedHand`."""

    side: str | None
    score: float
    keypoints_px: Floats
    keypoint_scores: Floats
    keypoints_cam: None = None


def crop_box(image: NDArray[np.uint8], box: Floats, width: int, height: int) -> tuple[NDArray[np.float32], Floats]:
    """Bring a box, padded and widened to the input's shape, to the input's size.

    Args:
        image: (H, W, 3) RGB.
        box: (4,) x1, y1, x2, y2.
        width: of the input.
        height: of the input.

    Returns:
        (height, width, 3) normalised, black outside the image, and the (4,) box that it shows.
    """
    middle, side = (box[:2] + box[2:]) / 2, (box[2:] - box[:2]) * _PADDING
    shape = width / height
    side = np.array([max(side[0], side[1] * shape), max(side[1], side[0] / shape)])
    shown = np.concatenate([middle - side / 2, middle + side / 2])
    crop = Image.fromarray(image).transform(
        (width, height), Image.Transform.EXTENT, tuple(shown.tolist()), Image.Resampling.BILINEAR
    )
    return (np.asarray(crop, np.float32) - _MEAN) / _DEVIATION, shown


def decode_simcc(x: NDArray[np.floating], y: NDArray[np.floating], box: Floats) -> tuple[Floats, Floats]:
    """From SimCC distributions (K, width · r) and (K, height · r) to (K, 2) image pixels and (K,) scores."""
    shares = np.stack([(x.argmax(axis=1) + 0.5) / x.shape[1], (y.argmax(axis=1) + 0.5) / y.shape[1]], axis=1)
    return box[:2] + shares * (box[2:] - box[:2]), np.minimum(x.max(axis=1), y.max(axis=1)).astype(np.float64)


class RtmOnnx:
    """A hand or whole-body model behind onnxruntime, on single images."""

    def __init__(self, session: Session, name: str, threshold: float, side: str, max_hands: int) -> None:
        """Look at the model's input; the output is looked at when it first runs.

        Args:
            session: the model.
            name: what it is called.
            threshold: least mean keypoint score of a hand.
            side: where a hand model's side is from: ``blaze`` (MediaPipe's landmark network) or ``palm``.
            max_hands: most hands that are returned.
        """
        self.name = name
        self._session = session
        self._input = session.get_inputs()[0]
        shape = self._input.shape
        if len(shape) != 4 or not all(isinstance(number, int) for number in shape[1:]) or shape[1] != 3:
            raise HandbenchError(f"{name}: expected an input of 1 × 3 × height × width, found {shape}")
        self._height, self._width = int(shape[2]), int(shape[3])
        self._threshold = threshold
        self._side = side
        self._max_hands = max_hands
        self._palms: PalmDetector | None = None
        self._landmarks: LandmarkNet | None = None

    def __call__(self, image: NDArray[np.uint8]) -> list[RtmHand]:
        """See :class:`handbench.protocols.Estimator`."""
        image = require_rgb(image)
        whole = np.array([0, 0, image.shape[1], image.shape[0]], float)
        if self._height != self._width:  # whole-body models are taller than wide
            return self._whole_body(image, whole)
        return self._hands(image)

    def _run(self, image: NDArray[np.uint8], box: Floats) -> tuple[Floats, Floats]:
        pixels, shown = crop_box(image, box, self._width, self._height)
        x, y = self._session.run(None, {self._input.name: pixels.transpose(2, 0, 1)[None]})[:2]
        return decode_simcc(np.asarray(x)[0], np.asarray(y)[0], shown)

    def _whole_body(self, image: NDArray[np.uint8], whole: Floats) -> list[RtmHand]:
        points, scores = self._run(image, whole / np.array([1, 1, _PADDING, _PADDING]) + _centred(whole))
        expected, rows = LAYOUTS["wholebody-133"]
        if len(points) != expected:
            raise HandbenchError(f"{self.name}: expected {expected} points of a whole body, found {len(points)}")
        found = [
            RtmHand(side, float(scores[list(mine)].mean()), points[list(mine)], scores[list(mine)])
            for side, mine in rows.items()
        ]
        return [hand for hand in found if hand.score >= self._threshold]

    def _hands(self, image: NDArray[np.uint8]) -> list[RtmHand]:
        if self._palms is None:
            self._palms, self._landmarks = PalmDetector("full"), LandmarkNet("full")
        found: list[RtmHand] = []
        for region in self._palms(image).hand_regions():
            points, scores = self._run(image, region.box)
            if len(points) != 21:
                raise HandbenchError(f"{self.name}: expected 21 points of a hand, found {len(points)}")
            if scores.mean() < self._threshold or _known(points, found):
                continue
            side = side_by_palm(points)
            if self._side == "blaze" and self._landmarks is not None:
                side = self._landmarks(image, region).side
            found.append(RtmHand(side, float(scores.mean()), points, scores))
            if len(found) == self._max_hands:
                break
        return found


def _centred(whole: Floats) -> Floats:
    """Shift that keeps a box in the middle after it was shrunk by the padding."""
    margin = whole[2:] * (1 - 1 / _PADDING) / 2
    return np.concatenate([margin, margin])


def _known(points: Floats, hands: list[RtmHand]) -> bool:
    if not hands:
        return False
    boxes = np.stack([_box(hand.keypoints_px) for hand in hands])
    return bool((box_iou(_box(points), boxes) > _SAME_HAND).any())


def _box(points: Floats) -> Floats:
    return np.concatenate([points.min(axis=0), points.max(axis=0)])


@estimator("rtm-onnx")
def rtm_onnx(spec: Spec, options: Options) -> Estimator:
    """``rtm-onnx:FILE?name=&threshold=0.3&side=blaze&max_hands=2``."""
    path = Path(spec.name).expanduser()
    if not spec.name or not path.is_file():
        raise HandbenchError(f"{spec}: expected an ONNX file after the colon, found nothing at {path}")
    name = options.text("name", path.stem)
    threshold, side = options.number("threshold", 0.3), options.choice("side", "blaze", ("blaze", "palm"))
    hands = options.integer("max_hands", 2, least=1)
    try:
        import onnxruntime
    except ImportError:
        raise HandbenchError(f"{spec}: needs onnxruntime: pip install 'handbench[onnx]'") from None
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime raises its own kinds, one for each cause
        raise HandbenchError(f"{path}: not a readable ONNX model ({str(error).splitlines()[0][:120]})") from None
    return RtmOnnx(session, name, threshold, side, hands)
