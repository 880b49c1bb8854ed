from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handbench.estimators._palm import (
    TASKS_ANGLE,
    Palms,
    anchor_centers,
    box_iou,
    decode,
    hand_region,
    weighted_nms,
    wrap_angle,
)
from handbench.estimators._region import letterbox


def palms(boxes: list[list[float]], scores: list[float]) -> Palms:
    """Palms whose seven keypoints all lie at the box's first corner."""
    corners = np.array(boxes, float)
    return Palms(corners, np.repeat(corners[:, None, :2], 7, axis=1), np.array(scores))


def test_anchors_worked_by_hand() -> None:
    anchors = anchor_centers()
    assert anchors.shape == (24 * 24 * 2 + 12 * 12 * 6, 2) == (2016, 2)
    np.testing.assert_allclose(anchors[[0, 1]], [[0.5 / 24, 0.5 / 24]] * 2)
    np.testing.assert_allclose(anchors[2], [1.5 / 24, 0.5 / 24])
    np.testing.assert_allclose(anchors[2 * 24], [0.5 / 24, 1.5 / 24])
    np.testing.assert_allclose(anchors[1151], [23.5 / 24, 23.5 / 24])
    np.testing.assert_allclose(anchors[1152:1158], [[0.5 / 12, 0.5 / 12]] * 6)
    np.testing.assert_allclose(anchors[1158], [1.5 / 12, 0.5 / 12])
    np.testing.assert_allclose(anchors[2015], [11.5 / 12, 11.5 / 12])


def test_decode_worked_by_hand() -> None:
    raw = np.zeros((3, 18), np.float32)
    raw[1, :4] = [19.2, -19.2, 38.4, 76.8]
    raw[1, 4:6] = [96, 0]
    raw[1, 16:18] = [0, 48]
    raw[2, 2:4] = [-10, 10]
    logits = np.array([[-9.0], [np.log(3)], [5.0]], np.float32)
    anchors = np.array([[0.1, 0.1], [0.4, 0.6], [0.5, 0.5]])
    found = decode(raw, logits, anchors, threshold=0.5)
    assert len(found) == 1  # the first has a low score, the third a negative width
    np.testing.assert_allclose(found.scores, [0.75], rtol=1e-6)
    np.testing.assert_allclose(found.boxes, [[0.4, 0.3, 0.6, 0.7]], atol=1e-6)
    np.testing.assert_allclose(found.keypoints[0, 0], [0.9, 0.6], atol=1e-6)
    np.testing.assert_allclose(found.keypoints[0, 1], [0.4, 0.6], atol=1e-6)
    np.testing.assert_allclose(found.keypoints[0, 6], [0.4, 0.85], atol=1e-6)


def test_decode_bears_extreme_logits() -> None:
    raw = np.ones((2, 18), np.float32)
    found = decode(raw, np.array([-1e9, 1e9], np.float32), np.zeros((2, 2)), threshold=0.5)
    np.testing.assert_allclose(found.scores, [1.0])


def test_nms_blends_by_score_worked_by_hand() -> None:
    # The second overlaps the first by 90 / 110; the third is far away and stays alone.
    found = weighted_nms(palms([[0, 0, 10, 10], [1, 0, 11, 10], [40, 40, 50, 50]], [0.6, 0.9, 0.7]))
    np.testing.assert_allclose(found.scores, [0.9, 0.7])
    np.testing.assert_allclose(found.boxes, [[0.6, 0, 10.6, 10], [40, 40, 50, 50]])
    np.testing.assert_allclose(found.keypoints[:, 3], [[0.6, 0], [40, 40]])


def test_nms_groups_around_the_best_only() -> None:
    # A chain: each overlaps the next by 1/3 but the outer two are apart, so the last one is not drawn in.
    found = weighted_nms(palms([[0, 0, 10, 10], [5, 0, 15, 10], [10, 0, 20, 10]], [0.9, 0.8, 0.7]))
    np.testing.assert_allclose(found.scores, [0.9, 0.7])
    np.testing.assert_allclose(found.boxes[1], [10, 0, 20, 10])


