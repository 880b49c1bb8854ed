from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest
from hand_maker import INTERHAND_ROWS, camera, context, dump, hands, joints_of, picture, pixels
from scipy.spatial.transform import Rotation

from handbench.datasets.anatomy import palm_lengths
from handbench.datasets.interhand import read
from handbench.errors import HandbenchError
from handbench.hand.skeleton import JOINTS
from handbench.specs import Spec
from handbench.tables import conform

CAMERAS = ("400053", "400064", "400012")
WIDTH, HEIGHT = 334, 512


def rotation(number):
    return Rotation.from_euler("yxz", [40 * number, 12 * number, 5 * number], degrees=True).as_matrix()


class Recording:
    """Frames of the layout v1.0, built hand by hand; ``truth`` keeps what a reader must give."""

    def __init__(self):
        self.images, self.annotations = [], []
        self.joints, self.cameras, self.truth = {}, {}, {}

    def add(self, capture, subject, sequence, frame, right=None, left=None, kind=None, valid=None):
        """One frame of all cameras: hands are given in the axes of the first camera, metres."""
        centre = np.array([30.0, -20, 15])
        turn = rotation(1)
        world = np.ones((42, 3))
        mask = np.zeros(42, int)
        for start, hand in ((0, right), (21, left)):
            if hand is not None:
                world[start : start + 21] = (hand[INTERHAND_ROWS] * 1000) @ turn + centre
                mask[start : start + 21] = 1
        mask = mask if valid is None else np.array(valid)
        world[mask == 0] = 1
        kind = kind or {(True, False): "right", (False, True): "left"}.get(
            (right is not None, left is not None), "interacting"
        )
        record = {
            "world_coord": world,
            "joint_valid": mask[:, None],
            "hand_type": kind,
            "hand_type_valid": True,
        }
        self.joints.setdefault(str(capture), {})[str(frame)] = record
        views = self.cameras.setdefault(str(capture), {name: {} for name in ("campos", "camrot", "focal", "princpt")})
        for number, name in enumerate(CAMERAS, 1):
            # Every camera looks at the place where the hands are, from its own side.
            turned = rotation(number - 1) @ turn
            place = np.array([0, 0, 700.0]) @ turn + centre
            views["campos"][name] = place - turned.T @ np.array([0, 0, 700.0 + number])
            views["camrot"][name] = turned
            views["focal"][name] = [1200.0, 1210.0]
            views["princpt"][name] = [WIDTH / 2, HEIGHT / 2]
            inside = (world - views["campos"][name]) @ turned.T / 1000
            path = f"Capture{capture}/{sequence}/cam{name}/image{frame}.jpg"
            number = len(self.images) + 1
            k = camera(WIDTH, HEIGHT, 1200.0)
            k[1, 1] = 1210
            points = pixels(inside[mask > 0], k)
            low, high = points.min(axis=0) - 5, points.max(axis=0) + 5
            self.images.append(
                {
                    "id": number,
                    "file_name": path,
                    "width": WIDTH,
                    "height": HEIGHT,
                    "capture": capture,
                    "subject": subject,
                    "seq_name": sequence,
                    "camera": name,
                    "frame_idx": frame,
                }
            )
            self.annotations.append(
                {
                    "id": number,
                    "image_id": number,
                    "bbox": [*low, *(high - low)],
                    "joint_valid": mask,
                    "hand_type": kind,
                    "hand_type_valid": 1,
                }
            )
            for start, side in ((0, "right"), (21, "left")):
                ours = np.full((21, 3), np.nan)
                for row, theirs in enumerate(INTERHAND_ROWS):
                    if mask[start + row]:
                        ours[theirs] = inside[start + row]
                self.truth[path, side] = ours

    def write(self, root, split="train", pictures=True):
        folder = root / "annotations" / split / f"InterHand2.6M_{split}"
        dump(
            folder.with_name(folder.name + "_data.json"),
            {"images": self.images, "annotations": self.annotations},
        )
        dump(folder.with_name(folder.name + "_camera.json"), self.cameras)
        dump(folder.with_name(folder.name + "_joint_3d.json"), self.joints)
        for image in self.images if pictures else []:
            picture(root / "images" / split / image["file_name"], WIDTH, HEIGHT, image["id"])
        return root


