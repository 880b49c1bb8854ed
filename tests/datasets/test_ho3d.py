from __future__ import annotations

import pickle

import numpy as np
import pytest
from hand_maker import MANO_ROWS, camera, context, dump, hands, joints_of, picture, pixels

from handbench.datasets.ho3d import read
from handbench.errors import HandbenchError
from handbench.specs import Spec
from handbench.tables import conform

K = camera(640, 480, 600.0)
FRAMES = [(sequence, frame) for sequence in ("ABF10", "ABF11", "SM2") for frame in range(5)]
TRUE = hands(len(FRAMES))


def theirs(joints):
    return joints[..., MANO_ROWS, :] * np.array([1, -1, -1])


def write(root, split="train", suffix="jpg", joints=None):
    joints = theirs(TRUE) if joints is None else joints
    for (sequence, frame), points in zip(FRAMES, joints, strict=True):
        meta = {"handJoints3D": points, "camMat": K, "objRot": np.zeros(3), "objName": "box"}
        path = root / split / sequence / "meta" / f"{frame:04d}.pkl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pickle.dumps(meta, protocol=2).replace(b"numpy._core", b"numpy.core"))
        picture(root / split / sequence / "rgb" / f"{frame:04d}.{suffix}", 640, 480)
    (root / f"{split}.txt").write_text("\n".join(f"{sequence}/{frame:04d}" for sequence, frame in FRAMES))
    return root


def spec(root):
    return Spec.parse(f"ho3d:{root}")


@pytest.mark.parametrize("suffix", ["png", "jpg"])
def test_round_trip(tmp_path, suffix):
    source = read(spec(write(tmp_path, suffix=suffix)), context())
    found = joints_of(source)
    assert len(found) == len(FRAMES)
    for (sequence, frame), joints in zip(FRAMES, TRUE, strict=True):
        np.testing.assert_allclose(found[f"ho3d/train/{sequence}/{frame:04d}/right"], joints, atol=1e-6)
    np.testing.assert_allclose(source.hands["joints_px"].to_numpy()[0], pixels(TRUE[0], K), atol=1e-3)
    conform(source.hands, "hands")
    conform(source.frames, "frames")


def test_cameras_of_one_take_form_one_cluster(tmp_path):
    hands_ = read(spec(write(tmp_path)), context()).hands
    assert set(hands_["cluster"]) == {"ABF1", "SM2"}
    assert set(hands_["sequence"]) == {"ABF10", "ABF11", "SM2"}


def test_frames_without_annotation_are_counted(tmp_path):
    write(tmp_path)
    meta = tmp_path / "train" / "ABF10" / "meta"
    (meta / "0000.pkl").unlink()
    (meta / "0001.pkl").write_bytes(pickle.dumps({"handJoints3D": None, "camMat": None}))
    (meta / "0002.pkl").write_bytes(pickle.dumps({"handJoints3D": np.zeros(3), "camMat": K}))
    (tmp_path / "train" / "ABF10" / "rgb" / "0003.jpg").unlink()
    source = read(spec(tmp_path), context())
    assert source.hands.height == len(FRAMES) - 4
    assert source.skipped == {
        "no pickle of the frame": 1,
        "not annotated": 1,
        "wrist alone annotated": 1,
        "no image": 1,
    }


def test_evaluation_has_wrists_until_its_joints_are_there(tmp_path):
    write(tmp_path, "evaluation", joints=theirs(TRUE)[:, 0])
    with pytest.raises(HandbenchError, match=r"nothing is left of .*wrist alone annotated: 15"):
        read(spec(tmp_path), context(split="evaluation"))
    dump(tmp_path / "evaluation_xyz.json", theirs(TRUE))
    found = joints_of(read(spec(tmp_path), context(split="evaluation")))
    np.testing.assert_allclose(found["ho3d/evaluation/ABF11/0002/right"], TRUE[7], atol=1e-6)
    dump(tmp_path / "evaluation_xyz.json", theirs(TRUE)[:4])
    with pytest.raises(HandbenchError, match=r"4 rows, expected 15"):
        read(spec(tmp_path), context(split="evaluation"))


@pytest.mark.parametrize(
    ("joints", "cause"),
    [
        (TRUE * np.array([1, -1, -1]), "order openpose:"),
        (TRUE[:, MANO_ROWS], "OpenGL axes"),
        (theirs(TRUE) * 1000, "look like millimetres"),
        (theirs(TRUE * np.array([-1, 1, 1])), "mirrored"),
    ],
)
def test_damaged_copies_are_refused_with_their_cause(tmp_path, joints, cause):
    write(tmp_path, joints=joints)
    with pytest.raises(HandbenchError, match=cause):
        read(spec(tmp_path), context())


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", r"0003.pkl: the file is empty"),
        (b"cos\nsystem\n(S'true'\ntR.", r"0003.pkl: .* an object of os.system, which is not plain data"),
        (pickle.dumps([1]), r"0003.pkl: expected a dict with handJoints3D and camMat"),
        (pickle.dumps({"handJoints3D": np.zeros((20, 3)), "camMat": K}), r"handJoints3D of 21 x 3"),
        (pickle.dumps({"handJoints3D": np.full((21, 3), np.nan), "camMat": K}), r"finite numbers"),
        (pickle.dumps({"handJoints3D": "none", "camMat": K}), r"must be numbers"),
    ],
)
def test_bad_annotations_are_one_clear_line(tmp_path, raw, message):
    write(tmp_path)
    (tmp_path / "train" / "SM2" / "meta" / "0003.pkl").write_bytes(raw)
    with pytest.raises(HandbenchError, match=message) as caught:
        read(spec(tmp_path), context())
    assert "\n" not in str(caught.value)


def test_bad_lists(tmp_path):
    write(tmp_path)
    (tmp_path / "train.txt").write_text("ABF10/0000\nABF10 0001\n")
    with pytest.raises(HandbenchError, match=r"train.txt, line 2: expected SEQUENCE/FRAME"):
        read(spec(tmp_path), context())
    (tmp_path / "train.txt").write_text("../../etc/0001\n")
    with pytest.raises(HandbenchError, match=r"train.txt, line 1: expected SEQUENCE/FRAME"):
        read(spec(tmp_path), context())
    (tmp_path / "train.txt").unlink()
    with pytest.raises(HandbenchError, match=r"train.txt: missing"):
        read(spec(tmp_path), context())
    with pytest.raises(HandbenchError, match="no split 'test'"):
        read(spec(tmp_path), context(split="test"))