def test_nms_keeps_what_overlaps_by_the_limit() -> None:
    # Intersection 60, union 200.
    assert len(weighted_nms(palms([[0, 0, 13, 10], [7, 0, 20, 10]], [0.9, 0.8]))) == 2


def test_nms_of_nothing_is_nothing() -> None:
    assert len(weighted_nms(palms([[0, 0, 1, 1]], [0.9])[np.array([False])])) == 0


corner = st.integers(0, 12)
side = st.integers(1, 12)


@given(st.lists(st.tuples(corner, corner, side, side), min_size=2, max_size=2))
def test_iou_counts_pixels(sizes: list[tuple[int, int, int, int]]) -> None:
    masks = np.zeros((2, 24, 24), bool)
    for mask, (x, y, width, height) in zip(masks, sizes, strict=True):
        mask[y : y + height, x : x + width] = True
    boxes = np.array([[x, y, x + width, y + height] for x, y, width, height in sizes], float)
    expected = (masks[0] & masks[1]).sum() / (masks[0] | masks[1]).sum()
    np.testing.assert_allclose(box_iou(boxes[0], boxes[1:]), [expected])


@pytest.mark.parametrize(
    ("middle_mcp", "angle", "center"),
    [
        ((50, 30), 0.0, (50, 35)),  # fingers up: the region goes up by half the box height
        ((70, 50), np.pi / 2, (65, 50)),  # fingers to the right: a quarter turn clockwise
        ((30, 50), -np.pi / 2, (35, 50)),
        ((50, 70), -np.pi, (50, 65)),
    ],
)
def test_hand_region_worked_by_hand(middle_mcp: tuple[float, float], angle: float, center: tuple[float, float]) -> None:
    keypoints = np.zeros((7, 2))
    keypoints[0] = (50, 50)
    keypoints[2] = middle_mcp
    region = hand_region(np.array([40.0, 35.0, 60.0, 65.0]), keypoints)
    np.testing.assert_allclose(region.center, center, atol=1e-9)
    assert region.side == pytest.approx(2.6 * 30)
    assert region.angle == pytest.approx(angle)


def test_the_wrist_lies_straight_below_the_middle_mcp_in_the_region() -> None:
    keypoints = np.random.default_rng(3).uniform(0, 100, (7, 2))
    region = hand_region(np.array([10.0, 20.0, 60.0, 65.0]), keypoints)
    wrist, mcp = region.to_region(keypoints[[0, 2]])
    assert wrist[0] == pytest.approx(mcp[0])
    assert wrist[1] > mcp[1]


def test_tasks_regions_are_turned_by_26_6_degrees() -> None:
    keypoints = np.zeros((7, 2))
    keypoints[2] = (0, -10)
    region = hand_region(np.array([0.0, 0.0, 10.0, 10.0]), keypoints, TASKS_ANGLE)
    assert np.degrees(region.angle) == pytest.approx(26.62, abs=0.01)


@given(st.floats(-100, 100))
def test_wrapped_angle_is_the_same_direction(angle: float) -> None:
    wrapped = wrap_angle(angle)
    assert -np.pi <= wrapped <= np.pi
    np.testing.assert_allclose([np.cos(wrapped), np.sin(wrapped)], [np.cos(angle), np.sin(angle)], atol=1e-9)


def test_palms_are_placed_from_the_letterbox_to_the_image() -> None:
    # 200 × 100: the square reaches 50 pixels above and below the image.
    found = palms([[0.25, 0.25, 0.5, 0.75]], [0.9]).placed(letterbox(200, 100))
    np.testing.assert_allclose(found.boxes, [[50, 0, 100, 100]])
    np.testing.assert_allclose(found.keypoints[0, 0], [50, 0])
