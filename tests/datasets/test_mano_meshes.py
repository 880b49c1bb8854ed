"""Layouts whose hands are posed by MANO parameters: the mesh's centre and size must come out again."""

from __future__ import annotations

import pickle

import mano_maker
import numpy as np
import pytest
import test_arctic
import test_dexycb
import test_h2o
import test_ho3d
from hand_maker import MANO_ROWS, context, dump, hands
from scipy.spatial.transform import Rotation

from handbench.datasets import arctic, dexycb, h2o, ho3d, mano_meshes
from handbench.errors import HandbenchError
from handbench.protocols import find
from handbench.runs.parts import load_source
from handbench.specs import Spec


@pytest.fixture(scope="module")
def mano(tmp_path_factory):
    return mano_maker.write_models(tmp_path_factory.mktemp("mano"), mirrored=False)


def hand(side, seed, mirrored=True, distance=0.6):
    """Absolute pose, shape, translation, vertices and joints of one hand before the camera."""
    model = mano_maker.model(side, mirrored=mirrored)
    pose, shape = (part[0] for part in mano_maker.parameters(1, side, seed))
    vertices, joints = mano_maker.posed(model, pose, shape)
    shift = np.array([0, 0, distance]) - joints.mean(axis=0)
    return pose, shape, shift, vertices + shift, joints + shift


def check(source, meshes, places=1e-6):
    """Every hand has the centre and the size of its mesh, by hand id."""
    assert source.hands.height == len(meshes)
    for row in source.hands.iter_rows(named=True):
        mesh = meshes[row["hand_id"]]
        np.testing.assert_allclose(row["center"], mesh.mean(axis=0), atol=places)
        np.testing.assert_allclose(row["extent"], np.ptp(mesh, axis=0), atol=places)
        assert row["extent_source"] == "mesh"


OPENGL = np.array([1, -1, -1])


def test_ho3d_in_opengl_axes(tmp_path, mano):
    # The hand is posed in the owner's axes, where the camera looks along -z.
    made = []
    for seed in range(len(test_ho3d.FRAMES)):
        pose, shape, shift, vertices, joints = hand("right", seed)
        move = np.array([0, 0, -1.2])
        made.append((pose, shape, shift + move, vertices + move, joints + move))
    test_ho3d.write(tmp_path, joints=np.stack([one[4][MANO_ROWS] for one in made]))
    meshes = {}
    for (sequence, frame), (pose, shape, shift, vertices, _) in zip(test_ho3d.FRAMES, made, strict=True):
        path = tmp_path / "train" / sequence / "meta" / f"{frame:04d}.pkl"
        content = pickle.loads(path.read_bytes()) | {"handPose": pose, "handBeta": shape, "handTrans": shift}
        path.write_bytes(pickle.dumps(content, protocol=2))
        meshes[f"ho3d/train/{sequence}/{frame:04d}/right"] = vertices * OPENGL
    source = ho3d.read(Spec.parse(f"ho3d:{tmp_path}"), context(mano=mano))
    check(source, meshes)
    # One frame of an older release, without parameters.
    content.pop("handPose")
    path.write_bytes(pickle.dumps(content, protocol=2))
    source = ho3d.read(Spec.parse(f"ho3d:{tmp_path}"), context(mano=mano))
    assert source.hands["extent_source"].cast(str).to_list().count("joints") == 1
    assert any("there are no parameters of them" in note for note in source.notes)


@pytest.mark.parametrize("side", ["right", "left"])
def test_dexycb_by_coefficients_and_with_the_left_hand_as_it_is(tmp_path, mano, side):
    model = mano_maker.model(side, mirrored=False)
    shape = mano_maker.parameters(1, side, 99)[1][0]
    poses, meshes, joints = [], {}, []
    name = "20200709_141754"
    for frame in range(12):
        pose = mano_maker.parameters(1, side, frame)[0][0]
        vertices, points = mano_maker.posed(model, pose, shape)
        shift = np.array([0, 0, 0.8]) - points.mean(axis=0)
        # The components are orthonormal, so that their transpose gives the coefficients.
        coefficients = model.arrays["hands_components"] @ (pose[3:] - model.arrays["hands_mean"])
        poses.append(np.r_[pose[:3], coefficients, shift])
        joints.append(points + shift)
        key = f"dexycb/all/20200709-subject-01/{name}/{dexycb.SERIALS[0]}/color_{frame:06d}/{side}"
        meshes[key] = vertices + shift
    place = test_dexycb.write(tmp_path, 1, name, side=side, joints=np.stack(joints))
    for frame in range(12):
        labels = {"joint_3d": joints[frame][None].astype(np.float32), "pose_m": poses[frame][None].astype(np.float32)}
        np.savez(place / f"labels_{frame:06d}.npz", **labels)
    meta = place.parent / "meta.yml"
    meta.write_text(meta.read_text() + f"mano_calib:\n- 20200709-subject-01_{side}\n")
    shapes = tmp_path / "calibration" / f"mano_20200709-subject-01_{side}" / "mano.yml"
    shapes.parent.mkdir(parents=True)
    shapes.write_text("betas:\n" + "".join(f"- {number:.17g}\n" for number in shape))
    spec = Spec.parse(f"dexycb:{tmp_path}")
    check(dexycb.read(spec, context(split="all", mano=mano)), meshes, places=1e-5)
    shapes.write_text("betas:\n- 1\n- 2\n")
    with pytest.raises(HandbenchError, match=r"mano\.yml: expected 10 numbers under betas"):
        dexycb.read(spec, context(split="all", mano=mano))


