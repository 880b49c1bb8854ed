from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from handbench.tasks.handpose.boxes import center_distance, hand_boxes, paired_iou
from handbench.tasks.handpose.matching import match, match_one_to_one, pairs_in_frames
from handbench.tasks.handpose.overlap import overlapping_frames_opposite_label
from tests.handpose.makers import SHAPE, hands, moved


def test_box_takes_valid_points_pads_then_clips():
    points = np.array([SHAPE, SHAPE])
    valid = np.ones((2, 21), bool)
    valid[1] = False
    valid[1, [0, 5]] = True  # (50, 100) and (38, 60)
    boxes = hand_boxes(points, valid)
    assert boxes.tolist() == [[12, 8, 82, 100], [38, 60, 50, 100]]
    # 10 % of 12 and of 40 on every side, cut at a 640 × 102 image.
    padded = hand_boxes(points, valid, np.array([[640.0, 102.0]] * 2), pad=0.1)
    assert padded[1] == pytest.approx([36.8, 56, 51.2, 102])
    assert np.isnan(hand_boxes(points, np.zeros((2, 21), bool))).all()


def test_iou_against_pycocotools():
    mask = pytest.importorskip("pycocotools.mask")
    rng = np.random.default_rng(0)
    low, side = rng.uniform(0, 80, (2, 200, 2)), rng.uniform(1, 60, (2, 200, 2))
    one, other = (np.concatenate([low[k], low[k] + side[k]], axis=1) for k in (0, 1))
    as_coco = [np.concatenate([low[k], side[k]], axis=1) for k in (0, 1)]
    expected = np.diag(mask.iou(as_coco[0], as_coco[1], [0] * 200))
    assert paired_iou(one, other) == pytest.approx(expected, abs=1e-12)


def test_iou_of_boxes_without_area_or_without_points_is_zero():
    point = np.array([[5.0, 5, 5, 5]])
    assert paired_iou(point, point)[0] == 0
    assert paired_iou(point, np.full((1, 4), np.nan))[0] == 0


def test_center_distance_by_hand():
    # Centres (5, 5) and (8, 9) are 5 apart; the larger box, 6 × 8, has the diagonal 10.
    assert center_distance(np.array([[4.0, 4, 6, 6]]), np.array([[5.0, 5, 11, 13]]))[0] == pytest.approx(0.5)


def test_the_better_of_two_matchings_wins():
    """A greedy matcher gives hand 0 the first prediction (IoU 0.9) and leaves hand 1 without one."""
    truth = np.array([[0, 0, 100, 100], [30, 0, 130, 100]], float)
    predicted = np.array([[5, 0, 105, 100], [-25, 0, 75, 100]], float)
    # IoU: (0,0) 95/105 = .905, (0,1) 75/125 = .6, (1,0) 75/125 = .6, (1,1) 45/155 = .29
    pairs = pairs_in_frames(np.array([0, 0]), np.array([0, 0]), truth, predicted)
    found = match_one_to_one(pairs, np.array([0, 0]), np.array([0, 0]), 0.5, np.ones(4, bool))
    assert found.tolist() == [1, 0]


@settings(deadline=None, max_examples=150)
@given(st.integers(0, 2**31), st.integers(1, 5), st.integers(1, 5), st.floats(0.1, 0.8))
def test_total_iou_is_scipys_optimum_in_every_frame(seed, most_truth, most_predicted, gate):
    rng = np.random.default_rng(seed)
    count = 12
    truth_frame = np.repeat(np.arange(count), rng.integers(0, most_truth + 1, count))
    predicted_frame = np.repeat(np.arange(count), rng.integers(0, most_predicted + 1, count))

    def boxes(number):
        low = rng.uniform(0, 30, (number, 2))
        return np.concatenate([low, low + rng.uniform(30, 60, (number, 2))], axis=1)

    truth, predicted = boxes(len(truth_frame)), boxes(len(predicted_frame))
    pairs = pairs_in_frames(truth_frame, predicted_frame, truth, predicted)
    allowed = rng.random(len(pairs.iou)) < 0.8
    found = match_one_to_one(pairs, truth_frame, predicted_frame, gate, allowed)
    used = found[found >= 0]
    assert len(set(used.tolist())) == len(used)
    permitted = {(t, p) for t, p, a in zip(pairs.truth, pairs.prediction, allowed, strict=True) if a}
    for frame in range(count):
        rows, columns = np.flatnonzero(truth_frame == frame), np.flatnonzero(predicted_frame == frame)
        gain = np.zeros((len(rows), len(columns)))
        for i, t in enumerate(rows):
            for j, p in enumerate(columns):
                iou = paired_iou(truth[t : t + 1], predicted[p : p + 1])[0]
                gain[i, j] = iou if iou >= gate and (t, p) in permitted else 0
        best = gain[linear_sum_assignment(gain, maximize=True)].sum()
        got = 0.0
        for i, t in enumerate(rows):
            if found[t] >= 0:
                place = int(np.flatnonzero(columns == found[t])[0])
                assert gain[i, place] > 0
                got += gain[i, place]
        assert got == pytest.approx(best, abs=1e-12)


def _match(truth, predicted, gate=0.5):
    return match(
        truth, predicted, hand_boxes(truth.points, truth.valid), hand_boxes(predicted.points, predicted.valid), gate
    )


def test_labels_count_only_where_they_must():
    truth = hands([0, 1, 2], side=[1, 1, -1])
    predicted = hands([0, 1, 1, 2], side=[0, 0, 1, 0])
    found = _match(truth, predicted)
    assert found.any_label.tolist()[0] == 0
    # A swapped label has no same-label match; of two predictions the one of the same label is taken; a hand of
    # unknown side accepts any label.
    assert found.same_label.tolist() == [-1, 2, 3]
    # Frame 1 has two predictions on one hand: not unambiguous.
    assert found.unambiguous.tolist() == [True, False, True]


def test_a_prediction_that_touches_two_hands_is_ambiguous():
    near = moved(5)
    found = _match(hands([0, 0], points=[SHAPE, near]), hands([0], points=[moved(2)]))
    assert (found.any_label >= 0).sum() == 1
    assert not found.unambiguous.any()


def test_nearest_true_hand_of_a_spurious_prediction():
    truth = hands([0, 0, 2], points=[SHAPE, moved(200), SHAPE])
    found = _match(truth, hands([0, 1, 2], points=[moved(180), SHAPE, moved(400)]))
    assert found.nearest.tolist() == [1, -1, 2]


def test_nothing_to_match():
    empty = hands([])
    assert _match(empty, empty).any_label.tolist() == []
    assert _match(hands([0]), empty).any_label.tolist() == [-1]
    assert _match(empty, hands([0])).nearest.tolist() == [-1]


def test_cross_hand_overlap_by_hand():
    """IoU of two 70 × 92 boxes moved by d along x is (70 - d) / (70 + d): .8 at d = 7.8; centre distance d / 115.6."""
    points = [SHAPE, moved(7), SHAPE, moved(8), SHAPE, SHAPE, SHAPE]
    predicted = hands([0, 0, 1, 1, 2, 2, 3], side=[0, 1, 0, 1, 1, 1, 0], points=points)
    boxes = hand_boxes(predicted.points, predicted.valid)
    # Frame 2 has the same label twice: a duplicate, no cross-hand overlap.
    assert overlapping_frames_opposite_label(predicted, boxes, 4).tolist() == [True, False, False, False]
