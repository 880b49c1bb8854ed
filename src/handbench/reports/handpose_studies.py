"""Pages of the studies: bias of the annotation, size of the set, thresholds of blur."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from markupsafe import Markup
from matplotlib.figure import Figure
from PIL import Image, UnidentifiedImageError

from handbench.reports.drawing import colours, label, style, svg
from handbench.reports.environment import template
from handbench.runs.studies import BiasStudy, BlurStudy

_TITLES: Final = {
    "det_f1": "Det-F1",
    "pck": "PCK",
    "pose_f1": "Pose-F1",
    "swap_rate": "label swaps",
    "cross_hand_overlap": "cross-hand overlap",
}
_BINS: Final = 4
_PER_CELL: Final = 6
_CROP: Final = 72


def _short(scores: pl.DataFrame) -> pl.DataFrame:
    return scores.with_columns(short=pl.col("metric").cast(pl.String).str.split("@").list.first(),
                               model=pl.col("model").cast(pl.String))  # fmt: skip


def size_page(scores: pl.DataFrame, name: str, out: Path) -> Path:
    """Scores against the share of frames kept, and whether the order of the estimators holds."""
    rows = _short(scores)
    models = rows["model"].unique(maintain_order=True).to_list()
    paint = colours(models)
    metrics = [metric for metric in _TITLES if metric in set(rows["short"])]
    with style():
        figure = Figure(figsize=(2.5 * len(metrics), 2.7), layout="constrained")
        for place, metric in enumerate(metrics):
            axes = figure.add_subplot(1, len(metrics), place + 1)
            for model in models:
                mine = rows.filter((pl.col("short") == metric) & (pl.col("model") == model))
                mine = mine.with_columns(pl.col("slice_value").cast(pl.Float64)).sort("slice_value").drop_nulls("value")
                x = 100 * mine["slice_value"].to_numpy()
                if mine["low"].null_count() == 0 and mine.height:
                    axes.fill_between(
                        x, mine["low"].to_numpy(), mine["high"].to_numpy(), color=paint[model], alpha=0.15
                    )
                axes.plot(x, mine["value"].to_numpy(), "o-", color=paint[model], markersize=3.5, label=label(model))
            axes.set_title(_TITLES[metric], fontsize=10, loc="left")
            axes.set_xlabel("% of the frames")
            axes.set_xlim(0, 104)
            axes.set_ylim(bottom=0)
            axes.grid(axis="y", color="#e4e6e9", linewidth=0.8)
            if not place:
                axes.legend(fontsize=8, frameon=False)
        picture = svg(figure)
    orders = []
    for metric in metrics:
        by_fraction = {}
        for fraction in rows["slice_value"].unique(maintain_order=True):
            part = rows.filter((pl.col("short") == metric) & (pl.col("slice_value") == fraction)).drop_nulls("value")
            by_fraction[fraction] = part.sort("value", descending=True)["model"].to_list()
        same = len({tuple(order) for order in by_fraction.values()}) == 1
        orders.append(f"{_TITLES[metric]}: the order of the estimators is "
                      + ("the same at every size." if same else "not the same at every size."))  # fmt: skip
    table = [
        (row["model"], _TITLES[row["short"]], row["slice_value"], f"{row['value']:.4f}", row["n"])
        for row in rows.drop_nulls("value").iter_rows(named=True)
        if row["short"] in _TITLES
    ]
    return _page(
        out,
        title=f"How large must the set be? {name}",
        intro="Nested subsets of every video's frames: first and last always kept, the rest as evenly spread as "
        "nesting allows. With 95 % intervals over the videos.",
        sentences=orders,
        figures=[picture],
        heads=("estimator", "metric", "share of frames", "value", "n"),
        table=table,
    )


def bias_page(study: BiasStudy, name: str, out: Path) -> Path:
    """Displacement from the initial estimate, and scores on the bias-free part beside the whole."""
    rows = _short(study.scores)
    models = rows["model"].unique(maintain_order=True).to_list()
    values = study.bias.displacement
    with style():
        figure = Figure(figsize=(6.5, 2.5), layout="constrained")
        axes = figure.add_subplot()
        edges = np.logspace(-4, 0, 50).tolist()
        for mask, label, colour in ((study.bias.free, "bias-free hands", "#1b7f79"),
                                    (~study.bias.free, "as initialised", "#c2a14d")):  # fmt: skip
            known = values[mask][np.isfinite(values[mask])]
            if len(known):
                axes.hist(np.clip(known, 1e-4, 1), bins=edges, color=colour, alpha=0.65, label=label)
        axes.set_xscale("log")
        axes.set_xlabel("keypoint's displacement from the initial estimate, longer box sides")
        axes.set_ylabel("keypoints")
        axes.legend(frameon=False)
        picture = svg(figure)
    lines = []
    for model in models:
        for metric in ("det_f1", "pck", "swap_rate", "pose_f1"):
            cells = []
            for part in ("all", "bias-free", "as initialised"):
                row = rows.filter((pl.col("model") == model) & (pl.col("short") == metric)
                                  & (pl.col("slice_value") == part))  # fmt: skip
                cells.append("–" if not row.height or row["value"][0] is None else f"{row['value'][0]:.3f}")
            lines.append((model, _TITLES[metric], *cells))
    facts = [
        f"{what}: {value if not isinstance(value, float) else f'{value:.4f}'}"
        for what, value in study.facts.items()
        if value is not None
    ]
    return _page(
        out,
        title=f"Does the annotation lean on its initial estimate? {name}",
        intro="A hand is bias-free when it was added by hand or its median keypoint was moved by more than 0.02 of "
        "its box. An estimator of the initialiser's family should be judged on that part alone.",
        sentences=facts,
        figures=[picture],
        heads=("estimator", "metric", "all", "bias-free", "as initialised"),
        table=lines,
    )


def blur_page(study: BlurStudy, name: str, root: Path, out: Path) -> Path:
    """Hands by sharpness and motion, so that thresholds can be chosen by eye."""
    table = study.table
    edges = {
        column: np.quantile(table[column].to_numpy(), np.linspace(0, 1, _BINS + 1))
        for column in ("sharpness", "motion")
    }
    place = {
        column: np.clip(np.searchsorted(edges[column], table[column].to_numpy(), "right") - 1, 0, _BINS - 1)
        for column in edges
    }
    cells = []
    for motion in range(_BINS):
        row = []
        for sharp in reversed(range(_BINS)):
            inside = table.filter(pl.Series((place["sharpness"] == sharp) & (place["motion"] == motion)))
            step = max(1, inside.height // _PER_CELL)
            shown = inside.gather_every(step).head(_PER_CELL)
            crops = [crop for each in shown.iter_rows(named=True) if (crop := _crop(root, each)) is not None]
            row.append((inside.height, crops))
        if not any(count for count, _ in row):
            continue  # two edges are equal: many hands share one value
        cells.append((f"{edges['motion'][motion]:.3f} to {edges['motion'][motion + 1]:.3f}", row))
    heads = [f"{edges['sharpness'][k]:.0f} to {edges['sharpness'][k + 1]:.0f}" for k in reversed(range(_BINS))]
    with style():
        figure = Figure(figsize=(5.6, 3.6), layout="constrained")
        axes = figure.add_subplot()
        for label, colour in (("sharp", "#1b7f79"), ("mild", "#c2a14d"), ("blurry", "#b3402a")):
            mine = table.filter(pl.col("blur") == label)
            axes.plot(np.maximum(mine["sharpness"].to_numpy(), 1e-3), np.maximum(mine["motion"].to_numpy(), 1e-4), ".",
                      color=colour, markersize=3, label=f"{label} ({mine.height})")  # fmt: skip
        axes.axvline(study.thresholds[0], color="#22262b", linewidth=0.8)
        axes.axhline(study.thresholds[1], color="#22262b", linewidth=0.8)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("sharpness")
        axes.set_ylabel("motion, hand sizes per frame")
        axes.legend(frameon=False, fontsize=8)
        picture = svg(figure)
    limit, speed = study.thresholds
    return _page(
        out,
        title=f"Where does blur begin? {name}",
        intro="Crops of true hands by sharpness (across, sharp at the left) and motion (down, slow above). Choose the "
        "thresholds by eye and give them to the task.",
        sentences=[
            f"In use: handpose?sharpness={limit:.4g}&motion={speed:.4g}. A hand is sharp when it is sharper and "
            "slower than these, blurry when neither, mild when one."
        ],
        figures=[picture],
        heads=(),
        table=[],
        grid_heads=heads,
        grid=cells,
    )


def _crop(root: Path, row: dict[str, object]) -> str | None:
    box = np.array([row[name] for name in ("x1", "y1", "x2", "y2")], float)
    margin = 0.2 * (box[2:] - box[:2])
    try:
        with Image.open(root / str(row["image"])) as image:
            low, high = np.floor(box[:2] - margin).astype(int), np.ceil(box[2:] + margin).astype(int)
            crop = image.convert("RGB").crop((*low.tolist(), *high.tolist()))
    except (OSError, UnidentifiedImageError):
        return None
    crop.thumbnail((_CROP, _CROP))
    buffer = io.BytesIO()
    crop.save(buffer, format="JPEG", quality=80)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode()


def _page(
    out: Path,
    *,
    title: str,
    intro: str,
    sentences: list[str],
    figures: list[str],
    heads: tuple[str, ...],
    table: Sequence[tuple[object, ...]],
    grid_heads: list[str] | None = None,
    grid: list[tuple[str, list[tuple[int, list[str]]]]] | None = None,
) -> Path:
    text = template("study.html.j2").render(
        title=title,
        intro=intro,
        sentences=sentences,
        figures=[Markup(figure) for figure in figures],
        heads=heads,
        table=table,
        grid_heads=grid_heads or [],
        grid=grid or [],
    )
    out.write_text(text, encoding="utf-8")
    return out
