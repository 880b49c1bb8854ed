"""The tables of a pointing report: the paper's Tables 2, 3, 4 and 7, both conventions, rejection, slices, statuses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from handbench.replies.frames import Frame
from handbench.tasks.pointing.frames_check import likelier

GROUNDING: Final = ("edg", "d-rec", "pog", "no-cue")
NAMES: Final = {"edg": "EDG", "d-rec": "D-REC", "pog": "POG", "no-cue": "no cue", "d-vqa": "D-VQA"}
TAUS: Final = ("0.3", "0.5", "0.7")
STATUSES: Final = (
    ("box_rate", "box"),
    ("rejection_rate", "rejected"),
    ("rate_multiple", "several boxes"),
    ("rate_degenerate", "no area"),
    ("rate_out_of_range", "off the image"),
    ("rate_frame_mismatch", "another frame"),
    ("rate_refused", "refused"),
    ("rate_truncated", "cut"),
    ("rate_empty", "empty"),
    ("rate_unparsed", "unreadable"),
    ("rate_reaches_out", "reaches over the edge"),
)
REJECTION: Final = (
    ("n_acc", "N-acc"),
    ("t_acc", "T-acc"),
    ("combined_accuracy", "all right"),
    ("rejection_precision", "precision"),
    ("rejection_recall", "recall"),
    ("rejection_auroc", "AUROC"),
)
SLICES: Final = {
    "source": "source",
    "occlusion": "occlusion of the target",
    "same_category": "candidates of the target's category",
    "box_size": "size of the target's box",
}

_ORDER: Final = "none slight moderate severe small medium large"
"""Values that have an order of their own; others are sorted by name."""


@dataclass(frozen=True)
class Number:
    """One number of a table; None where there is none."""

    value: float | None
    low: float | None = None
    high: float | None = None
    signed: bool = False

    @property
    def text(self) -> str:
        """A fraction with three digits, as the paper prints it; a dash where there is none."""
        if self.value is None:
            return "–"
        return f"{self.value:+.3f}" if self.signed else f"{self.value:.3f}"

    @property
    def interval(self) -> str:
        """``[0.403, 0.661]``, empty where there is none."""
        return "" if self.low is None or self.high is None else f"[{self.low:.3f}, {self.high:.3f}]"


@dataclass(frozen=True)
class Line:
    """A line of a table."""

    name: str
    numbers: tuple[Number, ...]
    kind: str = "model"
    note: str = ""


@dataclass(frozen=True)
class Table:
    """A table with its headings."""

    title: str
    headings: tuple[str, ...]
    lines: tuple[Line, ...]
    note: str = ""


class Scores:
    """Look-up in the ``scores`` table of a pointing run."""

    def __init__(self, scores: pl.DataFrame) -> None:
        words = ("model", "metric", "descriptor", "slice")
        self.rows = scores.with_columns(pl.col(name).cast(pl.String) for name in words)
        whole = self.rows.filter((pl.col("slice") == "all") & (pl.col("slice_value") == "all"))
        self._whole = {(row["model"], row["descriptor"], row["metric"]): row for row in whole.iter_rows(named=True)}
        self.models = self.rows["model"].unique(maintain_order=True).to_list()
        self.subtasks = [name for name in NAMES if name in set(self.rows["descriptor"])]

    def number(self, model: str, subtask: str, metric: str) -> Number:
        """One number of the whole sub-task."""
        row = self._whole.get((model, subtask, metric))
        return Number(None) if row is None else Number(row["value"], row["low"], row["high"])

    def has(self, subtask: str) -> bool:
        """Whether the sub-task was asked."""
        return subtask in self.subtasks


def _published(published: pl.DataFrame, table: str, task: str, metrics: tuple[str, ...], on: str) -> list[Line]:
    rows = published.filter(
        (pl.col("table") == table) & (pl.col("task") == task) & pl.col("evaluated_on").str.starts_with(on)
    )
    lines = []
    for (model,), part in rows.group_by("model", maintain_order=True):
        values = dict(part.select("metric", "value").iter_rows())
        lines.append(Line(str(model), tuple(Number(values.get(metric)) for metric in metrics), "published"))
    return lines


def edg(scores: Scores, published: pl.DataFrame) -> Table:
    """Table 2: own rows, then the paper's on all data and on real data."""
    metrics = tuple(f"p_at_{tau}" for tau in TAUS)
    own = [
        Line(model, tuple(scores.number(model, "edg", metric) for metric in (*metrics, "mean_iou")))
        for model in scores.models
    ]
    printed = tuple(f"P@{tau}" for tau in TAUS)
    hybrid = {line.name: line for line in _published(published, "Table 2", "EDG", printed, "hybrid")}
    real = {line.name: line for line in _published(published, "Table 2", "EDG", printed, "real")}
    nothing = (Number(None),) * 3
    rivals = [
        Line(
            name,
            (*hybrid[name].numbers, Number(None), *(real[name].numbers if name in real else nothing)),
            "published",
        )
        for name in hybrid
    ]
    lines = [Line(line.name, (*line.numbers, *nothing)) for line in own]
    headings = ("P@0.3", "P@0.5", "P@0.7", "mean IoU", "real: P@0.3", "P@0.5", "P@0.7")
    note = (
        "Published rows: the paper's hybrid test set, then its real one. The paper's caption says D-VQA; this is EDG."
    )
    return Table("EDG: hand box and referent (Table 2)", headings, (*lines, *rivals), note)


