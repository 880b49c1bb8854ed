from __future__ import annotations

import numpy as np
import pytest
from hand_maker import camera, context, hands, joints_of, picture, pixels

from handbench.datasets.dexycb import SERIALS, SUBJECT_DATES, read, setup
from handbench.errors import HandbenchError
from handbench.specs import Spec
from handbench.tables import conform

K = camera(640, 480, 615.0)
JOINTS = {"right": hands(12), "left": hands(12, "left", seed=1)}


def write(root, subject, name, side="right", serial=SERIALS[0], joints=None, frames=12):
    sequence = root / f"{SUBJECT_DATES[subject - 1]}-subject-{subject:02d}" / name
    place = sequence / serial
    place.mkdir(parents=True)
    (sequence / "meta.yml").write_text(f"serials:\n- '{serial}'\nnum_frames: {frames}\nmano_sides:\n- {side}\n")
    lens = root / "calibration" / "intrinsics" / f"{serial}_640x480.yml"
    lens.parent.mkdir(parents=True, exist_ok=True)
    numbers = "  fx: 615.0\n  fy: 615.0\n  ppx: 320.0\n  ppy: 240.0\n"
    lens.write_text(f"color:\n{numbers}depth:\n{numbers.replace('15', '00')}")
    points = JOINTS[side] if joints is None else joints
    for frame in range(frames):
        np.savez(
            place / f"labels_{frame:06d}.npz",
            joint_3d=points[None, frame].astype(np.float32),
            seg=np.zeros((4, 4)),
        )
        picture(place / f"color_{frame:06d}.jpg", 640, 480)
    return place


def spec(root, options=""):
    return Spec.parse(f"dexycb:{root}{options}")


def test_round_trip_of_both_sides(tmp_path):
    write(tmp_path, 1, "20200709_141754")
    write(tmp_path, 1, "20200709_141841", side="left", serial=SERIALS[3])
    source = read(spec(tmp_path), context(split="all"))
    found = joints_of(source)
    for side, name, serial in (
        ("right", "20200709_141754", SERIALS[0]),
        ("left", "20200709_141841", SERIALS[3]),
    ):
        for frame in range(12):
            key = f"dexycb/all/20200709-subject-01/{name}/{serial}/color_{frame:06d}/{side}"
            np.testing.assert_allclose(found.pop(key), JOINTS[side][frame], atol=1e-6)
    assert found == {}
    first = source.hands.filter(source.hands["side"] == "right")["joints_px"].to_numpy()[0]
    np.testing.assert_allclose(first, pixels(JOINTS["right"][0], K), atol=1e-2)
    assert source.hands["cluster"].n_unique() == 2
    conform(source.hands, "hands")
    conform(source.frames, "frames")


def test_frames_without_label_or_image_are_counted(tmp_path):
    joints = JOINTS["right"].copy()
    joints[3:5] = -1
    place = write(tmp_path, 1, "20200709_141754", joints=joints)
    (place / "color_000007.jpg").unlink()
    source = read(spec(tmp_path), context(split="all"))
    assert source.skipped == {"hand not annotated": 2, "no image": 1}
    assert read(spec(tmp_path, "?every=4"), context(split="all")).hands.height == 2


@pytest.mark.parametrize(
    ("name", "split", "counts"),
    [
        # Subjects, cameras and sequences of the toolkit's own setups.
        ("s0", "train", (10, 8, 80)),
        ("s0", "val", (2, 8, 20)),
        ("s0", "test", (8, 8, 20)),
        ("s1", "train", (7, 8, 100)),
        ("s1", "val", (1, 8, 100)),
        ("s1", "test", (2, 8, 100)),
        ("s2", "train", (10, 6, 100)),
        ("s2", "val", (10, 1, 100)),
        ("s2", "test", (10, 1, 100)),
        ("s3", "train", (10, 8, 75)),
        ("s3", "val", (10, 8, 10)),
        ("s3", "test", (10, 8, 15)),
    ],
)
def test_setups_divide_as_the_toolkit_does(name, split, counts):
    assert tuple(len(part) for part in setup(name, split)) == counts


@pytest.mark.parametrize("name", ["s0", "s1", "s2", "s3"])
def test_setups_do_not_overlap(name):
    def cells(split):
        subjects, cameras, sequences = setup(name, split)
        return {(a, b, c) for a in subjects for b in cameras for c in sequences}

    train, val, test = cells("train"), cells("val"), cells("test")
    assert not train & val
    assert not train & test
    assert not val & test
    assert len(train | val | test) == 10 * 8 * 100


def test_a_split_needs_all_sequences_of_a_subject(tmp_path):
    write(tmp_path, 3, "20200820_000000", frames=1)
    with pytest.raises(HandbenchError, match="1 sequences, expected 100: s0 goes by their number"):
        read(spec(tmp_path), context())
    for number in range(1, 100):
        write(tmp_path, 3, f"20200820_{number:06d}", frames=1)
    found = read(spec(tmp_path), context()).hands["sequence"].to_list()
    assert found == [f"20200820-subject-03/20200820_{number:06d}" for number in range(4, 100, 5)]
    by_subject = read(spec(tmp_path, "?setup=s1"), context(split="train")).hands
    assert (by_subject.height, by_subject["split"][0]) == (100, "s1_train")


@pytest.mark.parametrize(
    ("joints", "cause"),
    [
        (JOINTS["right"] * 1000, "look like millimetres"),
        (JOINTS["left"], "left and right are exchanged"),
        (np.where(np.arange(21)[:, None] == 7, -1.0, JOINTS["right"]), r"hold \(-1, -1, -1\)"),
    ],
)
def test_damaged_copies_are_refused_with_their_cause(tmp_path, joints, cause):
    write(tmp_path, 1, "20200709_141754", joints=joints)
    with pytest.raises(HandbenchError, match=cause):
        read(spec(tmp_path), context(split="all"))


def _without_joints(root, place):
    np.savez(place / "labels_000002.npz", seg=np.zeros(3))


def _short(root, place):
    np.savez(place / "labels_000002.npz", joint_3d=np.zeros((1, 20, 3)))


def _objects(root, place):
    np.savez(place / "labels_000002.npz", joint_3d=np.array([{"a": 1}], object))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_without_joints, r"labels_000002.npz: expected labels with joint_3d"),
        (_short, r"joint_3d must be 1 x 21 x 3"),
        (_objects, r"labels_000002.npz: expected labels with joint_3d"),
        (
            lambda r, p: (p / "labels_000002.npz").write_bytes(b"PK no zip"),
            r"labels_000002.npz: expected labels",
        ),
        (lambda r, p: (p / "labels_000002.npz").write_bytes(b""), r"labels_000002.npz: the file is empty"),
        (lambda r, p: (p.parent / "meta.yml").write_text("a: 1"), r"meta.yml: expected mano_sides"),
        (lambda r, p: (p.parent / "meta.yml").unlink(), r"meta.yml: missing"),
        (
            lambda r, p: next(r.glob("calib*/*/*.yml")).write_text("color:\n  fx: 1\n"),
            r"expected fx, fy, ppx",
        ),
    ],
)
def test_bad_input_is_one_clear_line(tmp_path, damage, message):
    damage(tmp_path, write(tmp_path, 1, "20200709_141754"))
    with pytest.raises(HandbenchError, match=message) as caught:
        read(spec(tmp_path), context(split="all"))
    assert "\n" not in str(caught.value)


def test_nothing_there(tmp_path):
    (tmp_path / "models").mkdir()
    with pytest.raises(HandbenchError, match="no DexYCB subject"):
        read(spec(tmp_path), context())
