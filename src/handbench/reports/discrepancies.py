"""Where the papers' own numbers do not fit together: each claim recomputed from the published numbers in the package.

Nothing here is typed from memory: every number is read from a task's ``published.json`` and worked out anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from math import ceil, floor
from typing import Any, Final

import numpy as np

from handbench.stats.metrics import accuracy, macro_f1, occurring
from handbench.tasks.safegesture.cells_file import PAPER
from handbench.tasks.safegesture.measures import measures

_LARGEST_SET: Final = 4000


@dataclass(frozen=True)
class Finding:
    """One claim of a paper, held against its own numbers.

    Attributes:
        paper: which paper.
        where: table or section.
        says: what is printed.
        recomputed: what follows from the published numbers.
        holds: whether they agree.
        so: what handbench does about it.
    """

    paper: str
    where: str
    says: str
    recomputed: str
    holds: bool
    so: str


def load(task: str) -> dict[str, Any] | None:
    """The published numbers of a task's paper; None where the package has no such task."""
    path = files("handbench.tasks") / task / "published.json"
    if not path.is_file():
        return None
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def smallest_sets(percents: list[float], digits: int = 2, largest: int = _LARGEST_SET) -> int | None:
    """The smallest number of questions of which every percentage can be a rounded share.

    Args:
        percents: as printed.
        digits: decimals printed.
        largest: where to stop looking.

    Returns:
        The number, None where there is none.
    """
    half = 0.5 * 10.0**-digits
    for count in range(1, largest + 1):
        if all(_share_of(percent, count, half) is not None for percent in percents):
            return count
    return None


def _share_of(percent: float, count: int, half: float) -> int | None:
    """How many of ``count`` make this percentage when rounded."""
    low, high = (percent - half) * count / 100, (percent + half) * count / 100
    first = ceil(low - 1e-9)
    return first if first <= floor(high + 1e-9) else None


def _shares_of(percent: float, count: int, half: float) -> list[int]:
    """All numbers out of ``count`` that make this percentage when rounded."""
    first = _share_of(percent, count, half)
    return [] if first is None else list(range(first, floor((percent + half) * count / 100 + 1e-9) + 1))


def _values(results: list[dict[str, Any]], **wanted: Any) -> dict[tuple[Any, ...], float]:
    """(model, tuned_on, evaluated_on, descriptor, metric) → value of the rows of some table."""
    keys = ("model", "tuned_on", "evaluated_on", "descriptor", "metric")
    return {
        tuple(row.get(key) for key in keys): row["value"]
        for row in results
        if all(row.get(name) == value for name, value in wanted.items())
    }


def handvqa(data: dict[str, Any]) -> Iterator[Finding]:
    """HandVQA (arXiv 2603.26362)."""
    results = data["results"]
    paper = "HandVQA"
    transfer = sorted(value for key, value in _values(results, table="Table 4").items() if "H2O" in str(key[2]))
    count = smallest_sets(transfer)
    gained = "–" if count is None else str(_count(transfer[1], count) - _count(transfer[0], count))
    yield Finding(
        paper,
        "Table 4",
        f"tuning raises H2O accuracy from {transfer[0]} % to {transfer[1]} % ({transfer[1] - transfer[0]:+.2f} points)",
        f"the smallest test that gives both is {count} questions, where the gain is {gained} questions; "
        "the size of the test is not stated",
        False,
        "N and an interval stand beside every difference",
    )
    people = _values(results, table="Table 13")
    sizes = smallest_sets(list(people.values()))
    yield Finding(
        paper,
        "Table 13",
        f"people {max(people.values())} %, models "
        + ", ".join(str(value) for value in sorted(people.values())[:-1])
        + " % on one subset",
        f"no single number of questions up to {_LARGEST_SET} gives all {len(people)} percentages"
        if sizes is None
        else f"{sizes} questions give all of them",
        sizes is not None,
        "people and models are scored on exactly the same questions, and their number is printed",
    )
    yield from _unified(results)
    tuned = {
        key: value for key, value in _values(results, table="Table 11").items() if key[0].startswith("LLaVA") and key[1]
    }
    same = [value == _values(results, table="Table 7").get(key) for key, value in tuned.items()]
    yield Finding(
        paper,
        "Table 11 and section 8.3.3",
        "LLaVA “finetuned” beside HaMeR",
        f"{sum(same)} of {len(same)} numbers are those of the model tuned on all sets together (Table 7), "
        "not of the one tuned on the set at hand",
        all(same),
        "what a model was tuned on is a column of its own",
    )
    better = [
        (key, value, _values(results, table="Table 11")[("HaMeR", None, key[2], key[3], key[4])])
        for key, value in tuned.items()
    ]
    won = sum(value < other if key[4] == "mae" else value > other for key, value, other in better)
    yield Finding(
        paper,
        "section 8.3.3",
        "the tuned model outperforms HaMeR on several tasks",
        f"it is better on {won} of {len(better)} numbers of Table 11",
        won > 1,
        "the vision-only row stands in every comparison that has a pose estimator",
    )