def grounding(scores: Scores, published: pl.DataFrame) -> Table:
    """Table 4: D-REC and POG, and what each gains over the image alone."""
    lines = []
    for model in scores.models:
        numbers = []
        for subtask in ("d-rec", "pog"):
            for tau in TAUS:
                number = scores.number(model, subtask, f"p_at_{tau}")
                base = scores.number(model, "no-cue", f"p_at_{tau}")
                both = number.value is not None and base.value is not None
                gain = (number.value or 0.0) - (base.value or 0.0) if both else None
                numbers += [number, Number(gain, signed=True)]
        lines.append(Line(model, tuple(numbers)))
    rows = published.filter(pl.col("table") == "Table 4")
    for (name,), part in rows.group_by("model", maintain_order=True):
        values = {(row["task"], row["metric"]): row for row in part.iter_rows(named=True)}
        printed = []
        for task in ("D-REC", "POG"):
            for tau in TAUS:
                row: dict[str, Any] = values.get((task, f"P@{tau}"), {})
                printed += [Number(row.get("value")), Number(row.get("delta_to_no_cue"), signed=True)]
        lines.append(Line(str(name), tuple(printed), "published"))
    headings = tuple(f"{task} {text}" for task in ("D-REC", "POG") for tau in TAUS for text in (f"P@{tau}", "gain"))
    note = (
        "Gain: over the same model's answers to the image alone (no cue), of this run; published gains as printed. "
        "The paper's D-REC is not language only: its prompt says that a hand points, and the hand is in the image. "
        "Language only is D-REC with the hand covered (control masked)."
    )
    return Table("D-REC and POG: one cue at a time (Table 4)", headings, tuple(lines), note)


def controls(scores: pl.DataFrame) -> list[Table]:
    """By sub-task: how often a model is right about another image, and the change against the image proper.

    Args:
        scores: the ``scores`` table with its rows of controls.
    """
    text = [pl.col(name).cast(pl.String) for name in ("model", "metric", "descriptor", "slice")]
    rows = scores.with_columns(text).filter(pl.col("slice") == "control")
    found = {
        (row["model"], row["descriptor"], row["slice_value"], row["metric"]): row for row in rows.iter_rows(named=True)
    }
    models = rows["model"].unique(maintain_order=True).to_list()
    named = rows["slice_value"].unique(maintain_order=True).to_list()
    cells = [(name, metric) for name in named for metric in ("accuracy", "accuracy_change")]
    asked = set(rows["descriptor"])
    return [
        Table(
            NAMES[subtask],
            tuple(f"{name}: {'right' if metric == 'accuracy' else 'change'}" for name, metric in cells),
            tuple(
                Line(model, tuple(_control(found.get((model, subtask, *cell)), cell[1]) for cell in cells))
                for model in models
            ),
        )
        for subtask in NAMES
        if subtask in asked
    ]


