from __future__ import annotations

import numpy as np
import pytest
from hand_maker import context, dump, picture
from test_coco import POINTS, SIZE, images, merged, one_hand, whole_body

from handbench.errors import HandbenchError
from handbench.faults import Faults
from handbench.protocols import find
from handbench.specs import Spec
from handbench.tables import conform


def read(kind, root, options="", **settings):
    return find("datasets", kind)(Spec.parse(f"{kind}:{root}{options}"), context(**settings))


def write(root, annotations, file, place):
    dump(root / file, {"images": images(), "annotations": annotations})
    for image in images():
        picture(root / place / image["file_name"], *SIZE)
    return root


LAYOUTS = [
    ("cocowholebody", "annotations/coco_wholebody_val_v1.0.json", "val2017", whole_body()),
    ("cocowholebody", "coco_wholebody_val_v1.0.json", "images/val2017", whole_body()),
    ("halpe", "halpe_val_v1.json", "val2017", merged(136, 94)),
]


@pytest.mark.parametrize(("kind", "file", "place", "annotations"), LAYOUTS)
def test_both_hands_of_each_person(tmp_path, kind, file, place, annotations):
    source = read(kind, write(tmp_path, annotations, file, place))
    found = dict(zip(source.hands["hand_id"].to_list(), source.hands["joints_px"].to_numpy(), strict=True))
    assert len(found) == 12
    for row in range(6):
        for side in ("left", "right"):
            hand = f"{kind}/val/{row:012d}/{row + 100}/{side}"
            np.testing.assert_allclose(found[hand], POINTS[side][row, :, :2], atol=1e-6)
    assert (source.root / source.hands["image"][0]).is_file()
    conform(source.hands, "hands")
    conform(source.frames, "frames")


def test_halpe_train_lies_among_the_images_of_hico(tmp_path):
    write(tmp_path, merged(136, 94), "halpe_train_v1.json", "hico_20160224_det/images/train2015")
    assert read("halpe", tmp_path, split="train").hands.height == 12


def test_onehand10k_by_mmposes_file(tmp_path):
    listed = [image | {"file_name": f"Test/source/{image['file_name']}"} for image in images()]
    dump(tmp_path / "annotations" / "onehand10k_test.json", {"images": listed, "annotations": one_hand(True)})
    for image in listed:
        picture(tmp_path / image["file_name"], *SIZE)
    source = read("onehand10k", tmp_path)
    assert set(source.hands["side"]) == {"unknown"}
    np.testing.assert_allclose(source.hands["joints_px"].to_numpy(), POINTS["right"][..., :2], atol=1e-6)
    assert set(read("onehand10k", tmp_path, "?side=right").hands["side"]) == {"right"}


def test_onehand10k_without_a_joint_order_is_refused(tmp_path):
    (tmp_path / "Test").mkdir()
    (tmp_path / "Test" / "label_joint.txt").write_text("0.jpg,10,10,1,1,2\n")
    with pytest.raises(HandbenchError, match=r"label_joint\.txt: its joints have no documented order"):
        read("onehand10k", tmp_path)


@pytest.mark.parametrize("kind", ["cocowholebody", "halpe", "onehand10k"])
def test_what_is_missing_is_named(tmp_path, kind):
    (tmp_path / "other").mkdir()
    with pytest.raises(HandbenchError, match=rf"missing the annotations of {kind}; expected annotations/"):
        read(kind, tmp_path)
    with pytest.raises(HandbenchError, match="no split 'paper-test'; there are train"):
        read(kind, tmp_path, split="paper-test")
    if kind != "onehand10k":
        dump(tmp_path / "annotations" / LAYOUTS[0][1].split("/")[-1], {"images": [], "annotations": []})
        dump(tmp_path / "halpe_val_v1.json", {"images": [], "annotations": []})
        with pytest.raises(HandbenchError, match="no images of val; expected val2017 or images/val2017"):
            read(kind, tmp_path)


