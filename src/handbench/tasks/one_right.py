"""One right option and some wrong ones: what tasks of that form share, from drawing the options to the scores.

Which options stand beside the right one, and in which order, is a function of (seed, question) alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from handbench import draws, tables
from handbench.errors import HandbenchError
from handbench.replies import read_choices
from handbench.stats.bootstrap import RESAMPLES
from handbench.stats.sliced import Score, Slice, score_slices
from handbench.tables import WORD
from handbench.tasks.handvqa.reading import KEY, beside

OPTIONS: Final = 4
LETTERS: Final = "ABCD"
LARGEST_FACTOR: Final = 40
"""A column with more values than this is no division into groups and is left out."""

ANSWER_LINES: Final = {
    "sentence": "Answer with the letter and the words of the one right option, and with nothing else.",
    "letter": "Answer with the letter of the one right option, and with nothing else.",
}


@dataclass(frozen=True)
class Labels:
    """The labels that options are made of.

    Attributes:
        names: each once.
        groups: for each label the group that it is in; two of a group never stand beside each other as right and wrong.
    """

    names: tuple[str, ...]
    groups: tuple[str, ...]

    def rivals(self) -> NDArray[np.bool_]:
        """(L, L): whether the second may be a wrong option where the first is right.

        Raises:
            HandbenchError: a label has too few.
        """
        groups = np.array(self.groups)
        allowed = groups[:, None] != groups[None, :]
        few = np.flatnonzero(allowed.sum(1) < OPTIONS - 1)
        if len(few):
            raise HandbenchError(
                f"{self.names[few[0]]!r} has {int(allowed[few[0]].sum())} labels that could be wrong options beside "
                f"it; {OPTIONS - 1} are needed"
            )
        return np.asarray(allowed)


def draw_options(ids: Sequence[str], truth: NDArray[np.integer], labels: Labels, seed: int) -> NDArray[np.int64]:
    """The labels of each question's options, in the order shown.

    Args:
        ids: of the questions.
        truth: (N,) number of the right label.
        labels: of all options.
        seed: any whole number.

    Returns:
        (N, 4) numbers of labels, the right one among them.
    """
    names = draws.name_keys(list(ids))
    keys = draws.pair_keys(names, draws.name_keys(list(labels.names)), seed)
    ranked = np.where(labels.rivals()[truth], keys, np.uint64(0xFFFFFFFFFFFFFFFF))
    wrong = np.argsort(ranked, axis=1, kind="stable")[:, : OPTIONS - 1]
    chosen = np.concatenate([np.asarray(truth, np.int64)[:, None], wrong], axis=1)
    places = draws.pair_keys(names, draws.name_keys([f"place {place}" for place in range(OPTIONS)]), seed)
    order = np.argsort(places, axis=1, kind="stable")
    return np.take_along_axis(chosen, order, axis=1)


def finish(
    rows: pl.DataFrame,
    task: str,
    labels: Labels,
    truth: NDArray[np.integer],
    shown: NDArray[np.int64],
    texts: Sequence[Sequence[str]],
    prompts: Sequence[str],
    system: str,
    variant: str,
    about: str,
) -> pl.DataFrame:
    """The ``questions`` table.

    Args:
        rows: of the source table, with ``question_id``, ``images`` and what else is known of each.
        task: its name.
        labels: of all options.
        truth: (N,) number of the right label.
        shown: (N, 4) as :func:`draw_options` gives them.
        texts: the options' texts of each question, in the order shown.
        prompts: of each question.
        system: text that goes before.
        variant: what else decides the questions.
        about: what is asked for: labels are shared within it.
    """
    names = np.array(labels.names, dtype=object)
    frame = rows.with_columns(
        pl.lit(variant).alias("variant"),
        pl.lit(task).alias("task"),
        pl.lit("choice").alias("kind"),
        pl.lit(system).alias("system"),
        pl.Series("prompt", list(prompts), dtype=pl.String),
        pl.Series("options", [list(text) for text in texts], dtype=pl.List(pl.String)),
        pl.Series("option_labels", names[shown].tolist(), dtype=pl.List(pl.String)),
        pl.Series("truth_index", (shown == np.asarray(truth)[:, None]).argmax(1).astype(np.int8)),
        pl.Series("truth_rank", np.asarray(truth).astype(np.int8)),
        pl.Series("truth_category", names[truth].tolist(), dtype=pl.String),
        pl.lit(about).alias("about_descriptor"),
    )
    return tables.conform(frame, "questions", task)


def lettered(options: Sequence[str]) -> list[str]:
    """``A. first``, ``B. second`` and so on."""
    return [f"{letter}. {text}" for letter, text in zip(LETTERS, options, strict=False)]


def read(questions: pl.DataFrame, answers: pl.DataFrame) -> pl.DataFrame:
    """Readings of replies: which option each chooses.

    Args:
        questions: the ``questions`` table of one such task.
        answers: the ``answers`` table, any number of models and repeats.
    """
    rows = beside(questions, answers, ["options", "option_labels", "truth_index"])
    rows = pl.concat([rows, read_choices(rows["reply"], rows["options"], rows["finish"])], how="horizontal")
    choice = pl.col("choice")
    label = pl.col("option_labels").list.get(choice.fill_null(0), null_on_oob=True)
    ranks = dict(questions.select(pl.col("truth_category").cast(pl.String), "truth_rank").unique().iter_rows())
    named = rows.with_columns(
        (choice == pl.col("truth_index")).fill_null(False).alias("correct"),
        pl.when(choice.is_not_null()).then(label).cast(pl.String).alias("label"),
    )
    return named.select(
        *KEY,
        "model",
        "repeat",
        pl.col("status", "rule").cast(WORD),
        "span_start",
        "span_end",
        "choice",
        pl.col("label").replace_strict(ranks, default=None, return_dtype=pl.Int8).alias("chosen_rank"),
        "correct",
        pl.lit(None, pl.Float32).alias("distance"),
        pl.col("label").cast(WORD),
    )


def score(
    questions: pl.DataFrame, readings: pl.DataFrame, task: str, *, resamples: int = RESAMPLES, seed: int = 0
) -> pl.DataFrame:
    """Accuracy, overall, by true label and by factor, with cluster intervals.

    Args:
        questions: the ``questions`` table.
        readings: the ``readings`` table of any number of models.
        task: its name.
        resamples: bootstrap resamples.
        seed: of the resamples, the same for every model.

    Returns:
        The ``scores`` table.  ``accuracy`` counts a reply without a reading as wrong.
    """
    factors = [name for name in questions.columns if name.startswith("factor_")]
    clusters = questions["cluster"].unique(maintain_order=True)
    rows: list[dict[str, Any]] = []
    for (model,), group in readings.group_by("model", maintain_order=True):
        about = beside(questions, group, ["truth_category", "about_descriptor", "cluster", *factors])
        code = about["cluster"].cast(pl.Enum(clusters)).to_physical().to_numpy()
        outcome = pl.when("correct").then(0).when(pl.col("choice").is_null()).then(-1).otherwise(1)
        found = score_slices(
            np.unique(code, return_inverse=True)[1],
            np.zeros(about.height, np.int64),
            about.select(outcome).to_series().to_numpy(),
            _slices(about, {"truth_category": "label", **{name: name.removeprefix("factor_") for name in factors}}),
            resamples=resamples,
            seed=seed,
        )
        protocol = " + ".join(sorted(about["variant"].cast(pl.String).unique()))
        rows += [_row(part, task, str(model), protocol) for part in found if "f1" not in part.metric]
    if not rows:
        return tables.empty("scores")
    return tables.conform(pl.DataFrame(rows, infer_schema_length=None), "scores", "the scores")


def _slices(about: pl.DataFrame, divided: Mapping[str, str]) -> list[Slice]:
    what = str(about["about_descriptor"][0])
    made = [Slice((what, "all", "all"), np.arange(about.height), 2, False)]
    for column, name in divided.items():
        values = about[column].cast(pl.String)
        if not 1 < values.drop_nulls().n_unique() <= LARGEST_FACTOR:
            continue
        for value in values.drop_nulls().unique().sort():
            made.append(
                Slice((what, name, value), np.flatnonzero((values == value).fill_null(False).to_numpy()), 2, False)
            )
    return made


def _row(part: Score, task: str, model: str, protocol: str) -> dict[str, Any]:
    descriptor, division, value = part.keys
    return {
        "task": task,
        "model": model,
        "metric": part.metric,
        "descriptor": descriptor,
        "slice": division,
        "slice_value": value,
        "value": part.value,
        "low": part.low,
        "high": part.high,
        "n": part.n,
        "clusters": part.clusters,
        "protocol": protocol,
    }


def label_counts(asked: pl.DataFrame) -> pl.DataFrame:
    """Counts of each label as the right and as a wrong option."""
    shown = asked.select(
        pl.col("option_labels").cast(pl.List(pl.String)).alias("label"), pl.col("truth_category").cast(pl.String)
    ).explode("label")
    counted = shown.group_by("label").agg(
        (pl.col("label") == pl.col("truth_category")).sum().alias("right"),
        (pl.col("label") != pl.col("truth_category")).sum().alias("wrong"),
    )
    return counted.sort("label")


class OneRight:
    """What the tasks with one right and three wrong options share; a task adds ``ask`` and ``answer_from_poses``.

    Attributes:
        name: the task's name.
        package: where its ``published.json`` lies.
    """

    name: str
    package: str | None

    def read(self, questions: pl.DataFrame, answers: pl.DataFrame) -> pl.DataFrame:
        """See :func:`read`."""
        return read(questions, answers)

    def score(self, questions: pl.DataFrame, readings: pl.DataFrame) -> pl.DataFrame:
        """See :func:`score`; intervals are by the questions' cluster."""
        return score(questions, readings, self.name)

    def extent_flips(self, hands: pl.DataFrame, options: Any) -> pl.DataFrame:
        """None: no label here depends on the hand's extent."""
        return pl.DataFrame()

    def describe(self, questions: pl.DataFrame) -> dict[str, pl.DataFrame]:
        """How often each label is right, and how often it is a wrong option."""
        return {"labels": label_counts(questions)}

    def published(self) -> pl.DataFrame:
        """Table 4 of HandVQA: percent."""
        text = (files(self.package or __package__) / "published.json").read_text(encoding="utf-8")
        return pl.DataFrame(json.loads(text)["results"], infer_schema_length=None)
