from __future__ import annotations

import os
import pickle

import mano_maker
import numpy as np
import pytest
from hand_maker import Evil
from scipy.spatial.transform import Rotation

from handbench.datasets.mano import fingerprint, load_model
from handbench.errors import HandbenchError
from handbench.hand.mano import PARENTS, pose_hands, rotations
from handbench.hand.skeleton import JOINTS, ORDERS


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return mano_maker.write_models(tmp_path_factory.mktemp("mano"))


def test_rotations_are_scipys():
    vectors = np.random.default_rng(0).normal(0, 2, (200, 3))
    vectors[0], vectors[1] = 0, [1e-9, 0, 0]
    np.testing.assert_allclose(rotations(vectors), Rotation.from_rotvec(vectors).as_matrix(), atol=1e-14)


@pytest.mark.parametrize("side", ["right", "left"])
def test_posed_hands_are_those_of_the_loops(folder, side):
    model = load_model(folder, side)
    pose, shape = mano_maker.parameters(5, side)
    shift = np.random.default_rng(1).normal(0, 1, (5, 3))
    vertices, joints = pose_hands(model, pose, shape, shift)
    made = mano_maker.model(side)
    for row in range(5):
        by_loops = mano_maker.posed(made, pose[row], shape[row], shift[row])
        np.testing.assert_allclose(vertices[row], by_loops[0], atol=1e-12)
        np.testing.assert_allclose(joints[row], by_loops[1], atol=1e-12)


def test_fewer_shape_coefficients_are_the_first_ones(folder):
    model = load_model(folder, "right")
    pose, shape = mano_maker.parameters(2)
    shape[:, 4:] = 0
    np.testing.assert_allclose(pose_hands(model, pose, shape[:, :4])[0], pose_hands(model, pose, shape)[0], atol=1e-15)


def test_a_turn_of_the_wrist_turns_the_hand_about_the_wrist(folder):
    model = load_model(folder, "right")
    pose, shape = mano_maker.parameters(1)
    vertices, joints = pose_hands(model, pose, shape)
    turn = Rotation.from_rotvec([0.3, -1.1, 0.7])
    turned = pose.copy()
    turned[0, :3] = (turn * Rotation.from_rotvec(pose[0, :3])).as_rotvec()
    moved, moved_joints = pose_hands(model, turned, shape)
    wrist = joints[0, 0]
    np.testing.assert_allclose(moved_joints[0, 0], wrist, atol=1e-12)
    np.testing.assert_allclose(moved[0], turn.apply(vertices[0] - wrist) + wrist, atol=1e-12)


def test_the_parents_are_those_of_manos_order():
    fingers = [JOINTS[ORDERS["mano"].index(row)].partition("_")[0] for row in range(16)]
    for joint, parent in enumerate(PARENTS[1:], 1):
        assert fingers[parent] in (fingers[joint], "wrist")


