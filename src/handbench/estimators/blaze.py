"""``blaze-full`` and ``blaze-lite``: the MediaPipe Hands networks with our own code around them.

Zhang et al. 2020, MediaPipe Hands: On-device Real-time Hand Tracking. The networks are the unmodified files
of MediaPipe 0.10.21 (Apache-2.0); they run locally on LiteRT with nothing sent anywhere.
"""

from __future__ import annotations

from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from handbench.errors import HandbenchError
from handbench.estimators._hand import Hand, side_from_probability
from handbench.estimators._litert import Network
from handbench.estimators._palm import TASKS_ANGLE, UPRIGHT_ANGLE, PalmDetector, Variant
from handbench.estimators._pipeline import HandPipeline, require_threshold
from handbench.estimators._region import Region, crop
from handbench.estimators._tracking import BlazeTracker
from handbench.protocols import Estimator, estimator
from handbench.specs import Options, Spec

RegionAngle = Literal["upright", "tasks"]

_TARGET_ANGLES: Final = {"upright": UPRIGHT_ANGLE, "tasks": TASKS_ANGLE}
_LANDMARK_SIZE: Final = 224
_DEPTH_SCALE: Final = 0.4


class LandmarkNet:
    """Reads the 21 keypoints of the one hand in a region."""

    def __init__(self, variant: Variant = "full") -> None:
        self._network = Network(f"hand_landmark_{variant}.tflite")

    def __call__(self, image: NDArray[np.uint8], region: Region) -> Hand:
        """Return the hand in a region of an (H, W, 3) uint8 image, however low its score."""
        pixels = crop(image, region, _LANDMARK_SIZE, border="replicate") / np.float32(255)
        outputs = self._network(pixels)
        keypoints = outputs["Identity"].reshape(21, 3).astype(np.float64) / _LANDMARK_SIZE
        world = outputs["Identity_3"].reshape(21, 3).astype(np.float64)
        world[:, :2] = world[:, :2] @ region.rotation.T
        score = float(outputs["Identity_1"][0])
        side, side_score = side_from_probability(float(outputs["Identity_2"][0]))
        return Hand(
            side=side,
            side_score=side_score,
            score=score,
            keypoints_px=region.to_image(keypoints[:, :2]),
            # The network rates the hand as a whole and no keypoint by itself.
            keypoint_scores=np.full(21, score),
            keypoints_z=keypoints[:, 2] / _DEPTH_SCALE * region.side,
            keypoints_cam=world,
            region=region,
        )


class Blaze(HandPipeline):
    """Palm detector and landmark network on single images."""

    name = "blaze"

    def __init__(
        self,
        variant: Variant = "full",
        max_hands: int = 2,
        detection_threshold: float = 0.5,
        presence_threshold: float = 0.5,
        region_angle: RegionAngle = "upright",
    ) -> None:
        """Load the two networks.

        Args:
            variant: ``full`` (7.8 MB) or the faster, separately trained ``lite`` (4.1 MB).
            max_hands: Most hands that are returned.
            detection_threshold: Lowest palm score.
            presence_threshold: Lowest score of a returned hand, itself excluded.
            region_angle: ``upright``, as in MediaPipe's original graphs, or ``tasks``: turned by 26.6
                degrees, as MediaPipe Tasks does by a slip of units; only for comparison with it.

        Raises:
            HandbenchError: An argument is out of range, LiteRT is not installed or a network was changed.
        """
        if variant not in ("full", "lite"):
            raise HandbenchError(f"variant must be 'full' or 'lite', found {variant!r}")
        if region_angle not in _TARGET_ANGLES:
            raise HandbenchError(f"region_angle must be 'upright' or 'tasks', found {region_angle!r}")
        detect = PalmDetector(variant, require_threshold("detection_threshold", detection_threshold))
        angle = _TARGET_ANGLES[region_angle]
        super().__init__(
            lambda image: detect(image).hand_regions(angle),
            LandmarkNet(variant),
            max_hands,
            presence_threshold,
        )
        self.track = True

    def tracker(self) -> BlazeTracker | None:
        """What follows hands from frame to frame, as MediaPipe does on videos; None where that is switched off."""
        return BlazeTracker(self) if self.track else None


def _from_options(name: str, variant: Variant, options: Options) -> Estimator:
    angle = options.choice("region_angle", "upright", ("upright", "tasks"))
    made = Blaze(
        variant,
        max_hands=options.integer("max_hands", 2, least=1),
        detection_threshold=options.number("detection_threshold", 0.5),
        presence_threshold=options.number("presence_threshold", 0.5),
        region_angle="tasks" if angle == "tasks" else "upright",
    )
    made.name = name
    made.track = options.flag("track", default=True)
    return made


@estimator("blaze-full")
def blaze_full(spec: Spec, options: Options) -> Estimator:
    """``blaze-full?max_hands=2&detection_threshold=0.5&presence_threshold=0.5&region_angle=upright&track=yes``.

    On videos, and on frames that say which video they are of, hands are followed unless ``track=no``.
    """
    return _from_options(str(spec), "full", options)


@estimator("blaze-lite")
def blaze_lite(spec: Spec, options: Options) -> Estimator:
    """``blaze-lite``, with the options of ``blaze-full``."""
    return _from_options(str(spec), "lite", options)