RIGHT, LEFT = hands(40, distance=0.7), hands(40, "left", seed=1, distance=0.7)


def recording():
    made = Recording()
    for person in (0, 1, 4, 5, 26):
        made.add(person + 1, person, "0000_neutral", 100 + person, right=RIGHT[person])
        made.add(person + 1, person, "0001_rigid", 200 + person, left=LEFT[person])
        made.add(person + 1, person, "0390_touch", 300 + person, right=RIGHT[person + 5], left=LEFT[person + 5])
    return made


@pytest.fixture
def made():
    return recording()


def spec(root, options=""):
    return Spec.parse(f"interhand:{root}{options}")


@pytest.mark.parametrize("nested", [True, False])
@pytest.mark.parametrize(("side", "count"), [("right", 10 * 3), ("left", 10 * 3), ("both", 20 * 3)])
def test_round_trip_in_every_camera(made, tmp_path, side, count, nested):
    for annotation in made.annotations if nested else []:
        annotation["joint_valid"] = annotation["joint_valid"][:, None]
    source = read(spec(made.write(tmp_path), f"?hands={side}"), context(split="train"))
    found = joints_of(source)
    assert len(found) == count
    for hand, joints in found.items():
        path, its_side = hand.removeprefix("interhand/train/").rsplit("/", 1)
        np.testing.assert_allclose(joints, made.truth[path + ".jpg", its_side], atol=1e-5)
    conform(source.hands, "hands")
    conform(source.frames, "frames")
    assert source.hands["in_frame"].to_numpy().mean() > 0.95


def test_papers_splits_go_by_subject(made, tmp_path):
    made.write(tmp_path)
    test, train = (read(spec(tmp_path), context(split=split)) for split in ("paper-test", "paper-train"))
    assert set(test.hands["subject"]) == {"1", "4"}
    assert set(train.hands["subject"]) == {"5", "26"}
    for source in (test, train):
        assert source.hands.height == 2 * 2
        assert {hand.split("/cam")[1][:6] for hand in source.hands["hand_id"]} == {"400053", "400064"}
        assert source.hands["cluster"].n_unique() == 2
        assert set(source.hands["side"]) == {"right"}
        assert any("has 4 images here, " in note and "fewer than the" in note for note in source.notes)
    assert test.hands["cluster"][0] == "2/0000_neutral/101"
    assert test.skipped == {"other subject": 27, "other camera": 6, "other kind of hand": 8}
    assert set(test.hands["split"]) == {"paper-test"}


def test_papers_test_split_is_the_default_where_train_is(made, tmp_path):
    made.write(tmp_path)
    assert set(read(spec(tmp_path), context()).hands["split"]) == {"paper-test"}


def test_interacting_hands_by_option(made, tmp_path):
    made.write(tmp_path)
    with_both = read(spec(tmp_path, "?interacting=yes"), context(split="paper-test"))
    alone = read(spec(tmp_path, "?interacting=no"), context(split="train"))
    assert with_both.hands.height == 2 * 2 * 2
    assert not alone.hands["sequence"].cast(str).str.contains("touch").any()
    assert with_both.frames.filter(pl.col("annotated"))["sequence"].cast(str).str.contains("touch").all()
    assert with_both.frames["annotated"].sum() == 4


def test_cameras_by_option(made, tmp_path):
    made.write(tmp_path)
    source = read(spec(tmp_path, "?cameras=400012"), context(split="paper-test"))
    assert {hand.split("/cam")[1][:6] for hand in source.hands["hand_id"]} == {"400012"}


