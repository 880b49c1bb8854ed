from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import precision_recall_fscore_support

from handbench.tasks.handpose import rates
from handbench.tasks.handpose.localization import (
    mpjpe_per_hand,
    normalisers,
    pck_and_distance_per_keypoint,
    pck_and_mpjpe_per_hand,
    pck_strict_per_hand,
)
from handbench.tasks.handpose.oks import SIGMAS, as_coco, oks_average_precision, oks_box_area
from handbench.tasks.handpose.protocol import Normaliser
from tests.handpose.makers import SHAPE, hands


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50))
def test_detection_against_scikit_learn(tp, fp, fn):
    truth = [1] * tp + [0] * fp + [1] * fn
    said = [1] * tp + [1] * fp + [0] * fn
    if tp + fp and tp + fn:
        expected = precision_recall_fscore_support(truth, said, average="binary", zero_division=0)[:3]
        found = (rates.precision_micro(tp, fp), rates.recall_micro(tp, fn), rates.f1_micro(tp, fp, fn))
        assert [float(value) for value in found] == pytest.approx([float(value) for value in expected])


def test_detection_where_nothing_is_there_or_said():
    assert np.isnan(rates.precision_micro(0, 0))
    assert np.isnan(rates.recall_micro(0, 0))
    assert np.isnan(rates.f1_micro(0, 0, 0))
    assert rates.f1_micro(0, 0, 5) == 0  # all missed
    assert rates.f1_micro(0, 5, 0) == 0  # all spurious


def test_a_match_that_fails_the_pck_test_is_a_false_positive_and_a_false_negative():
    """Three hands: one passes, one fails, one is missed; and one prediction is spurious.

    TP 1; three predictions less 1 = 2 FP; three hands less 1 = 2 FN; F1 = 2 / (2 + 2 + 2) = 1/3.
    """
    counts = rates.pose_counts_alpha_beta(np.array([0, 1, -1]), np.array([True, False, True]), 3)
    assert counts == (1, 2, 2)
    assert rates.f1_micro(*counts) == pytest.approx(1 / 3)


def test_beta_is_reached_by_equality_and_a_hand_without_pck_fails():
    assert rates.pose_passes_pck_share(np.array([0.5, 0.49, np.nan]), 0.5).tolist() == [True, False, False]


def test_swaps_are_judged_only_where_both_sides_are_known():
    truth = hands([0, 1, 2, 3, 4], side=[1, 1, -1, 0, 0])
    predicted = hands([0, 1, 2, 3, 4], side=[0, 1, 0, -1, 1])
    judged, swapped = rates.swaps_unambiguous(truth, predicted, np.arange(5), np.array([True, True, True, True, False]))
    assert judged.tolist() == [True, True, False, False, False]
    assert swapped.tolist() == [True, False, False, False, False]


def test_normalisers_by_hand():
    valid = np.ones((1, 21), bool)
    values = {kind: normalisers(SHAPE[None], valid, kind)[0] for kind in Normaliser}
    # The box is 70 × 92; wrist (50, 100) to middle MCP (50, 58) is 42.
    assert values == pytest.approx(
        {Normaliser.BOX_SIDE: 92, Normaliser.BOX_DIAGONAL: np.hypot(70, 92), Normaliser.HAND_LENGTH: 42, "px": 1}
    )
    valid[0, 9] = False
    assert np.isnan(normalisers(SHAPE[None], valid, Normaliser.HAND_LENGTH)[0])
    assert np.isnan(normalisers(np.zeros((1, 21, 2)), np.ones((1, 21), bool), Normaliser.BOX_SIDE)[0])


def test_pck_and_mpjpe_by_hand():
    """Box side 92, alpha 0.1: the threshold is 9.2 pixels, itself excluded.

    Keypoint 1 is moved by (3, 4): 5 px, right.  Keypoint 2 by 9.2: wrong.  Keypoint 3 by 30: not valid, not counted.
    PCK 19 of 20; MPJPE (5 + 9.2) / 92 / 20.
    """
    predicted = SHAPE.copy()
    predicted[1] += [3, 4]
    predicted[2, 0] += 9.2
    predicted[3, 1] += 30
    valid = np.ones((1, 21), bool)
    valid[0, 3] = False
    pck, mpjpe = pck_and_mpjpe_per_hand(SHAPE[None], predicted[None], valid, np.array([92.0]), 0.1)
    assert pck[0] == pytest.approx(19 / 20)
    assert mpjpe[0] == pytest.approx((5 + 9.2) / 92 / 20)
    right, distance = pck_and_distance_per_keypoint(SHAPE[None], predicted[None], valid, np.array([92.0]), 0.1)
    assert pck_strict_per_hand(right, valid, (1, 2))[0] == 0.5
    assert mpjpe_per_hand(distance, (2,))[0] == pytest.approx(0.1)
    assert np.isnan(mpjpe_per_hand(distance, (3,))[0])


