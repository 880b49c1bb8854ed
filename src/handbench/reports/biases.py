"""Faults that can be named in words: answers by place, one label for everything, no answers, confidence reversed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import stdtr

from handbench.controls.names import main
from handbench.replies.likelihoods import matrix
from handbench.reports.drawing import TITLES
from handbench.reports.findings import BLIND, kind
from handbench.runs.folder import RunFolder
from handbench.stats.calibration import auroc
from handbench.stats.intervals import effective_clusters
from handbench.stats.paired import holm, standard_errors
from handbench.stats.ratios import sums_by_cluster

KEY: Final = ["question_id", "variant"]
NAMED: Final = 0.01
"""A bias is named where its test, corrected over all of a model's tests (Holm), is below this ..."""
LEAST: Final = 0.15
"""... and the share is so far from what it would be without the bias."""
LETTERS: Final = "ABCDEFGH"
_ALWAYS: Final = 0.95
_SILENT: Final = 0.05


@dataclass(frozen=True)
class Bias:
    """A share that is larger than it should be.

    Attributes:
        of: options of a number, or a descriptor.
        what: the place or the label.
        share: how often it was chosen.
        expected: how often it would be without the bias.
        chance: how often an answerer would choose it that does not look at all.
        p_value: corrected over all of the model's tests.
    """

    of: str
    what: str
    share: float
    expected: float
    chance: float
    p_value: float

    @property
    def named(self) -> bool:
        """Whether it is sure and large."""
        return self.p_value < NAMED and self.share - max(self.expected, self.chance) > LEAST


def rows_of(questions: pl.DataFrame, readings: pl.DataFrame) -> pl.DataFrame:
    """Main readings with what their questions tell, for :func:`sentences`."""
    about = ["cluster", "about_descriptor", "truth_index", "truth_rank", "truth_category", "option_labels"]
    return readings.join(main(questions).select(*KEY, *about), on=KEY, how="inner", maintain_order="left")


_ANSWERED: Final = ("ok", "rejected")
"""Statuses of an answer; that nothing is pointed at is one."""


def of_run(folder: RunFolder) -> list[str]:
    """What is wrong with the models of a scored run; nothing where its questions are no choices."""
    questions = folder.read("questions")
    if questions["options"].null_count() == questions.height:
        return []
    return sentences(rows_of(questions, folder.read("readings")))


def sentences(rows: pl.DataFrame) -> list[str]:
    """What is wrong with the models of a run, in words.

    Args:
        rows: as :func:`rows_of` gives them, of choice questions.
    """
    found: list[str] = []
    rows = rows.with_columns(pl.col("model", "about_descriptor", "status").cast(pl.String))
    for (model,), part in rows.group_by("model", maintain_order=True):
        name = str(model)
        if kind(name) in BLIND:
            continue
        found += _silence(name, part)
        read = part.filter(pl.col("choice").is_not_null())
        if read.height:
            places, labels = biases(read)
            found += _by_place(name, [bias for bias in places if bias.named])
            found += [_label_sentence(name, bias) for bias in labels if bias.named]
            found += _confidence(name, read)
    return found


def _silence(model: str, part: pl.DataFrame) -> list[str]:
    answered = pl.col("status").is_in(_ANSWERED)
    silent = part.filter(~answered)
    if silent.height < _SILENT * part.height:
        return []
    counted = silent["status"].value_counts(sort=True)
    reasons = ", ".join(
        f"{status.replace('_', ' ')} {100 * count / part.height:.0f} %" for status, count in counted.iter_rows()
    )
    read = part.filter(answered)
    among = f" Among those that it did answer it is right in {100 * _mean(read):.0f} %" if read.height else ""
    tail = f"{among}, of all in {100 * _mean(part):.0f} %." if among else ""
    return [f"{model} gave no answer to {100 * silent.height / part.height:.0f} % of the questions ({reasons}).{tail}"]


def _mean(part: pl.DataFrame) -> float:
    return float(np.mean(part["correct"].to_numpy()))


