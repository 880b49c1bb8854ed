"""Readings → scores: P@τ and mean IoU by both conventions, rejection, words (EgoPoint-Ground, section 4.2).

The paper counts IoU that "exceeds" τ and does not say what becomes of a reply without a box.  Four variants are
printed: ``p_at_0.5`` (IoU at least τ, every positive in the denominator; the default), ``p_at_0.5_above`` (IoU above
τ), and each with ``_answered`` (positives with a box alone).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from handbench import tables
from handbench.replies.name import NOTHING, read_name
from handbench.stats.bootstrap import RESAMPLES
from handbench.stats.boxes import roc_auc
from handbench.stats.ratios import ratios, sums_by_cluster
from handbench.tasks.pointing.frames_check import diagnose
from handbench.tasks.pointing.words import aliased

TAUS: Final = (0.3, 0.5, 0.7)
LARGEST_FACTOR: Final = 24
STATUSES: Final = (
    "multiple",
    "degenerate",
    "out_of_range",
    "frame_mismatch",
    "refused",
    "truncated",
    "empty",
    "unparsed",
)

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

_KEY = ["question_id", "variant"]


@dataclass(frozen=True)
class Ratio:
    """A metric as a ratio of sums over answers.

    Attributes:
        metric: its name.
        events: (N,) what is counted.
        items: (N,) what it is counted among.
        part: slice and its value.
    """

    metric: str
    events: Floats
    items: Floats
    part: tuple[str, str] = ("all", "all")


def score(
    questions: pl.DataFrame, readings: pl.DataFrame, *, resamples: int = RESAMPLES, seed: int = 0
) -> pl.DataFrame:
    """Score readings.

    Args:
        questions: the ``questions`` table.
        readings: the ``readings`` table of any number of models.
        resamples: bootstrap resamples.
        seed: of the resamples.

    Returns:
        The ``scores`` table; ``descriptor`` is the sub-task.
    """
    factors = [name for name in questions.columns if name.startswith("factor_")]
    about = ["about_descriptor", "truth_box", "truth_text", "image_size", "cluster", *factors]
    joined = readings.join(questions.select(*_KEY, *about), on=_KEY, how="left", maintain_order="left")
    rows: list[dict[str, Any]] = []
    for (model, subtask), part in joined.group_by("model", "about_descriptor", maintain_order=True):
        cluster = part["cluster"].rank("dense").to_numpy().astype(np.int64) - 1
        protocol = " + ".join(sorted(part["variant"].cast(pl.String).unique()))
        words = str(subtask) == "d-vqa"
        found = [*(_words(part) if words else _boxes(part, factors))]
        rows += [
            {"task": "pointing", "model": model, "descriptor": subtask, "protocol": protocol, **row}
            for row in (*_rows(found, cluster, resamples, seed), *(_whole_words(part) if words else _whole_boxes(part)))
        ]
    if not rows:
        return tables.empty("scores")
    return tables.conform(pl.DataFrame(rows, infer_schema_length=None), "scores", "the scores")


def _rows(found: list[Ratio], cluster: NDArray[np.int64], resamples: int, seed: int) -> Iterator[dict[str, Any]]:
    """All ratios from one pass of resampling."""
    if not found:
        return
    events = sums_by_cluster(cluster, np.stack([one.events for one in found], axis=1), seed)
    items = sums_by_cluster(cluster, np.stack([one.items for one in found], axis=1), seed)
    made = ratios(events, items, resamples=resamples, seed=seed, share=True)
    for place, one in enumerate(found):
        yield {
            "metric": one.metric,
            "slice": one.part[0],
            "slice_value": one.part[1],
            "value": _number(made.value[place]),
            "low": _number(made.low[place]),
            "high": _number(made.high[place]),
            "n": int(one.items.sum()),
            "clusters": int(made.clusters[place]),
        }


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _boxes(part: pl.DataFrame, factors: list[str]) -> Iterator[Ratio]:
    """P@τ and mean IoU of positives, whole and by factor; rejection of negatives; what became of replies."""
    positive = part["truth_box"].is_not_null().to_numpy()
    overlap = part["iou"].fill_null(0).to_numpy().astype(np.float64)
    status = part["status"].cast(pl.String).to_numpy()
    boxed, rejected = status == "ok", status == "rejected"
    yield from _precision(positive, overlap, boxed, ("all", "all"), every=True)
    for name, values in _divisions(part, factors):
        for value in sorted(set(values) - {None}):
            yield from _precision(positive & (values == value), overlap, boxed, (name, str(value)), every=False)
    everyone = np.ones(part.height)
    yield Ratio("box_rate", boxed.astype(float), everyone)
    yield Ratio("rejection_rate", rejected.astype(float), everyone)
    for name in STATUSES:
        yield Ratio(f"rate_{name}", (status == name).astype(float), everyone)
    clamped = part["rule"].cast(pl.String).str.contains("clamped").fill_null(False).to_numpy()
    yield Ratio("rate_reaches_out", (clamped | (status == "out_of_range")).astype(float), everyone)
    if not positive.all():
        # GREC's rates (arXiv 2308.16182): N-acc of negatives, T-acc of positives.
        yield Ratio("n_acc", (rejected & ~positive).astype(float), (~positive).astype(float))
        yield Ratio("t_acc", (~rejected & positive).astype(float), positive.astype(float))
        right = np.where(positive, overlap >= 0.5, rejected)
        yield Ratio("combined_accuracy", right.astype(float), everyone)
        yield Ratio("rejection_precision", (rejected & ~positive).astype(float), rejected.astype(float))
        yield Ratio("rejection_recall", (rejected & ~positive).astype(float), (~positive).astype(float))
        kinds = part["factor_negative"].cast(pl.String).to_numpy() if "factor_negative" in part.columns else None
        for kind in sorted(set(kinds[~positive]) - {None}) if kinds is not None else ():
            mine = ~positive & (kinds == kind)
            yield Ratio("n_acc", (rejected & mine).astype(float), mine.astype(float), ("negative", str(kind)))


def _precision(
    positive: Bools, overlap: Floats, boxed: Bools, part: tuple[str, str], *, every: bool
) -> Iterator[Ratio]:
    items, answered = positive.astype(float), (positive & boxed).astype(float)
    for tau in TAUS:
        yield Ratio(f"p_at_{tau}", (positive & (overlap >= tau)).astype(float), items, part)
        if every:
            # 32-bit IoUs as stored: equal to τ means equal to its nearest neighbour.
            above = positive & (overlap > np.float32(tau))
            yield Ratio(f"p_at_{tau}_above", above.astype(float), items, part)
            yield Ratio(f"p_at_{tau}_answered", (positive & boxed & (overlap >= tau)).astype(float), answered, part)
            yield Ratio(f"p_at_{tau}_above_answered", (above & boxed).astype(float), answered, part)
    yield Ratio("mean_iou", np.where(positive, overlap, 0.0), items, part)
    if every:
        yield Ratio("mean_iou_answered", np.where(positive & boxed, overlap, 0.0), answered, part)


def _divisions(part: pl.DataFrame, factors: list[str]) -> Iterator[tuple[str, NDArray[np.object_]]]:
    for name in factors:
        values = part[name].cast(pl.String)
        if 1 < values.drop_nulls().n_unique() <= LARGEST_FACTOR and name != "factor_negative":
            yield name.removeprefix("factor_"), values.to_numpy()


def _whole_boxes(part: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Numbers without an interval: the ROC area of rejection, and the diagnosis of the declared frame."""
    positive = part["truth_box"].is_not_null().to_numpy()
    clusters = part["cluster"].n_unique()
    shared = {"slice": "all", "slice_value": "all", "low": None, "high": None, "clusters": clusters}
    if positive.any() and not positive.all():
        area = roc_auc(positive, box_confidence(part))
        yield {**shared, "metric": "rejection_auroc", "value": _number(area), "n": part.height}
    for frame, value, count in diagnose(part):
        yield {
            **shared,
            "metric": "frame_diagnosis",
            "slice": "frame",
            "slice_value": frame,
            "value": value,
            "n": count,
        }


