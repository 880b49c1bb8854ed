"""From regions that may hold a hand to the distinct hands on an image."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from handbench.errors import HandbenchError
from handbench.estimators._hand import Hand, require_rgb
from handbench.estimators._palm import box_iou
from handbench.estimators._region import Region

FindRegions = Callable[[NDArray[np.uint8]], Sequence[Region]]
ReadHand = Callable[[NDArray[np.uint8], Region], Hand]

_SAME_HAND_DISTANCE: Final = 0.2
_SAME_HAND_OVERLAP: Final = 0.8


class HandPipeline:
    """A finder of regions and a reader of the one hand in a region, on single images.

    Deterministic: one thread, no random choice, nothing kept from one image to the next. An instance must not
    be shared between threads; make one per worker.
    """

    def __init__(self, find: FindRegions, read: ReadHand, max_hands: int, presence_threshold: float) -> None:
        if max_hands < 1:
            raise HandbenchError(f"max_hands must be at least 1, found {max_hands}")
        self.max_hands = max_hands
        self._find = find
        self._read = read
        self._presence_threshold = require_threshold("presence_threshold", presence_threshold)

    def __call__(self, image: NDArray[Any]) -> list[Hand]:
        """Return the hands on an (H, W, 3) uint8 RGB image, best palm first.

        Raises:
            HandbenchError: The image is not such an array.
        """
        return self.read(image, self.regions(image))

    def regions(self, image: NDArray[Any]) -> list[Region]:
        """Return where on an (H, W, 3) uint8 RGB image a hand may be, best palm first."""
        return list(self._find(require_rgb(image)))

    def read(self, image: NDArray[Any], regions: Sequence[Region], known: Sequence[Hand] = ()) -> list[Hand]:
        """Return the ``known`` hands and the distinct ones in the regions, in order, up to ``max_hands``."""
        image = require_rgb(image)
        hands = list(known)
        for region in regions:
            if len(hands) >= self.max_hands:
                break
            hand = self._read(image, region)
            if hand.score > self._presence_threshold:
                hands = add_distinct(hands, hand)
        return hands


def require_threshold(name: str, value: float) -> float:
    """Return a threshold as it is, or raise when it does not lie between 0 and 1."""
    if not 0.0 < value < 1.0:
        raise HandbenchError(f"{name} must lie between 0 and 1, found {value}")
    return value


def add_distinct(hands: Sequence[Hand], hand: Hand) -> list[Hand]:
    """Return ``hands`` with one more, unless two of them are one hand: then the one of higher score stays.

    Neighbouring palm detections sometimes lead the landmark network to the same hand. A replaced hand gives
    its place in the order to the replacing one.
    """
    same = [index for index, other in enumerate(hands) if same_hand(hand, other)]
    if not same:
        return [*hands, hand]
    best = max([*(hands[index] for index in same), hand], key=lambda each: each.score)
    kept = [other for index, other in enumerate(hands) if index not in same]
    kept.insert(same[0], best)
    return kept


def same_hand(hand: Hand, other: Hand) -> bool:
    """Tell whether two predictions are of one hand.

    They are when their keypoints lie close, joint by joint: a mean distance below a fifth of the smaller
    hand's longer box side. They are too when their boxes all but coincide (IoU of 0.8 or more) though the
    joints are named differently, as when one hand is read as a left and as a right one (VERA-Hand, appendix
    E).
    """
    sizes = [(each.box[2:] - each.box[:2]).max() for each in (hand, other)]
    distance = np.linalg.norm(hand.keypoints_px - other.keypoints_px, axis=1).mean()
    overlap = box_iou(hand.box, other.box[None])[0]
    return bool(distance < _SAME_HAND_DISTANCE * min(sizes) or overlap >= _SAME_HAND_OVERLAP)
