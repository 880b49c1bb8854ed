from __future__ import annotations

import copy
import json

import numpy as np
import polars as pl
import pytest

from handbench.datasets import annotations
from handbench.errors import HandbenchError
from handbench.faults import Faults
from handbench.protocols import ReadContext
from handbench.runs.parts import load_source

POINTS = [[10.0 + 3 * n, 20.0 + 2 * n] for n in range(21)]
CONTENT = {
    "format": "handbench-annotations",
    "version": 1,
    "dataset": "mine",
    "split": "test",
    "frames": [
        {
            "image": "v1/1.jpg", "width": 640, "height": 480, "video": "v1", "frame": 1, "seconds": 0.5,
            "gesture": "G05",
            "hands": [
                {
                    "side": "right", "points": [*POINTS[:20], None], "occluded": [3], "out_of_frame": [4],
                    "initial": POINTS, "initial_by": "blaze-full", "verified": True,
                }
            ],
        },
        {"image": "v1/2.jpg", "width": 640, "height": 480, "video": "v1", "frame": 2, "hands": []},
        {
            "image": "v1/3.jpg", "width": 640, "height": 480, "video": "v1", "frame": 3, "annotated": False,
            "hands": [{"side": "unknown", "points": POINTS}],
        },
    ],
}  # fmt: skip


def _read(tmp_path, content):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(content))
    return load_source(f"annotations:{path}", ReadContext())


def test_every_frame_and_flag_is_read(tmp_path):
    source = _read(tmp_path, CONTENT)
    assert source.frames["image"].to_list() == ["v1/1.jpg", "v1/2.jpg", "v1/3.jpg"]
    assert source.frames["annotated"].to_list() == [True, True, False]
    assert source.frames["seconds"].to_list() == [0.5, None, None]
    hand = source.hands.row(0, named=True)
    assert hand["hand_id"] == "mine/test/v1/1.jpg/0-right"
    assert np.array(hand["joints_px"])[:20] == pytest.approx(np.array(POINTS)[:20])
    assert np.isnan(np.array(hand["joints_px"])[20]).all()
    assert [n for n, flag in enumerate(hand["in_frame"]) if not flag] == [4, 20]
    assert [n for n, flag in enumerate(hand["occluded"]) if flag] == [3]
    assert hand["visible"] == [n not in (3, 4, 20) for n in range(21)]
    assert np.array(hand["initial_px"]) == pytest.approx(np.array(POINTS))
    assert hand["verified"]
    assert source.hands["factor_gesture"].to_list() == ["G05", None]
    assert any("1 hands have no side" in note for note in source.notes)


def test_written_and_read_again(tmp_path):
    source = _read(tmp_path, CONTENT)
    path = annotations.write(tmp_path / "b.json", source.frames, source.hands, "blaze-full")
    again = load_source(f"annotations:{path}", ReadContext())
    assert again.frames.equals(source.frames)
    for name in ("hand_id", "side", "joints_px", "in_frame", "occluded", "visible", "initial_px", "verified"):
        one, other = again.hands[name], source.hands[name]
        assert one.cast(pl.String).to_list() == other.cast(pl.String).to_list() if name == "side" else (
            str(one.to_list()) == str(other.to_list())
        )  # fmt: skip


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda c: c.update(format="coco"), "expected format"),
        (lambda c: c.update(version=2), "version 2"),
        (lambda c: c["frames"][0]["hands"][0]["points"].pop(), "expected 21 points"),
        (lambda c: c["frames"][0]["hands"][0].update(side="both"), "side must be"),
        (lambda c: c["frames"][0]["hands"][0].update(occluded=[21]), "from 0 to 20"),
        (lambda c: c["frames"][0]["hands"][0]["points"].__setitem__(2, ["a", "b"]), "a point must be"),
        (lambda c: c["frames"][1].update(image="v1/1.jpg"), "comes twice"),
        (lambda c: c["frames"][1].pop("hands"), "empty where there is none"),
        (lambda c: c["frames"][1].update(width=0), "width must be"),
        (lambda c: c["frames"][1].pop("video"), "go together"),
        (lambda c: c["frames"].append(3), "expected an object"),
        (lambda c: c["frames"][1].update(frame="two"), "frame must be"),
    ],
)
def test_damage_is_named(tmp_path, spoil, said):
    content = copy.deepcopy(CONTENT)
    spoil(content)
    with pytest.raises(HandbenchError, match=said) as caught:
        _read(tmp_path, content)
    assert str(tmp_path / "a.json") in str(caught.value)


def test_no_json_is_one_line(tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(b"\xff\xfe{")
    with pytest.raises(HandbenchError, match="expected JSON"):
        load_source(f"annotations:{path}", ReadContext())


def test_a_hand_of_twenty_points_is_named_or_counted(tmp_path):
    content = copy.deepcopy(CONTENT)
    content["frames"][0]["hands"].append({"side": "left", "points": POINTS[:20]})
    with pytest.raises(HandbenchError, match=r"v1/1\.jpg, hand 1: points: expected 21 points"):
        _read(tmp_path, content)
    source = load_source(f"annotations:{tmp_path / 'a.json'}", ReadContext(faults=Faults(keep_going=True)))
    assert sum(source.skipped.values()) == 1
    assert source.hands.height == 2
    assert source.frames["annotated"].to_list() == [False, True, False]  # a frame that lacks a hand counts in part