@pytest.mark.parametrize("kind", ["plain", "official", "old"])
def test_every_way_of_writing_the_model_is_read(tmp_path, folder, kind):
    mano_maker.dump(tmp_path / "mano" / "MANO_RIGHT.pkl", mano_maker.model(), kind)
    found, expected = load_model(tmp_path, "right"), load_model(folder, "right")
    for name in ("template", "shape_basis", "pose_basis", "regressor", "weights", "mean_pose", "components"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


@pytest.mark.parametrize("in_file", [True, False])
@pytest.mark.parametrize("wanted", [True, False])
def test_the_left_hands_shape_basis_is_mirrored_where_that_is_wanted(tmp_path, in_file, wanted):
    mano_maker.write_models(tmp_path, mirrored=in_file)
    basis = load_model(tmp_path, "left", mirrored_shape=wanted).shape_basis
    np.testing.assert_array_equal(basis, mano_maker.model("left", mirrored=wanted).arrays["shapedirs"])


def test_a_left_hand_needs_the_right_one_beside_it(tmp_path):
    mano_maker.dump(tmp_path / "MANO_LEFT.pkl", mano_maker.model("left"))
    with pytest.raises(HandbenchError, match=r"no MANO_RIGHT\.pkl in it; get it from mano"):
        load_model(tmp_path, "left")


def test_the_fingerprint_is_of_the_content(tmp_path, folder):
    mano_maker.write_models(tmp_path / "models")
    assert fingerprint(tmp_path) == fingerprint(folder)
    mano_maker.dump(tmp_path / "models" / "MANO_LEFT.pkl", mano_maker.model("left", seed=3))
    assert fingerprint(tmp_path) != fingerprint(folder)
    with pytest.raises(HandbenchError, match=r"no MANO_RIGHT\.pkl in it"):
        fingerprint(tmp_path / "none")


def test_nothing_in_a_file_is_run(tmp_path):
    trace = tmp_path / "run"
    arrays = mano_maker.model().arrays
    for evil in (Evil(os.system, f"touch {trace}"), Evil(eval, f"open({str(trace)!r}, 'w')")):
        (tmp_path / "MANO_RIGHT.pkl").write_bytes(pickle.dumps({**arrays, "weights": evil}, protocol=2))
        with pytest.raises(HandbenchError, match="which is not plain data"):
            load_model(tmp_path, "right")
    # A name that seems to lie in chumpy is not looked up either.
    raw = pickle.dumps({**arrays, "weights": Evil(os.system, f"touch {trace}")}, protocol=2)
    assert b"cposix\nsystem\n" in raw
    for name in (b"cchumpy\nos.system\n", b"cscipy.os\nsystem\n", b"cchumpy.ch\neval\n"):
        (tmp_path / "MANO_RIGHT.pkl").write_bytes(raw.replace(b"cposix\nsystem\n", name))
        with pytest.raises(HandbenchError, match=r"weights: an object of (chumpy|scipy)\S* without its state"):
            load_model(tmp_path, "right")
    assert not trace.exists()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"weights": np.ones((6890, 24))}, r"weights must be 778 x 16, found 6890 x 24"),
        ({"posedirs": np.ones((778, 3, 207))}, r"posedirs must be 778 x 3 x 135"),
        ({"shapedirs": np.ones((778, 3))}, r"shapedirs must be 778 x 3 x 10, found 778 x 3"),
        ({"v_template": np.full((778, 3), np.nan)}, r"v_template must be finite"),
        ({"hands_mean": ["x"] * 45}, r"hands_mean: could not convert"),
        ({"kintree_table": np.zeros((2, 16))}, r"kintree_table must be that of MANO"),
    ],
)
def test_another_model_is_refused_in_one_line(tmp_path, changed, message):
    mano_maker.dump(tmp_path / "MANO_RIGHT.pkl", mano_maker.model(), **changed)
    with pytest.raises(HandbenchError, match=message) as caught:
        load_model(tmp_path, "right")
    assert "\n" not in str(caught.value)


def test_what_chumpy_object_is_not_read_is_said(tmp_path):
    mano_maker.dump(tmp_path / "MANO_RIGHT.pkl", mano_maker.model(), "unknown")
    with pytest.raises(HandbenchError, match=r"weights: an object of chumpy\.reordering\.Tile; only arrays, scipy"):
        load_model(tmp_path, "right")


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "the file is empty"),
        (b"no pickle", "expected a MANO model as a plain pickle"),
        (pickle.dumps([1, 2]), "expected a MANO model, a dict"),
        (pickle.dumps({"v_template": 1}), "posedirs is missing"),
        (pickle.dumps({"a": np.zeros(5)})[:-9], "expected a MANO model as a plain pickle"),
    ],
)
def test_damaged_files_are_refused_in_one_line(tmp_path, raw, message):
    (tmp_path / "MANO_RIGHT.pkl").write_bytes(raw)
    with pytest.raises(HandbenchError, match=message) as caught:
        load_model(tmp_path, "right")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["plain", "official"])
def test_a_file_changed_anywhere_is_read_or_refused_in_one_line(tmp_path, kind):
    path = mano_maker.dump(tmp_path / "MANO_RIGHT.pkl", mano_maker.model(), kind)
    raw = path.read_bytes()
    draw = np.random.default_rng(0)
    said = []
    for _ in range(60):
        changed = bytearray(raw)
        for _ in range(draw.integers(1, 4)):
            # Where the pickle says what its bytes mean: at its ends, and beside the names of numpy.
            near = raw.find(b"numpy", int(draw.integers(0, len(raw))))
            place = int(draw.choice([draw.integers(0, 3000), len(raw) - draw.integers(1, 3000), max(near, 0) + 40]))
            change = draw.integers(0, 3)
            if change == 0:
                changed[place : place + 1] = bytes([draw.integers(0, 256)])
            elif change == 1:
                del changed[place : place + int(draw.integers(1, 20))]
            else:
                changed[place:place] = bytes(draw.integers(0, 256, 5, dtype=np.uint8))
        path.write_bytes(bytes(changed))
        try:
            model = load_model(tmp_path, "right")
        except HandbenchError as error:
            said.append(str(error))
        else:
            assert model.template.shape == (778, 3)
    assert len(said) > 40
    assert not [line for line in said if "\n" in line]