def biases(read: pl.DataFrame) -> tuple[list[Bias], list[Bias]]:
    """Shares of places and of labels of one model, each tested against what they would be without a bias.

    Options stand in a random order, so an answer that looks at what they say chooses each of K places in 1 of K; a
    label should be chosen as often as it is true, and is held against one in K as well, which is what an answerer
    gives that does not look at all.

    Args:
        read: answers with a reading.
    """
    cluster = read["cluster"].rank("dense").to_numpy().astype(np.int64) - 1
    choice = read["choice"].to_numpy().astype(np.int64)
    count = read["option_labels"].list.len().to_numpy().astype(np.int64)
    tests: list[tuple[str, str, float, float, NDArray[np.float64], NDArray[np.float64]]] = []
    for options in np.unique(count):
        mine = count == options
        for place in range(int(options)):
            hit = (choice == place) & mine
            tests.append(_test(f"{options} options", LETTERS[place], hit, mine, mine / options, cluster))
    places = len(tests)
    chosen = read.select(
        pl.col("option_labels").cast(pl.List(pl.String)).list.get(pl.col("choice").cast(pl.Int64))
    ).to_series()
    descriptor = read["about_descriptor"].fill_null("all")
    truth = read["truth_category"].cast(pl.String)
    for name in descriptor.unique(maintain_order=True):
        mine = (descriptor == name).to_numpy()
        for label in chosen.filter(pl.Series(mine)).unique().sort():
            true = (truth == label).to_numpy() & mine
            tests.append(_test(name, label, (chosen == label).to_numpy() & mine, mine, true, cluster))
    p_values = holm(np.array([_p_value(gap, items) for *_, gap, items in tests]))
    uniform = {
        str(name): 1 / part["option_labels"].list.len()[0]
        for (name,), part in read.group_by(pl.col("about_descriptor").fill_null("all"))
    }
    found = [
        Bias(of, what, share, expected, uniform.get(of, expected), float(p_value))
        for (of, what, share, expected, _, _), p_value in zip(tests, p_values, strict=True)
    ]
    return found[:places], found[places:]


def _test(
    of: str,
    what: str,
    hit: NDArray[np.bool_],
    mine: NDArray[np.bool_],
    expected: NDArray[Any],
    cluster: NDArray[np.int64],
) -> tuple[str, str, float, float, NDArray[np.float64], NDArray[np.float64]]:
    sums = sums_by_cluster(cluster, np.stack([hit - expected.astype(np.float64), mine.astype(np.float64)], axis=1))
    total = float(mine.sum())
    return of, what, float(hit.sum()) / total, float(expected.sum()) / total, sums[:, :1], sums[:, 1:]


def _p_value(gap: NDArray[np.float64], items: NDArray[np.float64]) -> float:
    """Two-sided t-test of a ratio of sums against 0, by clusters."""
    error = standard_errors(gap, items)[0]
    mean = gap.sum() / items.sum()
    if not error > 0:  # every cluster says the same
        return 0.0 if mean and (items > 0).sum() > 1 else 1.0
    return float(2 * stdtr(max(effective_clusters(items)[0] - 1, 1), -abs(mean / error)))


def _by_place(model: str, named: list[Bias]) -> list[str]:
    if not named:
        return []
    told = ", ".join(
        f"{bias.what} in {100 * bias.share:.0f} % of questions with {bias.of} (by chance {100 * bias.expected:.0f} %)"
        for bias in named
    )
    return [f"{model} answers by position, whatever the options say: it chose {told}."]


def _label_sentence(model: str, bias: Bias) -> str:
    often = "always says" if bias.share >= _ALWAYS else "says too often"
    about = TITLES.get(bias.of, bias.of).partition(" (")[0].lower()
    return (
        f"{model} {often} “{bias.what}”: in {100 * bias.share:.0f} % of its answers about {about}, "
        f"where it is true of {100 * bias.expected:.0f} %."
    )


def _confidence(model: str, read: pl.DataFrame) -> list[str]:
    told = read.filter(pl.col("likelihoods").is_not_null())
    if told.height < 20:
        return []
    confidence = np.nanmax(matrix(told["likelihoods"]), axis=1)
    right = told["correct"].to_numpy()
    cluster = told["cluster"].rank("dense").to_numpy().astype(np.int64) - 1
    found = auroc(confidence, right, cluster)
    result = []
    if found.high < 0.5:
        result.append(
            f"{model}'s confidence is reversed: its right answers are less sure than its wrong ones "
            f"(AUROC {found.value:.2f}, {found.low:.2f}–{found.high:.2f}; 0.5 is no use at all)."
        )
    gap = float(confidence.mean() - right.mean())
    if abs(gap) > LEAST:
        word = "over" if gap > 0 else "under"
        result.append(
            f"{model} is {word}confident: it says {100 * confidence.mean():.0f} % and is right in "
            f"{100 * right.mean():.0f} %."
        )
    return result