def panoptic(root, place="hand_labels/manual_test", without=2):
    """Six photos of each side; one joint is not labelled on one of them."""
    for row in range(6):
        for side in ("left", "right"):
            name = f"photo{row}_{side[0]}"
            points = POINTS[side][row].copy()
            points[:, 2] = 1
            points[3] = 0 if row == without else points[3]
            content = {"hand_pts": points, "hand_box_center": [1, 2], "is_left": int(side == "left")}
            dump(root / place / f"{name}.json", content)
            picture(root / place / f"{name}.jpg", *SIZE)
    return root


@pytest.mark.parametrize("place", ["manual_test", "hand_labels/manual_test"])
def test_panoptic_as_its_owner_ships_it(tmp_path, place):
    source = read("panoptic", panoptic(tmp_path, place))
    assert source.hands.height == 12
    by = {row["hand_id"]: row for row in source.hands.iter_rows(named=True)}
    for row in range(6):
        for side in ("left", "right"):
            hand = by[f"panoptic/test/{place}/photo{row}_{side[0]}/{side}"]
            expected = POINTS[side][row, :, :2].copy()
            if row == 2:
                expected[3] = np.nan
            np.testing.assert_allclose(hand["joints_px"], expected, atol=1e-6)
            assert hand["cluster"] == f"{place}/photo{row}"
    conform(source.hands, "hands")


def test_panoptic_by_mmposes_file(tmp_path):
    listed = [image | {"file_name": f"hand_labels/manual_test/{image['file_name']}"} for image in images()]
    dump(tmp_path / "annotations" / "panoptic_test.json", {"images": listed, "annotations": one_hand(False)})
    for image in listed:
        picture(tmp_path / image["file_name"], *SIZE)
    assert read("panoptic", tmp_path).hands.height == 6


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"hand_pts": [[1, 2, 1]] * 20, "is_left": 0}, "expected hand_pts of 21 x 3"),
        ({"hand_pts": [[1, 2, 1]] * 21}, "is_left of 0 or 1"),
        ({"hand_pts": [[1, 2, 1]] * 21, "is_left": True}, "is_left of 0 or 1"),
        ({"hand_pts": [[float("nan"), 2, 1]] * 21, "is_left": 0}, "finite"),
        ([], "expected hand_pts"),
        ({"hand_pts": [[10**400, 2, 1]] * 21, "is_left": 0}, "expected hand_pts"),
    ],
)
def test_bad_input_of_panoptic_is_one_clear_line(tmp_path, content, message):
    panoptic(tmp_path)
    dump(tmp_path / "hand_labels" / "manual_test" / "photo0_l.json", content)
    with pytest.raises(HandbenchError, match=message) as caught:
        read("panoptic", tmp_path)
    assert "\n" not in str(caught.value)
    assert "photo0_l.json" in str(caught.value)


def test_photos_of_panoptic_without_a_file_are_counted(tmp_path):
    panoptic(tmp_path)
    place = tmp_path / "hand_labels" / "manual_test"
    (place / "photo1_l.jpg").unlink()
    dump(place / "photo3_r.json", {"hand_pts": np.zeros((21, 3)), "is_left": 0})
    assert read("panoptic", tmp_path).skipped == {"no image": 1, "hand not annotated": 1}
    (tmp_path / "empty" / "manual_test").mkdir(parents=True)
    with pytest.raises(HandbenchError, match=r"nothing is left of the split test \(no JSON file\)"):
        read("panoptic", tmp_path / "empty")


def test_bad_files_of_panoptic_are_left_out_and_counted(tmp_path):
    panoptic(tmp_path)
    place = tmp_path / "hand_labels" / "manual_test"
    (place / "photo0_l.json").write_text("{")
    (place / "photo1_l.jpg").write_bytes(b"no image")
    source = read("panoptic", tmp_path, faults=Faults(keep_going=True))
    assert source.hands.height == 10
    assert sum(source.skipped.values()) == 2
    assert any("photo0_l.json" in note for note in source.notes)