def _control(row: dict[str, Any] | None, metric: str) -> Number:
    if row is None:
        return Number(None)
    return Number(row["value"], row["low"], row["high"], signed=metric == "accuracy_change")


def words(scores: Scores, published: pl.DataFrame) -> Table:
    """Table 3: D-VQA, with and without the alias table."""
    plain = ("accuracy", "macro_f1", "macro_recall")
    metrics = (*plain, *(f"{name}_aliased" for name in plain), "macro_f1_union", "n_acc")
    lines = [Line(model, tuple(scores.number(model, "d-vqa", metric) for metric in metrics)) for model in scores.models]
    rows = published.filter(pl.col("table") == "Table 3")
    for where in rows["evaluated_on"].unique(maintain_order=True):
        for (name,), part in rows.filter(pl.col("evaluated_on") == where).group_by("model", maintain_order=True):
            values = [Number(value) for value in part["value"].to_list()[:3]]
            label = f"{name} ({str(where).replace('_', ' ')})"
            lines.append(Line(label, (*values, *(Number(None),) * 5), "published"))
    headings = (
        "Acc.",
        "macro-F1",
        "macro-recall",
        *(f"{name}, aliases" for name in ("Acc.", "macro-F1", "macro-recall")),
    )
    note = (
        "Answers are compared in plain form (lower case, no article); macro means are over the categories that occur "
        "as truth, the union column over those that occur as truth or answer. The paper does not say which it takes."
    )
    return Table(
        "D-VQA: what is pointed at, in words (Table 3)", (*headings, "macro-F1, union", "N-acc"), tuple(lines), note
    )


def conventions(scores: Scores) -> list[Table]:
    """P@τ by each reading of the paper, by sub-task."""
    suffixes = ("", "_above", "_answered", "_above_answered")
    tables = []
    for subtask in filter(scores.has, GROUNDING):
        metrics = [f"p_at_{tau}{suffix}" for tau in TAUS for suffix in suffixes] + ["mean_iou", "mean_iou_answered"]
        lines = tuple(
            Line(model, tuple(scores.number(model, subtask, metric) for metric in metrics)) for model in scores.models
        )
        signs = ("≥", ">", "≥, with a box", ">, with a box")
        headings = (*(f"P@{tau} {sign}" for tau in TAUS for sign in signs), "mIoU", "mIoU, with a box")
        tables.append(Table(NAMES[subtask], headings, lines))
    return tables


def rejection(scores: Scores) -> list[Table]:
    """How negatives are taken, by sub-task."""
    tables = []
    for subtask in filter(scores.has, GROUNDING):
        lines = tuple(
            Line(model, tuple(scores.number(model, subtask, metric) for metric, _ in REJECTION))
            for model in scores.models
        )
        if any(line.numbers[0].value is not None for line in lines):
            tables.append(Table(NAMES[subtask], tuple(name for _, name in REJECTION), lines))
    return tables


def statuses(scores: Scores) -> list[Table]:
    """What became of replies, by sub-task."""
    return [
        Table(
            NAMES[subtask],
            tuple(name for _, name in STATUSES),
            tuple(
                Line(
                    model,
                    tuple(Number(scores.number(model, subtask, metric).value) for metric, _ in STATUSES),
                )
                for model in scores.models
            ),
        )
        for subtask in filter(scores.has, GROUNDING)
    ]


