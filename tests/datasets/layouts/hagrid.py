"""HaGRID v1 and v2 (hand-data.md, section 2, "HaGRID v1 / v2"; folders of pictures as in the owner's own loader).

``annotations/{train,val,test}/{class}.json``, a dict by stem, and the pictures ``{class}/{stem}.jpg``. Boxes (x, y, w,
h) and landmarks are fractions of width and height. v1: ``bboxes``, ``labels``, ``landmarks`` (21 × 2 per hand or
empty), ``leading_hand``, ``leading_conf``, ``user_id``. v2: ``united_bbox`` and ``united_label`` (null for gestures of
one hand), ``hand_landmarks``, ``meta``, and fifteen more classes. An idle second hand is labelled no_gesture.
Landmarks are unchecked output of an estimator, so they are no ground truth of joints.
"""

from __future__ import annotations

import uuid
from pathlib import Path

from tests.datasets.layouts import Hand, write_image, write_json

SIZE = (1440, 1920)
SPLITS = ("train", "val", "test")
V1 = (
    *("call", "dislike", "fist", "four", "like", "mute", "ok", "one", "palm", "peace", "peace_inverted", "rock"),
    *("stop", "stop_inverted", "three", "three2", "two_up", "two_up_inverted"),
)
ADDED = (
    *("grabbing", "grip", "point", "little_finger", "middle_finger", "three3", "three_gun", "thumb_index"),
    *("thumb_index2", "timeout", "xsign", "holy", "hand_heart", "hand_heart2", "take_picture"),
)
TWO_HANDED = ("hand_heart", "hand_heart2", "thumb_index2", "timeout", "holy", "take_picture", "xsign")


def write(root: Path, hands: list[Hand], version: str = "v1") -> list[tuple[str, str, str]]:
    """One picture of each class in each split.

    Returns:
        Of each picture its path, its class and its split.
    """
    written = []
    classes = V1 if version == "v1" else (*V1, *ADDED, "no_gesture")
    for split in SPLITS:
        for number, name in enumerate(classes):
            stem = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{version}/{split}/{name}"))
            image = f"{name}/{stem}.jpg"
            write_image(root / image, (SIZE[0] // 10, SIZE[1] // 10), shade=number)
            hand = hands[number % len(hands)]
            row = _first(name, hand, number) if version == "v1" else _second(name, hand, number)
            write_json(root / "annotations" / split / f"{name}.json", {stem: row})
            written.append((image, name, split))
    return written


def _first(name: str, hand: Hand, number: int) -> dict[str, object]:
    idle = number % 2 == 1
    return {
        "bboxes": [[0.1, 0.2, 0.3, 0.25], *([[0.6, 0.7, 0.2, 0.2]] if idle else [])],
        "labels": [name, *(["no_gesture"] if idle else [])],
        "landmarks": [_landmarks(hand), *([[]] if idle else [])],
        "leading_hand": hand.side,
        "leading_conf": 1.0,
        "user_id": f"{number:064x}",
    }


def _second(name: str, hand: Hand, number: int) -> dict[str, object]:
    both = name in TWO_HANDED
    boxes = [[0.1, 0.2, 0.3, 0.25], *([[0.4, 0.2, 0.3, 0.25]] if both else [])]
    return {
        "bboxes": boxes,
        "labels": [name] * len(boxes),
        "united_bbox": [[0.1, 0.2, 0.6, 0.25], [0.1, 0.2, 0.6, 0.25]] if both else [None],
        "united_label": [name, name] if both else [None],
        "user_id": f"{number:064x}",
        "hand_landmarks": [_landmarks(hand), *([None] if both else [])],
        "meta": {"age": [25.0], "gender": ["female"], "race": ["White"]},
    }


def _landmarks(hand: Hand) -> list[list[float]]:
    return (hand.joints_px / hand.size).tolist()