def _count(percent: float, count: int) -> int:
    return _share_of(percent, count, 0.005) or 0


def _unified(results: list[dict[str, Any]]) -> Iterator[Finding]:
    values = {**_values(results, table="Table 7"), **_values(results, table="Table 8")}
    own = {key: value for key, value in values.items() if key[1] == key[2]}
    for dataset in dict.fromkeys(key[2] for key in own):
        mine = {key: value for key, value in own.items() if key[2] == dataset}
        better = 0
        for key, value in mine.items():
            other = values[(key[0], "HandVQA", *key[2:])]
            better += value < other if key[4] == "mae" else value > other
        named = dataset in ("FreiHAND", "FPHA")
        yield Finding(
            "HandVQA",
            "section 8.3.1, Tables 7 and 8",
            f"{dataset}: the model tuned on it alone is "
            + ("slightly better on certain attributes" if named else "not named among those that are better"),
            f"it is better on {better} of {len(mine)} numbers",
            (better > 0) == named,
            "compare prints every cell with its paired interval",
        )


def safegesture(data: dict[str, Any]) -> Iterator[Finding]:
    """SafeGesture (arXiv 2608.16081)."""
    results, cells = data["results"], PAPER.truth.size
    for variant, words in (
        ("variant_A_SA", "eight text calls scored over 48 cells"),
        ("variant_B_SA", "48 text calls"),
    ):
        printed = [row["value"] for row in results if row["table"] == "Table 4" and row["metric"] == variant]
        odd = [value for value in printed if _share_of(value, cells, 0.05) is None]
        yield Finding(
            "SafeGesture",
            f"Table 4, Variant {variant[8]}",
            f"{', '.join(map(str, printed))} %: {words}",
            f"all are k / {cells}" if not odd else f"{', '.join(map(str, odd))} % are no k / {cells} for any whole k",
            not odd,
            "text variants are scored over the cells, so every score is a multiple of 1/48",
        )
    yield from _matrices(data)


def _matrices(data: dict[str, Any]) -> Iterator[Finding]:
    intervention, cost = PAPER.intervention, PAPER.cost_matrix
    printed = {(row["model"], row["metric"]): row["value"] for row in data["results"] if row["table"] == "Table 2"}
    off, rates = [], []
    for model, matrix in data["confusion_matrices"].items():
        confusion = np.concatenate([np.array(matrix, float), np.zeros((len(matrix), 1))], axis=1)
        found = (100 * accuracy(confusion), 100 * macro_f1(confusion, occurring(confusion)))
        for metric, value in zip(("SA", "macro_F1"), found, strict=True):
            if abs(float(value) - printed[model, metric]) > 0.0501:
                off.append(f"{model} {metric}: {float(value):.1f} against {printed[model, metric]}")
        both = np.zeros((len(matrix), 2, len(matrix) + 1))
        both[:, 1] = confusion
        told = measures(both, intervention, cost)
        under, over = (100 * float(told[f"{name}_any_gesture"]) for name in ("under_safety", "over_safety"))
        shown = " / ".join(str(printed[model, name]) for name in ("under_safety", "over_safety"))
        rates.append(f"{model} {under:.1f} / {over:.1f} (printed {shown})")
    yield Finding(
        "SafeGesture",
        "Table 2 and Appendix F",
        "safety accuracy and macro-F1 of five models",
        "the confusion matrices give the same, to the last digit" if not off else "; ".join(off),
        not off,
        "the matrices are a test of the scoring",
    )
    yield Finding(
        "SafeGesture",
        "Table 2, under- and over-safety",
        "rates among all items, but counted only where the gesture is named rightly",
        "without that condition, under / over in percent: " + "; ".join(rates),
        False,
        "both are printed: with the condition and as under_safety_any_gesture, over_safety_any_gesture",
    )


