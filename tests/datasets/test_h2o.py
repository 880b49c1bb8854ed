from __future__ import annotations

import numpy as np
import pytest
from hand_maker import camera, context, hands, joints_of, picture, pixels

from handbench.datasets.h2o import read
from handbench.errors import HandbenchError
from handbench.specs import Spec
from handbench.tables import conform

LEFT, RIGHT = hands(12, "left"), hands(12, "right", seed=1)
SIZE = (1280, 720)
K = camera(*SIZE, 640.0)


def write(root, view, frames=12, flags=(1, 1), suffix="png", left=LEFT, right=RIGHT):
    place = root / view
    (place / "hand_pose").mkdir(parents=True)
    (place / "cam_intrinsics.txt").write_text("640.0 640.0 640.0 360.0 1280 720")
    for frame in range(frames):
        numbers = [flags[0], *(left[frame] * flags[0]).ravel(), flags[1], *(right[frame] * flags[1]).ravel()]
        (place / "hand_pose" / f"{frame:06d}.txt").write_text(" ".join(map(str, numbers)))
        picture(place / "rgb" / f"{frame:06d}.{suffix}", *SIZE)
    return place


def spec(root, options=""):
    return Spec.parse(f"h2o:{root}{options}")


@pytest.mark.parametrize("suffix", ["png", "jpg"])
def test_round_trip(tmp_path, suffix):
    write(tmp_path, "subject4/h1/0/cam4", suffix=suffix)
    source = read(spec(tmp_path), context())
    found = joints_of(source)
    assert len(found) == 24
    for frame in range(12):
        key = f"h2o/test/subject4/h1/0/cam4/{frame:06d}"
        np.testing.assert_allclose(found[f"{key}/left"], LEFT[frame], atol=1e-6)
        np.testing.assert_allclose(found[f"{key}/right"], RIGHT[frame], atol=1e-6)
    np.testing.assert_allclose(source.hands["joints_px"].to_numpy()[0], pixels(LEFT[0], K), atol=1e-2)
    assert set(source.hands["cluster"]) == {"subject4/h1/0"}
    assert set(source.hands["subject"]) == {"4"}
    assert source.frames["annotated"].all()
    conform(source.hands, "hands")
    conform(source.frames, "frames")


def test_splits_go_by_subject_and_scene(tmp_path):
    for view in ("subject1/o1/0", "subject2/k2/1", "subject3/k1/0", "subject3/k2/0", "subject4/h2/3"):
        write(tmp_path, f"{view}/cam4", frames=1)
    sequences = {
        split: set(read(spec(tmp_path), context(split=split)).hands["sequence"])
        for split in ("train", "val", "test", "all")
    }
    assert sequences["train"] == {"subject1/o1/0", "subject2/k2/1", "subject3/k1/0"}
    assert sequences["val"] == {"subject3/k2/0"}
    assert sequences["test"] == {"subject4/h2/3"}
    assert len(sequences["all"]) == 5


def test_cameras_share_the_cluster(tmp_path):
    write(tmp_path, "subject4/h1/0/cam4", frames=2)
    write(tmp_path, "subject4/h1/0/cam0", frames=2)
    assert read(spec(tmp_path), context()).hands.height == 4
    both = read(spec(tmp_path, "?cameras=cam0,cam4"), context()).hands
    assert (both.height, both["cluster"].n_unique()) == (8, 1)


def test_hands_not_annotated_and_images_not_there_are_counted(tmp_path):
    place = write(tmp_path, "subject4/h1/0/cam4", flags=(0, 1))
    (place / "rgb" / "000002.png").unlink()
    source = read(spec(tmp_path), context())
    assert set(source.hands["side"]) == {"right"}
    assert source.skipped == {"no image": 1, "hand not annotated": 11}
    assert not source.frames["annotated"].any()
    assert read(spec(tmp_path, "?hands=right"), context()).skipped == {"no image": 1}


@pytest.mark.parametrize(
    ("left", "right", "cause"),
    [
        (RIGHT, LEFT, "left and right are exchanged"),
        (RIGHT, RIGHT, "the left hands look like mirrored right hands"),
        (LEFT * 1000, RIGHT * 1000, "look like millimetres"),
        (LEFT * [1, -1, -1], RIGHT * [1, -1, -1], "OpenGL axes"),
        (LEFT * 0, RIGHT, "stands for 'not annotated'"),
    ],
)
def test_damaged_copies_are_refused_with_their_cause(tmp_path, left, right, cause):
    write(tmp_path, "subject4/h1/0/cam4", left=left, right=right)
    with pytest.raises(HandbenchError, match=cause):
        read(spec(tmp_path), context())


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("hand_pose/000001.txt", "1 2 3", r"000001.txt: expected 128 finite numbers"),
        ("hand_pose/000001.txt", "", r"000001.txt: the file is empty"),
        ("hand_pose/000001.txt", " ".join(["nan"] * 128), r"000001.txt: expected 128 finite"),
        ("hand_pose/000001.txt", " ".join(["x"] * 128), r"000001.txt: expected 128 finite"),
        ("cam_intrinsics.txt", "640 640 640", r"cam_intrinsics.txt: expected 6 finite numbers"),
        ("rgb/000000.png", "no image", r"000000.png: no readable image"),
    ],
)
def test_bad_input_is_one_clear_line(tmp_path, name, text, message):
    (write(tmp_path, "subject4/h1/0/cam4") / name).write_text(text)
    with pytest.raises(HandbenchError, match=message) as caught:
        read(spec(tmp_path), context())
    assert "\n" not in str(caught.value)


