from __future__ import annotations

import numpy as np
import pytest
from hand_maker import camera, hands, pixels

from handbench.datasets.anatomy import bending, misproportion
from handbench.datasets.guards import Evidence, check, guard, is_placeholder
from handbench.errors import HandbenchError
from handbench.protocols import ReadContext

MANO = [0, 13, 14, 15, 16, 1, 2, 3, 17, 4, 5, 6, 18, 10, 11, 12, 19, 7, 8, 9, 20]
INTERHAND = [20, 3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12, 19, 18, 17, 16]
RIGHT = hands(60)
LEFT = hands(60, "left", seed=1)
K = np.tile(camera(), (60, 1, 1))
SIZES = np.full((60, 2), 224)


def boxes(points):
    return np.concatenate([points.min(axis=1), points.max(axis=1)], axis=1)


def first_stop(joints, sides="right", **more):
    names = [sides] * len(joints) if isinstance(sides, str) else sides
    stops = check(Evidence(joints, names, **more)).stops
    return stops[0] if stops else None


@pytest.mark.parametrize(("joints", "side"), [(RIGHT, "right"), (LEFT, "left")])
def test_good_hands_pass_every_check(joints, side):
    evidence = Evidence(joints, [side] * 60, raw=joints, intrinsics=K, sizes=SIZES, pixels=pixels(joints, camera()))
    verdict = check(evidence)
    assert (verdict.stops, verdict.notes) == ([], [])


def test_no_hands_pass():
    assert check(Evidence(np.zeros((0, 21, 3)), [])).stops == []


@pytest.mark.parametrize(
    ("factor", "cause"),
    [
        (1000, "look like millimetres: the median wrist-to-middle-MCP length is 86"),
        (100, "look like centimetres"),
        (0.001, "converted to metres twice"),
        (1e5, "no hands in metres"),
    ],
)
def test_a_wrong_unit_is_named(factor, cause):
    assert cause in first_stop(RIGHT * factor)


@pytest.mark.parametrize(
    ("theirs", "cause"), [(MANO, "order mano"), (INTERHAND, "order interhand"), ("swapped", "exchanged")]
)
def test_a_wrong_order_is_named(theirs, cause):
    if theirs == "swapped":
        theirs = [*range(13), *range(17, 21), *range(13, 17)]
    unsorted = np.empty_like(RIGHT)
    unsorted[:, theirs] = RIGHT
    assert cause in first_stop(unsorted)


def test_an_order_applied_by_mistake_is_seen_through():
    # The file is in our order already, and the reader took it for MANO's.
    assert "order openpose:" in first_stop(RIGHT[:, MANO], order="mano")


def test_shuffled_joints_are_no_known_order():
    shuffled = RIGHT[:, np.random.default_rng(3).permutation(21)]
    assert "no known order" in first_stop(shuffled)


def test_opengl_axes_are_named():
    assert "OpenGL axes: z is negative for 100% of joints" in first_stop(RIGHT * np.array([1, -1, -1]))


def test_root_relative_joints_are_named():
    assert "relative to a root joint" in first_stop(RIGHT - RIGHT[:, :1] + 1e-9)


@pytest.mark.parametrize(("joints", "side"), [(RIGHT, "right"), (LEFT, "left")])
def test_exchanged_sides_are_named(joints, side):
    other = {"left": "right", "right": "left"}[side]
    assert "left and right are exchanged" in first_stop(joints, other)


def test_left_hands_given_as_mirrored_right_hands_are_named():
    mirrored = hands(60, "right", seed=2)
    joints, sides = np.concatenate([RIGHT, mirrored]), ["right"] * 60 + ["left"] * 60
    assert "the left hands look like mirrored right hands: " in first_stop(joints, sides)


def test_few_hands_give_no_verdict_on_sides():
    assert first_stop(RIGHT[:7], "left") is None


def test_a_mixture_of_sides_is_a_note():
    verdict = check(Evidence(np.concatenate([RIGHT, LEFT]), ["right"] * 120))
    assert verdict.stops == []
    assert "sides could not be confirmed" in verdict.notes[0]


@pytest.mark.parametrize(
    ("signs", "cause"),
    [((-1, 1, 1), "mirrored (x negated)"), ((1, -1, 1), "the y axis looks turned up")],
)
def test_a_flipped_axis_shows_in_the_reprojection(signs, cause):
    moved = RIGHT + np.array([0.08, 0.06, 0])
    points = pixels(moved, camera())
    flipped = moved * np.array(signs)
    stops = check(Evidence(flipped, ["right"] * 60, intrinsics=K, pixels=points)).stops
    assert any(cause in stop and "the owner's image points" in stop for stop in stops)
    stops = check(Evidence(flipped, ["right"] * 60, intrinsics=K, boxes=boxes(points))).stops
    assert any(cause in stop and "the hand's box" in stop for stop in stops)


def test_a_camera_of_another_image_size_is_named():
    wrong = np.tile(camera(1920, 1080, 1400.0), (60, 1, 1))
    message = first_stop(RIGHT, intrinsics=wrong, sizes=SIZES)
    assert message.startswith("the camera does not fit: 100%")
    assert "centre is (960, 540), the images are 224 x 224" in message


@pytest.mark.parametrize("value", [-1.0, 0.0, 1.0])
def test_placeholders_that_pass_as_joints_are_named(value):
    raw = RIGHT.copy()
    raw[5, 7] = value
    message = first_stop(raw, raw=raw)
    assert "stands for 'not annotated'" in message
    assert "first: hand 5, joint 7" in message


def test_placeholders_are_seen_after_a_change_of_frame():
    moved = RIGHT.copy()
    moved[4, [3, 9]] = 0.3, 0.2, 0.9
    assert "on one and the same spot" in first_stop(moved)


def test_nan_is_no_placeholder_and_no_reason_to_stop():
    holes = RIGHT.copy()
    holes[::2, 3] = np.nan
    assert first_stop(holes, raw=holes, intrinsics=K, sizes=SIZES) is None
    assert not is_placeholder(np.full((2, 3), np.nan)).any()
    holes[3] = np.nan
    holes[:, 9] = np.nan
    points = pixels(RIGHT, camera())
    points[::3, 2] = np.nan
    assert first_stop(holes, intrinsics=K, pixels=points) is None
    assert "OpenGL axes" in first_stop(holes * np.array([1, -1, -1]), intrinsics=K, pixels=points)


def test_all_nan_hands_are_silent():
    assert first_stop(np.full((9, 21, 3), np.nan), intrinsics=K[:9], sizes=SIZES[:9]) is None


def test_force_turns_a_stop_into_a_note():
    evidence = Evidence(RIGHT * 1000, ["right"] * 60)
    with pytest.raises(HandbenchError, match=r"^here: these look like millimetres.*--force"):
        guard("here", evidence, ReadContext())
    notes = guard("here", evidence, ReadContext(force=True))
    assert notes[0].startswith("went on by force: these look like millimetres")


def test_bending_is_odd_under_reflection_and_free_of_pose_and_unit():
    np.testing.assert_allclose(bending(RIGHT * np.array([-1, 1, 1])), -bending(RIGHT), atol=1e-9)
    np.testing.assert_allclose(bending(RIGHT[..., [1, 2, 0]] * 1000 + 7), bending(RIGHT), atol=1e-6)
    assert (bending(RIGHT) > 0).all()


def test_proportions_do_not_depend_on_size():
    np.testing.assert_allclose(misproportion(RIGHT * 3), misproportion(RIGHT))
