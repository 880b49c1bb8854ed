"""Scenes with what was asked and answered: hand, truth, prediction and ray drawn over the picture."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl
from PIL import Image, UnidentifiedImageError

from handbench.protocols import ReadContext
from handbench.reports.pointing_tables import NAMES
from handbench.reports.sheet import LONGEST_REPLY, thumbnail
from handbench.runs.answering import image_root
from handbench.runs.asking import ensure_images
from handbench.runs.folder import RunFolder
from handbench.tasks.pointing.options import speaks_of
from handbench.tasks.pointing.reading import placement
from handbench.tasks.pointing.svcot import Chain, read_chain, told_by

MOST: Final = 18
"""Scenes shown."""

COLOURS: Final = ("#ff9f1c", "#4cc9f0", "#ff5d8f", "#b8f35d", "#c77dff", "#ffd166", "#2ec4b6", "#ef6351")
"""Bright enough to be seen over a picture."""

KEY = ["question_id", "variant"]


@dataclass(frozen=True)
class Shape:
    """A box or a ray over the picture, in parts of its sides."""

    kind: str
    x: float
    y: float
    width: float
    height: float
    colour: str = ""
    title: str = ""


@dataclass(frozen=True)
class Step:
    """One candidate of a chain."""

    name: str
    score: str
    met: bool
    chosen: bool


@dataclass(frozen=True)
class Said:
    """What one model said to a question."""

    model: str
    colour: str
    turns: tuple[tuple[str, str, str], ...]
    verdict: str
    right: bool
    shapes: tuple[Shape, ...]
    chain: str
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Asked:
    """One question with its answers."""

    subtask: str
    prompt: str
    truth: str
    said: tuple[Said, ...]


@dataclass(frozen=True)
class Card:
    """One scene."""

    scene_id: str
    picture: str | None
    missing: str
    aspect: float
    facts: str
    shapes: tuple[Shape, ...]
    asked: tuple[Asked, ...]


def cards(folder: RunFolder, manifest: dict[str, Any], context: ReadContext | None) -> list[Card]:
    """A few scenes, evenly spread, each with all its questions.

    Args:
        folder: the run.
        manifest: its record.
        context: for rendered images that are not drawn yet.
    """
    scenes = folder.read("scenes")
    chosen = scenes.gather_every(max(1, scenes.height // MOST)).head(MOST)
    ensure_images(folder, chosen["image"].to_list(), context)
    questions = folder.read("questions")
    questions = questions.filter(
        pl.col("scene_id").is_in(chosen["scene_id"].implode())
        & ~pl.col("variant").cast(pl.String).str.contains(";control=")
    )
    answers = folder.read("answers").join(questions.select(KEY), on=KEY, how="semi").sort("turn", maintain_order=True)
    readings = folder.read("readings").join(questions.select(KEY), on=KEY, how="semi")
    models = readings["model"].cast(pl.String).unique(maintain_order=True).to_list()
    colour = {model: COLOURS[place % len(COLOURS)] for place, model in enumerate(models)}
    turns: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in answers.filter(pl.col("repeat") == 0).iter_rows(named=True):
        turns.setdefault((row["question_id"], str(row["model"])), []).append(row)
    read = {
        (row["question_id"], str(row["model"])): row
        for row in readings.filter(pl.col("repeat") == 0).iter_rows(named=True)
    }
    asked: dict[str, list[dict[str, Any]]] = {}
    for row in questions.iter_rows(named=True):
        asked.setdefault(row["scene_id"], []).append(row)
    root = image_root(folder, manifest)
    return [
        _card(scene, asked.get(scene["scene_id"], []), turns, read, models, colour, root)
        for scene in chosen.iter_rows(named=True)
    ]


def _card(
    scene: dict[str, Any],
    questions: list[dict[str, Any]],
    turns: dict[tuple[str, str], list[dict[str, Any]]],
    read: dict[tuple[str, str], dict[str, Any]],
    models: list[str],
    colour: dict[str, str],
    root: Path,
) -> Card:
    try:
        with Image.open(root / scene["image"]) as opened:
            picture, missing = thumbnail(opened), ""
    except (OSError, UnidentifiedImageError):
        picture, missing = None, f"image not at hand: {scene['image']}"
    size = scene["width"], scene["height"]
    shapes = [_box("hand", scene["hand_box"], size, title="hand")]
    if scene["target_box"] is not None:
        shapes.append(_box("truth", scene["target_box"], size, title=f"pointed at: {scene['target_category']}"))
    if scene["ray_px"] is not None:
        shapes.append(_ray(scene["ray_px"], size))
    asked = tuple(
        Asked(
            NAMES[str(row["about_descriptor"])],
            str(row["prompt"]),
            _truth(row),
            tuple(
                _said(
                    row, turns[row["question_id"], model], read[row["question_id"], model], model, colour[model], size
                )
                for model in models
                if (row["question_id"], model) in read
            ),
        )
        for row in questions
    )
    hidden = "" if scene["occluded"] is None else f", {100 * scene['occluded']:.0f} % hidden"
    what = scene["target_category"] or "nothing"
    negative = f"; negative: {scene['negative']}" if scene["negative"] else ""
    facts = f"{scene['source']}; points at {what}{hidden}; {len(scene['candidate_boxes'])} candidates{negative}"
    return Card(scene["scene_id"], picture, missing, size[0] / size[1], facts, tuple(shapes), asked)


def _truth(row: dict[str, Any]) -> str:
    if str(row["kind"]) == "text":
        return row["truth_text"] or "nothing"
    return "nothing" if row["truth_box"] is None else "[" + ", ".join(f"{side:.0f}" for side in row["truth_box"]) + "]"


def _box(kind: str, box: list[float], size: tuple[int, int], colour: str = "", title: str = "") -> Shape:
    x1, y1, x2, y2 = box
    return Shape(
        kind,
        100 * x1 / size[0],
        100 * y1 / size[1],
        100 * (x2 - x1) / size[0],
        100 * (y2 - y1) / size[1],
        colour,
        title,
    )


def _ray(ray: list[float], size: tuple[int, int], colour: str = "") -> Shape:
    """From a point along a direction, beyond the picture's edge; width and height are the far end here."""
    x, y, dx, dy = ray
    reach = 2.0 * max(size)
    return Shape(
        "ray",
        100 * x / size[0],
        100 * y / size[1],
        100 * (x + reach * dx) / size[0],
        100 * (y + reach * dy) / size[1],
        colour,
    )


