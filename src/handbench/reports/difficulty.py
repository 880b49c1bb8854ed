"""Easy and hard questions: by visibility, view, size of the hand and margin of the truth (HandVQA, 8.3.5, Table 12).

The paper divides by "occlusion and interaction complexity" without a rule.  Here each question has a rule for every
factor; a question is hard where any of them is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from handbench.hand.skeleton import JOINT_INDEX
from handbench.reports.board import Cell
from handbench.reports.drawing import TITLES
from handbench.stats.ratios import Ratios, ratios, sums_by_cluster

KEY: Final = ["question_id", "variant"]

FLAT: Final = 0.7
"""A palm whose normal is within acos(0.7) = 46 degrees of the line of sight is seen flat, else edge-on."""

FACTORS: Final = {
    "hidden": ("joints in sight", "a joint hidden"),
    "edge": ("palm seen flat", "palm seen edge-on"),
    "small": ("larger two thirds of the hands", "smallest third"),
    "near": ("far from a threshold", "third nearest to a threshold"),
}
"""Factor → what its easy and its hard questions are called."""


@dataclass(frozen=True)
class Line:
    """Accuracy of one model on a part of the questions.

    Attributes:
        name: which part.
        cells: one per descriptor, MAE behind accuracy where ranks have distances.
        count: answers in it.
        published: whether it is the paper's.
    """

    name: str
    cells: tuple[tuple[Cell, Cell | None], ...]
    count: int
    published: bool = False


def factors(questions: pl.DataFrame, hands: pl.DataFrame) -> pl.DataFrame:
    """Which factors make each question hard.

    Args:
        questions: main questions.
        hands: the ``hands`` table.

    Returns:
        ``question_id, variant, hidden, edge, small, near``: true where hard, null where the data do not tell.
    """
    shown = hands.select(
        "hand_id",
        _joints(hands, "visible").alias("visible"),
        _joints(hands, "occluded").alias("occluded"),
        pl.Series("edge", _edge_on(hands), dtype=pl.Boolean),
        pl.Series("small", _small(hands), dtype=pl.Boolean),
    )
    rows = questions.select(
        *KEY, "hand_id", "about_descriptor", "truth_margin",
        pl.col("about_joint_a", "about_joint_b").cast(pl.String).replace_strict(JOINT_INDEX, default=None),
    ).join(shown, on="hand_id", how="left", maintain_order="left")  # fmt: skip
    third = pl.col("truth_margin").quantile(1 / 3, "lower").over("about_descriptor")
    unseen = [
        pl.when(pl.col(joint).is_null())
        .then(False)
        .otherwise(
            pl.coalesce(
                ~pl.col("visible").list.get(pl.col(joint).fill_null(0), null_on_oob=True),
                pl.col("occluded").list.get(pl.col(joint).fill_null(0), null_on_oob=True),
            )
        )
        for joint in ("about_joint_a", "about_joint_b")
    ]
    return rows.select(
        *KEY,
        pl.any_horizontal(*unseen).alias("hidden"),
        "edge",
        "small",
        (pl.col("truth_margin") <= third).alias("near"),
    )


def _joints(hands: pl.DataFrame, name: str) -> pl.Expr:
    return pl.col(name).arr.to_list() if name in hands.columns else pl.lit(None, pl.List(pl.Boolean))


def _edge_on(hands: pl.DataFrame) -> list[bool | None]:
    """Whether each palm is seen from its edge: its normal lies across the line of sight to it."""
    joints = np.full((hands.height, 21, 3), np.nan)
    known = hands["joints_cam"].is_not_null().to_numpy()
    if known.any():
        joints[known] = hands["joints_cam"].drop_nulls().to_numpy().reshape(-1, 21, 3)
    wrist, index, little = (joints[:, JOINT_INDEX[name]] for name in ("wrist", "index_mcp", "little_mcp"))
    normal = np.cross(index - wrist, little - wrist)
    sight = joints[:, [0, 5, 17]].mean(1)
    scale = np.linalg.norm(normal, axis=1) * np.linalg.norm(sight, axis=1)
    cosine = np.divide(np.abs((normal * sight).sum(1)), scale, out=np.full(len(scale), np.nan), where=scale > 0)
    return [None if np.isnan(value) else bool(value < FLAT) for value in cosine]


def _small(hands: pl.DataFrame) -> list[bool | None]:
    """Whether each hand's box in pixels is among the smallest third."""
    sizes = np.full(hands.height, np.nan)
    known = hands["joints_px"].is_not_null().to_numpy()
    if known.any():
        points = hands["joints_px"].drop_nulls().to_numpy().reshape(-1, 21, 2)
        low, high = (np.where(np.isnan(points), fill, points) for fill in (np.inf, -np.inf))
        sizes[known] = (high.max(1) - low.min(1)).max(1)
    sizes[~np.isfinite(sizes)] = np.nan
    if np.isnan(sizes).all():
        return [None] * hands.height
    limit = np.nanquantile(sizes, 1 / 3)
    return [None if np.isnan(size) else bool(size <= limit) for size in sizes]


