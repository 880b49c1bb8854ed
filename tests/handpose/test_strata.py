from __future__ import annotations

import numpy as np
import pytest
from PIL import Image, ImageFilter

from handbench.tasks.handpose.arrays import frames_of
from handbench.tasks.handpose.strata import (
    BlurThresholds,
    blur_class,
    motion_of_hands,
    occlusion_class,
    sharpness_laplacian,
    size_class,
)
from tests.handpose.makers import moved
from tests.handpose.test_scoring import frame_table, hand_table


def test_sharpness_of_a_known_pattern_and_under_blur():
    """A flat crop has none; blurring always lowers it; the crop's size makes no difference."""
    rng = np.random.default_rng(0)
    noise = Image.fromarray(rng.integers(0, 255, (40, 40, 3), dtype=np.uint8)).resize((200, 200))
    box = np.array([40.0, 40, 160, 160])
    values = [
        sharpness_laplacian(np.asarray(noise.filter(ImageFilter.GaussianBlur(radius))), box) for radius in (0, 1, 2, 4)
    ]
    assert values == sorted(values, reverse=True)
    assert values[3] < 0.2 * values[0]
    assert sharpness_laplacian(np.full((100, 100, 3), 90, np.uint8), np.array([10.0, 10, 90, 90])) == 0
    large = np.asarray(noise.resize((600, 600), Image.Resampling.NEAREST))
    assert sharpness_laplacian(large, 3 * box) == pytest.approx(values[0], rel=0.35)
    assert np.isnan(sharpness_laplacian(large, np.array([700.0, 700, 800, 800])))


def test_the_laplacian_by_hand():
    """One white pixel of 255 in a 128 × 128 crop: the kernel gives -1020 once and 255 four times in 126² pixels."""
    picture = np.zeros((128, 128, 3), np.uint8)
    picture[64, 64] = 255
    box = np.array([18.2857, 18.2857, 109.7143, 109.7143])  # padded by a fifth it is the whole picture
    values = np.zeros(126 * 126)
    values[:5] = [-1020, 255, 255, 255, 255]
    assert sharpness_laplacian(picture, box) == pytest.approx(values.var())


def test_motion_in_hand_sizes_per_frame():
    """A hand 92 px large moves 9.2 px per frame; the next annotated frame may be up to five away."""
    frames = frame_table(20, videos=1)
    chosen = [0, 1, 4, 12]
    images = frames["image"].gather(chosen).to_list()
    hands = hand_table(images, ["right"] * 4, [moved(9.2 * n) for n in chosen])
    motion = motion_of_hands(hands, frames_of(frames))
    assert motion[:3] == pytest.approx([0.1, 0.1, 0.1])
    assert np.isnan(motion[3])


def test_blur_takes_both_signals():
    sharpness, motion = np.array([10.0, 1, 10, 1, np.nan]), np.array([0.1, 0.1, 0.9, 0.9, 0.1])
    assert blur_class(sharpness, motion, BlurThresholds(5, 0.5)).to_list() == ["sharp", "mild", "mild", "blurry", None]


def test_size_and_occlusion_classes():
    boxes = np.array([[0.0, 0, 47, 20], [0, 0, 20, 48], [0, 0, 191, 5], [0, 0, 192, 5], [np.nan] * 4])
    assert size_class(boxes).to_list() == ["under 48 px", "48 to 96 px", "96 to 192 px", "192 px and more", None]
    hidden = np.zeros((4, 21), bool)
    hidden[1, :3], hidden[2, :11] = True, True
    listed = [row.tolist() for row in hidden[:3]]
    hands = hand_table([f"{n}.jpg" for n in range(4)], ["right"] * 4, [moved(0)] * 4, occluded=[*listed, None])
    assert occlusion_class(hands).to_list() == ["all points seen", "under half hidden", "half or more hidden", None]
