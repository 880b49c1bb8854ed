from __future__ import annotations

import polars as pl
import pytest
from hand_maker import context, picture

from handbench.datasets.ipn import CLASSES, read
from handbench.errors import HandbenchError
from handbench.specs import Spec
from handbench.tables import conform

# Two videos; the names are of the owner's kind, with a '#'.
LIST = """./frames/1CM1_1_R_#217 1 1 3
./frames/1CM1_1_R_#217 13 4 6

./frames/1CM1_1_R_#217 1 7 9
./frames/4CM1_2_L_#55 2 1 4
"""


def write(root, text=LIST, place="annotation_ipnGesture", frames=(9, 4)):
    (root / place).mkdir(parents=True, exist_ok=True)
    (root / place / "vallistall.txt").write_text(text)
    for video, count in zip(("1CM1_1_R_#217", "4CM1_2_L_#55"), frames, strict=True):
        for number in range(1, count + 1):
            picture(root / "frames" / video / f"{video}_{number:06d}.jpg", 640, 480, number)
    return root


def spec(root, options=""):
    return Spec("ipn", str(root), dict(pair.split("=") for pair in options.split("&") if pair))


@pytest.mark.parametrize("place", ["", "annotations", "annotation_ipnGesture"])
def test_clips_are_the_lines_of_the_list(tmp_path, place):
    source = read(spec(write(tmp_path, place=place)), context())
    rows = {row["clip_id"]: row for row in source.clips.to_dicts()}
    assert list(rows) == [
        "ipn/test/1CM1_1_R_#217/000001-000003",
        "ipn/test/1CM1_1_R_#217/000004-000006",
        "ipn/test/1CM1_1_R_#217/000007-000009",
        "ipn/test/4CM1_2_L_#55/000001-000004",
    ]
    zoom = rows["ipn/test/1CM1_1_R_#217/000004-000006"]
    assert (zoom["action"], zoom["factor_gesture"], zoom["start"], zoom["end"]) == ("zoom in", "G10", 4, 6)
    assert zoom["images"] == [f"frames/1CM1_1_R_#217/1CM1_1_R_#217_{n:06d}.jpg" for n in (4, 5, 6)]
    assert zoom["cluster"] == "1CM1_1_R_#217"
    assert rows["ipn/test/4CM1_2_L_#55/000001-000004"]["action"] == "pointing with one finger"
    assert source.hands.is_empty()
    assert (source.frames.height, source.skipped) == (13, {})
    fourth = source.frames.filter(pl.col("frame") == 4, pl.col("video") == "1CM1_1_R_#217").row(0, named=True)
    assert (fourth["width"], fourth["height"], fourth["seconds"], fourth["annotated"]) == (640, 480, 0.1, False)
    conform(source.clips, "clips")
    conform(source.frames, "frames")


def test_frames_that_a_segment_lacks_are_counted(tmp_path):
    # The owner's lists run past the end of some videos.
    source = read(spec(write(tmp_path, frames=(7, 0)), "hash=yes"), context())
    assert source.skipped == {"video not there": 1, "clip without frames": 1, "frame of a clip not there": 2}
    assert source.clips["images"].list.len().to_list() == [3, 3, 1]
    assert source.frames["image_hash"].null_count() == 0


def test_the_owners_own_lists_are_read_whole(shared, tmp_path):
    lists = shared / "samples" / "ipn_annotations"
    if not lists.is_dir():
        pytest.skip("no sample of IPN Hand's lists")
    write(tmp_path)
    codes = [line.split() for line in (lists / "classIndAll.txt").read_text().splitlines()]
    assert [code for _, code in codes] == list(CLASSES)
    for split, name, videos in (("train", "trainlistall.txt", 148), ("test", "vallistall.txt", 52)):
        text = (lists / name).read_text()
        (tmp_path / "annotation_ipnGesture" / name).write_text(text)
        first = text.splitlines()[0].split()[0].removeprefix("./")
        picture(tmp_path / first / f"{first.split('/')[1]}_000001.jpg", 640, 480)
        skipped = read(spec(tmp_path), context(split=split)).skipped
        there = sum(
            (tmp_path / "frames" / video).is_dir() for video in {line.split()[0][9:] for line in text.splitlines()}
        )
        assert skipped["video not there"] == videos - there
        assert skipped["clip without frames"] < len(text.splitlines())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("./frames/a 1 1\n", "line 1: expected 4 words"),
        ("./frames/a 15 1 3\n", "expected a class from 1 to 14"),
        ("./frames/a x 1 3\n", "class must be a whole number"),
        ("./frames/a 1 5 3\n", "frames from 1"),
        ("../a 1 1 3\n", "expected ./frames/VIDEO"),
        (".. 1 1 3\n", "expected ./frames/VIDEO"),
        ("./frames/gone 1 1 3\n", "no frame of the split test"),
        ("", "the file is empty"),
    ],
)
def test_bad_input_is_one_clear_line(tmp_path, text, message):
    with pytest.raises(HandbenchError, match=message) as caught:
        read(spec(write(tmp_path, text)), context())
    assert "\n" not in str(caught.value)


def test_nothing_there(tmp_path):
    (tmp_path / "frames").mkdir()
    with pytest.raises(HandbenchError, match="missing the owner's list; expected vallistall"):
        read(spec(tmp_path), context())
    with pytest.raises(HandbenchError, match="no split 'val'; there are train, test"):
        read(spec(tmp_path), context(split="val"))
