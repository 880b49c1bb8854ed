from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from handbench.errors import HandbenchError
from handbench.estimators.rtm_onnx import RtmOnnx, crop_box, decode_simcc
from handbench.runs.parts import make_estimator


def test_a_crop_keeps_the_boxes_shape_and_is_black_outside():
    """A box 40 × 20 about (30, 20), padded by 1.25 to 50 × 25, widened to 50 × 50 for a square input."""
    image = np.full((60, 80, 3), 200, np.uint8)
    pixels, shown = crop_box(image, np.array([10.0, 10, 50, 30]), 32, 32)
    assert shown.tolist() == [5, -5, 55, 45]
    restored = pixels * [58.395, 57.12, 57.375] + [123.675, 116.28, 103.53]
    assert restored[:2].max() == pytest.approx(0, abs=0.01)
    assert restored[10:, 4:].min() == pytest.approx(200, abs=0.01)


def test_simcc_peaks_become_pixels():
    """Of 64 bins over a box 100 wide at 20, bin 31 has its middle at 31.5 / 64: 20 + 49.2."""
    x, y = np.zeros((2, 64), np.float32), np.zeros((2, 32), np.float32)
    x[0, 31], y[0, 0], x[1, 63], y[1, 31] = 0.9, 0.6, 0.5, 0.8
    points, scores = decode_simcc(x, y, np.array([20.0, 10, 120, 60]))
    assert points == pytest.approx(
        np.array([[20 + 100 * 31.5 / 64, 10 + 50 * 0.5 / 32], [20 + 100 * 63.5 / 64, 60 - 50 * 0.5 / 32]])
    )
    assert scores == pytest.approx([0.6, 0.5])


class _Session:
    """A model that finds every point at the middle of its input, hands with a score of their own."""

    def __init__(self, points, height, width, scores):
        self._shape, self._scores, self._size = [1, 3, height, width], scores, (points, 2 * width, 2 * height)

    def get_inputs(self):
        return [SimpleNamespace(name="input", shape=self._shape)]

    def run(self, names, feed):
        assert feed["input"].shape == tuple(self._shape)
        points, width, height = self._size
        x, y = np.zeros((1, points, width)), np.zeros((1, points, height))
        x[0, :, width // 2] = y[0, :, height // 2] = self._scores
        return [x, y]


def test_a_whole_body_model_gives_two_hands_and_drops_unsure_ones():
    scores = np.full(133, 0.9)
    scores[91:112] = 0.1
    hands = RtmOnnx(_Session(133, 384, 288, scores), "rtmw", 0.3, "blaze", 2)(np.zeros((120, 160, 3), np.uint8))
    assert [hand.side for hand in hands] == ["right"]
    assert hands[0].keypoints_px[0] == pytest.approx([80, 60], abs=1)
    with pytest.raises(HandbenchError, match="expected 133 points"):
        RtmOnnx(_Session(21, 384, 288, np.ones(21)), "x", 0.3, "blaze", 2)(np.zeros((120, 160, 3), np.uint8))


def test_what_is_missing_is_named(tmp_path):
    with pytest.raises(HandbenchError, match="expected an ONNX file"):
        make_estimator("rtm-onnx:nowhere.onnx")
    with pytest.raises(HandbenchError, match="expected an input"):
        RtmOnnx(_Session(21, "h", "w", np.ones(21)), "x", 0.3, "blaze", 2)


def _landmarks(x, y):
    return SimpleNamespace(landmark=[SimpleNamespace(x=x, y=y, z=0.01) for _ in range(21)])


class _Graph:
    made = 0

    def __init__(self, **settings):
        self.settings = settings
        type(self).made += 1

    def close(self):
        self.settings = {}


class _Hands(_Graph):
    def process(self, image):
        side = SimpleNamespace(classification=[SimpleNamespace(label="Left", score=0.8)])
        return SimpleNamespace(
            multi_hand_landmarks=[_landmarks(0.25, 0.5)], multi_hand_world_landmarks=[_landmarks(0.1, 0.2)],
            multi_handedness=[side],
        )  # fmt: skip


class _Holistic(_Graph):
    def process(self, image):
        return SimpleNamespace(left_hand_landmarks=_landmarks(0.5, 0.5), right_hand_landmarks=None)


@pytest.fixture
def old_mediapipe(monkeypatch):
    solutions = SimpleNamespace(hands=SimpleNamespace(Hands=_Hands), holistic=SimpleNamespace(Holistic=_Holistic))
    monkeypatch.setitem(sys.modules, "mediapipe", SimpleNamespace(solutions=solutions, __version__="0.10.21"))


def test_the_old_hands_are_mirrored_and_scaled(old_mediapipe):
    made = make_estimator("mediapipe-0.10")
    hand = made(np.zeros((100, 200, 3), np.uint8))[0]
    assert (hand.side, hand.score) == ("right", 0.8)
    assert hand.keypoints_px[0].tolist() == [50, 50]
    assert hand.keypoints_cam[0].tolist() == [0.1, 0.2, 0.01]
    assert make_estimator("mediapipe-0.10?track=no").tracker() is None


def test_a_follower_keeps_one_graph_per_video(old_mediapipe):
    follower = make_estimator("mediapipe-0.10").tracker()
    before = _Hands.made
    for _ in range(3):
        follower(np.zeros((10, 10, 3), np.uint8))
    assert _Hands.made == before + 1
    follower.reset()
    follower(np.zeros((10, 10, 3), np.uint8))
    assert _Hands.made == before + 2


def test_holistic_keeps_the_persons_own_sides(old_mediapipe):
    hands = make_estimator("holistic")(np.zeros((100, 200, 3), np.uint8))
    assert [(hand.side, hand.keypoints_px[0].tolist()) for hand in hands] == [("left", [100, 50])]


def test_a_new_mediapipe_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "mediapipe", SimpleNamespace(__version__="1.2.3"))
    with pytest.raises(HandbenchError, match=r"mediapipe 1\.2\.3 has no solutions"):
        make_estimator("holistic")
