from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from handbench import tables
from handbench.errors import HandbenchError
from handbench.estimators.imported import side_by_palm, side_by_wrists
from handbench.estimators.keypoint_maps import LAYOUTS
from handbench.runs.parts import make_estimator
from handbench.synth.sample import annotate, recipe

FRAMES = tables.conform(
    pl.DataFrame(
        {
            "image": ["a.jpg", "b.jpg"], "dataset": ["d", "d"], "split": ["s", "s"], "video": ["v", "v"],
            "frame": [0, 1],
            "width": [640, 640], "height": [480, 480], "annotated": [True, True],
        }
    ),
    "frames",
)  # fmt: skip


def _poses(tmp_path, records, options="name=x"):
    path = tmp_path / "poses.json"
    path.write_text(json.dumps(records))
    return make_estimator(f"poses:{path}?{options}").poses(FRAMES)


def _numbered(count):
    """Points whose x is their own number."""
    return [[float(n), 2.0 * n, 0.5] for n in range(count)]


@pytest.mark.parametrize(
    ("layout", "wrists", "tips"),
    [
        # Index of wrist and thumb tip; of the published point lists.
        ("wholebody-133", {"left": 91, "right": 112}, {"left": 95, "right": 116}),
        ("halpe-136", {"left": 94, "right": 115}, {"left": 98, "right": 119}),
        ("goliath-308", {"left": 62, "right": 41}, {"left": 42, "right": 21}),
        ("left-right-42", {"left": 0, "right": 21}, {"left": 4, "right": 25}),
        ("holistic-pose-face-left-right", {"left": 501, "right": 522}, {"left": 505, "right": 526}),
        ("holistic-face-left-pose-right", {"left": 468, "right": 522}, {"left": 472, "right": 526}),
    ],
)
def test_whole_body_points_become_two_hands(tmp_path, layout, wrists, tips):
    table, skipped = _poses(
        tmp_path, [{"image": "a.jpg", "keypoints": _numbered(LAYOUTS[layout][0])}], f"layout={layout}"
    )
    assert skipped == {}
    found = {row["side"]: np.array(row["keypoints_px"]) for row in table.iter_rows(named=True)}
    for side in ("left", "right"):
        assert found[side][0, 0] == wrists[side]
        assert found[side][4, 0] == tips[side]
    assert table["score"].to_list() == pytest.approx([0.5, 0.5])


def test_goliath_fingers_by_name():
    """Sapiens lists each right finger tip, 3, 2, third joint: 21-24 thumb ... 37-40 little, 41 wrist."""
    right = LAYOUTS["goliath-308"][1]["right"]
    assert right[:9] == (41, 24, 23, 22, 21, 28, 27, 26, 25)
    assert right[17:] == (40, 39, 38, 37)


def test_names_choose_their_layout_and_other_counts_are_refused(tmp_path):
    table, _ = _poses(tmp_path, [{"image": "a.jpg", "keypoints": _numbered(308)}], "name=sapiens2")
    assert table.height == 2
    with pytest.raises(HandbenchError, match=r"record 0: expected 21 points \(hand-21\), found 20"):
        _poses(tmp_path, [{"image": "a.jpg", "keypoints": _numbered(20)}], "name=wilor")
    with pytest.raises(HandbenchError, match="543 points; say which layout"):
        _poses(tmp_path, [{"image": "a.jpg", "keypoints": _numbered(543)}], "name=holistic")


def test_frames_may_be_named_by_video_and_frame_and_hands_are_numbered(tmp_path):
    hand = [[10.0 + n, 20.0] for n in range(21)]
    table, _ = _poses(
        tmp_path,
        [
            {"video": "v", "frame": 1, "keypoints": hand, "side": "left", "score": 0.7},
            {"video": "v", "frame": 1, "keypoints": hand, "side": "right"},
            {"image": "a.jpg"},
            {"video": "v", "frame": 9, "keypoints": hand},
        ],
    )
    assert table.select("image", "hand").rows() == [("b.jpg", 0), ("b.jpg", 1), ("a.jpg", -1), ("v#9", 0)]


