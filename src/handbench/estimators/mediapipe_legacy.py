"""``mediapipe-0.10`` and ``holistic``: a user's own MediaPipe with the old ``solutions``, for cross-checks.

These live in an environment of their own (``pip install 'handbench[mediapipe]'``): MediaPipe 0.10.21 wants numpy
below 2.  From 0.10.30 on there are no ``solutions``, and versions from 0.10.35 on look up a server of their maker while
they run; neither is used here.  ``solutions.hands`` takes pictures for mirrored ones, so its sides are turned round;
Holistic's are the person's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from handbench.errors import HandbenchError
from handbench.estimators._hand import require_rgb
from handbench.protocols import DetectedHand, Estimator, Tracker, estimator
from handbench.specs import Options, Spec

Floats = NDArray[np.float64]

_OTHER: Final = {"Left": "right", "Right": "left"}


@dataclass(frozen=True)
class LegacyHand:
    """One hand; see :class:`handbench.protocols.DetectedHand`."""

    side: str
    score: float
    keypoints_px: Floats
    keypoint_scores: Floats | None
    keypoints_cam: Floats | None


def _solutions() -> Any:
    try:
        import mediapipe
    except ImportError:
        raise HandbenchError(
            "this estimator needs MediaPipe 0.10.21 in an environment of its own: pip install 'handbench[mediapipe]'"
        ) from None
    if not hasattr(mediapipe, "solutions"):
        raise HandbenchError(
            f"mediapipe {getattr(mediapipe, '__version__', '?')} has no solutions; install mediapipe==0.10.21"
        )
    return mediapipe.solutions


def _pixels(landmarks: Any, image: NDArray[np.uint8]) -> Floats:
    height, width = image.shape[:2]
    return np.array([[point.x * width, point.y * height] for point in landmarks.landmark], float)


def _metres(landmarks: Any) -> Floats:
    return np.array([[point.x, point.y, point.z] for point in landmarks.landmark], float)


class _Follower:
    """A solution that keeps its hands from frame to frame."""

    def __init__(self, owner: LegacyHands | LegacyHolistic) -> None:
        self._owner = owner
        self._graph: Any = None

    def reset(self) -> None:
        """Begin a new video."""
        if self._graph is not None:
            self._graph.close()
        self._graph = None

    def resume(self, keypoints: Any) -> None:
        """Begin again: the graph's state cannot be restored from keypoints, so hands are detected anew."""
        self.reset()

    def __call__(self, image: NDArray[np.uint8]) -> list[DetectedHand]:
        if self._graph is None:
            self._graph = self._owner.graph(still=False)
        return self._owner.look(self._graph, image)


class LegacyHands:
    """``solutions.hands`` on single images, or followed through a video."""

    def __init__(self, name: str, max_hands: int = 2, complexity: int = 1, track: bool = True) -> None:
        self.name = name
        self._max_hands = max_hands
        self._complexity = complexity
        self._track = track
        self._hands = _solutions().hands
        self._still: Any = None

    def graph(self, *, still: bool) -> Any:
        """A graph for still pictures or for a video."""
        return self._hands.Hands(
            static_image_mode=still, max_num_hands=self._max_hands, model_complexity=self._complexity
        )

    def tracker(self) -> Tracker | None:
        """What follows hands; None where that is switched off."""
        return _Follower(self) if self._track else None

    def __call__(self, image: NDArray[np.uint8]) -> list[DetectedHand]:
        """See :class:`handbench.protocols.Estimator`."""
        if self._still is None:
            self._still = self.graph(still=True)
        return self.look(self._still, image)

    def look(self, graph: Any, image: NDArray[np.uint8]) -> list[DetectedHand]:
        """The hands that a graph finds."""
        found = graph.process(require_rgb(image))
        if not found.multi_hand_landmarks:
            return []
        hands: list[DetectedHand] = []
        for landmarks, world, sides in zip(
            found.multi_hand_landmarks, found.multi_hand_world_landmarks, found.multi_handedness, strict=True
        ):
            said = sides.classification[0]
            hands.append(
                LegacyHand(_OTHER[said.label], float(said.score), _pixels(landmarks, image), None, _metres(world))
            )
        return hands


class LegacyHolistic:
    """``solutions.holistic`` of complexity 1, the only one whose networks the wheel holds."""

    def __init__(self, name: str, track: bool = True) -> None:
        self.name = name
        self._track = track
        self._holistic = _solutions().holistic
        self._still: Any = None

    def graph(self, *, still: bool) -> Any:
        """A graph for still pictures or for a video."""
        return self._holistic.Holistic(static_image_mode=still, model_complexity=1)

    def tracker(self) -> Tracker | None:
        """What follows hands; None where that is switched off."""
        return _Follower(self) if self._track else None

    def __call__(self, image: NDArray[np.uint8]) -> list[DetectedHand]:
        """See :class:`handbench.protocols.Estimator`."""
        if self._still is None:
            self._still = self.graph(still=True)
        return self.look(self._still, image)

    def look(self, graph: Any, image: NDArray[np.uint8]) -> list[DetectedHand]:
        """The hands that a graph finds; Holistic gives no score of a hand, so it is 1."""
        found = graph.process(require_rgb(image))
        sides = (("left", found.left_hand_landmarks), ("right", found.right_hand_landmarks))
        return [
            LegacyHand(side, 1.0, _pixels(landmarks, image), None, None)
            for side, landmarks in sides
            if landmarks is not None
        ]


@estimator("mediapipe-0.10")
def mediapipe_hands(spec: Spec, options: Options) -> Estimator:
    """``mediapipe-0.10?max_hands=2&complexity=1&track=yes``."""
    hands, complexity = options.integer("max_hands", 2, least=1), options.integer("complexity", 1, least=0)
    if complexity > 1:
        raise HandbenchError(f"{spec}: complexity must be 0 (lite) or 1 (full), not {complexity}")
    return LegacyHands(str(spec), hands, complexity, options.flag("track", default=True))


@estimator("holistic")
def holistic(spec: Spec, options: Options) -> Estimator:
    """``holistic?track=yes``."""
    return LegacyHolistic(str(spec), options.flag("track", default=True))
