from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from PIL import Image

from handbench import tables
from handbench.errors import HandbenchError
from handbench.protocols import no_progress
from handbench.runs import video_posing
from handbench.runs.video_posing import frames_beside, pose_videos
from handbench.runs.videos import streams_of
from handbench.synth.clip_motion import clip_recipe
from handbench.synth.clip_picture import render_frame

av = pytest.importorskip("av")


def _pictures(count, size=(64, 48)):
    """Frames whose grey level is their number, with a white corner at the top left."""
    made = []
    for number in range(count):
        pixels = np.full((size[1], size[0], 3), 4 * number, np.uint8)
        pixels[:10, :10] = 255
        made.append(pixels)
    return made


def _write(path, pictures, codec="mpeg4", pixel_format="yuv420p", times=None, turn=None):
    """Write a video; ``times`` are in thirtieths of a second."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=30)
        stream.width, stream.height = pictures[0].shape[1], pictures[0].shape[0]
        stream.pix_fmt = pixel_format
        stream.time_base = Fraction(1, 30)
        if codec == "mpeg4":
            stream.codec_context.gop_size = 4
        for number, pixels in enumerate(pictures):
            frame = av.VideoFrame.from_ndarray(pixels, format="rgb24").reformat(format=pixel_format)
            frame.pts = times[number] if times else number
            frame.time_base = Fraction(1, 30)
            for packet in stream.encode(frame):
                container.mux(packet)
        for packet in stream.encode():
            container.mux(packet)
    return path


def _read(path, skip=0):
    stream = streams_of([path])[0]
    return stream, list(stream.pictures(skip))


def test_frames_come_in_order_with_their_times(tmp_path):
    path = _write(tmp_path / "a.mp4", _pictures(30))
    stream, pictures = _read(path)
    assert [picture.number for picture in pictures] == list(range(30))
    assert [picture.seconds for picture in pictures] == pytest.approx([n / 30 for n in range(30)])
    grey = [picture.pixels[30:, 30:].mean() for picture in pictures]
    assert grey == pytest.approx([4 * n for n in range(30)], abs=4)
    assert pictures[3].image == "a.mp4#000003"
    assert dict(stream.problems) == {}


def test_frames_that_were_done_before_come_without_pixels(tmp_path):
    path = _write(tmp_path / "a.mp4", _pictures(6))
    _, pictures = _read(path, skip=4)
    assert [picture.pixels is None for picture in pictures] == [True] * 4 + [False] * 2


def test_a_variable_frame_rate_is_counted_and_each_frame_keeps_its_time(tmp_path):
    times = [0, 1, 2, 3, 6, 7, 8, 9, 10, 15]
    path = _write(tmp_path / "a.mkv", _pictures(10), codec="ffv1", times=times)
    stream, pictures = _read(path)
    assert [picture.seconds for picture in pictures] == pytest.approx([t / 30 for t in times], abs=0.001)
    assert stream.problems["step of variable frame rate (each frame keeps its own time)"] == 2


def test_ten_bits_and_grey_are_brought_to_rgb_and_counted(tmp_path):
    deep, _ = _read(_write(tmp_path / "deep.mkv", _pictures(3), codec="ffv1", pixel_format="yuv420p10le"))
    assert dict(deep.problems) == {"frame of 10 bits (brought to 8)": 3}
    stream, pictures = _read(_write(tmp_path / "grey.mkv", _pictures(3), codec="ffv1", pixel_format="gray"))
    assert dict(stream.problems) == {"grey frame (as RGB)": 3}
    assert pictures[2].pixels.shape == (48, 64, 3)
    assert np.ptp(pictures[2].pixels.astype(int), axis=2).max() == 0


def _with_rotation(source, target, degrees):
    """The same file with a display matrix in its track header: the MP4 box ``tkhd`` holds it from byte 40 on."""
    data = bytearray(source.read_bytes())
    at = data.index(b"tkhd") + 4 + 40
    one, zero = 1 << 16, 0
    matrix = {90: (zero, one, -one, zero), 180: (-one, zero, zero, -one), 270: (zero, -one, one, zero)}[degrees]
    for place, value in zip((0, 4, 12, 16), matrix, strict=True):
        data[at + place : at + place + 4] = value.to_bytes(4, "big", signed=True)
    target.write_bytes(bytes(data))
    return target


@pytest.mark.parametrize(
    ("degrees", "corner"), [(90, (slice(0, 8), slice(-8, None))), (180, (slice(-8, None), slice(-8, None))),
                            (270, (slice(-8, None), slice(0, 8)))]
)  # fmt: skip
def test_the_rotation_that_the_file_asks_for_is_applied(tmp_path, degrees, corner):
    """Turned clockwise by 90°, the white corner at the top left comes to the top right."""
    plain = _write(tmp_path / "plain.mp4", _pictures(2))
    stream, pictures = _read(_with_rotation(plain, tmp_path / "turned.mp4", degrees))
    shape = (64, 48, 3) if degrees != 180 else (48, 64, 3)
    assert pictures[0].pixels.shape == shape
    assert pictures[0].size == (shape[1], shape[0])
    assert pictures[0].pixels[corner].mean() > 200
    assert sum(count for reason, count in stream.problems.items() if "turned by" in reason) == 2


def test_a_torn_video_gives_what_it_has_and_says_what_it_lacks(tmp_path):
    whole = _write(tmp_path / "a.mp4", _pictures(60)).read_bytes()
    # The index is written last: without it nothing can be read; with it in front, the end is missing.
    headless = tmp_path / "headless.mp4"
    headless.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(HandbenchError, match=r"headless\.mp4: not a readable video"):
        streams_of([headless])
    noise = np.random.default_rng(0).integers(0, 255, (60, 48, 64, 3), dtype=np.uint8)
    torn = tmp_path / "torn.avi"
    data = _write(tmp_path / "b.avi", list(noise)).read_bytes()
    torn.write_bytes(data[: len(data) * 2 // 3])
    stream, pictures = _read(torn)
    assert 20 < len(pictures) < 60
    assert stream.problems["frame that the file announces and does not hold"] == 60 - len(pictures)


def test_what_is_no_video_is_one_line(tmp_path):
    text = tmp_path / "a.mp4"
    text.write_text("no video")
    for path, said in ((text, "not a readable video"), (tmp_path / "b.mp4", "found nothing there")):
        with pytest.raises(HandbenchError, match=said):
            streams_of([path])
    (tmp_path / "empty").mkdir()
    with pytest.raises(HandbenchError, match="no image in it"):
        streams_of([tmp_path / "empty"])


def _folder(root, numbers, size=(64, 48)):
    root.mkdir(parents=True)
    for number in numbers:
        Image.fromarray(_pictures(number + 1, size)[number]).save(root / f"clip_{number:06d}.png")
    return root


def test_folders_of_numbered_frames_are_videos_and_missing_frames_are_counted(tmp_path):
    _folder(tmp_path / "set" / "one", [1, 2, 3, 6, 7])
    _folder(tmp_path / "set" / "two", [0, 1])
    Image.new("L", (30, 20)).save(tmp_path / "set" / "portrait.png")
    (tmp_path / "set" / "two" / "clip_000002.png").write_bytes(b"broken")
    streams = {stream.name: stream for stream in streams_of([tmp_path / "set"])}
    one = list(streams["set/one"].pictures())
    assert [(picture.video, picture.number) for picture in one] == [("set/one", n) for n in (1, 2, 3, 6, 7)]
    assert one[0].image == "one/clip_000001.png"
    assert streams["set/one"].problems["frame missing from the folder"] == 2
    assert len(list(streams["set/two"].pictures())) == 2
    assert streams["set/two"].problems["unreadable image"] == 1
    loose = list(streams["set"].pictures())
    assert [(picture.video, picture.pixels.shape) for picture in loose] == [(None, (20, 30, 3))]


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    """A rendered clip as a lossless video."""
    root = tmp_path_factory.mktemp("clip")
    recipe = clip_recipe(0, 6, frames=16, size=128)
    return _write(root / "hand.mkv", [render_frame(recipe, number) for number in range(16)], codec="ffv1",
                  pixel_format="bgr0")  # fmt: skip


def test_a_video_becomes_poses_and_frames(clip, tmp_path):
    done = pose_videos([clip], "blaze-lite", tmp_path / "poses.parquet", no_progress)
    poses, frames = tables.read(done.poses, "poses"), tables.read(frames_beside(done.poses), "frames")
    assert done.images == frames.height == poses["image"].n_unique() == 16
    assert done.hands == poses.filter(pl.col("hand") >= 0).height > 8
    assert frames["seconds"].to_list() == pytest.approx([n / 30 for n in range(16)], abs=0.001)
    assert poses["frame"].unique().sort().to_list() == list(range(16))
    assert not (tmp_path / "poses.jsonl").exists()


def test_a_run_that_was_broken_off_goes_on_and_ends_the_same(clip, tmp_path, monkeypatch):
    """Broken off after seven frames, in the middle of a line: the poses are those of an unbroken run."""
    whole = pose_videos([clip], "blaze-lite", tmp_path / "whole.parquet", no_progress).poses
    out = tmp_path / "poses.parquet"
    real, count = video_posing._row, 0

    def stop(*arguments):
        nonlocal count
        count += 1
        if count == 8:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(video_posing, "_row", stop)
    with pytest.raises(KeyboardInterrupt):
        pose_videos([clip], "blaze-lite", out, no_progress)
    monkeypatch.setattr(video_posing, "_row", real)
    log = tmp_path / "poses.jsonl"
    assert len(log.read_bytes().splitlines()) == 8
    with open(log, "ab") as file:
        file.write(b'{"image": "hand.mkv#0000')
    with pytest.raises(HandbenchError, match="was begun with"):
        pose_videos([clip], "blaze-full", out, no_progress)
    pose_videos([clip], "blaze-lite", out, no_progress)
    again = tables.read(out, "poses").drop("seconds")
    assert again.equals(tables.read(whole, "poses").drop("seconds"))


def test_the_command_line_tells_problems_and_places(clip, tmp_path, capsys):
    from handbench.cli import main

    folder = _folder(tmp_path / "frames", [1, 2, 5])
    out = tmp_path / "poses.parquet"
    import sys
    from unittest.mock import patch

    with patch.object(sys, "argv", ["handbench", "pose", str(folder), "-e", "blaze-lite", "-o", str(out)]):
        with pytest.raises(SystemExit) as stopped:
            main()
        assert stopped.value.code == 0
        said = capsys.readouterr().out
        assert "0 hands on 3 frames" in said
        assert "frames: frame missing from the folder: 2" in said
        assert said.strip().endswith(str(out))
        with pytest.raises(SystemExit) as stopped:
            main()
        assert stopped.value.code == 2
        assert "is there already" in capsys.readouterr().err


def test_a_long_log_becomes_tables_chunk_by_chunk(tmp_path, monkeypatch):
    """The log is never read as a whole: with chunks of two lines the tables are the same as with one."""
    lines = [{"estimator": "e", "inputs": []}]
    lines += [
        {"image": f"v#{n}", "seconds": 0.1, "video": "v", "frame": n, "hands": [{"hand": -1}], "stream": "v",
         "at": n / 30, "size": [64, 48]} for n in range(7)
    ]  # fmt: skip
    log = tmp_path / "a.jsonl"
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert video_posing._tables(log, "e", tmp_path / "one.parquet") == (7, 0)
    monkeypatch.setattr(video_posing, "_ROWS", 2)
    assert video_posing._tables(log, "e", tmp_path / "two.parquet") == (7, 0)
    one, two = (tables.read(tmp_path / name, "poses") for name in ("one.parquet", "two.parquet"))
    assert one.equals(two)