def slices(scores: Scores) -> list[Table]:
    """P@0.5 of each division, by sub-task."""
    rows = scores.rows.filter(pl.col("metric") == "p_at_0.5")
    tables = []
    for subtask in filter(scores.has, GROUNDING):
        mine = rows.filter(pl.col("descriptor") == subtask)
        parts = [
            (name, value)
            for name in SLICES
            for value in sorted(
                set(mine.filter(pl.col("slice") == name)["slice_value"]), key=lambda value: (_ORDER.find(value), value)
            )
        ]
        if not parts:
            continue
        held = {(row["model"], row["slice"], row["slice_value"]): row for row in mine.iter_rows(named=True)}
        lines = []
        for model in scores.models:
            found = [held.get((model, *part)) for part in parts]
            numbers = (Number(None) if row is None else Number(row["value"], row["low"], row["high"]) for row in found)
            lines.append(Line(model, tuple(numbers)))
        counts = [held[(scores.models[0], *part)]["n"] if (scores.models[0], *part) in held else 0 for part in parts]
        headings = tuple(
            f"{SLICES[name]}: {value} (n={count})" for (name, value), count in zip(parts, counts, strict=True)
        )
        tables.append(Table(NAMES[subtask], headings, tuple(lines)))
    return tables


def wrong_frames(scores: Scores, declared: Frame) -> list[str]:
    """Sentences about replies that fit another frame clearly better; never used for a score."""
    found = []
    for model in scores.models:
        for subtask in filter(scores.has, GROUNDING):
            rows = scores.rows.filter(
                (pl.col("model") == model) & (pl.col("descriptor") == subtask) & (pl.col("metric") == "frame_diagnosis")
            )
            told = likelier(rows, declared)
            if told is not None:
                frame, better, own = told
                found.append(
                    f"{model}, {NAMES[subtask]}: the declared frame is {declared}, but what it writes would fit "
                    f"{frame} better (mean IoU {better:.2f} instead of {own:.2f}). The scores stay as declared; "
                    "take the right --family and run again."
                )
    return found


def sentences(scores: Scores, declared: Frame) -> list[str]:
    """What the numbers say, in words."""
    lines = wrong_frames(scores, declared)
    for subtask in filter(scores.has, ("edg", "pog")):
        ranked = sorted(scores.models, key=lambda name: -(scores.number(name, subtask, "p_at_0.5").value or 0))
        best = scores.number(ranked[0], subtask, "p_at_0.5")
        if best.value and len(ranked) > 1:
            lines.append(f"{NAMES[subtask]}: {ranked[0]} is right most often, P@0.5 {best.text} {best.interval}.")
    for model in scores.models:
        for subtask in filter(scores.has, GROUNDING):
            said, due = scores.number(model, subtask, "rejection_rate"), scores.number(model, subtask, "n_acc")
            if due.value == 0 and said.value == 0:
                lines.append(f"{model} never says that nothing is pointed at ({NAMES[subtask]}).")
                break
    return lines


def costs(told: list[dict[str, Any]], published: pl.DataFrame) -> list[tuple[str, tuple[str, ...], str]]:
    """Table 7: size, time and memory; own rows from the run's record, then the paper's."""
    rows: list[tuple[str, tuple[str, ...], str]] = []
    for one in told:
        facts = one["facts"]
        size, memory = facts.get("parameters"), facts.get("peak_memory")
        rows.append(
            (
                str(one["model"]),
                (
                    "–" if not size else f"{size / 1e9:.2f} B" if size > 1e8 else f"{size / 1e6:.2f} M",
                    "–" if one["wall_seconds"] is None else _clock(one["wall_seconds"]),
                    "–" if one["seconds_median"] is None else f"{1000 * one['seconds_median']:.0f} ms",
                    "–" if not memory else f"{memory / 2**30:.2f} GB {facts.get('peak_memory_of', '')}".strip(),
                    str(one["answers"]),
                ),
                "model",
            )
        )
    known = published.filter(pl.col("table") == "Table 7")
    for (name,), part in known.group_by("model", maintain_order=True):
        printed = dict(part.select("metric", "printed").iter_rows())
        cells = (
            printed.get("parameters", "–"),
            f"{printed.get('inference_time', '–')} h",
            "–",
            printed.get("peak_vram", "–"),
            "–",
        )
        rows.append((str(name), cells, "published"))
    return rows


def _clock(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 90 else f"{int(seconds // 3600)}:{int(seconds % 3600 // 60):02d} h"
