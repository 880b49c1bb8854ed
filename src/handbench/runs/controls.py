"""Controls of a run: their questions are asked with the others, their images written once below the run's folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from handbench import tables
from handbench.controls import images as control_images
from handbench.controls import names as control_names
from handbench.controls.images import arms_of, boxes_of, control_path, is_control, padded
from handbench.errors import HandbenchError
from handbench.protocols import VariesQuestions
from handbench.runs.folder import RunFolder
from handbench.specs import Spec

OPPOSITE = {"left": "right", "right": "left"}


def with_controls(task: str, controls: str | None) -> str:
    """A task's name with the controls that are asked for: they are part of what a run asks."""
    if not controls:
        return task
    spec = Spec.parse(task)
    named = ",".join(control_names.parse(controls))
    return str(Spec(spec.kind, spec.name, {**spec.options, "controls": named}))


def controls_of(task: str) -> tuple[str, ...]:
    """The controls that a task's name asks for."""
    return control_names.parse(Spec.parse(task).options.get("controls", ""))


def add(folder: RunFolder, task_name: str, task: object, options: Any, kind: str | None) -> dict[str, int]:
    """Lay the rows of controls beside the questions that a run has.

    Args:
        folder: a run whose questions and source table are written.
        task_name: the task with its options, ``controls`` among them.
        task: the task.
        options: its options.
        kind: the source's table, ``hands`` or another.

    Returns:
        Rows by control, and what could not be asked, as ``mirror: aligned``.

    Raises:
        HandbenchError: the task or the source has no such control.
    """
    names = controls_of(task_name)
    if not names:
        return {}
    source = folder.read(kind) if kind else None
    if names == (control_names.ALL,):
        names = available(task, source)
    counts: Counter[str] = Counter()
    with tables.Writer(folder.table("questions"), "questions") as writer:
        for part in tables.iterate(folder.table("questions"), "questions"):
            writer.add(part)
            for name in names:
                for rows in _vary(task, part, name, options, source, counts):
                    writer.add(rows)
                    counts[name] += rows.height
    return dict(counts)


def available(task: object, source: pl.DataFrame | None) -> tuple[str, ...]:
    """Every control that there is for a task and a source, in the usual order."""
    own = task.controls if isinstance(task, VariesQuestions) else ()
    found = {*own, "blank"} if source is not None else {*own}
    columns = set() if source is None else set(source.columns)
    if source is not None and ("hand_box" in columns or _all_known(source)):
        found.add("masked")
    if "hand_box" in columns:
        found.add("armless")
    return tuple(name for name in control_names.CONTROLS if name in found)


def _all_known(source: pl.DataFrame) -> bool:
    """Whether every hand has joints in pixels."""
    return "joints_px" in source.columns and source["joints_px"].null_count() == 0


def _vary(
    task: object, part: pl.DataFrame, name: str, options: Any, source: pl.DataFrame | None, counts: Counter[str]
) -> Iterator[pl.DataFrame]:
    own = task.controls if isinstance(task, VariesQuestions) else ()
    if name in own and isinstance(task, VariesQuestions):
        varied, missing = task.vary(part, name, options, source)
        counts.update({f"{name}: {reason}": count for reason, count in missing.items()})
    elif name in ("masked", "armless", "blank"):  # another image and nothing else: no task needs to know
        varied = part.with_columns(control_names.tagged(pl.col("variant"), name).alias("variant"))
    else:
        has = ", ".join((*own, *(other for other in ("masked", "blank") if other not in own)))
        raise HandbenchError(f"controls: this task has no {name!r}; it has {has}")
    if name in control_names.IMAGE_CONTROLS:
        varied = _with_images(varied, part, name, source)
    if varied.height:
        yield varied


def _with_images(varied: pl.DataFrame, part: pl.DataFrame, name: str, source: pl.DataFrame | None) -> pl.DataFrame:
    plan = _plan(varied, part, name, source)
    if plan.is_empty():
        raise HandbenchError(f"controls: {name}: these questions show no image")
    keys = varied.with_row_index("row").select("row", "question_id", "variant")
    found = keys.join(plan, on=["question_id", "variant"], how="left", maintain_order="left_right")
    lists = found.group_by("row", maintain_order=True).agg(pl.col("image"))
    return varied.with_columns(lists["image"].alias("images"))


def plan(questions: pl.DataFrame, source: pl.DataFrame | None) -> pl.DataFrame:
    """Which control image is made of which original.

    Args:
        questions: the whole ``questions`` table of a run.
        source: the table that the questions are made of.

    Returns:
        ``control, image, source, box``, each image once.
    """
    named = control_names.control_names(questions["variant"])
    main = questions.filter(named.is_null())
    parts = [
        _plan(questions.filter((named == name).fill_null(False)), main, name, source)
        for name in control_names.IMAGE_CONTROLS
        if (named == name).any()
    ]
    whole = pl.concat(parts) if parts else _plan(main.clear(), main, "blank", source)
    return whole.select("control", "image", "source", "box").unique("image", keep="first", maintain_order=True)


