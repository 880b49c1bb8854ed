"""Real samples reproject to where their owners' own boxes and points say."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hand_maker import context

from handbench.hand.camera import project
from handbench.protocols import find
from handbench.specs import Spec


def sample(shared, name):
    folder = shared / "samples" / name
    if not folder.is_dir():
        pytest.skip(f"no sample: {folder}")
    return folder


def read(kind, path, options=""):
    return find("datasets", kind)(Spec.parse(f"{kind}:{path}{options}"), context())


def reprojected(source):
    """Joints of every hand through its camera, by hand id."""
    rows = source.hands
    points = project(rows["joints_cam"].to_numpy(), rows["intrinsics"].to_numpy())
    return dict(zip(rows["hand_id"].to_list(), points, strict=True))


def test_interhand_inside_the_boxes_of_the_owner(shared):
    folder = sample(shared, "mmpose_interhand2.6m")
    content = json.loads((folder / "test_interhand2.6m_data.json").read_text())
    names = {image["id"]: image["file_name"] for image in content["images"]}
    boxes = {names[note["image_id"]]: note["bbox"] for note in content["annotations"]}
    source = read("interhand", folder, "?hands=both")
    points = reprojected(source)
    assert len(points) == 6
    for hand, image in source.hands.select("hand_id", "image").iter_rows():
        left, top, width, height = boxes[image]
        known = points[hand][np.isfinite(points[hand]).all(axis=1)]
        assert len(known) == 21
        assert (known >= [left, top]).all()
        assert (known <= [left + width, top + height]).all()


def test_rhd_on_the_points_of_the_owner(shared):
    folder = sample(shared, "mmpose_rhd")
    source = read("rhd", folder)
    for hand, given in source.hands.select("hand_id", "joints_px").iter_rows():
        assert np.abs(reprojected(source)[hand] - np.asarray(given)).max() < 0.1


def test_ge_inside_the_crop(shared):
    source = read("ge", sample(shared, "ge_realworld"))
    points = np.stack(list(reprojected(source).values()))
    inside = ((points >= 0) & (points < 256)).all(axis=2)
    assert len(points) > 20
    # The crops are the owner's; a few of their own joints lie on the rim.
    assert inside.mean() > 0.99


def test_whole_body_inside_the_boxes_of_the_hands(shared):
    path = sample(shared, "mmpose_coco_wholebody") / "test_coco_wholebody.json"
    notes = {note["id"]: note for note in json.loads(path.read_text())["annotations"]}
    source = read("coco", path)
    assert source.hands.height == 10
    for hand, side, points in source.hands.select("hand_id", "side", "joints_px").iter_rows():
        left, top, width, height = notes[int(hand.split("/")[-2])][f"{side}hand_box"]
        known = np.asarray(points)
        known = known[np.isfinite(known).all(axis=1)]
        # The boxes of these tiny hands are up to 5 pixels tighter than their own outermost points.
        assert (known >= [left - 5, top - 5]).all()
        assert (known <= [left + width + 5, top + height + 5]).all()