@pytest.mark.parametrize("mean", [True, False])
@pytest.mark.parametrize("mirrored", [True, False])
def test_h2o_as_fits_the_joints(tmp_path, mano, mean, mirrored):
    made = {side: [hand(side, seed, mirrored) for seed in range(12)] for side in ("left", "right")}
    left, right = (np.stack([one[4] for one in made[side]]) for side in ("left", "right"))
    place = test_h2o.write(tmp_path, "subject4/h1/0/cam4", left=left, right=right)
    (place / "hand_pose_MANO").mkdir()
    meshes = {}
    for frame in range(12):
        numbers = []
        for side in ("left", "right"):
            pose, shape, shift, vertices, _ = made[side][frame]
            given = pose - np.r_[np.zeros(3), mano_maker.model(side).arrays["hands_mean"]] * mean
            numbers += [1, *shift, *given, *shape]
            meshes[f"h2o/test/subject4/h1/0/cam4/{frame:06d}/{side}"] = vertices
        (place / "hand_pose_MANO" / f"{frame:06d}.txt").write_text(" ".join(map(repr, map(float, numbers))))
    source = h2o.read(Spec.parse(f"h2o:{tmp_path}"), context(mano=mano))
    check(source, meshes)
    said = next(note for note in source.notes if "since its owner does not say" in note)
    assert f"right: mean pose {'added' if mean else 'not added'}" in said
    assert f"left: shape basis {'mirrored' if mirrored else 'as in the official file'}" in said


def test_arctic_from_the_world(tmp_path, mano):
    frames, size = test_arctic.FRAMES, test_arctic.SIZE
    draw = np.random.default_rng(5)
    cameras = np.tile(np.eye(4), (8, 1, 1))
    cameras[:, :3, :3] = Rotation.random(8, rng=draw).as_matrix()
    made = {side: [hand(side, seed, mirrored=False) for seed in range(frames)] for side in ("right", "left")}
    # The cameras look at the place before the world's origin where the hands are.
    cameras[:, :3, 3] = np.array([0, 0, 0.6]) - cameras[:, :3, :3] @ np.array([0, 0, 0.6])

    def seen(points):
        return np.einsum("vij,fpj->fvpi", cameras[:, :3, :3], points) + cameras[None, :, None, :3, 3]

    joints = {side: seen(np.stack([one[4] for one in made[side]])) for side in made}
    meshes = {side: seen(np.stack([one[3] for one in made[side]])) for side in made}
    content = test_arctic.split(joints["right"], joints["left"])
    record = content["data_dict"][test_arctic.SEQUENCE]
    record["params"] = {
        f"{name}_{side[0]}": np.stack([part(one) for one in made[side]])
        for side in made
        for name, part in (
            ("rot", lambda one: one[0][:3]),
            ("pose", lambda one: one[0][3:]),
            ("shape", lambda one: one[1]),
            ("trans", lambda one: one[2]),
        )
    }
    test_arctic.write(tmp_path, content)
    misc = {
        "intris_mat": test_arctic.K,
        "image_size": [[2800, 2000]] + [list(size)] * 8,
        "ioi_offset": test_arctic.OFFSET,
    }
    dump(tmp_path / "meta" / "misc.json", {"s05": {**misc, "world2cam": cameras}})
    source = arctic.read(Spec.parse(f"arctic:{tmp_path}"), context(mano=mano))
    expected = {
        f"arctic/p1_val/{test_arctic.SEQUENCE}/{view + 1}/{frame + test_arctic.OFFSET:05d}/{side}": meshes[side][
            frame, view
        ]
        for side in made
        for frame in range(frames)
        for view in range(8)
    }
    check(source, expected)
    record.pop("params")
    test_arctic.write(tmp_path, content)
    dump(tmp_path / "meta" / "misc.json", {"s05": {**misc, "world2cam": cameras}})
    with pytest.raises(HandbenchError, match="expected params with rot, pose, shape and trans"):
        arctic.read(Spec.parse(f"arctic:{tmp_path}"), context(mano=mano))
    dump(tmp_path / "meta" / "misc.json", {"s05": misc})
    with pytest.raises(HandbenchError, match="s05: expected world2cam of 8 cameras"):
        arctic.read(Spec.parse(f"arctic:{tmp_path}"), context(mano=mano))


def test_a_dataset_without_use_for_it_says_so(tmp_path, mano):
    from hand_maker import write_ge

    write_ge(tmp_path, hands(9, "left"), range(9))
    notes = load_source(f"ge:{tmp_path}", context(mano=mano)).notes
    assert "--mano is not used: ge has no meshes that MANO would have to be posed for" in notes
    for name in mano_meshes.USERS:
        assert "mano" in (find("datasets", name).__globals__["__doc__"] or "").lower()
