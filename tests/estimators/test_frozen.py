"""What the estimators find on rendered hands: near the exact truth, and the same as when it was frozen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from handbench.errors import HandbenchError
from handbench.estimators._tracking import BlazeTracker
from handbench.estimators.blaze import Blaze
from handbench.estimators.yoha import Yoha

pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")

DATA = Path(__file__).parent / "data"
ROWS = json.loads((DATA / "frozen.json").read_text())

# Kernels differ between processors and releases of LiteRT; Yoha's weights are quantised, which shows more.
TOLERANCE = {"blaze-full": 0.01, "blaze-lite": 0.01, "yoha": 0.03}


def read_rgb(row: dict[str, Any]) -> np.ndarray:
    return np.asarray(Image.open(DATA / row["image"]).convert("RGB"))


def relative_error(found: np.ndarray, truth: list[list[float]]) -> float:
    """Mean 2D distance over the longer side of the true hand's box."""
    return np.linalg.norm(found - truth, axis=1).mean() / np.ptp(truth, axis=0).max()


@pytest.fixture(scope="module", params=["blaze-full", "blaze-lite", "yoha"])
def named(request: pytest.FixtureRequest) -> tuple[str, Blaze | Yoha]:
    if request.param == "yoha":
        return request.param, Yoha()
    return request.param, Blaze(request.param.removeprefix("blaze-"))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["image"])
def test_keypoints_stay_as_frozen(named: tuple[str, Blaze | Yoha], row: dict[str, Any]) -> None:
    name, estimator = named
    frozen = row["found"][name]
    [hand] = estimator(read_rgb(row))
    assert hand.side == frozen["side"]
    assert hand.score == pytest.approx(frozen["score"], abs=0.03)
    assert relative_error(hand.keypoints_px, frozen["keypoints_px"]) < TOLERANCE[name]
    if frozen["keypoints_cam"] is None:
        assert hand.keypoints_cam is None
    else:
        np.testing.assert_allclose(hand.keypoints_cam, frozen["keypoints_cam"], atol=0.002)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["image"])
@pytest.mark.parametrize("variant", ["full", "lite"])
def test_keypoints_lie_near_the_truth(variant: str, row: dict[str, Any]) -> None:
    [hand] = Blaze(variant)(read_rgb(row))
    assert hand.side == row["side"]
    assert relative_error(hand.keypoints_px, row["keypoints_px"]) < 0.06


@pytest.mark.parametrize("variant", ["full", "lite"])
def test_offsets_in_metres_have_the_true_sign(variant: str) -> None:
    """Of joint pairs more than 15 mm apart along an axis; depth in one picture is a guess, but not a coin."""
    blaze = Blaze(variant)
    found = np.stack([blaze(read_rgb(row))[0].keypoints_cam for row in ROWS])
    truth = np.array([row["keypoints_cam"] for row in ROWS])
    first, second = np.triu_indices(21, 1)
    offsets, true_offsets = found[:, first] - found[:, second], truth[:, first] - truth[:, second]
    large = np.abs(true_offsets) > 0.015
    right = large & (np.sign(offsets) == np.sign(true_offsets))
    x, y, z = right.sum(axis=(0, 1)) / large.sum(axis=(0, 1))
    assert x > 0.95
    assert y > 0.95
    assert z > 0.65


def test_two_hands_side_by_side() -> None:
    left, right = (next(row for row in ROWS if row["image"].endswith(end)) for end in ("-23.png", "-19.png"))
    picture = np.concatenate([read_rgb(left), read_rgb(right)], axis=1)
    hands = {hand.side: hand for hand in Blaze()(picture)}
    assert set(hands) == {"left", "right"}
    assert relative_error(hands["left"].keypoints_px, left["keypoints_px"]) < 0.08
    assert relative_error(hands["right"].keypoints_px - [192, 0], right["keypoints_px"]) < 0.08
    [only] = Blaze(max_hands=1)(picture)
    assert only.side in hands


def test_a_turned_picture_turns_the_keypoints() -> None:
    blaze, row = Blaze(), ROWS[0]
    [hand] = blaze(read_rgb(row))
    [turned] = blaze(np.rot90(read_rgb(row), 2))
    assert turned.side == hand.side
    assert relative_error(192 - turned.keypoints_px, hand.keypoints_px) < 0.05
    np.testing.assert_allclose(turned.keypoints_cam * [-1, -1, 1], hand.keypoints_cam, atol=0.012)


def test_tasks_regions_move_keypoints_a_little() -> None:
    row = ROWS[0]
    [upright] = Blaze()(read_rgb(row))
    [tasks] = Blaze(region_angle="tasks")(read_rgb(row))
    assert np.degrees(tasks.region.angle - upright.region.angle) == pytest.approx(26.62, abs=0.01)
    assert 0.001 < relative_error(tasks.keypoints_px, upright.keypoints_px) < 0.08


def test_a_picture_without_a_hand() -> None:
    noise = np.random.default_rng(0).integers(0, 256, (120, 200, 3), np.uint8)
    for image in (noise, np.full((1, 900, 3), 200, np.uint8), np.zeros((1, 1, 3), np.uint8)):
        assert Blaze()(image) == []
        assert Yoha()(image) == []


def test_following_a_moving_hand() -> None:
    row = next(row for row in ROWS if row["image"].endswith("-23.png"))
    track = BlazeTracker(Blaze(max_hands=1))
    for step in range(6):
        picture = np.full((220, 300, 3), 120, np.uint8)
        picture[10:202, 15 * step : 15 * step + 192] = read_rgb(row)
        [hand] = track(picture)
        assert relative_error(hand.keypoints_px - [15 * step, 10], row["keypoints_px"]) < 0.08
        assert hand.side == "left"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"variant": "heavy"}, "variant must be 'full' or 'lite', found 'heavy'"),
        ({"region_angle": "up"}, "region_angle must be 'upright' or 'tasks', found 'up'"),
        ({"max_hands": 0}, "max_hands must be at least 1, found 0"),
        ({"detection_threshold": 0.0}, "detection_threshold must lie between 0 and 1"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(HandbenchError, match=message):
        Blaze(**settings)
