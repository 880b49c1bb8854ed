"""The estimators against annotations of real and of others' rendered hands."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.io import loadmat
from scipy.spatial.transform import Rotation

from handbench.estimators._hand import Hand
from handbench.estimators._tracking import BlazeTracker
from handbench.estimators.blaze import Blaze
from handbench.estimators.yoha import Yoha

pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")


@dataclass(frozen=True)
class Annotated:
    image: np.ndarray
    keypoints_px: np.ndarray
    keypoints_cam: np.ndarray  # metres


def read_rgb(path: Path) -> np.ndarray:
    return np.asarray(Image.open(path).convert("RGB"))


@pytest.fixture(scope="session")
def ge(shared: Path) -> list[Annotated]:
    """Ge et al.: left hands on 256-pixel crops, so the camera is shifted and scaled as the crop was."""
    folder = shared / "samples" / "ge_realworld"
    poses = loadmat(folder / "pose_gt.mat")["pose_gt"].astype(float) / 100
    params = loadmat(folder / "params.mat")
    samples = []
    for path in sorted((folder / "images").glob("*.jpg")):
        joints = poses[int(path.stem)]
        x, y, width, _ = params["bbox"][int(path.stem)].astype(float)
        fx, fy, u0, v0 = params["cam_param"][int(path.stem)]
        pixels = joints[:, :2] / joints[:, 2:] * [fx, fy] + [u0 - x, v0 - y]
        samples.append(Annotated(read_rgb(path), pixels * 256 / width, joints))
    assert len(samples) >= 20
    return samples


def first_hands(estimator: Blaze | Yoha, samples: list[Annotated]) -> list[tuple[Hand, Annotated]]:
    found = [(estimator(sample.image), sample) for sample in samples]
    return [(hands[0], sample) for hands, sample in found if hands]


def relative_error(found: np.ndarray, truth: np.ndarray) -> float:
    """Mean 2D distance over the longer side of the true hand's box."""
    return np.linalg.norm(found - truth, axis=1).mean() / np.ptp(truth, axis=0).max()


def aligned_error(found: np.ndarray, truth: np.ndarray) -> float:
    """PA-MPJPE in millimetres: mean joint distance after the best similarity transform."""
    found, truth = found - found.mean(axis=0), truth - truth.mean(axis=0)
    turned = Rotation.align_vectors(truth, found)[0].apply(found)
    scale = (turned * truth).sum() / (turned**2).sum()
    return 1000 * np.linalg.norm(scale * turned - truth, axis=1).mean()


@pytest.mark.parametrize(("variant", "error_2d", "error_3d"), [("full", 0.034, 10.5), ("lite", 0.040, 11.0)])
def test_accuracy_on_real_hands(ge: list[Annotated], variant: str, error_2d: float, error_3d: float) -> None:
    pairs = first_hands(Blaze(variant, max_hands=1), ge)
    assert len(pairs) >= len(ge) - 1
    errors = [relative_error(hand.keypoints_px, sample.keypoints_px) for hand, sample in pairs]
    assert np.mean(errors) == pytest.approx(error_2d, rel=0.15)
    errors = [aligned_error(hand.keypoints_cam, sample.keypoints_cam) for hand, sample in pairs]
    assert np.mean(errors) == pytest.approx(error_3d, rel=0.1)
    assert np.mean([hand.side == "left" for hand, _ in pairs]) > 0.9


def sign_agreement(found: np.ndarray, truth: np.ndarray) -> float:
    """Share of joint pairs, truly more than 15 mm apart along one axis, whose offset has the true sign.

    Both are (hands, 21) along that axis.
    """
    row, column = np.triu_indices(21, 1)
    offsets, true_offsets = found[:, row] - found[:, column], truth[:, row] - truth[:, column]
    large = np.abs(true_offsets) > 0.015
    return (np.sign(offsets) == np.sign(true_offsets))[large].mean()