def test_joints_not_annotated_are_nan_and_leave_no_size(tmp_path):
    made = Recording()
    mask = np.r_[np.ones(21, int), np.zeros(21, int)]
    mask[3] = 0
    made.add(1, 1, "0000_neutral", 7, right=RIGHT[0], valid=mask)
    made.add(1, 1, "0000_neutral", 8, right=RIGHT[1])
    made.write(tmp_path)
    source = read(spec(tmp_path), context(split="paper-test"))
    cut = source.hands["image"].str.ends_with("image7.jpg").to_numpy()
    joints, extent = source.hands["joints_cam"].to_numpy(), source.hands["extent"].to_numpy()
    assert cut.sum() == 2
    assert np.isnan(joints[cut][:, JOINTS.index("thumb_cmc")]).all()
    assert np.isnan(joints).sum() == 2 * 3
    assert np.isnan(extent[cut]).all()
    assert np.isfinite(extent[~cut]).all()
    assert not source.hands["in_frame"].to_numpy()[cut][:, JOINTS.index("thumb_cmc")].any()


def test_what_has_no_partner_is_counted(made, tmp_path):
    del made.joints["2"]["101"]
    made.images.append(made.images[0] | {"id": 900})
    made.annotations.append(made.annotations[0] | {"id": 901, "image_id": 901})
    for kind in made.cameras["5"].values():
        del kind["400064"]
    made.write(tmp_path)
    (tmp_path / "images" / "train" / "Capture5/0000_neutral/cam400053/image104.jpg").unlink()
    with pytest.raises(HandbenchError, match=r"nothing is left of the split paper-test \(.*no image: 1"):
        read(spec(tmp_path), context(split="paper-test"))
    skipped = read(spec(tmp_path), context(split="train")).skipped
    assert skipped == {
        "image without annotation": 1,
        "annotation without image": 1,
        "other kind of hand": 15,
        "no 3D joints of the frame": 3,
        "no camera of the image": 2,
        "no image": 1,
    }


def test_the_bare_sample_layout(made, tmp_path):
    for image in made.images:
        image["file_name"] = f"image{image['id']}.jpg"
        picture(tmp_path / image["file_name"], WIDTH, HEIGHT)
    for name, content in (
        ("data", {"images": made.images, "annotations": made.annotations}),
        ("camera", made.cameras),
        ("joint_3d", made.joints),
    ):
        dump(tmp_path / f"test_interhand2.6m_{name}.json", content)
    source = read(spec(tmp_path), context())
    assert source.hands["hand_id"][0] == "interhand/test/image1/right"
    with pytest.raises(HandbenchError, match="no split 'paper-test' here; there are test"):
        read(spec(tmp_path), context(split="paper-test"))


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (lambda world: world / 1000, "the joints do not project|converted to metres twice"),
        (lambda world: np.concatenate([world[21:], world[:21]]), "not annotated"),
        (lambda world: world[[*range(20, -1, -1), *range(21, 42)]], "order"),
        (lambda world: np.where(np.arange(42)[:, None] == 4, 1.0, world), "stands for 'not annotated'"),
        (lambda world: np.where(np.arange(42)[:, None] == 4, -1.0, world), r"hold \(-1, -1, -1\)"),
    ],
)
def test_damaged_copies_are_refused_with_their_cause(tmp_path, change, cause):
    made = Recording()
    for frame in range(12):
        made.add(1, 1, "0000_neutral", frame, right=RIGHT[frame])
        made.joints["1"][str(frame)]["world_coord"] = change(made.joints["1"][str(frame)]["world_coord"])
    made.write(tmp_path)
    with pytest.raises(HandbenchError, match=cause):
        read(spec(tmp_path), context(split="paper-test"))


def test_hands_of_the_wrong_side_are_refused(tmp_path):
    made = Recording()
    for frame in range(12):
        made.add(1, 1, "0000_neutral", frame, right=LEFT[frame])
    made.write(tmp_path)
    with pytest.raises(HandbenchError, match="left and right are exchanged"):
        read(spec(tmp_path), context(split="paper-test"))


def test_a_camera_for_x_minus_t_instead_of_centre_is_refused(tmp_path):
    made = Recording()
    for frame in range(12):
        made.add(1, 1, "0000_neutral", frame, right=RIGHT[frame])
    views = made.cameras["1"]
    for name in CAMERAS:
        views["campos"][name] = -views["camrot"][name] @ views["campos"][name]
    made.write(tmp_path)
    with pytest.raises(HandbenchError, match="camera"):
        read(spec(tmp_path), context(split="paper-test"))


