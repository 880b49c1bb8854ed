from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pycocotools import mask as coco
from sklearn.metrics import roc_auc_score

from handbench.stats.boxes import angle_to, iou, ray_meets_boxes, rejection_sweep, roc_auc


def test_iou_is_that_of_pycocotools_on_100_000_random_boxes():
    rng = np.random.default_rng(0)
    pairs = []
    for _ in range(2):
        corner = rng.uniform(-50, 400, (100_000, 2))
        pairs.append(np.hstack([corner, corner + rng.uniform(0.01, 300, (100_000, 2))]))
    found = iou(*pairs)
    expected = np.empty(100_000)
    as_xywh = [np.ascontiguousarray(np.hstack([box[:, :2], box[:, 2:] - box[:, :2]])) for box in pairs]
    for start in range(0, 100_000, 100):
        rows = slice(start, start + 100)
        expected[rows] = np.diag(coco.iou(as_xywh[0][rows], as_xywh[1][rows], [0] * 100))
    assert (found > 0).mean() > 0.1
    assert np.abs(found - expected).max() < 1e-12


def test_iou_without_a_box_is_nought():
    box = np.array([0.0, 0, 10, 10])
    assert iou(np.full(4, np.nan), box) == 0
    assert iou(np.array([5.0, 5, 5, 9]), box) == 0
    assert iou(box, box) == 1
    assert iou(box, np.array([5.0, 0, 15, 10])) == pytest.approx(1 / 3)


BOX = np.array([10.0, 10, 20, 20])


@pytest.mark.parametrize(
    ("ray", "met", "far"),
    [
        ((0, 15, 1, 0), True, 10),
        ((0, 15, 2, 0), True, 5),
        ((0, 15, -1, 0), False, np.inf),
        ((15, 15, 0, 1), True, 0),
        ((0, 10, 1, 0), True, 10),
        ((0, 9.99, 1, 0), False, np.inf),
        ((15, 0, 0, 1), True, 10),
        ((25, 0, 0, 1), False, np.inf),
        ((0, 0, 1, 1), True, 10),
        ((0, 0, 0, 0), False, np.inf),
        ((30, 30, -1, -1), True, 10),
    ],
)
def test_the_slab_test_by_hand(ray, met, far):
    found, away = ray_meets_boxes(np.array(ray, float), BOX)
    assert (bool(found), float(away)) == (met, far)


@given(
    st.tuples(*[st.floats(-100, 100)] * 2),
    st.floats(0, 2 * np.pi),
    st.tuples(*[st.floats(-100, 100)] * 2),
    st.tuples(*[st.floats(1, 80)] * 2),
)
def test_the_slab_test_agrees_with_walking_along_the_ray(start, angle, corner, size):
    ray = np.array([*start, np.cos(angle), np.sin(angle)])
    box = np.array([*corner, corner[0] + size[0], corner[1] + size[1]])
    steps = np.arange(0, 600, 0.05)
    walked = ray[:2] + steps[:, None] * ray[2:]
    met, far = ray_meets_boxes(ray, box)

    def within(points, margin):
        return ((points >= box[:2] - margin) & (points <= box[2:] + margin)).all(axis=-1)

    # Steps are rounded: along an edge they may stay on it where the ray itself leaves it.
    inside = within(walked, -1e-9)
    assert met or not inside.any()
    if met:
        assert within(ray[:2] + far * ray[2:], 1e-9)
        assert not inside[steps < far - 1e-9].any()


def test_angles_by_hand():
    ray = np.array([0.0, 0, 1, 0])
    points = np.array([[5.0, 0], [5, 5], [0, -3], [-2, 0]])
    assert angle_to(ray, points) == pytest.approx([0, 45, 90, 180])


def test_roc_area_is_that_of_scikit_learn():
    rng = np.random.default_rng(1)
    for _ in range(20):
        labels, scores = rng.random(200) < 0.3, rng.integers(0, 12, 200) / 12
        assert roc_auc(labels, scores) == pytest.approx(roc_auc_score(labels, scores))
    assert np.isnan(roc_auc(np.ones(3, bool), np.arange(3.0)))


def test_a_sweep_worked_by_hand():
    """Two should be rejected (confidence 0.1 and 0.6), two kept (0.4 and 0.9)."""
    found = rejection_sweep(np.array([True, False, True, False]), np.array([0.1, 0.4, 0.6, 0.9]))
    assert found["tau"][:4].tolist() == [0.1, 0.4, 0.6, 0.9]
    assert found["precision"][1:].tolist() == pytest.approx([1, 1 / 2, 2 / 3, 1 / 2])
    assert np.isnan(found["precision"][0])
    assert found["recall"].tolist() == [0, 0.5, 0.5, 1, 1]
    assert found["accuracy"].tolist() == [0.5, 0.75, 0.5, 0.75, 0.5]
    none = rejection_sweep(np.zeros(2, bool), np.array([0.5, 0.5]))
    assert np.isnan(none["recall"]).all()
