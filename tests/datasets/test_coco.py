from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hand_maker import camera, context, dump, hands, picture, pixels

from handbench.datasets.coco import read
from handbench.errors import HandbenchError
from handbench.specs import Spec
from handbench.tables import conform

SIZE = (640, 480)
POINTS = {
    side: np.concatenate([pixels(hands(6, side), camera(*SIZE, 500.0)), np.full((6, 21, 1), 2.0)], axis=2)
    for side in ("left", "right")
}


def images(count=6):
    return [
        {"id": row + 10, "file_name": f"{row:012d}.jpg", "width": SIZE[0], "height": SIZE[1]} for row in range(count)
    ]


def whole_body(left=POINTS["left"], right=POINTS["right"], **more):
    return [
        {"id": row + 100, "image_id": row + 10, "iscrowd": 0, "keypoints": [0] * 51,
         "segmentation": {"counts": "abc"} if row else [[1, 2.5]],
         "lefthand_kpts": left[row].ravel(), "righthand_kpts": right[row].ravel(),
         "lefthand_valid": bool(left[row].any()), "righthand_valid": bool(right[row].any()), **more}
        for row in range(6)
    ]  # fmt: skip


def merged(count, start):
    every = np.zeros((6, count, 3))
    every[:, start : start + 21], every[:, start + 21 : start + 42] = POINTS["left"], POINTS["right"]
    return [{"id": row + 100, "image_id": row + 10, "keypoints": every[row].ravel()} for row in range(6)]


def one_hand(nested, **more):
    points = POINTS["right"]
    return [
        {
            "id": row + 100,
            "image_id": row + 10,
            "keypoints": points[row] if nested else points[row].ravel(),
            **more,
        }
        for row in range(6)
    ]


def write(root, annotations, name="val.json", listed=None):
    listed = images() if listed is None else listed
    dump(root / name, {"info": {"any": "thing"}, "images": listed, "annotations": annotations})
    for image in listed:
        picture(root / image["file_name"], *SIZE)
    return Spec.parse(f"coco:{root / name}")


def points_of(source):
    return dict(zip(source.hands["hand_id"].to_list(), source.hands["joints_px"].to_numpy(), strict=True))


@pytest.mark.parametrize(
    "annotations", [whole_body(), merged(133, 91), merged(136, 94)], ids=["fields", "133 points", "halpe"]
)
def test_both_hands_of_a_person(tmp_path, annotations):
    source = read(write(tmp_path, annotations), context())
    found = points_of(source)
    assert len(found) == 12
    for row in range(6):
        for side in ("left", "right"):
            hand = f"coco/val/{row:012d}/{row + 100}/{side}"
            np.testing.assert_allclose(found[hand], POINTS[side][row, :, :2], atol=1e-6)
    assert source.hands["joints_cam"].null_count() == source.hands["extent"].null_count() == 12
    assert source.hands["visible"].to_numpy().all()
    assert source.frames["annotated"].all()
    conform(source.hands, "hands")
    conform(source.frames, "frames")


@pytest.mark.parametrize("nested", [True, False])
def test_one_hand_files(tmp_path, nested):
    spec = write(tmp_path, one_hand(nested))
    source = read(spec, context())
    assert set(source.hands["side"]) == {"unknown"}
    assert any("does not say which hand" in note for note in source.notes)
    assert not source.frames["annotated"].any()
    told = read(Spec.parse(f"{spec}?side=right"), context())
    assert told.hands["hand_id"][0] == "coco/val/000000000000/100/right"
    np.testing.assert_allclose(points_of(told)["coco/val/000000000003/103/right"], POINTS["right"][3, :, :2])
    named = read(write(tmp_path, one_hand(nested, hand_type="left"), "own.json"), context())
    assert set(named.hands["side"]) == {"left"}


def test_points_without_flag_are_nan_and_hands_without_points_are_counted(tmp_path):
    left, right = POINTS["left"].copy(), POINTS["right"].copy()
    left[0] = 0
    right[1, 5] = 0
    right[2, 7, 2] = 1
    annotations = whole_body(left, right)
    annotations[3]["righthand_valid"] = False
    source = read(write(tmp_path, annotations), context())
    assert source.skipped == {"hand not annotated": 2}
    found = points_of(source)
    assert np.isnan(found["coco/val/000000000001/101/right"][5]).all()
    assert np.isnan(source.hands["joints_px"].to_numpy()).sum() == 2
    hidden = dict(zip(source.hands["hand_id"], source.hands["occluded"].to_numpy(), strict=True))
    assert np.flatnonzero(hidden["coco/val/000000000002/102/right"]).tolist() == [7]
    annotated = dict(source.frames.select("image", "annotated").iter_rows())
    assert [annotated[f"{row:012d}.jpg"] for row in range(6)] == [False, True, True, False, True, True]


def test_confidences_are_no_occlusion(tmp_path):
    left, right = POINTS["left"].copy(), POINTS["right"].copy()
    left[..., 2], right[..., 2] = 0.37, 1
    source = read(write(tmp_path, whole_body(left, right)), context())
    assert source.hands.height == 12
    assert source.hands["occluded"].null_count() == 12


