from __future__ import annotations

import pickle

import numpy as np
import pytest
from hand_maker import camera, context, dump, hands, joints_of, picture, pixels

from handbench.datasets.anatomy import palm_lengths
from handbench.datasets.rhd import read
from handbench.errors import HandbenchError
from handbench.hand.skeleton import JOINTS
from handbench.specs import Spec
from handbench.tables import conform

SEGMENTS = ("mcp", "pip", "dip", "tip")
THEIRS = [
    "wrist",
    *("thumb_tip", "thumb_ip", "thumb_mcp", "thumb_cmc"),
    *(f"{finger}_{part}" for finger in ("index", "middle", "ring", "little") for part in reversed(SEGMENTS)),
]
ROWS = [JOINTS.index(name) for name in THEIRS]
K = camera(320, 320, 300.0)
LEFT, RIGHT = hands(12, "left"), hands(12, "right", seed=1)


def annotation(row, hidden=()):
    both = np.concatenate([LEFT[row, ROWS], RIGHT[row, ROWS]])
    seen = np.ones((42, 1))
    for start in hidden:
        seen[start : start + 18] = 0
    return {"xyz": both.astype(np.float32), "uv_vis": np.concatenate([pixels(both, K), seen], axis=1), "K": K}


def write(root, content=None, split="evaluation"):
    content = content or {row: annotation(row) for row in range(12)}
    (root / split).mkdir(parents=True, exist_ok=True)
    (root / split / f"anno_{split}.pickle").write_bytes(pickle.dumps(content, protocol=2))
    for row in content:
        picture(root / split / "color" / f"{row:05d}.png", 320, 320)
    return root


def spec(root, options=""):
    return Spec.parse(f"rhd:{root}{options}")


def test_round_trip_of_both_hands(tmp_path):
    source = read(spec(write(tmp_path)), context())
    found = joints_of(source)
    for row in range(12):
        np.testing.assert_allclose(found[f"rhd/evaluation/{row:05d}/left"], LEFT[row], atol=1e-6)
        np.testing.assert_allclose(found[f"rhd/evaluation/{row:05d}/right"], RIGHT[row], atol=1e-6)
    assert source.synthetic
    assert source.frames.height == 12
    np.testing.assert_allclose(source.hands["joints_px"].to_numpy()[0], pixels(LEFT[0], K), atol=1e-3)
    conform(source.hands, "hands")
    conform(source.frames, "frames")


def test_one_side_and_hidden_hands(tmp_path):
    content = {row: annotation(row, hidden=(0,) if row < 3 else ()) for row in range(12)}
    write(tmp_path, content, "training")
    left = read(spec(tmp_path, "?hands=left"), context(split="training"))
    assert left.hands.height == 9
    assert left.skipped == {"hand with too few joints in sight": 3}
    some = read(spec(tmp_path, "?hands=left&visible=3"), context(split="training"))
    assert some.hands.height == 12
    assert some.hands["visible"].to_numpy()[0].sum() == 3
    assert read(spec(tmp_path, "?hands=right"), context(split="training")).hands.height == 12


def test_missing_images_are_counted(tmp_path):
    write(tmp_path)
    (tmp_path / "evaluation" / "color" / "00003.png").unlink()
    assert read(spec(tmp_path), context()).skipped == {"no image": 2}


def mmpose(root, joints, sides, name="rhd_test.json"):
    images = [
        {"file_name": f"{row:05d}.png", "height": 320, "width": 320, "id": row,
         "cam_param": {"focal": [300.0, 300.0], "princpt": [160.0, 160.0]}}
        for row in range(len(joints))
    ]  # fmt: skip
    annotations = [
        {"id": row, "image_id": row, "hand_type": side, "joint_cam": points[ROWS] * 1000,
         "keypoints": np.c_[pixels(points, K)[ROWS], np.ones(21)]}
        for row, (points, side) in enumerate(zip(joints, sides, strict=True))
    ]  # fmt: skip
    dump(root / name, {"images": images, "annotations": annotations})
    for image in images:
        picture(root / image["file_name"], 320, 320)


def test_the_layout_of_mmpose(tmp_path):
    mmpose(tmp_path, np.concatenate([LEFT, RIGHT]), ["left"] * 12 + ["right"] * 12)
    source = read(spec(tmp_path), context())
    found = joints_of(source)
    np.testing.assert_allclose(found["rhd/evaluation/00005/left"], LEFT[5], atol=1e-6)
    np.testing.assert_allclose(found["rhd/evaluation/00017/right"], RIGHT[5], atol=1e-6)
    assert read(spec(tmp_path, "?hands=left"), context()).skipped == {"other hand": 12}


def test_damaged_copies_of_mmpose_are_refused_with_their_cause(tmp_path):
    mmpose(tmp_path, LEFT, ["right"] * 12)
    with pytest.raises(HandbenchError, match="left and right are exchanged"):
        read(spec(tmp_path), context())
    mmpose(tmp_path, LEFT / 1000, ["left"] * 12)
    with pytest.raises(HandbenchError, match="converted to metres twice"):
        read(spec(tmp_path), context())


def test_left_and_right_exchanged_is_refused(tmp_path):
    content = {row: annotation(row) for row in range(12)}
    for one in content.values():
        one["xyz"] = np.roll(one["xyz"], 21, axis=0)
        one["uv_vis"] = np.roll(one["uv_vis"], 21, axis=0)
    with pytest.raises(HandbenchError, match="left and right are exchanged"):
        read(spec(write(tmp_path, content)), context())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([1, 2], r"expected a dict of image number"),
        ({0: {"xyz": np.zeros((42, 3)), "uv_vis": np.zeros((42, 3))}}, r"image 0: expected K of 3 x 3"),
        (
            {0: {"xyz": np.zeros((21, 3)), "uv_vis": np.zeros((42, 3)), "K": K}},
            r"image 0: expected xyz of 42 x 3",
        ),
        ({0: annotation(0) | {"xyz": np.full((42, 3), np.inf)}}, r"image 0: expected xyz .* finite"),
        ({"a": annotation(0)}, r"image 'a': expected"),
    ],
)
def test_bad_pickles_are_one_clear_line(tmp_path, content, message):
    write(tmp_path)
    (tmp_path / "evaluation" / "anno_evaluation.pickle").write_bytes(pickle.dumps(content))
    with pytest.raises(HandbenchError, match=message) as caught:
        read(spec(tmp_path), context())
    assert "\n" not in str(caught.value)


def test_nothing_there(tmp_path):
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(HandbenchError, match="missing RHD annotations"):
        read(spec(tmp_path), context())


def test_the_real_sample(shared):
    folder = shared / "samples" / "mmpose_rhd"
    if not folder.is_dir():
        pytest.skip(f"no sample: {folder}")
    source = read(spec(folder), context())
    assert source.hands["hand_id"].to_list() == [
        "rhd/evaluation/00111/left",
        "rhd/evaluation/01111/left",
        "rhd/evaluation/11111/right",
    ]
    joints, lens = source.hands["joints_cam"].to_numpy(), source.hands["intrinsics"].to_numpy()
    assert ((palm_lengths(joints) > 0.08) & (palm_lengths(joints) < 0.1)).all()
    for hand in range(3):
        given = source.hands["joints_px"].to_numpy()[hand]
        assert np.abs(pixels(joints[hand], lens[hand]) - given).max() < 0.1
