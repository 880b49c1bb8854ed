from __future__ import annotations

import json
import multiprocessing
from hashlib import sha256

import numpy as np
import pytest

from handbench import tables
from handbench.errors import HandbenchError
from handbench.hand.descriptors import PAPER, describe
from handbench.hand.geometry import center_and_extent
from handbench.hand.skeleton import BONES
from handbench.protocols import ReadContext
from handbench.specs import Spec
from handbench.synth import poses
from handbench.synth.contact import penetration
from handbench.synth.kinematics import ANGLES, LIMITS, measure, pose
from handbench.synth.mesh import rest_hand, template
from handbench.synth.raster import project, rasterise
from handbench.synth.reader import read
from handbench.synth.sample import Annotation, annotate, recipe, render


def angles_of(joints: np.ndarray) -> dict[str, float]:
    values = describe(joints[None], *center_and_extent(joints[None]))[0]
    return {a: values[column] for column, (index, a, _) in enumerate(PAPER.items) if index == 0}


def digest(truth: Annotation) -> str:
    parts = (truth.joints_cam, truth.joints_px, truth.vertices_cam, truth.intrinsics, truth.visible, truth.in_frame)
    return sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()


def digest_of(index: int) -> str:
    return digest(annotate(recipe(5, index)))


def test_the_same_seed_gives_the_same_bytes_in_any_order_and_process():
    forward = [digest_of(index) for index in range(12)]
    backward = [digest_of(index) for index in reversed(range(12))][::-1]
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        elsewhere = pool.map(digest_of, range(12))
    assert forward == backward == elsewhere
    assert len(set(forward)) == 12


def test_the_source_is_the_same_with_any_number_of_processes(tmp_path):
    found = []
    for workers in (1, 2):
        source = read(Spec.parse("synth:hands?n=70&seed=3"), ReadContext(cache=tmp_path, workers=workers))
        tables.write(source.hands, tmp_path / f"hands-{workers}.parquet", "hands")
        found.append((tmp_path / f"hands-{workers}.parquet").read_bytes())
    assert found[0] == found[1]
    assert source.synthetic
    assert {name for name in source.hands.columns if name.startswith("factor_")} == {
        f"factor_{name}" for name in ("pose", "view", "tone", "light", "background", "visible")
    }


def test_splits_share_no_hand(tmp_path):
    hashes = []
    for split in ("test", "train", "val"):
        source = read(Spec.parse("synth:hands?n=20"), ReadContext(split=split, cache=tmp_path))
        hashes += source.frames["image_hash"].to_list()
    assert len(set(hashes)) == 60


def test_left_hands_mirror_right_ones():
    right, left = (annotate(recipe(1, 4, side=side)) for side in ("right", "left"))
    np.testing.assert_allclose(left.joints_cam, right.joints_cam * [-1, 1, 1], atol=0)
    np.testing.assert_allclose(left.vertices_cam, right.vertices_cam * [-1, 1, 1], atol=0)
    size = recipe(1, 4).size
    np.testing.assert_allclose(left.joints_px[:, 0], size - right.joints_px[:, 0], atol=1e-9)
    assert (left.visible == right.visible).all()


@pytest.mark.parametrize("index", range(6))
def test_joints_project_where_they_are_said_to(index):
    truth = annotate(recipe(2, index))
    np.testing.assert_allclose(project(truth.joints_cam, truth.intrinsics), truth.joints_px, atol=1e-9)
    np.testing.assert_allclose(truth.center, truth.vertices_cam.mean(0))
    np.testing.assert_allclose(truth.extent, np.ptp(truth.vertices_cam, axis=0))
    assert (truth.visible <= truth.in_frame).all()
    assert ((truth.visible | truth.occluded) == truth.in_frame).all()
    # The joints lie in the flesh, so the mesh is larger than they are, by no more than a few centimetres.
    margin = truth.extent - np.ptp(truth.joints_cam, axis=0)
    assert (margin > 0).all()
    assert (margin < 0.09).all()


def test_visible_joints_lie_on_the_drawn_hand():
    for index in range(10):
        truth = annotate(recipe(3, index))
        faces = template().faces if recipe(3, index).side == "right" else template().faces[:, ::-1]
        hit = rasterise(project(truth.arm_cam, truth.intrinsics), truth.arm_cam[:, 2], faces, 256, 256)
        mask = np.zeros(256 * 256, bool)
        mask[hit.pixel] = True
        column, row = truth.joints_px[truth.visible].astype(int).T
        assert len(row) > 0
        assert mask.reshape(256, 256)[row, column].all()


def test_a_picture_has_the_hand_on_its_background():
    made = recipe(3, 1, background="solid")
    picture = render(made)
    assert picture.shape == (256, 256, 3)
    assert picture.dtype == np.uint8
    column, row = annotate(made).joints_px[0].astype(int)
    corner = picture[:8, :8].reshape(-1, 3).astype(float).mean(0)
    assert np.abs(picture[row, column] - corner).max() > 25


def test_commanded_angles_are_measured_again():
    hand = rest_hand({})
    generator = np.random.default_rng(0)
    for _ in range(20):
        commanded = poses.draw_random(generator, hand)
        measured = measure(pose(hand, commanded).joints)
        known = np.isfinite(measured)
        assert known.sum() >= 21
        names = [name for name, ok in zip(ANGLES, known, strict=True) if ok and "twist" not in name]
        at = [ANGLES.index(name) for name in names]
        np.testing.assert_allclose(measured[at], commanded[at], atol=1e-6)