def table(rows: pl.DataFrame, hard: pl.DataFrame, model: str) -> list[Line]:
    """Table 12 for one model: every factor's easy and hard questions, and all factors together.

    Args:
        rows: main readings with ``about_descriptor`` and ``cluster``.
        hard: as :func:`factors` gives it.
        model: which model.
    """
    mine = rows.filter(pl.col("model").cast(pl.String) == model).join(hard, on=KEY, how="left", maintain_order="left")
    known = [name for name in FACTORS if mine[name].null_count() < mine.height]
    if not known:
        return []
    flags = {name: mine[name] for name in known}
    any_hard = mine.select(pl.any_horizontal(pl.col(known).fill_null(False))).to_series()
    parts = [("easy: none of these", ~any_hard), ("hard: any of these", any_hard)]
    for name, flag in flags.items():
        easy, difficult = FACTORS[name]
        parts += [(easy, (~flag).fill_null(False)), (difficult, flag.fill_null(False))]
    return _lines(mine, [(name, part.to_numpy()) for name, part in parts if part.any()])


def _lines(mine: pl.DataFrame, parts: list[tuple[str, NDArray[np.bool_]]]) -> list[Line]:
    cluster = mine["cluster"].rank("dense").to_numpy().astype(np.int64) - 1
    descriptor = mine["about_descriptor"].cast(pl.String)
    names = [name for name in TITLES if name in set(descriptor)]
    member = np.stack([part & (descriptor == name).to_numpy() for _, part in parts for name in names], axis=1)
    right = mine["correct"].to_numpy()[:, None] & member
    read = mine["distance"].is_not_null().to_numpy()[:, None] & member
    off = np.where(read, mine["distance"].fill_null(0).to_numpy()[:, None], 0.0)
    accuracy, error = (
        ratios(
            sums_by_cluster(cluster, events.astype(float)), sums_by_cluster(cluster, items.astype(float)), share=share
        )
        for events, items, share in ((right, member, True), (off, read, False))
    )
    lines = []
    for row, (title, part) in enumerate(parts):
        cells = []
        for column, name in enumerate(names):
            place = row * len(names) + column
            first, second = _cell(accuracy, place, percent=True), _cell(error, place, percent=False)
            cells.append((first, second if name in ("angle", "distance") else None))
        lines.append(Line(title, tuple(cells), int(part.sum())))
    return lines


def _cell(found: Ratios, place: int, *, percent: bool) -> Cell:
    numbers = (found.value[place], found.low[place], found.high[place])
    value, low, high = (None if np.isnan(number) else float(number) for number in numbers)
    return Cell(value, low, high, percent)


def published(results: pl.DataFrame) -> list[Line]:
    """The paper's own Table 12."""
    rows = results.filter(pl.col("table") == "Table 12") if "table" in results.columns else results.clear()
    lines = []
    for (model, part), cells in rows.group_by("model", "evaluated_on", maintain_order=True):
        found = {(row["descriptor"], row["metric"]): row["value"] for row in cells.iter_rows(named=True)}
        pairs = tuple(
            (
                Cell(None if (value := found.get((name, "accuracy"))) is None else value / 100),
                Cell(found.get((name, "mae")), percent=False) if name in ("angle", "distance") else None,
            )
            for name in TITLES
        )
        lines.append(Line(f"published: {model}, {part}", pairs, 0, published=True))
    return lines
