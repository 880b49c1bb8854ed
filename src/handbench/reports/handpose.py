"""The report of pose estimators: the paper's tables in its layout, ranks, strata, time, and the worst frames."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from markupsafe import Markup

from handbench import tables
from handbench.protocols import ReadContext
from handbench.reports import handpose_figures as figures
from handbench.reports.drawing import colours
from handbench.reports.environment import template
from handbench.reports.handpose_estimators import Described, described
from handbench.reports.handpose_strips import strips
from handbench.reports.handpose_terminal import (
    AXES,
    FULL,
    Axis,
    models_of,
    number,
    order_on,
    sentences,
    shown,
    stages_of,
)
from handbench.runs.folder import RunFolder
from handbench.runs.posebench import find_pose_task
from handbench.tasks.handpose.arrays import SIDES, Frames, Hands, frames_of, predicted_hands, true_hands
from handbench.tasks.handpose.cleanup import Cleanup
from handbench.tasks.handpose.evaluation import evaluate_hands, prepare_truth
from handbench.tasks.handpose.measures import measure
from handbench.tasks.handpose.protocol import Protocol
from handbench.tasks.handpose.scoring import Rank, Scored, ranks
from handbench.tasks.handpose.strata import BLUR_NAMES, OCCLUSION_NAMES, SIZE_NAMES

_CLEANED: Final = (
    Axis("det_f1@", "Det-F1", True),
    Axis("pck@", "PCK", True),
    Axis("pose_f1@", "Pose-F1", True),
    Axis("swap_rate@", "swap %", False, percent=True),
    Axis("cross_hand_overlap", "overlap %", False, percent=True),
    Axis("missing_frame_rate", "missing % (right)", False, ("side", "right"), percent=True),
    Axis("jerk/px", "jerk (right)", False, ("side", "right")),
)
"""Columns of the cleanup table (Table 4)."""

_CLASSES: Final = {
    "factor_blur": BLUR_NAMES,
    "factor_size": SIZE_NAMES,
    "factor_occlusion": OCCLUSION_NAMES,
}
"""Classes whose order is not that of the alphabet."""

_REGIONS: Final = ("wrist", "palm", "fingertips", "all")


@dataclass(frozen=True)
class Cell:
    """A number as it is printed."""

    text: str
    interval: str = ""
    best: bool = False


@dataclass(frozen=True)
class Line:
    """A line of a table."""

    name: str
    cells: tuple[Cell, ...]
    kind: str = "model"


def write(folder: RunFolder, context: ReadContext | None = None) -> Path:
    """Write ``report.html`` of a scored run of pose estimators.

    Args:
        folder: the run.
        context: not used; images are on disk already.

    Returns:
        The report's path.
    """
    manifest = folder.manifest()
    task, protocol = find_pose_task(manifest["asked"]["task"], manifest["asked"]["protocol"])
    scores = folder.read("scores")
    models = models_of(scores)
    paint = colours(models)
    frames_table, hands_table = folder.read("frames"), folder.read("hands")
    matches = folder.read("matches")
    frames = frames_of(frames_table, protocol.frames)
    poses = {told["name"]: tables.read(folder.poses(told["name"]), "poses") for told in manifest["estimators"].values()}
    predicted = {name: predicted_hands(table, frames)[0] for name, table in poses.items()}
    root = Path(manifest["source"]["root"])
    orders = _ranks(frames, hands_table, predicted, protocol, scores)
    published = task.published() if hasattr(task, "published") else pl.DataFrame()
    text = template("handpose.html.j2").render(
        manifest=manifest,
        version=version("handbench"),
        full=FULL,
        axes=AXES,
        board=[*_board(scores, FULL, models), *_published(published)],
        sentences=sentences(scores),
        ranks=orders,
        rank_figure=Markup(figures.rank_lines(orders, paint)) if len(models) > 1 else "",
        cleaned=_CLEANED,
        cleanup=_cleanup_lines(scores, models),
        cleanup_done=manifest.get("cleaned", {}),
        thresholds=vars(Cleanup()),
        strata=Markup(_strata_figure(scores, models, paint)),
        regions=Markup(_region_figure(scores, models, paint)),
        factors=_factor_tables(scores, models),
        sides=_side_tables(scores, models),
        sweep=_sweep(scores, models),
        jerk=_jerk(scores, models),
        time=[Markup(figure) for figure in _time(frames, hands_table, predicted, paint, protocol)],
        strips={name: strips(matches, name, hands_table, poses[name], root) for name in models},
        estimators=_estimators(manifest),
        paint=paint,
        models=models,
        protocol=protocol.words,
        left_out={name: reasons for name, reasons in _left_out(manifest).items() if reasons},
    )
    folder.report.write_text(text, encoding="utf-8")
    return folder.report


def _cell(row: dict[str, Any] | None, axis: Axis, best: float | None = None) -> Cell:
    if row is None or row["value"] is None:
        return Cell("–")
    interval = "" if row["low"] is None else f"{shown(row['low'], axis)}–{shown(row['high'], axis)}"
    return Cell(shown(row["value"], axis), interval, best is not None and row["value"] == best)


def _board(scores: pl.DataFrame, axes: tuple[Axis, ...], models: list[str]) -> list[Line]:
    best = {axis.heading: order[0][1] for axis in axes if len(order := order_on(scores, axis)) > 1}
    return [
        Line(
            model,
            tuple(_cell(number(scores, model, "raw", axis), axis, best.get(axis.heading)) for axis in axes),
        )
        for model in models
    ]


def _published(published: pl.DataFrame) -> list[Line]:
    """The paper's own rows, as far as they are known."""
    if published.is_empty():
        return []
    whole = published.filter(
        pl.all_horizontal(pl.col(name).is_null() for name in ("blur", "cleanup", "region", "subset_fraction"))
    )
    lines = []
    for model in whole["model"].unique(maintain_order=True):
        cells = []
        for axis in FULL:
            row = whole.filter((pl.col("model") == model) & (pl.col("metric") == axis.published))
            if axis.published and row.height:
                value = row["value"][0] / (100 if axis.percent else 1)
                cells.append(Cell(shown(value, axis)))
            else:
                cells.append(Cell(""))
        if any(cell.text for cell in cells):
            lines.append(Line(f"{model} (paper, on IPN Hand)", tuple(cells), "published"))
    return lines