def box_confidence(part: pl.DataFrame) -> Floats:
    """(N,) how sure each answer is that there is something: what it states, else 1 for a box and 0 for none."""
    rejected = part["status"].cast(pl.String) == "rejected"
    stated = part["confidence"].cast(pl.Float64)
    default = pl.Series(np.where(rejected.to_numpy(), 0.0, 1.0))
    return np.asarray(pl.select(pl.coalesce(stated, default)).to_series().to_numpy(), np.float64)


def _words(part: pl.DataFrame) -> Iterator[Ratio]:
    """Accuracy in words, with and without aliases; of negatives, how often "none" is said."""
    truth, said = plain_words(part)
    positive = truth != NOTHING
    items = positive.astype(float)
    yield Ratio("accuracy", (positive & (truth == said)).astype(float), items)
    alike = np.array([aliased(one) == aliased(other) for one, other in zip(truth, said, strict=True)], dtype=bool)
    yield Ratio("accuracy_aliased", (positive & alike).astype(float), items)
    yield Ratio("answer_rate", (said != "").astype(float), np.ones(part.height))
    if not positive.all():
        yield Ratio("n_acc", (~positive & (said == NOTHING)).astype(float), (~positive).astype(float))
        yield Ratio("t_acc", (positive & (said != NOTHING)).astype(float), items)