def _plan(varied: pl.DataFrame, main: pl.DataFrame, name: str, source: pl.DataFrame | None) -> pl.DataFrame:
    """``question_id, variant, control, image, source, box`` for every image of rows of one control."""
    key = "scene_id" if source is not None and "scene_id" in source.columns else "hand_id"
    shown = (
        varied.select("question_id", "variant", key)
        .join(main.select("question_id", "images").unique("question_id"), on="question_id", maintain_order="left")
        .explode("images")
        .rename({"images": "source"})
        .drop_nulls("source")
    )
    box = pl.lit(None, pl.List(pl.Float64)).alias("box")
    if name in ("masked", "armless"):
        shown = shown.join(_regions(source, name), on=key, how="left", maintain_order="left")
        if shown["box"].null_count():
            row = shown.filter(pl.col("box").is_null()).row(0, named=True)
            raise HandbenchError(f"controls: masked: {row['source']}: where the hand is is not known (no joints_px)")
    else:
        shown = shown.with_columns(box)
    distinct = shown.select("source", "box").unique(maintain_order=True)
    paths = [control_path(name, image, None if sides is None else tuple(sides)) for image, sides in distinct.rows()]
    named = distinct.with_columns(pl.Series("image", paths, dtype=pl.String), pl.lit(name).alias("control"))
    joined = shown.join(named, on=["source", "box"], how="left", nulls_equal=True, maintain_order="left")
    return joined.select("question_id", "variant", "control", "image", "source", "box")


def _regions(source: pl.DataFrame | None, name: str) -> pl.DataFrame:
    """What is covered of each row of the source: the hand, or the forearm."""
    if source is None or "scene_id" not in source.columns:
        if name == "armless":
            raise HandbenchError("controls: armless: needs scenes with the box of a hand, which this source has not")
        return _boxes(source)
    hands = source["hand_box"].to_numpy().reshape(-1, 4)
    if name == "masked":
        found = padded(hands)
    else:
        joints = [np.full((21, 2), np.nan) if one is None else np.array(one) for one in source["hand_px"].to_list()]
        found = arms_of(hands, np.array(joints).reshape(-1, 21, 2))
    return source.select("scene_id").with_columns(pl.Series("box", found.tolist(), dtype=pl.List(pl.Float64)))


def _boxes(source: pl.DataFrame | None) -> pl.DataFrame:
    if source is None or not {"hand_id", "joints_px"} <= set(source.columns):
        raise HandbenchError("controls: masked: needs hands with joints in pixels, which this source has not")
    known = source.filter(pl.col("joints_px").is_not_null())
    boxes = boxes_of(known["joints_px"].to_numpy().reshape(-1, 21, 2)) if known.height else np.zeros((0, 4))
    found = known.select("hand_id").with_columns(pl.Series("box", boxes.tolist(), dtype=pl.List(pl.Float64)))
    return found.filter(~pl.col("box").list.eval(pl.element().is_nan()).list.any())


def images_of(folder: RunFolder, manifest: dict[str, Any]) -> list[str]:
    """The control images of a run, by where they lie."""
    if not manifest.get("controls"):
        return []
    shown = folder.read("questions")["images"].explode().drop_nulls().unique(maintain_order=True)
    return [_place(folder, image) for image in shown if is_control(image)]


def _place(folder: RunFolder, image: str) -> str:
    return str((folder.root / image).resolve())


def _drawn(folder: RunFolder, images: list[str]) -> dict[str, str]:
    """Those of the images that are controls', by name as in the tables: path given → name."""
    base = f"{folder.root.resolve()}/"
    names = {image: image.removeprefix(base) for image in images}
    return {image: name for image, name in names.items() if is_control(name)}


def originals(folder: RunFolder, images: list[str], kind: str | None) -> list[str]:
    """The images given, with each control's original in place of the control."""
    drawn = _drawn(folder, images)
    if not drawn:
        return images
    wanted = _planned(folder, kind).filter(pl.col("image").is_in(list(drawn.values())))
    return list(dict.fromkeys([*(image for image in images if image not in drawn), *wanted["source"]]))


def write_images(folder: RunFolder, images: list[str], root: Path, kind: str | None) -> None:
    """Write those of the images that are controls' and not there yet; their originals are on disk."""
    drawn = [name for name in _drawn(folder, images).values() if not (folder.root / name).exists()]
    if drawn:
        control_images.write(root, folder.root, _planned(folder, kind).filter(pl.col("image").is_in(drawn)))


def _planned(folder: RunFolder, kind: str | None) -> pl.DataFrame:
    return plan(folder.read("questions"), folder.read(kind) if kind else None)


def located(folder: RunFolder, questions: pl.DataFrame) -> pl.DataFrame:
    """Questions whose control images are named by where they lie, so that any model finds them."""
    flat = questions["images"].explode().drop_nulls()
    drawn = [image for image in flat.unique().to_list() if is_control(image)]
    if not drawn:
        return questions
    table = {image: _place(folder, image) for image in drawn}
    return questions.with_columns(pl.col("images").list.eval(pl.element().replace(table)))


def hands_shown(hands: pl.DataFrame, questions: pl.DataFrame, control: str | None) -> pl.DataFrame:
    """The hands as a control shows them: in its image, and of the other side in a mirror.

    Args:
        hands: the source's table.
        questions: rows of that control alone, their images located.
        control: its name, None for main questions.
    """
    if control not in control_names.IMAGE_CONTROLS or "hand_id" not in hands.columns:
        return hands
    shown = questions.select("hand_id", pl.col("images").list.first().alias("shown")).unique("hand_id")
    moved = hands.join(shown, on="hand_id", how="inner", maintain_order="left")
    side = pl.col("side").cast(pl.String)
    other = side.replace(OPPOSITE) if control == "mirror" else side
    return moved.with_columns(pl.col("shown").alias("image"), other.cast(pl.Categorical).alias("side")).drop("shown")
