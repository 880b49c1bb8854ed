"""``yoha``: Yoha's landmark network on the palm detector's regions, 2D only.

The network is the unmodified ``dist/lan/model.tflite`` of @handtracking.io/yoha 1.2.0 (MIT), built and
trained independently of MediaPipe. On real photos its 2D error is about twice that of ``blaze-full``: a
second opinion and a weak baseline, not a replacement.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from handbench.estimators._hand import Hand, side_from_probability
from handbench.estimators._litert import Network
from handbench.estimators._palm import PalmDetector
from handbench.estimators._pipeline import HandPipeline, require_threshold
from handbench.estimators._region import Region, crop
from handbench.protocols import Estimator, estimator
from handbench.specs import Options, Spec

_LANDMARK_SIZE: Final = 224
_REGION_SCALE: Final = 1.15
"""Best of 0.8 to 1.3 times the palm detector's region, on real photos."""

_JOINT_ROWS: Final = (20, 17, 16, 18, 19, 1, 0, 2, 3, 5, 4, 6, 7, 9, 8, 10, 11, 13, 12, 14, 15)
"""The network's row for each of the 21 joints."""

_KEYPOINTS, _CLASSES = "StatefulPartitionedCall:1", "StatefulPartitionedCall:0"
_NO_HAND, _LEFT, _YES = 2, 3, 1


class YohaLandmarkNet:
    """Reads the 21 keypoints of the one hand in a region, in 2D."""

    def __init__(self) -> None:
        self._network = Network("yoha_landmark.tflite")

    def __call__(self, image: NDArray[np.uint8], region: Region) -> Hand:
        """Return the hand in a region of an (H, W, 3) uint8 image, however low its score."""
        outputs = self._network(crop(image, region, _LANDMARK_SIZE, border="zero"))
        keypoints = outputs[_KEYPOINTS][list(_JOINT_ROWS)].astype(np.float64)
        classes = outputs[_CLASSES].astype(np.float64)
        score = 1.0 - float(classes[_NO_HAND, _YES])
        # Made for mirrored webcam pictures: its "left" is the right hand of an ordinary photo.
        side, side_score = side_from_probability(float(classes[_LEFT, _YES]))
        return Hand(
            side=side,
            side_score=side_score,
            score=score,
            keypoints_px=region.to_image((keypoints + 1) / 2),
            keypoint_scores=np.full(21, score),
            keypoints_z=None,
            keypoints_cam=None,
            region=region,
        )


class Yoha(HandPipeline):
    """MediaPipe's full palm detector and Yoha's landmark network on single images."""

    name = "yoha"

    def __init__(self, max_hands: int = 2, detection_threshold: float = 0.5, presence_threshold: float = 0.5) -> None:
        """Load the two networks.

        Args:
            max_hands: Most hands that are returned.
            detection_threshold: Lowest palm score.
            presence_threshold: Lowest score of a returned hand, itself excluded.

        Raises:
            HandbenchError: An argument is out of range, LiteRT is not installed or a network was changed.
        """
        detect = PalmDetector("full", require_threshold("detection_threshold", detection_threshold))
        super().__init__(
            lambda image: [region.scaled(_REGION_SCALE) for region in detect(image).hand_regions()],
            YohaLandmarkNet(),
            max_hands,
            presence_threshold,
        )


@estimator("yoha")
def yoha(spec: Spec, options: Options) -> Estimator:
    """``yoha?max_hands=2&detection_threshold=0.5&presence_threshold=0.5``."""
    made = Yoha(
        max_hands=options.integer("max_hands", 2, least=1),
        detection_threshold=options.number("detection_threshold", 0.5),
        presence_threshold=options.number("presence_threshold", 0.5),
    )
    made.name = str(spec)
    return made