def test_the_hand_in_metres_stands_in_camera_axes(ge: list[Annotated]) -> None:
    pairs = first_hands(Blaze("full", max_hands=1), ge)
    found = np.stack([hand.keypoints_cam for hand, _ in pairs])
    truth = np.stack([sample.keypoints_cam for _, sample in pairs])
    assert sign_agreement(found[..., 0], truth[..., 0]) > 0.97
    assert sign_agreement(found[..., 1], truth[..., 1]) > 0.97
    assert sign_agreement(found[..., 2], truth[..., 2]) > 0.9
    palms = np.linalg.norm(found[:, 9] - found[:, 0], axis=1)
    assert 0.08 < np.median(palms) < 0.11


def test_image_depth_grows_away_from_the_camera(ge: list[Annotated]) -> None:
    pairs = first_hands(Blaze("full", max_hands=1), ge)
    found = np.stack([hand.keypoints_z for hand, _ in pairs])
    truth = np.stack([sample.keypoints_cam[:, 2] for _, sample in pairs])
    assert sign_agreement(found, truth) > 0.8


def test_yoha_is_a_weaker_second_opinion(ge: list[Annotated]) -> None:
    yoha = Yoha(max_hands=1)
    pairs = first_hands(yoha, ge)
    assert len(pairs) >= 0.9 * len(ge)
    errors = [relative_error(hand.keypoints_px, sample.keypoints_px) for hand, sample in pairs]
    assert np.mean(errors) == pytest.approx(0.071, rel=0.2)
    assert np.mean([hand.side == "left" for hand, _ in pairs]) > 0.8
    mirrored = [hand for sample in ge for hand in yoha(sample.image[:, ::-1])]
    assert np.mean([hand.side == "right" for hand in mirrored]) > 0.8
    assert all(hand.keypoints_cam is None and hand.keypoints_z is None for hand, _ in pairs)


def test_sides_of_right_hands(shared: Path) -> None:
    """FreiHAND holds right hands only."""
    blaze = Blaze(max_hands=1)
    images = [read_rgb(path) for path in sorted((shared / "samples" / "mmpose_freihand").glob("*.jpg"))]
    sides = [hand.side for image in images for hand in blaze(image)]
    assert len(sides) >= 6
    assert set(sides) == {"right"}


def test_sides_of_rendered_hands(shared: Path) -> None:
    folder = shared / "samples" / "mmpose_rhd"
    truth = json.loads((folder / "test_rhd.json").read_text())
    names = {image["id"]: image["file_name"] for image in truth["images"]}
    blaze = Blaze(max_hands=1)
    for annotation in truth["annotations"]:
        hands = blaze(read_rgb(folder / names[annotation["image_id"]]))
        assert [hand.side for hand in hands] == [annotation["hand_type"]]


def test_a_mirrored_photo_changes_the_side_and_little_else(ge: list[Annotated]) -> None:
    blaze = Blaze(max_hands=1)
    for sample in ge[:6]:
        [hand] = blaze(sample.image)
        [mirrored] = blaze(sample.image[:, ::-1])
        assert {hand.side, mirrored.side} == {"left", "right"}
        back = mirrored.keypoints_px * [-1, 1] + [255, 0]
        assert relative_error(back, hand.keypoints_px) < 0.06


def test_results_do_not_depend_on_what_came_before(ge: list[Annotated]) -> None:
    blaze = Blaze()
    [first] = blaze(ge[0].image)
    blaze(ge[1].image)
    [again], [fresh] = blaze(ge[0].image), Blaze()(ge[0].image)
    np.testing.assert_array_equal(first.keypoints_px, again.keypoints_px)
    np.testing.assert_array_equal(first.keypoints_cam, fresh.keypoints_cam)


def test_a_followed_hand_stays_the_hand_that_is_seen(ge: list[Annotated]) -> None:
    """A photo that slides over a grey canvas: following finds the hand where single images find it."""
    blaze = Blaze(max_hands=1)
    track = BlazeTracker(blaze)
    for step in range(8):
        canvas = np.full((320, 360, 3), 128, np.uint8)
        canvas[20:276, 10 * step : 10 * step + 256] = ge[0].image
        [followed], [still] = track(canvas), blaze(canvas)
        assert relative_error(followed.keypoints_px, still.keypoints_px) < 0.06
        truth = ge[0].keypoints_px + np.array([10 * step, 20])
        assert relative_error(followed.keypoints_px, truth) < 0.08