def test_a_missing_predicted_point_is_wrong():
    predicted = SHAPE.copy()
    predicted[4] = np.nan
    pck, mpjpe = pck_and_mpjpe_per_hand(SHAPE[None], predicted[None], np.ones((1, 21), bool), np.array([92.0]), 0.1)
    assert pck[0] == pytest.approx(20 / 21)
    assert mpjpe[0] == 0


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**31))
def test_pck_does_not_change_under_moving_and_scaling_the_picture(seed):
    rng = np.random.default_rng(seed)
    truth = rng.uniform(0, 100, (4, 21, 2))
    predicted = truth + rng.normal(0, 8, truth.shape)
    valid = rng.random((4, 21)) < 0.9
    results = []
    for scale, move in ((1.0, 0.0), (4.0, 64.0)):
        moved = truth * scale + move
        size = normalisers(moved, valid, Normaliser.BOX_SIDE)
        results.append(pck_and_mpjpe_per_hand(moved, predicted * scale + move, valid, size, 0.1))
    assert results[0][0] == pytest.approx(results[1][0])
    assert results[0][1] == pytest.approx(results[1][1])


def _random_set(seed=3, frames=60):
    rng = np.random.default_rng(seed)
    frame = np.repeat(np.arange(frames), rng.integers(0, 3, frames))
    points = SHAPE * rng.uniform(0.5, 2, (len(frame), 1, 1)) + rng.uniform(0, 300, (len(frame), 1, 2))
    valid = rng.random((len(frame), 21)) < 0.9
    valid[:, 0] = True
    truth = hands(frame, points=points, valid=valid)
    keep = rng.random(len(frame)) < 0.85
    noise = rng.normal(0, 1, (len(frame), 21, 2)) * rng.uniform(0.5, 8, (len(frame), 1, 1))
    predicted = hands(frame[keep], points=(points + noise)[keep], score=rng.random(int(keep.sum())))
    return truth, predicted


def _box(hand_set):
    from handbench.tasks.handpose.boxes import hand_boxes

    return hand_boxes(hand_set.points, hand_set.valid)


def test_oks_against_pycocotools():
    pytest.importorskip("pycocotools")
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    truth, predicted = _random_set()
    boxes = _box(truth)
    ground, results = as_coco(truth, predicted, boxes, 60)
    coco = COCO()
    coco.dataset = ground
    coco.createIndex()
    found = oks_average_precision(truth, predicted, boxes, 60)
    run = COCOeval(coco, coco.loadRes(results), "keypoints")
    run.params.kpt_oks_sigmas = SIGMAS
    run.evaluate()
    run.accumulate()
    run.summarize()
    assert [found[name] for name in ("oks_ap", "oks_ap50", "oks_ap75", "oks_ar")] == pytest.approx(
        [run.stats[place] for place in (0, 1, 2, 5)], abs=1e-6
    )
    # And the similarity itself, hand by hand.
    image = int(truth.frame[0])
    matrix = run.computeOks(image + 1, 1)
    detections = sorted(np.flatnonzero(predicted.frame == image), key=lambda row: -predicted.score[row])
    rows = np.flatnonzero(truth.frame == image)
    area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    for i, p in enumerate(detections):
        for j, t in enumerate(rows):
            one = oks_box_area(truth.points[[t]], predicted.points[[p]], truth.valid[[t]], area[[t]])[0]
            assert one == pytest.approx(matrix[i, j], abs=1e-6)


def test_oks_where_nothing_is_there_or_said():
    truth, _ = _random_set(frames=5)
    empty = hands([])
    assert all(np.isnan(value) for value in oks_average_precision(empty, truth, _box(empty), 5).values())
    assert set(oks_average_precision(truth, empty, _box(truth), 5).values()) == {0.0}
