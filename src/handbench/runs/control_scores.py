"""What the controls say: how answers change where one thing is changed, whatever the task."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from handbench import tables
from handbench.controls.names import control_names, kind
from handbench.stats.intervals import default_rule
from handbench.stats.ratios import ratios, sums_by_cluster

KEY: Final = ["question_id", "variant"]
LETTERS: Final = "ABCDEFGH"

_PAIR: Final = ["question_id", "model", "repeat"]


def split(questions: pl.DataFrame, readings: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Main questions, their readings, and readings of controls with ``control`` beside them."""
    named = control_names(questions["variant"])
    if named.null_count() == named.len():
        return questions, readings, readings.clear().with_columns(pl.lit(None, pl.String).alias("control"))
    readings = tables.conform(readings, "readings")
    controls = readings.with_columns(control_names(readings["variant"]).alias("control"))
    return (
        questions.filter(named.is_null()),
        controls.filter(pl.col("control").is_null()).drop("control"),
        controls.filter(pl.col("control").is_not_null()),
    )


def score(questions: pl.DataFrame, main: pl.DataFrame, controls: pl.DataFrame, task: str) -> pl.DataFrame:
    """Scores of every control of every model.

    A control's rows are held against the same questions asked plainly.  ``consistency`` is the share whose chosen
    label is the one that the plain answer calls for: the same, or the other one where the change turns the truth round
    (left and right in a mirror).  ``accuracy_change`` is the paired difference.  Of rotations together,
    ``accuracy`` is the mean over all orders, ``circular_accuracy`` the share of questions that are right in every
    order, and ``choice_at_A`` and so on tell how often each place is chosen; each label stands once in each place, so
    an answer that looks at what the options say chooses them all alike.

    Args:
        questions: the whole ``questions`` table.
        main: ``readings`` of the main questions.
        controls: ``readings`` of controls with ``control``, as :func:`split` gives them.
        task: the task's name.

    Returns:
        Rows of the ``scores`` table with ``slice`` control; none where there are no controls.
    """
    if controls.is_empty():
        return tables.empty("scores")
    plain, varied = _labelled(main, questions), _labelled(controls, questions)
    pairs = varied.join(plain.drop("cluster", "descriptor", "variant"), on=_PAIR, how="inner", suffix="_main")
    rows: list[dict[str, Any]] = []
    for (model, control), part in pairs.group_by("model", "control", maintain_order=True):
        rows += _rows(task, str(model), str(control), _pair_columns(part))
    turned = pairs.filter(pl.col("control").str.starts_with("rotation-"))
    for (model,), part in turned.group_by("model", maintain_order=True):
        whole = plain.join(part, on=_PAIR, how="semi")
        every = pl.concat([whole, part.select(whole.columns)])
        rows += _rows(task, str(model), "rotations", _circular(every))
        rows += _rows(task, str(model), "rotations", *_places(every))
    return tables.conform(pl.DataFrame(rows, infer_schema_length=None), "scores", "the controls' scores")


def _labelled(readings: pl.DataFrame, questions: pl.DataFrame) -> pl.DataFrame:
    """Readings with the label chosen, the true label, and where it is counted."""
    about = questions.select(
        *KEY,
        "cluster",
        pl.col("about_descriptor").cast(pl.String).fill_null("all").alias("descriptor"),
        pl.col("truth_category").cast(pl.String).alias("truth"),
        pl.col("option_labels").cast(pl.List(pl.String)),
    )
    joined = readings.join(about, on=KEY, how="inner", maintain_order="left")
    choice = pl.col("choice").cast(pl.Int64)
    chosen = pl.col("option_labels").list.get(choice.fill_null(0), null_on_oob=True)
    named = pl.col("label").cast(pl.String) if "label" in joined.columns else pl.lit(None, pl.String)
    kept = ["control"] if "control" in joined.columns else []
    return joined.select(
        *_PAIR, "variant", *kept, "cluster", "descriptor", "truth", "correct", "status",
        pl.coalesce(named, pl.when(choice.is_not_null()).then(chosen)).alias("label"),
        choice.alias("choice"),
        pl.col("option_labels").list.len().alias("count"),
    )  # fmt: skip