def _edit(root, name, change):
    path = root / "annotations" / "train" / f"InterHand2.6M_train_{name}.json"
    path.write_text(change(path.read_text()))


IMAGE = "images/train/Capture2/0000_neutral/cam400053/image101.jpg"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (
            lambda r: _edit(r, "data", lambda t: t[: len(t) // 2]),
            r"data.json: expected .* line 1, column \d+",
        ),
        (lambda r: _edit(r, "joint_3d", lambda t: t[:-30]), r"joint_3d.json: .*looks cut off"),
        (lambda r: _edit(r, "camera", lambda t: ""), r"camera.json: the file is empty"),
        (
            lambda r: _edit(r, "camera", lambda t: t.replace("campos", "position")),
            r"camera.json: expected campos",
        ),
        (
            lambda r: _edit(r, "joint_3d", lambda t: t.replace("world_coord", "cam_coord")),
            r"world_coord, joint_valid",
        ),
        (
            lambda r: _edit(r, "joint_3d", lambda t: t.replace("[[1], ", "[", 1)),
            r"capture 1, frame 100: expected 42",
        ),
        (
            lambda r: _edit(r, "data", lambda t: t.replace('"frame_idx"', '"frame"')),
            r"images: every record lacks the field 'frame_idx'",
        ),
        (
            lambda r: _edit(r, "data", lambda t: t.replace('"images"', '"pictures"')),
            r"list of records 'images'",
        ),
        (
            lambda r: _edit(r, "data", lambda t: t.replace('"joint_valid": [1, ', '"joint_valid": [')),
            r"41 flags",
        ),
        (
            lambda r: _edit(r, "joint_3d", lambda t: t.replace('"world_coord": [[', '"world_coord": [[5], [', 1)),
            r"capture 1, frame 100: expected 42 x 3 numbers",
        ),
        (
            lambda r: _edit(r, "joint_3d", lambda t: re.sub(r"\[\[[-.\d]+,", "[[NaN,", t, count=1)),
            r"capture 1, frame 100: a valid joint is not a finite number",
        ),
        (
            lambda r: (r / "annotations/train/InterHand2.6M_train_camera.json").unlink(),
            r"camera.json: missing",
        ),
        (
            lambda r: (r / "annotations/train/InterHand2.6M_train_data.json").unlink(),
            r"no InterHand2.6M annotations",
        ),
        (lambda r: (r / IMAGE).write_bytes(b""), r"the image is empty"),
        (lambda r: (r / IMAGE).write_bytes(b"corrupt"), r"no readable image"),
        (lambda r: picture(r / IMAGE, 100, 100), r"100 x 100 pixels, the annotations say 334 x 512"),
        (lambda r: (r / "images").rename(r / "pictures"), r"nothing is left .*no image"),
    ],
)
def test_bad_input_is_one_clear_line(made, tmp_path, damage, message):
    damage(made.write(tmp_path))
    with pytest.raises(HandbenchError, match=message) as caught:
        read(spec(tmp_path), context(split="paper-test"))
    assert "\n" not in str(caught.value)


def test_the_real_sample(shared):
    folder = shared / "samples" / "mmpose_interhand2.6m"
    if not folder.is_dir():
        pytest.skip(f"no sample: {folder}")
    source = read(spec(folder, "?hands=both"), context())
    assert sorted(source.hands["side"].to_list()) == ["left"] * 3 + ["right"] * 3
    assert source.frames.height == 4
    assert source.skipped == {}
    joints = source.hands["joints_cam"].to_numpy()
    assert ((palm_lengths(joints) > 0.07) & (palm_lengths(joints) < 0.1)).all()
    assert ((joints[..., 2] > 0.9) & (joints[..., 2] < 1.25)).all()
    # The box of image 69148 in the owner's file: x, y, width, height.
    left, top, width, height = 33.57, 164.92, 185.06, 142.73
    points = source.hands.filter(pl.col("image") == "image69148.jpg")["joints_px"].to_numpy()
    assert points.shape == (2, 21, 2)
    assert ((points > (left, top)) & (points < (left + width, top + height))).all()