def egopoint(data: dict[str, Any]) -> Iterator[Finding]:
    """EgoPoint-Ground (arXiv 2603.26646)."""
    results = data["results"]
    half = {
        (row["model"], row["evaluated_on"]): row["value"]
        for row in results
        if row["table"] == "Table 2" and row["metric"] == "P@0.5"
    }
    gaps = []
    for split in dict.fromkeys(split for _, split in half):
        people = next(value for (model, on), value in half.items() if on == split and "Human" in model)
        best = max(
            v for (model, on), v in half.items() if on == split and not any(s in model for s in ("Human", "Ours"))
        )
        gaps.append((str(split).replace("_", " "), 100 * (people - best)))
    yield Finding(
        "EgoPoint-Ground",
        "section 4.3.1, Table 2",
        "the best model is more than 26 points behind people at P@0.5",
        "by Table 2 it is " + " and ".join(f"{gap:.1f} points ({split})" for split, gap in gaps),
        all(gap > 26 for _, gap in gaps),
        "gaps are computed, with intervals, by compare",
    )
    table = [row for row in results if row["table"] == "Table 4" and row.get("delta_to_no_cue") is not None]
    blind: dict[tuple[str, str], dict[str, float]] = {}
    for row in table:
        blind.setdefault((row["model"], row["metric"]), {})[row["task"]] = row["value"] - row["delta_to_no_cue"]
    pairs = {key: told for key, told in blind.items() if len(told) == 2}
    odd = sorted({key[0] for key, told in pairs.items() if abs(told["D-REC"] - told["POG"]) > 1.5e-3})
    models = len({key[0] for key in pairs})
    yield Finding(
        "EgoPoint-Ground",
        "Table 4",
        "bracketed changes are against the same model without any cue",
        f"the two ways to that model's score agree for {models - len(odd)} of {models} models"
        + (f", not for {', '.join(odd)}" if odd else ""),
        not odd,
        "the no-cue condition is a run of its own",
    )


def verahand(data: dict[str, Any]) -> Iterator[Finding]:
    """VERA-Hand (arXiv 2610.32517)."""
    frames = 10_768
    rates = [
        row["value"]
        for row in data["results"]
        if row["metric"] == "cross_hand_overlap" and row["value"] and "subset_fraction" not in row
    ]
    counts = [_shares_of(value, frames, 0.005) for value in rates]
    yield Finding(
        "VERA-Hand",
        "section 4.4, cross-hand overlap",
        f"{', '.join(map(str, rates))} % of frames",
        "; ".join(
            f"{value} % is {' or '.join(map(str, fitting))} of {frames} frames" if fitting else f"{value} % is no share"
            for value, fitting in zip(rates, counts, strict=True)
        ),
        all(counts),
        "the rate is over all frames, those without a hand among them",
    )


_PAPERS: Final[dict[str, Callable[[dict[str, Any]], Iterator[Finding]]]] = {
    "handvqa": handvqa,
    "safegesture": safegesture,
    "pointing": egopoint,
    "handpose": verahand,
}


def findings() -> list[Finding]:
    """Every claim that was recomputed, of each paper whose task is in the package."""
    return [one for task, check in _PAPERS.items() if (data := load(task)) is not None for one in check(data)]


def markdown(found: list[Finding]) -> str:
    """The page of the documentation."""
    lines = [
        "# What the papers say and what their numbers give",
        "",
        "Made by `handbench papers --markdown` from the published numbers in the package; nothing is typed by hand.",
        "",
    ]
    for paper in dict.fromkeys(one.paper for one in found):
        lines += [f"## {paper}", "", "| Where | The paper says | Its numbers give | Fits | Here |"]
        lines += ["| --- | --- | --- | --- | --- |"]
        for one in found:
            if one.paper == paper:
                cells = (one.where, one.says, one.recomputed, "yes" if one.holds else "**no**", one.so)
                lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        lines.append("")
    return "\n".join(lines)
