"""Questions that were released → a run: as they are, with the images that lie beside them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from handbench import tables
from handbench.datasets import files
from handbench.errors import HandbenchError
from handbench.faults import Faults
from handbench.protocols import ReadContext
from handbench.runs.folder import RunFolder, versions
from handbench.specs import Options, Spec

KIND: Final = "released"
"""``released:PATH``, in the place of a dataset."""

_RENAMED: Final = (("data/FreiHAND/", "data/FreiHAND-002/"),)
"""Folders that the questions name, and how the release's own unpacker calls them."""


def ask(
    folder: RunFolder, task: Any, data: str, part: tuple[int, int], wanted: dict[str, Any], context: ReadContext
) -> dict[str, Any]:
    """Take over released questions.

    Args:
        folder: where the run lives.
        task: a task with a ``released`` module: ``find`` and ``read``.
        data: ``released:PATH?sets=freihand,fpha&images=DIR``; ``images`` is the folder that the image paths are
            relative to, PATH's own by default.
        part: number, from 1, and count of equal parts of the lines.
        wanted: what was asked for, for the record.
        context: split (``evaluation`` by default, or ``training``) and what is done about bad lines.

    Returns:
        The run's record.

    Raises:
        HandbenchError: the task has no released questions, the files are not as expected, or none is left.
    """
    source = getattr(task, KIND, None)
    if source is None:
        raise HandbenchError(f"{task.name}: no released question files are known for this task; give --data")
    spec = Spec.parse(data)
    options = Options(spec)
    path = Path(spec.name).expanduser()
    root = Path(options.text("images", str(path if path.is_dir() else path.parent))).expanduser()
    sets = tuple(filter(None, options.text("sets", "").split(","))) or source.SETS
    options.done()
    found = source.find(path, context.split, sets)
    counts = [_lines(file.path) for file in found]
    folder.root.mkdir(parents=True, exist_ok=True)
    done, images = 0, set[str]()
    hands: list[pl.DataFrame] = []
    here: dict[str, str] = {}
    with tables.Writer(folder.table("questions"), "questions") as writer:
        for file, rows in zip(found, _share(counts, part), strict=True):
            for frame in source.read(file, context.faults, rows):
                frame = _placed(frame, root, here)
                writer.add(frame)
                images.update(frame["images"].explode().unique())
                hands.append(_hands(frame))
                done += frame.height
                context.progress(done, sum(counts), "taking over questions")
    left_out, notes = context.faults.take()
    if not writer.rows:
        folder.table("questions").unlink()
        raise HandbenchError(f"{data}: no question is left {notes or ''}".rstrip())
    frames, missing = _frames(root, sorted(images), wanted)
    if missing:
        notes.append(f"{missing} of {len(images)} images are not in {root}; only replies can be compared for these")
    tables.write(frames, folder.table("frames"), "frames")
    asked_about = pl.concat(hands).unique("hand_id").sort("hand_id")
    tables.write(asked_about, folder.table("hands"), "hands")
    names = sorted({file.dataset for file in found})
    manifest = {
        "asked": wanted,
        "questions": {
            "count": writer.rows,
            "hands": asked_about.height,
            "images": len(images),
            "hash": tables.content_hash(folder.table("questions"), "questions"),
        },
        "source": {
            "name": names[0] if len(names) == 1 else KIND,
            "root": str(root.resolve()),
            "synthetic": False,
            "rendered": False,
            "notes": [f"questions as released, from {', '.join(file.path.name for file in found)}", *notes],
            "skipped": left_out,
        },
        "not_asked": {},
        "versions": versions(),
    }
    folder.write_manifest(manifest)
    return manifest


def _hands(questions: pl.DataFrame) -> pl.DataFrame:
    """The hands that are asked about; their joints are not released."""
    columns = ["hand_id", "dataset", "split", "subject", "sequence", "cluster"]
    return questions.select(
        *columns, pl.col("images").list.get(0).alias("image"), pl.col("about_side").alias("side")
    ).unique("hand_id")


def _lines(path: Path) -> int:
    count, last = 0, b"\n"
    with files.must_exist(path, "released questions").open("rb") as file:
        while block := file.read(1 << 20):
            count += block.count(b"\n")
            last = block[-1:]
    return count + (last != b"\n")


def _share(counts: Sequence[int], part: tuple[int, int]) -> list[tuple[int, int]]:
    """First line and the one behind the last of each file, for one of equal parts of all lines."""
    ends = np.cumsum([0, *counts])
    number, of = part
    start, stop = (int(ends[-1]) * step // of for step in (number - 1, number))
    return [
        (int(np.clip(start - begin, 0, count)), int(np.clip(stop - begin, 0, count)))
        for begin, count in zip(ends[:-1], counts, strict=True)
    ]


def _placed(frame: pl.DataFrame, root: Path, here: dict[str, str]) -> pl.DataFrame:
    """Questions with the image paths under which the images lie on disk.

    Raises:
        HandbenchError: a path leads out of the folder: images are shown to models.
    """
    image = frame["images"].list.get(0)
    new = [path for path in image.unique().to_list() if path not in here]
    there = files.existing(root, new)
    for path, found in zip(new, there, strict=True):
        here[path] = path
        for named, unpacked in _RENAMED if not found else ():
            other = path.replace(named, unpacked)
            if other != path and (root / other).is_file():
                here[path] = other
    placed = image.replace_strict(here, return_dtype=pl.String)
    return frame.with_columns(pl.concat_list(placed).alias("images"))


def _frames(root: Path, images: list[str], wanted: dict[str, Any]) -> tuple[pl.DataFrame, int]:
    """The frames of the images that are there, and how many are not."""
    there = files.existing(root, images)
    good, sizes = files.readable(root, images, Faults(keep_going=True), there)
    kept = [image for image, whole in zip(images, good, strict=True) if whole]
    frame = pl.DataFrame({"image": kept, "width": sizes[good, 0], "height": sizes[good, 1]}).with_columns(
        dataset=pl.lit(KIND), split=pl.lit(wanted["split"] or "evaluation"), annotated=pl.lit(False)
    )
    return tables.conform(frame, "frames", root), len(images) - len(kept)
