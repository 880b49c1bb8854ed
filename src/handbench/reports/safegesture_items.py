"""The items of a SafeGesture run by cell: a few images of each gesture, and what was said of each in every scenario."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl
from PIL import Image, UnidentifiedImageError

from handbench.protocols import ReadContext
from handbench.reports.sheet import LONGEST_REPLY, thumbnail
from handbench.runs.answering import image_root
from handbench.runs.asking import ensure_images
from handbench.runs.folder import RunFolder
from handbench.tasks.safegesture.cells import Cells
from handbench.tasks.safegesture.reading import FREE, GESTURE, KEY, SAFETY, fields, read_reply

PER_CELL: Final = 3


@dataclass(frozen=True)
class Said:
    """What one model said to an item: its replies turn by turn, and the fields that were read in them."""

    model: str
    status: str
    gesture: str
    label: str
    gesture_right: bool
    label_right: bool
    free: tuple[tuple[str, str], ...]
    replies: tuple[str, ...]


@dataclass(frozen=True)
class Item:
    """One image in one scenario, or a scenario in words; ``picture`` is the number of its image."""

    image: str
    picture: int | None
    said: tuple[Said, ...]


@dataclass(frozen=True)
class CellItems:
    """The items of one cell that are shown."""

    gesture: str
    scenario: str
    truth: str
    behavior: str
    items: tuple[Item, ...]

    @property
    def anchor(self) -> str:
        """Its place in the page."""
        return f"cell-{self.gesture}-{self.scenario}"


@dataclass(frozen=True)
class Sheet:
    """Items by cell, and the images that they show: data URLs, None where an image is not at hand."""

    pictures: tuple[str | None, ...]
    cells: tuple[CellItems, ...]


def sheet(
    folder: RunFolder, manifest: dict[str, Any], questions: pl.DataFrame, cells: Cells, context: ReadContext | None
) -> Sheet:
    """A few items of every cell, evenly spread; all items where no image is shown.

    Args:
        folder: the run.
        manifest: its record.
        questions: the ``questions`` table.
        cells: the grid.
        context: for rendered images that are not drawn yet.
    """
    listed = questions.with_columns(
        pl.col("images").list.first().alias("image"),
        pl.col("about_gesture", "about_scenario", "truth_category").cast(pl.String),
    )
    images = _chosen(listed)
    ensure_images(folder, images, context)
    some = listed.filter(pl.col("image").is_in(images) | pl.col("image").is_null())
    said = _said_by_item(folder, some, cells)
    numbers = {image: number for number, image in enumerate(images)}
    found = []
    for (gesture, scenario), part in some.group_by("about_gesture", "about_scenario", maintain_order=True):
        items = tuple(
            Item(
                row["image"] or "",
                numbers.get(row["image"]),
                tuple(said.get(tuple(row[key] for key in KEY), [])),
            )
            for row in part.iter_rows(named=True)
        )
        behavior = cells.behavior.get((str(gesture), str(scenario)), "")
        found.append(CellItems(str(gesture or "any"), str(scenario), part["truth_category"][0], behavior, items))
    order = {name: number for number, name in enumerate([*cells.gesture_ids, "any"])}
    places = {name: number for number, name in enumerate(cells.scenario_ids)}
    found.sort(key=lambda cell: (order[cell.gesture], places[cell.scenario]))
    root = image_root(folder, manifest)
    return Sheet(tuple(_picture(root / image) for image in images), tuple(found))


def _chosen(listed: pl.DataFrame) -> list[str]:
    """Images of each gesture, evenly spread over the table's order."""
    chosen: list[str] = []
    for (_,), part in listed.drop_nulls("image").group_by("about_gesture", maintain_order=True):
        images = part["image"].unique(maintain_order=True)
        chosen += images.gather_every(max(1, images.len() // PER_CELL)).head(PER_CELL).to_list()
    return chosen


def _said_by_item(folder: RunFolder, some: pl.DataFrame, cells: Cells) -> dict[tuple[Any, ...], list[Said]]:
    key = [*KEY, "model"]
    keys = some.select(KEY)
    first = pl.col("repeat") == 0
    turns = folder.read("answers").join(keys, on=KEY, how="semi").filter(first).sort("turn", maintain_order=True)
    said = turns.group_by(key, maintain_order=True).agg("reply", pl.col("finish").last())
    readings = folder.read("readings").join(keys, on=KEY, how="semi").filter(first).drop("repeat")
    asked = fields(cells.gesture_ids, cells.label_ids)
    by_item: dict[tuple[Any, ...], list[Said]] = {}
    for row in said.join(readings, on=key, how="inner", maintain_order="left").iter_rows(named=True):
        by_item.setdefault(tuple(row[name] for name in KEY), []).append(_said(row, asked))
    return by_item


def _said(row: dict[str, Any], asked: Sequence[Any]) -> Said:
    reading = read_reply(row["reply"][-1], finish=row["finish"], asked=asked)
    free = zip(FREE, (reading.behavior, reading.explanation), strict=True)
    gesture = row["gesture"] or _unread(reading.written.get(GESTURE))
    label = row["label"] or _unread(reading.written.get(SAFETY))
    return Said(
        model=row["model"],
        status=row["status"],
        gesture="" if row["gesture_correct"] is None else gesture,
        label=label,
        gesture_right=bool(row["gesture_correct"]),
        label_right=row["correct"],
        free=tuple((name, text[:LONGEST_REPLY]) for name, text in free if text),
        replies=tuple((text or "")[:LONGEST_REPLY] for text in row["reply"]),
    )


def _unread(written: str | None) -> str:
    return "not told" if not written else f"not readable: “{written[:60]}”"


def _picture(path: Path) -> str | None:
    try:
        with Image.open(path) as opened:
            return thumbnail(opened)
    except (OSError, UnidentifiedImageError):
        return None