def test_crowds_small_hands_and_lost_images_are_counted(tmp_path):
    annotations = [
        *whole_body(),
        whole_body()[0] | {"id": 999, "iscrowd": 1},
        whole_body()[0] | {"image_id": 7},
    ]
    small = POINTS["left"].copy()
    small[4, :, :2] = small[4, :, :2] * 0.05 + 20
    annotations[4]["lefthand_kpts"] = small[4].ravel()
    spec = write(tmp_path, annotations)
    (tmp_path / "000000000005.jpg").unlink()
    source = read(Spec.parse(f"{spec}?pixels=20"), context())
    assert source.skipped == {
        "annotation without image": 1,
        "crowd": 1,
        "hand smaller than 20 pixels": 1,
        "no image": 2,
    }
    assert source.frames.filter(pl.col("image") == "000000000000.jpg")["annotated"].to_list() == [False]


def test_images_elsewhere(tmp_path):
    listed = images()
    dump(tmp_path / "annotations" / "val.json", {"images": listed, "annotations": whole_body()})
    for image in listed:
        picture(tmp_path / "val2017" / image["file_name"], *SIZE)
    spec = Spec.parse(f"coco:{tmp_path}/annotations/val.json?images=../val2017")
    assert read(spec, context()).hands.height == 12


def test_placeholders_that_count_as_annotated_are_refused(tmp_path):
    left = POINTS["left"].copy()
    left[2, 0, :2] = 0
    spec = write(tmp_path, whole_body(left))
    with pytest.raises(HandbenchError, match=r"1 points count as annotated and lie at \(0, 0\)"):
        read(spec, context())
    assert any("went on by force" in note for note in read(spec, context(force=True)).notes)


def test_images_outside_the_folder_are_refused(tmp_path):
    listed = images()
    listed[2]["file_name"] = "../../secret.jpg"
    dump(tmp_path / "val.json", {"images": listed, "annotations": whole_body()})
    with pytest.raises(HandbenchError, match=r"'../../secret.jpg' leads out of this folder"):
        read(Spec.parse(f"coco:{tmp_path}/val.json"), context())


@pytest.mark.parametrize(
    ("annotations", "message"),
    [
        ([{"id": 1, "image_id": 10, "keypoints": [1, 2, 2] * 17}], r"no hand keypoints; .* found 17"),
        ([{"id": 1, "image_id": 10}], r"no hand keypoints; .* found 0"),
        ([{"image_id": 10, "keypoints": [1] * 63}], r"annotations: every record lacks the field 'id'"),
        ([whole_body()[0], {"id": 2, "image_id": 11}], r"lefthand_kpts, record 1: expected 21 points"),
        ([{"id": 1, "image_id": 10, "keypoints": "none"}], r"val.json: expected images and annotations"),
        (one_hand(True, hand_type="both"), r"hand_type must be left or right, found 'both'"),
        (one_hand(True) * 2, r"coco/val/000000000000/100/unknown is annotated 2 times"),
    ],
)
def test_bad_input_is_one_clear_line(tmp_path, annotations, message):
    with pytest.raises(HandbenchError, match=message) as caught:
        read(write(tmp_path, annotations), context())
    assert "\n" not in str(caught.value)


def test_bad_files(tmp_path):
    spec = write(tmp_path, whole_body())
    text = (tmp_path / "val.json").read_text()
    (tmp_path / "val.json").write_text(text[: len(text) // 2])
    with pytest.raises(HandbenchError, match=r"val.json: expected .* in JSON: .* line 1, column \d+"):
        read(spec, context())
    with pytest.raises(HandbenchError, match="found a folder; name the file in it"):
        read(Spec.parse(f"coco:{tmp_path}"), context())
    with pytest.raises(HandbenchError, match="missing; expected the JSON file"):
        read(Spec.parse(f"coco:{tmp_path}/none.json"), context())
    with pytest.raises(HandbenchError, match="the only split is val"):
        read(spec, context(split="train"))


def test_real_coco_wholebody(shared):
    path = shared / "samples" / "mmpose_coco_wholebody" / "test_coco_wholebody.json"
    if not path.is_file():
        pytest.skip(f"no sample: {path}")
    source = read(Spec.parse(f"coco:{path}"), context())
    assert source.hands["side"].cast(str).value_counts().sort("side")["count"].to_list() == [5, 5]
    first = source.hands.filter(pl.col("hand_id") == "coco/test_coco_wholebody/000000000785/442619/right")
    np.testing.assert_allclose(first["joints_px"].to_numpy()[0, 1], [300.70183, 182.77567])
    assert source.hands["in_frame"].to_numpy().mean() > 0.95


def test_real_annotations_without_images(shared):
    path = shared / "samples" / "coco_wholebody_example" / "example_gt.json"
    if not path.is_file():
        pytest.skip(f"no sample: {path}")
    with pytest.raises(HandbenchError, match=r"hand not annotated: 27; no image: 25"):
        read(Spec.parse(f"coco:{path}"), context())


def test_real_freihand_of_mmpose(shared):
    path = shared / "samples" / "mmpose_freihand" / "test_freihand.json"
    if not path.is_file():
        pytest.skip(f"no sample: {path}")
    source = read(Spec.parse(f"coco:{path}?side=right"), context())
    assert source.hands.height == 8
    np.testing.assert_allclose(source.hands["joints_px"].to_numpy()[1, 0], [75.09007144965095, 114.79035385093314])