def _ranks(
    frames: Frames, hands: pl.DataFrame, predicted: dict[str, Hands], protocol: Protocol, scores: pl.DataFrame
) -> dict[str, list[Rank]]:
    """Ranks on the paper's five axes."""
    truth = prepare_truth(frames, hands, protocol)
    runs = []
    for name, found in predicted.items():
        evaluation = evaluate_hands(truth, found, protocol)
        runs.append(Scored(name, "raw", evaluation, measure(evaluation)))
    known = scores["metric"].cast(pl.String).unique(maintain_order=True)
    orders = {}
    for axis in AXES:
        metric = next((name for name in known if name.startswith(axis.key)), None)
        if metric is not None:
            orders[axis.heading] = ranks(runs, metric, larger=axis.larger, where=axis.where, resamples=2_000)
    return orders


def _cleanup_lines(scores: pl.DataFrame, models: list[str]) -> list[Line]:
    stages = stages_of(scores)
    if len(stages) < 2:
        return []
    lines = []
    for model in models:
        for stage in stages:
            cells = tuple(_cell(number(scores, model, stage, axis), axis) for axis in _CLEANED)
            lines.append(Line(model if stage == "raw" else stage, cells, "model" if stage == "raw" else "stage"))
    return lines


def _classes(rows: dict[tuple[str, str], dict[str, Any]], column: str) -> list[str]:
    there = {value for _, value in rows}
    known = [name for name in _CLASSES.get(column, ()) if name in there]
    return known or sorted(there)


def _strata_figure(scores: pl.DataFrame, models: list[str], paint: dict[str, str]) -> str:
    panels = []
    for column, title in (("factor_blur", "blur"), ("factor_occlusion", "occlusion"), ("factor_size", "size")):
        rows = figures.rows_by(scores, "pose_f1@", column)
        classes = _classes(rows, column)
        if classes:
            panels.append((title, classes, {model: [rows.get((model, each)) for each in classes] for model in models}))
    return figures.by_class(panels, paint) if panels else ""


def _region_figure(scores: pl.DataFrame, models: list[str], paint: dict[str, str]) -> str:
    rows = figures.rows_by(scores, "pck@", "region")
    panels = []
    for side in SIDES:
        values = {model: [rows.get((model, f"{side}/{region}")) for region in _REGIONS] for model in models}
        if any(row is not None and row["n"] for each in values.values() for row in each):
            panels.append((f"{side} hands", _REGIONS, values))
    return figures.by_class(panels, paint) if panels else ""


def _side_tables(scores: pl.DataFrame, models: list[str]) -> list[tuple[str, list[Line]]]:
    """Each side by itself, so that a pooled mean hides nobody."""
    axes = (AXES[0], AXES[1], AXES[2], Axis("jerk/px", "jerk px", False), AXES[4])
    found = []
    for side in SIDES:
        lines = []
        for model in models:
            rows = [number(scores, model, "raw", Axis(a.key, a.heading, a.larger, ("side", side), a.percent))
                    for a in axes]  # fmt: skip
            n = next((row["n"] for row in rows if row is not None), 0)
            lines.append(Line(f"{model} (n = {n})", tuple(_cell(row, a) for row, a in zip(rows, axes, strict=True))))
        found.append((side, lines))
    return found


