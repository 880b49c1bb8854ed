from __future__ import annotations

import numpy as np
import pytest

from handbench.synth import camera
from handbench.synth.kinematics import angle_array, mirrored, mirrored_faces, pose, skin
from handbench.synth.mesh import rest_hand, template
from handbench.synth.poses import NAMED
from handbench.synth.raster import project, rasterise
from handbench.synth.sample import annotate, recipe
from handbench.synth.visibility import first_hits, visible_joints


def palm_normal(joints: np.ndarray, side: str) -> np.ndarray:
    normal = np.cross(joints[5] - joints[0], joints[17] - joints[0])
    return normal / np.linalg.norm(normal) * (1 if side == "right" else -1)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("index", range(10))
def test_views_show_what_they_say(index, side):
    for view, sign in (("palm", -1), ("back", 1)):
        joints = annotate(recipe(8, index, view=view, side=side, pose="open_palm")).joints_cam
        assert np.sign(palm_normal(joints, side)[2]) == sign  # -1: out of the palm, toward the camera
    for view, nearer, farther in (
        ("thumb_side", 5, 17),
        ("little_side", 17, 5),
        ("first_person", 0, 9),
        ("front", 9, 0),
    ):
        joints = annotate(recipe(8, index, view=view, side=side, pose="open_palm")).joints_cam
        assert joints[nearer, 2] < joints[farther, 2], view


def test_a_right_palm_has_its_thumb_on_the_viewers_right():
    for side, sign in (("right", 1), ("left", -1)):
        joints = annotate(recipe(8, 0, view="palm", side=side, pose="open_palm")).joints_px
        upright = joints[9] - joints[0]
        thumb = joints[4] - joints[0]
        assert np.sign(upright[0] * thumb[1] - upright[1] * thumb[0]) == sign


def test_rotations_are_rotations():
    generator = np.random.default_rng(0)
    for view in camera.VIEWS:
        matrix = camera.rotation(*camera.draw_view(generator, view))
        np.testing.assert_allclose(matrix @ matrix.T, np.eye(3), atol=1e-12)
        assert np.linalg.det(matrix) == pytest.approx(1)


def test_hands_lie_inside_the_picture_and_elbows_do_not():
    hidden = 0
    for index in range(200):
        made = recipe(14, index)
        truth = annotate(made)
        low, high = truth.joints_px.min(), truth.joints_px.max()
        assert low > 0.03 * made.size
        assert high < 0.97 * made.size
        assert truth.in_frame.all()
        elbow = truth.elbow_cam
        pixel = project(elbow, truth.intrinsics)
        if elbow[2] > 0 and ((pixel > 0) & (pixel < made.size)).all():
            hidden += 1
            assert elbow[2] > truth.joints_cam[:, 2].max()
    assert hidden < 10


def test_placing_keeps_size_and_place():
    joints = pose(rest_hand({}), np.array(NAMED["open_palm"].angles)).joints[:21]
    turned = joints @ camera.rotation(10, 20, 30).T
    points = turned + camera.place(turned, 1.5, 0.5, (0.1, -0.05))
    screen = 1.5 * points[:, :2] / points[:, 2:]
    assert np.ptp(screen, axis=0).max() == pytest.approx(0.5, abs=2e-3)
    np.testing.assert_allclose((screen.max(axis=0) + screen.min(axis=0)) / 2, [0.1, -0.05], atol=2e-3)


def seen(angles: np.ndarray, azimuth: float, elevation: float, side: str = "right") -> np.ndarray:
    hand = rest_hand({})
    posed = pose(hand, angles)
    turn = camera.rotation(azimuth, elevation, 0).T
    joints, vertices = posed.joints @ turn + [0, 0, 0.6], skin(hand, posed) @ turn + [0, 0, 0.6]
    faces = template().faces
    if side == "left":
        joints, vertices, faces = mirrored(joints), mirrored(vertices), mirrored_faces(faces)
    return visible_joints(hand, joints[:21], vertices, faces)


@pytest.mark.parametrize("side", ["left", "right"])
def test_an_open_hand_is_seen_whole_from_both_sides(side):
    angles = np.array(NAMED["open_palm"].angles)
    assert seen(angles, 0, 0, side).all()
    assert seen(angles, 180, 0, side).all()


def test_a_fist_from_behind_hides_its_fingers():
    visible = seen(np.array(NAMED["fist"].angles), 180, 0)
    assert not visible[[8, 12, 16, 20, 4]].any()
    assert visible[[0, 5, 9, 13, 17]].all()


def test_a_finger_at_the_camera_hides_its_own_joints():
    angles = angle_array({"thumb_palmar": 20, "thumb_radial": 50, "thumb_twist": -60})
    visible = seen(angles, 0, -88)  # all fingers straight toward the camera
    assert visible[[8, 12, 16, 20]].all()
    assert not visible[[6, 10, 14, 18]].any()
    assert not visible[0]


def test_the_little_finger_hides_the_others_from_its_side():
    visible = seen(np.array(NAMED["stop"].angles), -90, 0)
    assert visible[[17, 18]].all()
    assert not visible[[5, 9, 13]].any()


def test_lines_of_sight_agree_with_the_depth_buffer():
    for index in range(12):
        made = recipe(15, index, size=512)
        truth = annotate(made)
        faces = template().faces if made.side == "right" else mirrored_faces(template().faces)
        # Points at pixel centres, so that both ask the same question.
        pixel = np.floor(truth.joints_px) + 0.5
        ray = np.column_stack([pixel, np.ones(21)]) @ np.linalg.inv(truth.intrinsics).T
        face, depth = first_hits(ray, truth.arm_cam, faces)
        drawn = rasterise(project(truth.arm_cam, truth.intrinsics), truth.arm_cam[:, 2], faces, 512, 512)
        buffer = np.full(512 * 512, np.inf)
        buffer[drawn.pixel] = drawn.depth
        column, row = pixel.astype(int).T
        np.testing.assert_allclose(depth, buffer.reshape(512, 512)[row, column], rtol=1e-9)
        assert ((face >= 0) == np.isfinite(depth)).all()
