"""IPN Hand (Benitez-Garcia et al., ICPR 2020): videos of 13 gestures in front of a screen, no keypoints.

``frames/VIDEO/VIDEO_000001.jpg`` of 640 x 480, 30 a second, and the owner's lists ``trainlistall.txt`` and
``vallistall.txt``, in the folder itself, ``annotations/`` or ``annotation_ipnGesture/``: a line such as
``./frames/1CM1_1_R_#217 13 29 72`` is a clip of class 13 from frame 29 to 72, both included.  Names of videos hold
a ``#``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import polars as pl

from handbench import tables
from handbench.datasets import clips, files
from handbench.datasets.clips import Segment
from handbench.datasets.selection import Selection
from handbench.errors import HandbenchError
from handbench.protocols import ReadContext, Source, dataset
from handbench.specs import Options, Spec

NAME: Final = "ipn"
LISTS: Final = {"train": "trainlistall.txt", "test": "vallistall.txt"}
"""The owner's list of each split; the papers call what it names ``val`` the test set."""

CLASSES: Final = {
    "D0X": "non-gesture",
    "B0A": "pointing with one finger",
    "B0B": "pointing with two fingers",
    "G01": "click with one finger",
    "G02": "click with two fingers",
    "G03": "throw up",
    "G04": "throw down",
    "G05": "throw left",
    "G06": "throw right",
    "G07": "open twice",
    "G08": "double click with one finger",
    "G09": "double click with two fingers",
    "G10": "zoom in",
    "G11": "zoom out",
}
"""Code and gesture of each class, in the order of the owner's numbers, which begin with 1."""

FRAMES_PER_SECOND: Final = 30

_PLACES = ("", "annotations", "annotation_ipnGesture")
_COLUMNS = ("video", "class", "start", "end")


@dataset(NAME)
def read(spec: Spec, context: ReadContext) -> Source:
    """Read ``ipn:PATH?hash=no``: frames and clips.

    Options: ``hash``, whether every frame is hashed (no by default: there are 800,000).

    Args:
        spec: the folder that holds ``frames/`` and the owner's lists.
        context: split ``test`` (the default) or ``train``.

    Raises:
        HandbenchError: a list or a frame is missing or damaged, or nothing is left.
    """
    options = Options(spec)
    hashed = options.flag("hash", default=False)
    options.done()
    split = context.split or "test"
    if split not in LISTS:
        raise HandbenchError(f"{spec}: no split {split!r}; there are {', '.join(LISTS)}")
    root = files.folder(spec)
    path = files.first_of(root, [f"{place}/{LISTS[split]}".lstrip("/") for place in _PLACES], "the owner's list")
    segments = _segments(path)
    left = Selection(pl.DataFrame())
    shots = _shots(root, sorted({segment.video for segment in segments}), left, context)
    if shots.is_empty():
        raise HandbenchError(f"{root}: no frame of the split {split}; expected frames/VIDEO/VIDEO_000001.jpg in it")
    files.same_sizes(root, shots["image"].to_list(), shots.select("width", "height").to_numpy())
    frames = shots.with_columns(
        dataset=pl.lit(NAME),
        split=pl.lit(split),
        annotated=pl.lit(False),
        seconds=(pl.col("frame") - 1) / FRAMES_PER_SECOND,
    )
    if hashed:
        hashes = files.hash_images(root, frames["image"].to_list(), context.workers, context.progress)
        frames = frames.with_columns(image_hash=pl.Series([hashes[image] for image in frames["image"]]))
    table = clips.clip_rows(NAME, split, segments, shots, left)
    return Source(
        name=NAME,
        frames=tables.conform(frames, "frames", root).sort("image"),
        hands=tables.empty("hands"),
        clips=table,
        root=root,
        skipped=left.skipped,
        notes=[f"{NAME}: no keypoints, so hands cannot be asked about"],
    )


def _segments(path: Path) -> list[Segment]:
    """The rows of an owner's list."""
    codes = list(CLASSES)
    segments = []
    for row in clips.read_list(path, "the owner's list", _COLUMNS, heading=False):
        match = re.fullmatch(r"(?:\./)?(?:frames/)?([^/\\]+)", row["video"])
        number, start, end = (clips.whole_number(path, row, name) for name in _COLUMNS[1:])
        if not match or match[1] in (".", ".."):
            raise HandbenchError(f"{path}: expected ./frames/VIDEO, found {row['video'][:60]!r}")
        if not 1 <= number <= len(codes) or not 1 <= start <= end:
            raise HandbenchError(
                f"{path}: {' '.join(row.values())[:80]}: expected a class from 1 to {len(codes)} and frames from 1"
            )
        code = codes[number - 1]
        segments.append(Segment(match[1], CLASSES[code], start, end, match[1], {"gesture": code}))
    return segments


def _shots(root: Path, videos: list[str], left: Selection, context: ReadContext) -> pl.DataFrame:
    """Every frame that is there of the videos named, sizes by the first frame of each video."""
    rows: list[tuple[str, int, str, int, int]] = []
    for done, video in enumerate(videos):
        context.progress(done, len(videos), "listing frames")
        found = files.list_images(root / "frames" / video)
        if not found:
            left.count("video not there", 1)
            continue
        width, height = files.image_sizes(root / "frames" / video, found[:1])[0].tolist()
        pattern = re.compile(re.escape(video) + r"_(\d+)\.[A-Za-z]+")
        numbered = [(match, name) for name in found if (match := pattern.fullmatch(name))]
        left.count("image that is no frame", len(found) - len(numbered))
        rows += [(video, int(match[1]), f"frames/{video}/{name}", width, height) for match, name in numbered]
    schema = {"video": pl.String, "frame": pl.Int64, "image": pl.String, "width": pl.Int64, "height": pl.Int64}
    shots = pl.DataFrame(rows, schema=schema, orient="row")
    return shots.with_columns(sequence=pl.col("video"), subject=pl.lit(None, pl.String))