def plain_words(part: pl.DataFrame) -> tuple[NDArray[np.object_], NDArray[np.object_]]:
    """Truth and answer of each row in plain form; ``none`` for a negative, empty for no reading."""
    truths = {text: read_name(text)[0] or "" for text in part["truth_text"].drop_nulls().unique()}
    truth = [NOTHING if text is None else truths[text] for text in part["truth_text"]]
    said = [text or "" for text in part["text"]]
    return np.array(truth, dtype=object), np.array(said, dtype=object)


def macro(truth: NDArray[np.object_], said: NDArray[np.object_], *, union: bool = False) -> tuple[float, float]:
    """Macro-F1 and macro-recall as scikit-learn has them, with 0 where a class has no denominator.

    Args:
        truth: (N,) class names.
        said: (N,) class names; any text.
        union: average over what occurs as truth or answer; else over what occurs as truth.

    Returns:
        F1 and recall; NaN without rows.
    """
    labels = sorted(set(truth) | (set(said) if union else set()))
    if not len(truth):
        return float("nan"), float("nan")
    place = {label: number for number, label in enumerate(labels)}
    other = len(labels)
    t = np.array([place[name] for name in truth])
    s = np.array([place.get(name, other) for name in said])
    hits = np.bincount(t[t == s], minlength=other)[:other]
    due, made = np.bincount(t, minlength=other)[:other], np.bincount(s, minlength=other + 1)[:other]
    recall = hits / np.maximum(due, 1)
    f1 = 2 * hits / np.maximum(due + made, 1)
    return float(f1.mean()), float(recall.mean())


def _whole_words(part: pl.DataFrame) -> Iterator[dict[str, Any]]:
    truth, said = plain_words(part)
    kept = truth != NOTHING
    truth, said = truth[kept], said[kept]
    shared = {"slice": "all", "slice_value": "all", "low": None, "high": None}
    count = {"n": len(truth), "clusters": int(part.filter(pl.Series(kept))["cluster"].n_unique())}
    joined = [np.array([aliased(name) for name in names], dtype=object) for names in (truth, said)]
    for suffix, pair in (("", (truth, said)), ("_aliased", (joined[0], joined[1]))):
        for ending, union in (("", False), ("_union", True)):
            f1, recall = macro(*pair, union=union)
            yield {**shared, **count, "metric": f"macro_f1{suffix}{ending}", "value": _number(f1)}
            yield {**shared, **count, "metric": f"macro_recall{suffix}{ending}", "value": _number(recall)}