def test_nothing_there(tmp_path):
    (tmp_path / "subject1").mkdir()
    with pytest.raises(HandbenchError, match="no H2O annotations"):
        read(spec(tmp_path), context())
    write(tmp_path, "subject1/h1/0/cam4", frames=1)
    with pytest.raises(HandbenchError, match="nothing is left of the split test"):
        read(spec(tmp_path), context())


def test_clips_by_the_owners_list(tmp_path):
    write(tmp_path, "subject4/h1/0/cam4", frames=8)
    write(tmp_path, "subject4/h1/0/cam0", frames=8)
    lists = tmp_path / "action_labels"
    lists.mkdir()
    heading = "id path action_label start_act end_act start_frame end_frame\n"
    (lists / "action_test.txt").write_text(
        heading + "1 subject4/h1/0 16 0 2 0 7\n2 subject4/h1/0 27 4 9 0 7\n3 subject4/k1/0 1 0 3 0 7\n"
    )
    source = read(spec(tmp_path, "?cameras=cam0,cam4"), context())
    clips = source.clips.to_dicts()
    assert [clip["clip_id"] for clip in clips] == [
        "h2o/test/subject4/h1/0/cam0/000000-000002",
        "h2o/test/subject4/h1/0/cam0/000004-000009",
        "h2o/test/subject4/h1/0/cam4/000000-000002",
        "h2o/test/subject4/h1/0/cam4/000004-000009",
    ]
    assert [clip["action"] for clip in clips] == ["place cappuccino", "take out cappuccino"] * 2
    # Two cameras see one and the same clip.
    assert [clip["cluster"] for clip in clips] == ["subject4/h1/0/000000-000002", "subject4/h1/0/000004-000009"] * 2
    assert clips[3]["images"] == [f"subject4/h1/0/cam4/rgb/{frame:06d}.png" for frame in range(4, 8)]
    assert source.skipped == {"frame of a clip not there": 4}
    conform(source.clips, "clips")


def test_clips_by_the_numbers_beside_the_images(tmp_path):
    place = write(tmp_path, "subject4/h1/0/cam4", frames=8, flags=(0, 1))
    (place / "action_label").mkdir()
    for frame, number in enumerate([0, 9, 9, 9, 0, 36, 36, 23]):
        (place / "action_label" / f"{frame:06d}.txt").write_text(f"{number}\n")
    clips = read(spec(tmp_path), context()).clips
    assert clips.select("action", "start", "end").rows() == [
        ("place book", 1, 3),
        ("squeeze lotion", 5, 6),
        ("pour milk", 7, 7),
    ]


def test_clips_without_any_annotated_hand(tmp_path):
    place = write(tmp_path, "subject4/h1/0/cam4", frames=3, flags=(0, 0))
    (place / "action_label").mkdir()
    for frame in range(3):
        (place / "action_label" / f"{frame:06d}.txt").write_text("33")
    source = read(spec(tmp_path), context())
    assert source.hands.is_empty()
    assert source.clips["action"].to_list() == ["read book"]
    assert source.frames["image"].to_list() == source.clips["images"][0].to_list()
    assert source.frames["image_hash"].null_count() == 0
    assert not source.frames["annotated"].any()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id path start_act\n", "line 1: expected the columns path, start_act, end_act; end_act is missing"),
        ("path action_label start_act end_act\nsubject4/h1/0 16 0\n", "line 2: expected 4 words"),
        ("path action_label start_act end_act\nsubject4/h1/0 37 0 2\n", "expected an action from 1 to 36, found 37"),
        ("path action_label start_act end_act\nsubject4/h1/0 1 a 2\n", "start_act must be a whole number"),
    ],
)
def test_a_bad_list_of_actions_is_one_clear_line(tmp_path, text, message):
    write(tmp_path, "subject4/h1/0/cam4", frames=2)
    (tmp_path / "action_labels").mkdir()
    (tmp_path / "action_labels" / "action_test.txt").write_text(text)
    with pytest.raises(HandbenchError, match=message):
        read(spec(tmp_path), context())