def test_a_reconstruction_is_projected_and_a_left_hand_mirrored_first(tmp_path):
    """Joint at x = 0.1 before the mirror, cam_t (0, 0, 2), focal 1000: right 320 + 50, left 320 - 50."""
    joints = np.zeros((21, 3))
    joints[:, 0] = 0.1
    record = {
        "image": "a.jpg",
        "keypoints_3d": joints.tolist(),
        "cam_t": [0, 0, 2],
        "focal": 1000,
        "image_size": [640, 480],
    }
    table, _ = _poses(tmp_path, [{**record, "side": "right"}, {**record, "side": "left"}], "name=wilor")
    assert np.array(table["keypoints_px"].to_list())[:, 0].tolist() == [[370, 240], [270, 240]]
    with pytest.raises(HandbenchError, match="behind the camera"):
        _poses(tmp_path, [{**record, "cam_t": [0, 0, -1]}], "name=wilor")


def test_the_side_from_the_bodys_wrists_and_from_the_palm(tmp_path):
    hand = np.array([[10.0 + n, 20.0] for n in range(21)])
    assert side_by_wrists(hand, np.array([12.0, 20]), np.array([90.0, 20])) == "left"
    table, _ = _poses(
        tmp_path,
        [{"image": "a.jpg", "keypoints": hand.tolist(), "wrists": {"left": [90, 20], "right": [12, 20]}}],
        "sides=wrists",
    )
    assert table["side"].to_list() == ["right"]
    for side in ("left", "right"):
        for index in range(8):
            shown = annotate(recipe(0, index, pose="open_palm", view="palm", side=side))
            assert side_by_palm(shown.joints_px) == side


def test_unseen_hands_are_counted_and_our_own_table_is_read(tmp_path):
    points = _numbered(133)
    for n in range(91, 112):
        points[n][2] = 0.0
    table, skipped = _poses(tmp_path, [{"image": "a.jpg", "keypoints": points}], "name=rtmw")
    assert table["side"].to_list() == ["right"]
    assert skipped == {"hand that its estimator did not see": 1}
    file = tables.write(table, tmp_path / "own.parquet", "poses")
    again, _ = make_estimator(f"poses:{file}?name=again").poses(FRAMES)
    assert again["estimator"].cast(pl.String).unique().to_list() == ["again"]


@pytest.mark.parametrize(
    ("content", "said"),
    [("[", "expected JSON"), ("3", "expected a list"), ('[{"keypoints": []}]', "with image"),
     ('[{"image": "a.jpg", "keypoints": [[1], [2]]}]', "keypoints must be"),
     ('[{"image": "a.jpg", "keypoints": "x", "side": "up"}]', "keypoints must be")],
)  # fmt: skip
def test_damage_is_one_line(tmp_path, content, said):
    path = tmp_path / "poses.json"
    path.write_text(content)
    with pytest.raises(HandbenchError, match=said):
        make_estimator(f"poses:{path}?name=x").poses(FRAMES)


def test_a_file_cannot_look_at_an_image(tmp_path):
    with pytest.raises(HandbenchError, match="serve frames that they were made for"):
        make_estimator("poses:x.json")(np.zeros((8, 8, 3), np.uint8))


def test_a_hand_with_another_number_of_points_among_good_ones_is_counted(tmp_path):
    records = [
        {"image": "a.jpg", "side": "right", "keypoints": _numbered(21)},
        {"image": "b.jpg", "side": "right", "keypoints": _numbered(20)},
    ]
    table, skipped = _poses(tmp_path, records, "name=wilor")
    assert table["keypoints_px"].is_null().to_list() == [False, True]  # the second frame was looked at
    ((reason, count),) = skipped.items()
    assert count == 1
    assert "record 1: expected 21 points (hand-21), found 20" in reason
