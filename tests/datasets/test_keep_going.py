"""Bad rows: one line that names the file, or, where the user wants to go on, left out and counted by reason."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
import test_hagrid
from every_layout import LAYOUTS
from hand_maker import context, dump, picture
from scipy.io import loadmat, savemat
from tests.handvqa.conftest import random_hands, write_source

from handbench.errors import HandbenchError
from handbench.faults import Faults
from handbench.protocols import find
from handbench.runs.parts import load_source
from handbench.specs import Spec


def read(name, root, keep_going=False):
    spec = Spec.parse(LAYOUTS[name].spec.format(root=root))
    return find("datasets", spec.kind)(spec, context(split=LAYOUTS[name].split, faults=Faults(keep_going)))


def rows_of(source):
    names = ["joints_cam", "joints_px", "image", "side", "in_frame"]
    return {row["hand_id"]: [row[name] for name in names] for row in source.hands.to_dicts()}


def check(name, root, whole, lost, reason, message):
    """One line without keep_going; with it, the other rows as they were."""
    with pytest.raises(HandbenchError, match=message) as caught:
        load_source(LAYOUTS[name].spec.format(root=root), context(split=LAYOUTS[name].split))
    assert "\n" not in str(caught.value)
    source = read(name, root, keep_going=True)
    left = rows_of(source)
    assert source.skipped.get(reason) == len(whole) - len(left) == lost, source.skipped
    assert left == {hand: whole[hand] for hand in left}
    assert any(reason in note for note in source.notes) or reason in ("no image", "image without annotation")


@pytest.mark.parametrize("name", LAYOUTS)
def test_an_image_without_bytes(tmp_path, name):
    LAYOUTS[name].write(tmp_path)
    whole = read(name, tmp_path)
    image = LAYOUTS[name].image
    lost = (whole.hands["image"] == image).sum()
    assert lost >= 1
    (tmp_path / image).write_bytes(b"")
    reason = "file of 0 bytes" if name in ("ge", "hint", "panoptic") else "image of 0 bytes"
    with pytest.raises(HandbenchError, match=image.rpartition("/")[2]):
        read(name, tmp_path)
    source = read(name, tmp_path, keep_going=True)
    assert sum(source.skipped[key] for key in source.skipped if key == reason) == lost
    assert rows_of(source) == {hand: row for hand, row in rows_of(whole).items() if row[2] != image}


@pytest.mark.parametrize("name", LAYOUTS)
def test_an_image_that_is_none(tmp_path, name):
    LAYOUTS[name].write(tmp_path)
    whole = rows_of(read(name, tmp_path))
    (tmp_path / LAYOUTS[name].image).write_bytes(b"no picture at all")
    source = read(name, tmp_path, keep_going=True)
    left = rows_of(source)
    assert source.skipped["unreadable image"] == len(whole) - len(left) >= 1
    assert left == {hand: whole[hand] for hand in left}


@pytest.mark.parametrize("name", LAYOUTS)
def test_an_image_that_is_not_there(tmp_path, name):
    LAYOUTS[name].write(tmp_path)
    whole = rows_of(read(name, tmp_path))
    (tmp_path / LAYOUTS[name].image).unlink()
    text, split = LAYOUTS[name].spec.format(root=tmp_path), LAYOUTS[name].split
    with pytest.raises(HandbenchError, match=r"no image: \d+ beside \d+ whole ones.*--keep-going"):
        load_source(text, context(split=split))
    left = rows_of(load_source(text, context(split=split, faults=Faults(True))))
    assert left == {hand: whole[hand] for hand in left}
    assert len(left) < len(whole)


@pytest.mark.parametrize("name", ["freihand files", "ho3d", "dexycb", "h2o", "hint"])
@pytest.mark.parametrize("damage", ["empty", "cut", "words"])
def test_a_damaged_annotation_file_of_one_image(tmp_path, name, damage):
    LAYOUTS[name].write(tmp_path)
    whole = rows_of(read(name, tmp_path))
    path = tmp_path / LAYOUTS[name].row
    raw = path.read_bytes()
    path.write_bytes({"empty": b"", "cut": raw[: len(raw) // 2], "words": b"[1, 2, what"}[damage])
    lost = 1 if name != "h2o" else 2
    reason = "file of 0 bytes" if damage == "empty" else "damaged annotation"
    with pytest.raises(HandbenchError, match=path.name):
        read(name, tmp_path)
    source = read(name, tmp_path, keep_going=True)
    left = rows_of(source)
    assert len(whole) - len(left) == lost
    assert source.skipped[reason] == 1
    assert any(path.name in note for note in source.notes)
    assert left == {hand: whole[hand] for hand in left}


@pytest.mark.parametrize("bad", ["1 2 3", "3 " + "nan " * 63, "half of it", "3 " + "inf " * 63])
def test_a_bad_line_of_a_sequence(tmp_path, bad):
    LAYOUTS["fpha"].write(tmp_path)
    whole = rows_of(read("fpha", tmp_path))
    path = tmp_path / LAYOUTS["fpha"].row
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], bad, lines[2]]))
    reason = "joints not finite" if bad.startswith("3 ") else "damaged line"
    check("fpha", tmp_path, whole, 1, reason, r"skeleton.txt, line 2")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "x", None])
def test_a_bad_row_of_the_owners_lists(tmp_path, value):
    name = "freihand lists"
    LAYOUTS[name].write(tmp_path)
    whole = rows_of(read(name, tmp_path))
    path = tmp_path / "training_xyz.json"
    content = json.loads(path.read_text())
    content[3][7][1] = value
    path.write_text(json.dumps(content))
    check(name, tmp_path, whole, 4, "joints not finite", r"training_xyz.json")


def test_a_bad_row_of_cameras_and_meshes(tmp_path):
    name = "freihand lists"
    LAYOUTS[name].write(tmp_path)
    whole = rows_of(read(name, tmp_path))
    for kind in ("K", "verts"):
        path = tmp_path / f"training_{kind}.json"
        content = json.loads(path.read_text())
        content[2 if kind == "K" else 5][1][1] = float("nan")
        path.write_text(json.dumps(content))
    source = read(name, tmp_path, keep_going=True)
    assert source.skipped["intrinsics not finite"] == 4
    assert source.skipped["center not finite"] == 4
    lost = {f"freihand/training/{pose + 12 * version:08d}/right" for pose in (2, 5) for version in range(4)}
    assert set(whole) - set(rows_of(source)) == lost


def test_a_bad_frame_of_interhand(tmp_path):
    LAYOUTS["interhand"].write(tmp_path)
    whole = rows_of(read("interhand", tmp_path))
    path = tmp_path / LAYOUTS["interhand"].row
    content = json.loads(path.read_text())
    content["1"]["100"]["world_coord"][4][0] = float("nan")
    path.write_text(json.dumps(content))
    with pytest.raises(HandbenchError, match="capture 1, frame 100"):
        read("interhand", tmp_path)
    source = read("interhand", tmp_path, keep_going=True)
    left = rows_of(source)
    assert source.skipped["joints not finite"] == 1
    assert len(whole) - len(left) == 3  # one hand, three cameras
    assert left == {hand: whole[hand] for hand in left}


def test_a_bad_record_of_the_pickles_and_matrices(tmp_path):
    LAYOUTS["rhd"].write(tmp_path / "rhd")
    whole = rows_of(read("rhd", tmp_path / "rhd"))
    path = tmp_path / "rhd" / LAYOUTS["rhd"].row
    content = pickle.loads(path.read_bytes())
    content[4]["xyz"] = content[4]["xyz"][:40]
    path.write_bytes(pickle.dumps(content, protocol=2))
    left = rows_of(read("rhd", tmp_path / "rhd", keep_going=True))
    assert set(whole) - set(left) == {"rhd/evaluation/00004/left", "rhd/evaluation/00004/right"}

    (tmp_path / "ge").mkdir()
    LAYOUTS["ge"].write(tmp_path / "ge")
    whole = rows_of(read("ge", tmp_path / "ge"))
    path = tmp_path / "ge" / "pose_gt.mat"
    poses = loadmat(path)["pose_gt"]
    poses[3, 2] = np.nan
    savemat(path, {"pose_gt": poses})
    check("ge", tmp_path / "ge", whole, 1, "joints not finite", "pose_gt, row 3")


def test_a_bad_record_of_coco(tmp_path):
    LAYOUTS["coco"].write(tmp_path)
    whole = rows_of(read("coco", tmp_path))
    path = tmp_path / "val.json"
    content = json.loads(path.read_text())
    content["annotations"][1]["lefthand_kpts"] = content["annotations"][1]["lefthand_kpts"][:50]
    dump(path, content)
    with pytest.raises(HandbenchError, match="record 1: expected 21 points"):
        read("coco", tmp_path)
    source = read("coco", tmp_path, keep_going=True)
    assert source.skipped["joints not finite"] == 1
    left = rows_of(source)
    assert len(whole) - len(left) == 2
    assert left == {hand: whole[hand] for hand in left}


@pytest.mark.parametrize("name", ["freihand files", "fpha", "h2o"])
def test_a_placeholder(tmp_path, name):
    LAYOUTS[name].write(tmp_path)
    path = tmp_path / LAYOUTS[name].row
    whole = rows_of(read(name, tmp_path))
    if name == "fpha":
        lines = path.read_text().splitlines()
        path.write_text("\n".join([lines[0], "3 " + "1 " * 63, lines[2]]))
    elif name == "h2o":
        path.write_text("1 " + "0.5 " * 63 + "0 " + "0 " * 63)
    else:
        content = json.loads(path.read_text())
        dump(path, {**content, "xyz": np.full((21, 3), -1.0)})
    with pytest.raises(HandbenchError, match="stands for 'not annotated'"):
        read(name, tmp_path)
    source = read(name, tmp_path, keep_going=True)
    assert source.skipped["joints all at one point"] == 1
    left = rows_of(source)
    assert left == {hand: whole[hand] for hand in left}


def test_a_folder_that_holds_the_lesser_part_is_a_part_taken_on_purpose(tmp_path):
    LAYOUTS["ge"].write(tmp_path)
    for row in range(2, 12):
        (tmp_path / f"images/{row:05d}.jpg").unlink()
    source = load_source(f"ge:{tmp_path}", context())
    assert (source.hands.height, source.skipped, source.incomplete) == (2, {"no image": 10}, [])


def test_nothing_left_is_said(tmp_path):
    LAYOUTS["fpha"].write(tmp_path)
    for path in tmp_path.rglob("*.jpeg"):
        path.write_bytes(b"")
    with pytest.raises(HandbenchError, match=r"nothing is left \(image of 0 bytes: 5\)"):
        read("fpha", tmp_path, keep_going=True)


def test_gestures(tmp_path):
    test_hagrid.make(tmp_path, ["like"])
    path = tmp_path / "annotations" / "test" / "like.json"
    content = json.loads(path.read_text())
    content["like-01"] = {"labels": 3}
    dump(path, content)
    (tmp_path / "like" / "like-02.jpg").write_bytes(b"no picture")
    for text in ("expected an object with a list of labels", "no readable image"):
        with pytest.raises(HandbenchError, match=text):
            load_source(f"hagrid:{tmp_path}?n=0&gestures=like", context())
        content["like-01"] = {"labels": ["like"]}
        dump(path, content)
    content["like-01"] = {"labels": 3}
    dump(path, content)
    source = load_source(f"hagrid:{tmp_path}?n=0&gestures=like", context(faults=Faults(True)))
    assert source.skipped == {"damaged annotation": 1, "unreadable image": 1}
    assert source.gestures.height == source.frames.height == 3


def test_photos_and_tables(tmp_path):
    for name in "ab":
        picture(tmp_path / f"{name}.jpg")
    (tmp_path / "c.jpg").write_bytes(b"")
    with pytest.raises(HandbenchError, match=r"c.jpg: the file is empty"):
        load_source(f"images:{tmp_path}", context())
    source = load_source(f"images:{tmp_path}", context(faults=Faults(True)))
    assert (source.frames.height, source.skipped) == (2, {"file of 0 bytes": 1})
    data = write_source(tmp_path / "table", random_hands(4))
    (tmp_path / "table" / "000002.jpg").write_bytes(b"")
    with pytest.raises(HandbenchError, match=r"000002.jpg: the image is empty"):
        load_source(data, context())
    source = load_source(data, context(faults=Faults(True)))
    assert (source.hands.height, source.skipped) == (3, {"image of 0 bytes": 1})
