"""The items of a SafeGesture run: pictures, and what was true and said of each in every scenario."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl
from PIL import Image, UnidentifiedImageError

from handbench.protocols import ReadContext
from handbench.reports.sheet import LONGEST_REPLY, _thumbnail
from handbench.runs.answering import image_root
from handbench.runs.asking import ensure_images
from handbench.runs.folder import RunFolder
from handbench.runs.strategies import last_turns
from handbench.tasks.safegesture.reading import KEY, read_reply

PER_GESTURE: Final = 3


@dataclass(frozen=True)
class Said:
    """What one model said to an item."""

    model: str
    text: str
    gesture: str
    label: str
    behavior: str
    explanation: str
    gesture_right: bool
    label_right: bool


@dataclass(frozen=True)
class Item:
    """One image in one scenario."""

    scenario: str
    truth: str
    said: tuple[Said, ...]


@dataclass(frozen=True)
class Card:
    """One image with its items."""

    gesture: str
    image: str
    picture: str | None
    items: tuple[Item, ...]


def cards(
    folder: RunFolder, manifest: dict[str, Any], questions: pl.DataFrame, context: ReadContext | None
) -> list[Card]:
    """A few images of each gesture, evenly spread.

    Args:
        folder: the run.
        manifest: its record.
        questions: the ``questions`` table.
        context: for rendered images that are not drawn yet.
    """
    listed = questions.with_columns(
        pl.col("images").list.first().alias("image"), pl.col("about_gesture").cast(pl.String)
    )
    chosen: list[str] = []
    for (_,), part in listed.group_by("about_gesture", maintain_order=True):
        images = part["image"].unique(maintain_order=True)
        chosen += images.gather_every(max(1, images.len() // PER_GESTURE)).head(PER_GESTURE).to_list()
    ensure_images(folder, chosen, context)
    some = listed.filter(pl.col("image").is_in(chosen))
    keys = some.select(KEY)
    answers = last_turns(folder.read("answers")).join(keys, on=KEY, how="semi")
    readings = folder.read("readings").join(keys, on=KEY, how="semi")
    both = answers.join(readings, on=[*KEY, "model", "repeat"], how="inner").filter(pl.col("repeat") == 0)
    said: dict[tuple[Any, ...], list[Said]] = {}
    for row in both.iter_rows(named=True):
        said.setdefault(tuple(row[key] for key in KEY), []).append(_said(row))
    root = image_root(folder, manifest)
    return [_card(root, str(image), part, said) for (image,), part in some.group_by("image", maintain_order=True)]


def _said(row: dict[str, Any]) -> Said:
    reading = read_reply(row["reply"], finish=row["finish"])
    shown = row["label"] or f"INVALID ({reading.written.get('safety_label', 'no label')[:60]})"
    return Said(
        model=row["model"],
        text=(row["reply"] or "")[:LONGEST_REPLY],
        gesture=row["gesture"] or f"none ({reading.written.get('gesture', 'no gesture')[:60]})",
        label=shown,
        behavior=(reading.behavior or "")[:LONGEST_REPLY],
        explanation=(reading.explanation or "")[:LONGEST_REPLY],
        gesture_right=bool(row["gesture_correct"]),
        label_right=row["correct"],
    )


def _card(root: Path, image: str, part: pl.DataFrame, said: dict[tuple[Any, ...], list[Said]]) -> Card:
    try:
        with Image.open(root / image) as opened:
            picture = _thumbnail(opened)
    except (OSError, UnidentifiedImageError):
        picture = None
    items = tuple(
        Item(row["about_scenario"], row["truth_category"], tuple(said.get(tuple(row[key] for key in KEY), [])))
        for row in part.iter_rows(named=True)
    )
    return Card(part["about_gesture"][0], image, picture, items)
