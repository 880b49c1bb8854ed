from __future__ import annotations

import numpy as np
import pytest
from hand_maker import INTERHAND_ROWS, camera, context, dump, hands, joints_of, picture, pixels
from scipy.spatial.transform import Rotation

from handbench.datasets.assemblyhands import read
from handbench.errors import HandbenchError
from handbench.specs import Spec
from handbench.tables import conform

RIGHT, LEFT = hands(10), hands(10, "left", seed=1)
CAMERAS = ("HMC_21110305", "HMC_84346135")
SEQUENCE = "nusar-2021_action_both_9075"
SIZE = (636, 480)
K = camera(*SIZE, 300.0)


def pose(number, frame):
    turn = Rotation.from_euler("xyz", [20 * number, 3 * frame, 5], degrees=True).as_matrix()
    return np.c_[turn, [10 * number, 5, -frame]]


def write(root, split="val", change=None):
    """Both cameras see the hands of each frame as a pinhole would; the first one's view is RIGHT and LEFT."""
    images, annotations, extrinsics, joints, truth = [], [], {}, {}, {}
    for frame in range(10):
        first = pose(1, frame)
        theirs = np.concatenate([RIGHT[frame][INTERHAND_ROWS], LEFT[frame][INTERHAND_ROWS]]) * 1000
        world = (theirs - first[:, 3]) @ first[:, :3]
        joints[f"{frame:06d}"] = {
            "world_coord": world if change is None else change(world),
            "joint_valid": np.ones((42, 1)),
        }
        for number, name in enumerate(CAMERAS, 1):
            moved = first if number == 1 else np.c_[first[:, :3], first[:, 3] + [20, -10, 30]]
            extrinsics.setdefault(f"{frame:06d}", {})[name + "_mono10bit"] = moved
            seen = (world @ moved[:, :3].T + moved[:, 3]) / 1000
            points = pixels(seen, K)
            path = f"ego_images_rectified/{split}/{SEQUENCE}/{name}/{frame:06d}.jpg"
            box = {
                side: np.r_[part.min(axis=0) - 5, part.max(axis=0) + 5]
                for side, part in (("right", points[:21]), ("left", points[21:]))
            }
            row = len(images) + 1
            images.append({"id": row, "file_name": path, "width": SIZE[0], "height": SIZE[1],
                           "seq_name": SEQUENCE, "camera": name, "frame_idx": frame})  # fmt: skip
            annotations.append({"id": row, "image_id": row, "bbox": box, "joint_valid": np.ones((42, 1), int)})
            picture(root / "images" / path, *SIZE)
            for start, side in ((0, "right"), (21, "left")):
                ours = np.zeros((21, 3))
                ours[INTERHAND_ROWS] = seen[start : start + 21]
                truth[f"assemblyhands/{split}/{path[:-4]}/{side}"] = ours
    calibration = {SEQUENCE: {"intrinsics": {name + "_mono10bit": K for name in CAMERAS}, "extrinsics": extrinsics}}
    content = {
        "ego_data": {"images": images, "annotations": annotations},
        "ego_calib": {"calibration": calibration},
        "joint_3d": {"annotations": {SEQUENCE: joints}},
    }
    save(root, content, split)
    return content, truth


def save(root, content, split="val"):
    for name, part in content.items():
        dump(root / "annotations" / split / f"assemblyhands_{split}_{name}_v1-1.json", part)


def spec(root, options=""):
    return Spec.parse(f"assemblyhands:{root}{options}")


def test_round_trip(tmp_path):
    _, truth = write(tmp_path)
    source = read(spec(tmp_path), context())
    found = joints_of(source)
    assert found.keys() == truth.keys()
    for hand, joints in truth.items():
        np.testing.assert_allclose(found[hand], joints, atol=1e-5)
    assert source.hands["cluster"].n_unique() == 10
    assert source.frames["annotated"].all()
    conform(source.hands, "hands")
    conform(source.frames, "frames")


def test_hands_out_of_view_and_listed_and_hardly_seen_are_counted(tmp_path):
    content, _ = write(tmp_path)
    notes = content["ego_data"]["annotations"]
    notes[0]["bbox"]["left"] = None
    notes[1]["joint_valid"] = np.r_[np.ones(9, int), np.zeros(12, int), np.ones(21, int)][:, None]
    notes[2]["joint_valid"] = np.r_[np.ones(12, int), np.zeros(9, int), np.ones(21, int)][:, None]
    save(tmp_path, content)
    listed = content["ego_data"]["images"][3]["file_name"]
    (tmp_path / "annotations" / "val" / "invalid_val_ego.txt").write_text(f"{listed},1\n")
    source = read(spec(tmp_path), context())
    assert source.skipped == {
        "hand out of view": 1,
        "hand on the owner's list of bad ones": 1,
        "hand with fewer than 10 joints in view": 1,
    }
    assert np.isnan(source.hands["joints_cam"].to_numpy()).sum() == 9 * 3
    assert read(spec(tmp_path, "?hands=left"), context()).hands.height == 18
    annotated = dict(source.frames.select("image", "annotated").iter_rows())
    names = [f"images/{image['file_name']}" for image in content["ego_data"]["images"]]
    assert [annotated[name] for name in names[:5]] == [True, False, True, False, True]


def test_the_other_camera_convention_is_refused(tmp_path):
    content, _ = write(tmp_path)
    frames = content["ego_calib"]["calibration"][SEQUENCE]["extrinsics"]
    for views in frames.values():
        for name, matrix in views.items():
            views[name] = np.c_[matrix[:, :3].T, -matrix[:, :3].T @ matrix[:, 3]]
    save(tmp_path, content)
    with pytest.raises(HandbenchError, match=r"camera|do not project"):
        read(spec(tmp_path), context())


def test_a_wrong_order_is_refused(tmp_path):
    write(tmp_path, change=lambda world: world[np.r_[20:-1:-1, 41:20:-1]])
    with pytest.raises(HandbenchError, match="order"):
        read(spec(tmp_path), context())


@pytest.mark.parametrize(
    ("part", "damage", "message"),
    [
        ("ego_calib", lambda c: c["calibration"].clear(), r"camera HMC_\d+: expected 3 x 4 extrinsics"),
        ("ego_calib", lambda c: c["calibration"][SEQUENCE]["extrinsics"].pop("000003"), r"frame 3, camera"),
        ("joint_3d", lambda c: c.pop("annotations"), r"world_coord, joint_valid"),
        ("ego_data", lambda c: c["annotations"][0].update(bbox=[1, 2, 3, 4]), r"ego_data_v1-1.json: "),
        (
            "ego_data",
            lambda c: [one.pop("seq_name") for one in c["images"]],
            r"images: every record lacks the field 'seq_name'",
        ),
        (
            "ego_data",
            lambda c: c["annotations"][0]["bbox"].update(left=[1, 2]),
            r"a box must be four numbers",
        ),
    ],
)
def test_bad_input_is_one_clear_line(tmp_path, part, damage, message):
    content, _ = write(tmp_path)
    damage(content[part])
    save(tmp_path, content)
    with pytest.raises(HandbenchError, match=message) as caught:
        read(spec(tmp_path), context())
    assert "\n" not in str(caught.value)


def test_nothing_there(tmp_path):
    (tmp_path / "images").mkdir()
    with pytest.raises(HandbenchError, match=r"assemblyhands_val_ego_data_v1-1.json: missing"):
        read(spec(tmp_path), context())
    with pytest.raises(HandbenchError, match="no split 'all'"):
        read(spec(tmp_path), context(split="all"))