def _factor_tables(scores: pl.DataFrame, models: list[str]) -> list[tuple[str, list[tuple[str, int, list[str]]]]]:
    """Det-F1, PCK and Pose-F1 by each class of each factor: a table per factor, a row per class."""
    columns = [
        name for name in scores["slice"].cast(pl.String).unique(maintain_order=True) if name.startswith("factor_")
    ]
    found = []
    for column in columns:
        by_metric = [figures.rows_by(scores, key, column) for key in ("det_f1@", "pck@", "pose_f1@")]
        lines = []
        for value in _classes(by_metric[2], column):
            cells = []
            for model in models:
                rows = [part.get((model, value)) for part in by_metric]
                cells.append(" / ".join("–" if not r or r["value"] is None else f"{r['value']:.2f}" for r in rows))
            n = max((row["n"] for (_, each), row in by_metric[2].items() if each == value), default=0)
            lines.append((value, n, cells))
        found.append((column.removeprefix("factor_"), lines))
    return found


def _sweep(scores: pl.DataFrame, models: list[str]) -> list[tuple[str, list[str]]]:
    det, pose = figures.rows_by(scores, "det_f1@iou", "iou"), figures.rows_by(scores, "pose_f1@iou", "iou")
    gates = sorted({gate for _, gate in det})
    return [
        (gate, [f"{det[model, gate]['value'] or 0:.3f} / {pose[model, gate]['value'] or 0:.3f}" for model in models])
        for gate in gates
        if all((model, gate) in det for model in models)
    ]


def _jerk(scores: pl.DataFrame, models: list[str]) -> list[tuple[str, list[str]]]:
    """Jerk in its units, by joints, with motion energy, gaps and presence, of the right hand."""
    lines = []
    wanted = [
        ("jerk, px per frame³", "jerk/px", "side", "right"),
        ("jerk, hand sizes per frame³", "jerk/hand", "side", "right"),
        ("jerk, % of the hand per frame³", "jerk/hand_pct", "side", "right"),
        ("jerk, hand sizes per second³", "jerk/per_second", "side", "right"),
        ("jerk px, its fingertips", "jerk/px", "side_joints", "right/fingertips"),
        ("jerk px, its base joints", "jerk/px", "side_joints", "right/base"),
        ("motion energy, hand sizes²", "motion_energy/hand", "side", "right"),
        ("frames with the hand", "presence", "side", "right"),
        ("frames missing within its span", "missing_frame_rate", "side", "right"),
        ("gaps per 1,000 frames", "gaps_per_1000", "side", "right"),
        ("gap, mean frames", "gap_mean", "side", "right"),
        ("gap, median frames", "gap_median", "side", "right"),
        ("gap, longest", "gap_longest", "side", "right"),
        ("gaps of at most 3 frames", "gap_short_share", "side", "right"),
    ]
    for title, metric, part, value in wanted:
        cells = []
        for model in models:
            row = scores.filter(
                (pl.col("model").cast(pl.String) == model)
                & (pl.col("stage").cast(pl.String) == "raw")
                & (pl.col("metric").cast(pl.String) == metric)
                & (pl.col("slice").cast(pl.String) == part)
                & (pl.col("slice_value") == value)
            )
            number_ = row["value"][0] if row.height else None
            cells.append("–" if number_ is None else f"{number_:.4g}")
        lines.append((title, cells))
    return lines


def _time(
    frames: Frames, hands: pl.DataFrame, predicted: dict[str, Hands], paint: dict[str, str], protocol: Protocol
) -> list[str]:
    """Presence and jerk over time for the two videos in which the estimators agree least with the truth."""
    truth, _ = true_hands(hands, frames)
    long = np.bincount(frames.video, minlength=len(frames.videos)) >= 8
    gap = np.zeros((len(frames.videos), 2))
    for side in (0, 1):
        there = np.zeros(len(frames), bool)
        there[truth.frame[truth.side == side]] = True
        for found in predicted.values():
            said = np.zeros(len(frames), bool)
            said[found.frame[found.side == side]] = True
            gap[:, side] += np.bincount(frames.video[there != said], minlength=len(frames.videos))
    gap[~long] = -1
    order = np.argsort(-gap.max(axis=1), kind="stable")[:2]
    return [
        f"<p><b>{_escaped(frames.videos[video])}</b>, {SIDES[int(gap[video].argmax())]} hand</p>"
        + figures.over_time(frames, truth, predicted, int(video), paint, int(gap[video].argmax()))
        for video in order
        if long[video]
    ]


def _escaped(text: str) -> str:
    return str(Markup.escape(text))


def _estimators(manifest: dict[str, Any]) -> list[tuple[Described, dict[str, Any]]]:
    return [(described(spec), told) for spec, told in manifest["estimators"].items()]


def _left_out(manifest: dict[str, Any]) -> dict[str, dict[str, int]]:
    told: dict[str, dict[str, int]] = {"data": manifest["source"]["skipped"], **manifest.get("left_out", {})}
    for each in manifest["estimators"].values():
        if each.get("skipped"):
            told[f"{each['name']} (file)"] = each["skipped"]
    return told