def test_bones_keep_their_length_and_angles_their_limits():
    hand = rest_hand({"male": 0.5})
    generator = np.random.default_rng(1)
    rest = None
    for _ in range(50):
        angles = poses.draw_random(generator, hand)
        assert (angles >= LIMITS[:, 0] - 1e-9).all()
        assert (angles <= LIMITS[:, 1] + 1e-9).all()
        joints = pose(hand, angles).joints
        lengths = np.array([np.linalg.norm(joints[a] - joints[b]) for a, b in BONES])
        rest = lengths if rest is None else rest
        np.testing.assert_allclose(lengths, rest, atol=1e-12)


def test_no_pose_runs_into_itself():
    hand = rest_hand({})
    generator = np.random.default_rng(2)
    deepest = max(float(penetration(hand, pose(hand, poses.draw_random(generator, hand)))) for _ in range(500))
    assert deepest <= 0
    for name in poses.NAMED:
        depth = float(penetration(hand, pose(hand, poses.draw_named(generator, hand, name))))
        # A clasped thumb presses into the fingers of a fist; flesh gives way there, capsules do not.
        assert depth <= (0.009 if name == "fist" else 0.001), name


@pytest.mark.parametrize(
    "name", ["open_palm", "stop", "fist", "point", "like", "dislike", "victory", "four", "rock", "call"]
)
def test_named_poses_are_what_they_are_called(name):
    straight = {
        "open_palm": {"index", "middle", "ring", "little"},
        "stop": {"index", "middle", "ring", "little"},
        "four": {"index", "middle", "ring", "little"},
        "fist": set(),
        "like": set(),
        "dislike": set(),
        "point": {"index"},
        "victory": {"index", "middle"},
        "rock": {"index", "little"},
        "call": {"little"},
    }[name]
    for index in range(8):
        truth = annotate(recipe(9, index, pose=name))
        angles = angles_of(truth.joints_cam)
        for finger in ("index", "middle", "ring", "little"):
            bend = angles[f"{finger}_pip"]
            assert (bend > 155) if finger in straight else (bend < 120), (finger, bend)


@pytest.mark.parametrize("name", ["ok", "pinch"])
def test_tips_that_touch_touch(name):
    for index in range(8):
        joints = annotate(recipe(9, index, pose=name)).joints_cam
        assert np.linalg.norm(joints[4] - joints[8]) < 0.024  # tip joints lie in the flesh, a pad's depth each


@pytest.mark.parametrize(("name", "sign"), [("like", -1), ("dislike", 1)])
def test_thumbs_point_up_and_down(name, sign):
    for index in range(8):
        joints = annotate(recipe(4, index, pose=name)).joints_px
        assert sign * (joints[4, 1] - joints[2, 1]) > 0


def test_the_asset_is_whole(request):
    base = template()
    assert base.faces.max() < len(base.vertices)
    assert len(base.vertices) > 1500
    np.testing.assert_allclose(base.weights.sum(1), 1, atol=1e-5)
    root = request.config.rootpath
    assert "CC0 1.0" in (root / "LICENSES/CC0-1.0.txt").read_text()
    assert "MakeHuman" in (root / "NOTICE").read_text()


def barycentric_oracle(corners: np.ndarray, depth: np.ndarray, width: int, height: int) -> np.ndarray:
    """Nearest triangle of every pixel by brute force: a loop over pixels and triangles."""
    nearest = np.full((height, width), -1)
    front = np.full((height, width), np.inf)
    for number, (points, z) in enumerate(zip(corners, depth, strict=True)):
        matrix = np.vstack([points.T, np.ones(3)])
        if abs(np.linalg.det(matrix)) < 1e-9:
            continue
        inverse = np.linalg.inv(matrix)
        for row in range(height):
            for column in range(width):
                share = inverse @ [column + 0.5, row + 0.5, 1]
                if (share < 0).any():
                    continue
                here = 1 / (share / z).sum()  # depth is linear in its reciprocal
                if here < front[row, column]:
                    front[row, column], nearest[row, column] = here, number
    return nearest


def test_the_rasteriser_agrees_with_brute_force():
    generator = np.random.default_rng(5)
    points = generator.uniform(2, 22, (18, 2))
    depth = generator.uniform(0.5, 2, 18)
    faces = np.arange(18).reshape(6, 3)
    for face in faces:  # all wound the way that faces the camera
        a, b, c = points[face]
        if (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]) > 0:
            face[[1, 2]] = face[[2, 1]]
    wanted = barycentric_oracle(points[faces], depth[faces], 24, 24)
    found = rasterise(points, depth, faces, 24, 24)
    drawn = np.full((24, 24), -1)
    order = np.argsort(-found.depth)
    drawn.reshape(-1)[found.pixel[order]] = found.face[order]
    assert (drawn == wanted).all()


def test_unknown_names_are_refused():
    for wrong in ({"pose": "nose"}, {"view": "inside"}, {"side": "both"}, {"background": "sea"}):
        with pytest.raises(HandbenchError, match=r"unknown .* known are"):
            recipe(0, 0, **wrong)


def test_pictures_are_drawn_once_and_on_demand(tmp_path):
    source = read(Spec.parse("synth:hands?n=3&supersample=1"), ReadContext(cache=tmp_path / "images"))
    assert not (tmp_path / "images").exists()
    assert source.images is not None
    told: list[str] = []
    source.images(source.frames[:2], lambda done, total, what: told.append(json.dumps([done, total])))
    assert len(list((tmp_path / "images").iterdir())) == 2
    source.images(source.frames, lambda done, total, what: told.append(json.dumps([done, total])))
    assert len(list((tmp_path / "images").iterdir())) == 3
    assert told == ["[1, 2]", "[2, 2]", "[1, 1]"]