def _pair_columns(part: pl.DataFrame) -> pl.DataFrame:
    turned = pl.col("truth") != pl.col("truth_main")
    main = pl.col("label_main")
    wanted = (
        pl.when(turned & (main == pl.col("truth_main")))
        .then(pl.col("truth"))
        .when(turned & (main == pl.col("truth")))
        .then(pl.col("truth_main"))
        .otherwise(main)
    )
    right, before = pl.col("correct").cast(pl.Float64), pl.col("correct_main").cast(pl.Float64)
    columns = part.select(
        "cluster",
        "descriptor",
        right.alias("accuracy"),
        (right - before).alias("accuracy_change"),
        (pl.col("label") == wanted).fill_null(False).cast(pl.Float64).alias("consistency"),
        (pl.col("status").cast(pl.String) == "ok").cast(pl.Float64).alias("answer_rate"),
    )
    # An answer that is no label, such as a box, cannot be the same or another one.
    labelled = part["label"].null_count() + part["label_main"].null_count() < 2 * part.height
    return columns if labelled else columns.drop("consistency")


def _circular(every: pl.DataFrame) -> pl.DataFrame:
    """A row per question: right in every order, right on average, always the same label."""
    asked = every.group_by("question_id", "repeat", maintain_order=True).agg(
        pl.col("cluster").first(),
        pl.col("descriptor").first(),
        pl.col("correct").all().cast(pl.Float64).alias("circular_accuracy"),
        pl.col("correct").mean().alias("accuracy"),
        (pl.col("label").null_count().eq(0) & pl.col("label").n_unique().eq(1)).cast(pl.Float64).alias("consistency"),
    )
    return asked.drop("question_id", "repeat")


def _places(every: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A row per answer with a reading: which place it chose, among options of one number."""
    read = every.filter(pl.col("choice").is_not_null())
    most = max(_most_options(read).values(), default=0)
    chosen = [
        (pl.col("choice") == place).cast(pl.Float64).alias(f"choice_at_{LETTERS[place]}") for place in range(most)
    ]
    return read.select("cluster", "descriptor", *chosen), read


def _rows(
    task: str, model: str, control: str, columns: pl.DataFrame, about: pl.DataFrame | None = None
) -> Iterator[dict[str, Any]]:
    if columns.is_empty():
        return
    metrics = [name for name in columns.columns if name not in ("cluster", "descriptor")]
    of_places = metrics[0].startswith("choice_at_")
    descriptors = columns["descriptor"].unique(maintain_order=True).to_list()
    groups = [name for name in descriptors if name != "all"] + ([] if of_places else ["all"])
    cluster = columns["cluster"].rank("dense").to_numpy().astype(np.int64) - 1
    values = columns.select(metrics).to_numpy().astype(np.float64)
    places = _most_options(about) if about is not None and of_places else {}
    member = np.stack([_member(columns["descriptor"], group) for group in groups], axis=1)
    items = sums_by_cluster(cluster, member.astype(np.float64))
    for place, metric in enumerate(metrics):
        found = ratios(
            sums_by_cluster(cluster, member * values[:, place : place + 1]), items, share=metric != "accuracy_change"
        )
        for column, group in enumerate(groups):
            if about is not None and place >= places.get(group, len(metrics)):
                continue
            numbers = (found.value[column], found.low[column], found.high[column])
            value, low, high = (None if np.isnan(number) else float(number) for number in numbers)
            yield {
                "task": task,
                "model": model,
                "metric": metric,
                "descriptor": group,
                "slice": "control",
                "slice_value": control,
                "value": value,
                "low": low,
                "high": high,
                "n": int(member[:, column].sum()),
                "clusters": int(found.clusters[column]),
                "protocol": f"control={kind(control)};interval={default_rule(int(found.clusters[column]))}",
            }


def _most_options(about: pl.DataFrame) -> dict[str, int]:
    return dict(about.group_by("descriptor").agg(pl.col("count").max()).iter_rows())


def _member(descriptors: pl.Series, group: str) -> NDArray[np.bool_]:
    if group == "all":
        return np.ones(descriptors.len(), bool)
    return (descriptors == group).to_numpy()