def _said(
    row: dict[str, Any],
    replies: list[dict[str, Any]],
    reading: dict[str, Any],
    model: str,
    colour: str,
    size: tuple[int, int],
) -> Said:
    shapes: list[Shape] = []
    overlap = "" if reading["iou"] is None else f", IoU {reading['iou']:.2f}"
    verdict = f"{reading['status']} ({reading['rule']}){overlap}"
    if reading["text"] is not None:
        verdict = f"{reading['text']!r} ({reading['rule']})"
    if reading["box"] is not None:
        shapes.append(_box("said", reading["box"], size, colour, f"{model}: {verdict}"))
    told, steps, prompts = "", list[Step](), list[str]()
    strategy = told_by(model)
    if strategy is not None and str(row["kind"]) == "box":
        speaks = speaks_of(str(row["variant"]))
        _, lies = placement({**replies[-1], "image_size": row["image_size"]}, speaks)
        texts = [reply["reply"] or "" for reply in replies]
        chain = read_chain(texts, row["hand_box"], speaks, size, lies, strategy.tau)
        told, steps = _chain(chain, strategy.tau)
        if chain.direction is not None:
            shapes.append(_ray([*chain.origin, *chain.direction], size, colour))
        shapes += [
            _box("candidate" if one.met else "pruned", list(one.box), size, colour, f"{one.name} {one.score}")
            for one in chain.candidates
        ]
        sent = [tuple(reply["sent_sizes"][0]) if reply["sent_sizes"] else None for reply in replies]
        prompts = strategy.prompts(row, list(zip(texts, sent, strict=True)))
    prompts += [""] * (len(replies) - len(prompts))
    spoken = tuple(
        (f"turn {reply['turn'] + 1}", prompt, _shortened(reply["reply"]))
        for reply, prompt in zip(replies, prompts, strict=True)
    )
    return Said(model, colour, spoken, verdict, bool(reading["correct"]), tuple(shapes), told, tuple(steps))


def _shortened(reply: str | None) -> str:
    text = reply or "(nothing)"
    return text if len(text) <= LONGEST_REPLY else f"{text[:LONGEST_REPLY]} …"


def _chain(chain: Chain, tau: float) -> tuple[str, list[Step]]:
    way = "none" if chain.direction is None else json.dumps([round(part, 3) for part in chain.direction])
    met = sum(one.met for one in chain.candidates)
    told = f"direction {way}; {met} of {len(chain.candidates)} candidates meet the ray; "
    told += f"best score {chain.confidence:.2f} against τ = {tau:g}: {chain.rule}"
    steps = [
        Step(one.name or "(no name)", "–" if one.score is None else f"{one.score:.2f}", one.met, number == chain.chosen)
        for number, one in enumerate(chain.candidates)
    ]
    return told, steps
