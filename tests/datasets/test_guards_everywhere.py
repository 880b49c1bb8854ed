"""Every reader of 3D joints refuses copies wrongly ordered, scaled, flipped or mirrored, and names the cause."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import test_arctic
import test_assemblyhands
import test_dexycb
import test_fpha
import test_h2o
import test_ho3d
import test_interhand
import test_rhd
from hand_maker import INTERHAND_ROWS, MANO_ROWS, camera, context, dump, hands, picture, pixels, write_ge

from handbench import datasets, tables
from handbench.errors import HandbenchError
from handbench.hand.skeleton import ORDERS
from handbench.protocols import find
from handbench.specs import Spec

COUNT = 12
RIGHT = hands(COUNT, seed=20)


# Each layout is written with pictures, boxes and image points as the hands SHOWN are, and 3D joints as GIVEN.
def freihand_lists(root, shown, given):
    dump(root / "training_xyz.json", given)
    dump(root / "training_K.json", np.tile(camera(), (COUNT, 1, 1)))
    for number in range(COUNT):
        picture(root / "training" / "rgb" / f"{number:08d}.jpg")
    return "freihand", "training"


def freihand_files(root, shown, given):
    for number in range(COUNT):
        path = root / "training" / "rgb" / f"{number:08d}.json"
        dump(path, {"xyz": given[number], "K": camera()})
        picture(path.with_suffix(".jpg"))
    return "freihand", "training"


def interhand(root, shown, given):
    made = test_interhand.Recording()
    for frame in range(COUNT):
        made.add(1, 1, "0000_neutral", frame, right=shown[frame])
        world = made.joints["1"][str(frame)]["world_coord"]
        world[:21] = (given[frame][INTERHAND_ROWS] * 1000) @ test_interhand.rotation(1) + [30.0, -20, 15]
    made.write(root)
    return "interhand?cameras=400053", "train"


def fpha(root, shown, given):
    rows = test_fpha.to_depth_camera(given)[:, test_fpha.ROWS].reshape(COUNT, 63)
    path = root / "Hand_pose_annotation_v1_1" / "Subject_5/open_milk/1" / "skeleton.txt"
    path.parent.mkdir(parents=True)
    np.savetxt(path, np.c_[np.arange(COUNT), rows], fmt=["%d"] + ["%.9f"] * 63)
    for frame in range(COUNT):
        picture(root / "Video_files/Subject_5/open_milk/1/color" / f"color_{frame:04d}.jpeg", 1920, 1080)
    return "fpha", "paper-test"


def ho3d(root, shown, given):
    test_ho3d.write(root, joints=test_ho3d.theirs(np.concatenate([given, given[:3]])))
    return "ho3d", "train"


def dexycb(root, shown, given):
    test_dexycb.write(root, 1, "20200709_141754", joints=given)
    return "dexycb", "all"


def h2o(root, shown, given):
    test_h2o.write(root, "subject4/h1/0/cam4", flags=(0, 1), right=given)
    return "h2o", "test"


def rhd_owners(root, shown, given):
    content = {}
    for row in range(COUNT):
        seen = np.r_[np.zeros(21), np.ones(21)][:, None]
        points = pixels(np.tile(shown[row, test_rhd.ROWS], (2, 1)), test_rhd.K)
        both = np.tile(given[row, test_rhd.ROWS], (2, 1))
        content[row] = {"xyz": both, "uv_vis": np.c_[points, seen], "K": test_rhd.K}
    test_rhd.write(root, content)
    return "rhd", "evaluation"


def rhd_mmpose(root, shown, given):
    test_rhd.mmpose(root, shown, ["right"] * COUNT)
    path = root / "rhd_test.json"
    content = json.loads(path.read_text())
    for row, annotation in enumerate(content["annotations"]):
        annotation["joint_cam"] = given[row][test_rhd.ROWS] * 1000
    dump(path, content)
    return "rhd", "evaluation"


def assemblyhands(root, shown, given):
    content, _ = test_assemblyhands.write(root)
    # The hands of its first camera, turned back into the world.
    for frame in range(10):
        first = test_assemblyhands.pose(1, frame)
        record = content["joint_3d"]["annotations"][test_assemblyhands.SEQUENCE][f"{frame:06d}"]
        seen = given[frame][INTERHAND_ROWS] * 1000
        record["world_coord"][:21] = (seen - first[:, 3]) @ first[:, :3]
    for annotation, image in zip(content["ego_data"]["annotations"], content["ego_data"]["images"], strict=True):
        annotation["bbox"]["left"] = None
        points = pixels(shown[image["frame_idx"]], test_assemblyhands.K)
        annotation["bbox"]["right"] = np.r_[points.min(axis=0) - 5, points.max(axis=0) + 5]
    test_assemblyhands.save(root, content)
    return "assemblyhands?hands=right", "val"


def arctic(root, shown, given):
    def laid_out(joints):
        return np.tile(joints[: test_arctic.FRAMES, None], (1, 8, 1, 1))

    content = test_arctic.split(laid_out(shown), laid_out(shown))
    record = content["data_dict"][test_arctic.SEQUENCE]["cam_coord"]
    record["joints.right"] = test_arctic.ten_views(laid_out(given))[:, :, MANO_ROWS]
    test_arctic.write(root, content)
    return "arctic?hands=right", "p1_val"


def ge(root, shown, given):
    write_ge(root, given * [-1, 1, 1], range(COUNT))
    return "ge", "test"


def table(root, shown, given):
    (root / "photos").mkdir()
    write_ge(root / "photos", shown * [-1, 1, 1], range(COUNT))
    source = find("datasets", "ge")(Spec.parse(f"ge:{root / 'photos'}"), context())
    mine = source.hands.with_columns(
        joints_cam=pl.Series(given * [-1, 1, 1], dtype=tables.JOINTS_3D), image=pl.lit("photos/") + pl.col("image")
    )
    tables.write(mine, root / "hands.parquet", "hands")
    return "table", None


# The order by which each reader takes joints.
LAYOUTS = {
    freihand_lists: "openpose",
    freihand_files: "openpose",
    interhand: "interhand-right",
    fpha: "fpha",
    ho3d: "mano",
    dexycb: "openpose",
    h2o: "openpose",
    rhd_owners: "rhd-left",
    rhd_mmpose: "rhd-left",
    assemblyhands: "interhand-right",
    arctic: "mano",
    ge: "openpose",
    table: "openpose",
}


def in_the_order(actual, applied):
    """What a reader sees that applies one order to a file in another one."""
    theirs = np.empty_like(RIGHT)
    theirs[:, np.array(ORDERS[actual]) % 21] = RIGHT
    return theirs[:, np.array(ORDERS[applied]) % 21]


EXCHANGED = [*range(13), *range(17, 21), *range(13, 17)]
COPIES = {
    "exchanged fingers": (lambda order: RIGHT[:, EXCHANGED], "ring and little finger exchanged"),
    "another order": (
        lambda order: in_the_order("openpose" if order == "interhand-right" else "interhand-right", order),
        r"the joints look to be in the order (interhand|openpose)",
    ),
    "a thousand times too large": (lambda order: RIGHT * 1000, "look like millimetres"),
    "a thousand times too small": (lambda order: RIGHT / 1000, "converted to metres twice"),
    "flipped as in OpenGL": (lambda order: RIGHT * [1, -1, -1], "OpenGL axes|z is negative"),
    "upside down": (lambda order: RIGHT * [1, -1, 1], "the y axis looks turned up|look mirrored"),
    "mirrored": (lambda order: RIGHT * [-1, 1, 1], "look mirrored"),
    "of the other side": (
        lambda order: hands(COUNT, "left", seed=21),
        "left and right are exchanged|camera does not fit",
    ),
}


def load(root, write, shown, given):
    name, split = write(root, shown, given)
    kind, _, options = name.partition("?")
    text = f"{kind}:{root}" + (f"?{options}" if options else "")
    return find("datasets", kind)(Spec.parse(text), context(split=split))


@pytest.mark.parametrize("write", LAYOUTS, ids=lambda write: write.__name__)
def test_a_right_copy_passes(tmp_path, write):
    source = load(tmp_path, write, RIGHT, RIGHT)
    assert source.hands.height >= test_arctic.FRAMES
    assert not [note for note in source.notes if "could not be confirmed" in note]


@pytest.mark.parametrize("copy", COPIES)
@pytest.mark.parametrize("write", LAYOUTS, ids=lambda write: write.__name__)
def test_a_wrong_copy_is_refused_with_its_cause(tmp_path, write, copy):
    make, cause = COPIES[copy]
    given = make(LAYOUTS[write])
    with pytest.raises(HandbenchError, match=cause) as caught:
        load(tmp_path, write, RIGHT, given)
    assert "\n" not in str(caught.value)
    assert "--force" in str(caught.value)


def test_every_reader_of_3d_joints_is_here():
    place = Path(datasets.__file__).parent
    readers = {
        path.stem for path in place.glob("*.py") if "joints_cam" in path.read_text() and "@dataset(" in path.read_text()
    }
    assert readers == {write.__name__.partition("_")[0] for write in LAYOUTS}
