"""From questions to scores: items, replies, variants, intervals."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from benchmarks import safegesture_cells
from hypothesis import given, settings
from hypothesis import strategies as st

from handbench import tables
from handbench.errors import HandbenchError
from handbench.reports.safegesture_board import board
from handbench.specs import Options, Spec
from handbench.tasks.safegesture import SafeGesture, scoring
from handbench.tasks.safegesture.cells_file import LABELS, PAPER, load
from handbench.tasks.safegesture.intervals import cell_draws, paired_difference, percentile, studentised
from handbench.tasks.safegesture.items import items_of
from handbench.tasks.safegesture.options import SafeGestureOptions
from handbench.tasks.safegesture.questions import ask
from handbench.tasks.safegesture.reading import read


def gestures(per_gesture=2, names=PAPER.gesture_ids):
    rows = [
        {"gesture_id": f"d/test/{name}-{number}", "image": f"{name}-{number}.jpg", "dataset": "d", "split": "test"}
        | {"gesture": name, "cluster": name, "factor_tone": "dark" if number else "light"}
        for name in names
        for number in range(per_gesture)
    ]
    return tables.conform(pl.DataFrame(rows), "gestures")


def options(text="safegesture"):
    return SafeGestureOptions.from_options(Options(Spec.parse(text)))


def answers(questions, replies, model="m"):
    return tables.conform(
        questions.select("question_id", "variant").with_columns(
            pl.lit(model).alias("model"),
            pl.lit(0).alias("repeat"),
            pl.lit(0).alias("turn"),
            pl.Series("reply", replies, dtype=pl.String),
            pl.Series("finish", ["none" if text is None else "stop" for text in replies]),
        ),
        "answers",
    )


def truths(questions):
    return [row[0][row[1]] for row in questions.select("options", "truth_index").iter_rows()]


def value(scores, metric, key="all", name="all", rule="percentile"):
    row = scores.with_columns(pl.col("metric", "slice", "protocol").cast(pl.String)).filter(
        (pl.col("metric") == metric)
        & (pl.col("slice") == key)
        & (pl.col("slice_value") == name)
        & pl.col("protocol").str.ends_with(rule)
    )
    assert row.height == 1
    return row["value"][0]


def test_items_cross_images_and_scenarios():
    questions, missing = ask(gestures(), options())
    assert (questions.height, missing) == (6 * 2 * 8, {})
    assert questions["question_id"].n_unique() == questions.height
    assert questions["cluster"].n_unique() == 48
    assert questions["factor_tone"].unique().sort().to_list() == ["dark", "light"]
    for row in questions.head(8).iter_rows(named=True):
        truth = PAPER.truth[
            PAPER.gesture_ids.index(row["about_gesture"]), PAPER.scenario_ids.index(row["about_scenario"])
        ]
        assert row["truth_category"] == LABELS[truth]
        assert json.loads(row["options"][row["truth_index"]]) == {
            "gesture": row["about_gesture"],
            "safety_label": LABELS[truth],
        }


def test_prompt_offers_everything_and_no_truth():
    questions, _ = ask(gestures(), options())
    prompts = questions["prompt"].cast(pl.String).unique().to_list()
    assert len(prompts) == 8  # it depends on the scenario alone
    for prompt in prompts:
        assert prompt.startswith("A person is making this hand gesture")
        assert all(f"- {label}:" in prompt for label in LABELS)
        assert "no default" in prompt


def test_other_gestures_are_counted_not_asked():
    questions, missing = ask(gestures(names=("stop", "wave")), options())
    assert questions.height == 16
    assert missing == {"gesture not among the cells": 2}


@pytest.mark.parametrize(("variant", "calls"), [("scenario-only", 8), ("gesture-as-text", 48)])
def test_text_variants_are_scored_over_48_cells(variant, calls):
    questions, _ = ask(None, options(f"safegesture?variant={variant}"))
    assert questions.height == calls
    assert questions["images"].list.len().max() == 0
    readings = read(questions, answers(questions, truths(questions)))
    assert readings["gesture"].null_count() == calls
    assert readings["status"].cast(pl.String).unique().to_list() == ["ok"]
    scores = scoring.score(questions, readings, resamples=50)
    expected = 28 / 48 if variant == "scenario-only" else 1.0
    assert value(scores, "safety_accuracy") == pytest.approx(expected)
    metrics = set(scores["metric"].cast(pl.String))
    assert metrics.isdisjoint({"gesture_accuracy", "decoupling_score", "misperception"})


def test_right_replies_score_one_and_prose_scores_nothing():
    questions, _ = ask(gestures(), options())
    task = SafeGesture()
    right = read(questions, answers(questions, truths(questions), "right"))
    empty = read(questions, answers(questions, [None] * questions.height, "empty"))
    prose = read(questions, answers(questions, ["CRITICAL_STOP, a fist"] * questions.height, "prose"))
    scores = task.score(questions, pl.concat([right, empty, prose]))
    for model, wanted in (("right", 1.0), ("empty", 0.0), ("prose", 0.0)):
        mine = scores.filter(pl.col("model").cast(pl.String) == model)
        assert value(mine, "safety_accuracy") == wanted
        assert value(mine, "label_rate") == wanted
        assert value(mine, "misperception") == 1 - wanted
    assert prose["status"].cast(pl.String).unique().to_list() == ["unparsed"]
    assert empty["status"].cast(pl.String).unique().to_list() == ["empty"]


@pytest.mark.parametrize(("label", "cells_right"), [("CRITICAL_STOP", 5), ("HELP_DISTRESS", 2), ("SAFE_NEUTRAL", 12)])
def test_always_the_same_label(label, cells_right):
    """Right in the cells of that label; precision is their share, recall whole, every other label has F1 0."""
    questions, _ = ask(gestures(), options())
    reply = json.dumps({"gesture": "fist", "safety_label": label})
    scores = scoring.score(questions, read(questions, answers(questions, [reply] * questions.height)), resamples=50)
    share = cells_right / 48
    assert value(scores, "safety_accuracy") == pytest.approx(share)
    assert value(scores, "macro_f1") == pytest.approx(2 * share / (1 + share) / 5)
    assert value(scores, "balanced_accuracy") == pytest.approx(1 / 5)
    assert value(scores, "label_use", "label", label) == 1
    assert value(scores, "gesture_accuracy") == pytest.approx(1 / 6)
    assert value(scores, "consistency") == 1


def test_no_readings_no_scores():
    questions, _ = ask(gestures(), options())
    assert scoring.score(questions, tables.empty("readings"), resamples=50).is_empty()


def test_a_draw_without_a_label_says_nothing_of_macro_f1():
    """Two of the 48 cells are of HELP_DISTRESS: one draw in eight has neither, and all answers being right stays 1."""
    questions, _ = ask(gestures(), options())
    scores = scoring.score(questions, read(questions, answers(questions, truths(questions))), resamples=200)
    row = scores.filter(pl.col("metric").cast(pl.String) == "macro_f1")
    assert (row["low"][0], row["high"][0]) == (1.0, 1.0)


def test_policies_are_scored_over_the_cells_that_were_asked_about():
    questions, _ = ask(gestures(names=("stop", "like")), options())
    scores = scoring.score(questions, read(questions, answers(questions, truths(questions))), resamples=50)
    lines = {line.name: line.numbers[1].value for line in board(scores, SafeGesture().published(), PAPER)}
    assert lines["m"] == 1
    assert lines["Baseline: always-WARNING"] == 4 / 16
    assert lines["Baseline: gesture-majority"] == 10 / 16
    assert lines["Baseline: prior-stratified guess"] == (4**2 + 4**2 + 7**2 + 1) / 16**2
    assert lines["GPT-4o"] == pytest.approx(0.533)


def test_one_gesture_alone_leaves_classes_out():
    """Only ``mute``: two labels occur, nothing is an intervention, and no cell of another gesture counts."""
    questions, _ = ask(gestures(names=("mute",)), options())
    readings = read(questions, answers(questions, truths(questions)))
    scores = scoring.score(questions, readings, resamples=50)
    assert value(scores, "macro_f1") == 1.0
    assert value(scores, "missed_rate") is None
    assert value(scores, "f1", "label", "CRITICAL_STOP") is None


def test_own_cells_are_read_and_scored(tmp_path):
    path = tmp_path / "cells.csv"
    path.write_text("gesture,scenario,safety_label\nlike,home_daily,SAFE_NEUTRAL\nfist,home_daily,WARNING_ATTENTION\n")
    mine = options(f"safegesture?cells={path}")
    questions, missing = ask(gestures(), mine)
    assert questions.height == 4
    assert missing == {"gesture not among the cells": 8}
    task = SafeGesture().bound(mine)
    readings = task.read(questions, answers(questions, truths(questions)))
    assert value(task.score(questions, readings), "safety_accuracy") == 1.0
    stop = task.read(questions, answers(questions, ['{"gesture": "stop", "safety_label": "SAFE_NEUTRAL"}'] * 4))
    assert stop["gesture"].null_count() == 4  # no gesture of these cells


def test_strangers_answers_are_refused():
    questions, _ = ask(gestures(), options())
    with pytest.raises(HandbenchError, match="belong to no question"):
        read(questions[:8], answers(questions, truths(questions)))


def test_items_of_one_model():
    questions, _ = ask(gestures(1), options())
    replies = ['{"gesture": "thumbs up", "safety_label": "help distress"}'] * questions.height
    items = items_of(questions, read(questions, answers(questions, replies)), PAPER)
    assert set(items.gesture) == {PAPER.gesture_ids.index("like")}
    assert set(items.label) == {LABELS.index("HELP_DISTRESS")}
    assert sorted(items.cell) == list(range(48))


def test_unequal_answers_make_no_pair():
    questions, _ = ask(gestures(), options())
    first = read(questions, answers(questions, truths(questions), "a"))
    second = read(questions, answers(questions, ["{}"] * questions.height, "b"))
    both = scoring.score(questions, pl.concat([first, second]), resamples=50)
    gap = both.filter(
        (pl.col("metric").cast(pl.String) == "decoupling_difference") & (pl.col("model").cast(pl.String) == "a")
    )
    assert gap["value"].to_list() == [0.0]
    half = scoring.score(questions, pl.concat([first, second[:20]]), resamples=50)
    assert half.filter(pl.col("metric").cast(pl.String) == "decoupling_difference").is_empty()


def test_draws_are_the_same_every_time():
    draws = cell_draws(48, 200)
    assert draws.shape == (200, 48)
    assert (draws.sum(1) == 48).all()
    assert (draws == cell_draws(48, 200)).all()


def test_percentile_interval_of_a_share_against_drawing_by_hand():
    rng = np.random.default_rng(0)
    events, items = rng.integers(0, 101, 48).astype(float), np.full(48, 100.0)
    drawn = [events[rng.integers(0, 48, 48)].sum() / 4800 for _ in range(20_000)]
    draws = cell_draws(48)
    mine = percentile(draws @ events / (draws @ items))
    assert (mine.low, mine.high) == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=0.004)


def test_studentised_interval_covers_a_mean_better_than_it_should_not():
    """Means of 48 draws of a skewed law: the interval holds the true mean in about 95 of 100 samples."""
    rng = np.random.default_rng(1)
    draws, items = cell_draws(48, 1000), np.full(48, 1.0)
    held = 0
    for _ in range(300):
        interval = studentised(rng.beta(0.5, 1.5, 48), items, draws)
        held += interval.low <= 0.25 <= interval.high
    assert 0.92 <= held / 300 <= 0.985


def test_studentised_interval_says_nothing_of_a_few_cells():
    events = np.zeros(48)
    events[:7] = 50
    assert np.isnan(studentised(events, np.full(48, 100.0), cell_draws(48, 100)).low)


@settings(max_examples=25)
@given(st.lists(st.integers(0, 100), min_size=48, max_size=48), st.lists(st.integers(0, 100), min_size=48, max_size=48))
def test_paired_difference_turns_about(first, second):
    draws, items = cell_draws(48, 200), np.full(48, 100.0)
    one = paired_difference(np.array(first, float), np.array(second, float), items, draws)
    other = paired_difference(np.array(second, float), np.array(first, float), items, draws)
    assert one.value == pytest.approx(-other.value)
    assert one.interval.low == pytest.approx(-other.interval.high)
    assert one.above_zero + other.above_zero <= 1 + 1e-9


def test_a_table_of_cells_with_a_published_model_s_margins_scores_as_published():
    data = SafeGesture().published()
    published = {
        "results": data.to_dicts(),
        "confusion_matrices": json.loads(
            (safegesture_cells.files("handbench.tasks.safegesture") / "published.json").read_text()
        )["confusion_matrices"],
    }
    counts, modal = safegesture_cells.solve("Phi-3.5", published, 60)
    assert counts is not None
    assert modal
    assert safegesture_cells.show("Phi-3.5", counts, cell_draws(48, 500), published)


def test_options_are_recorded(tmp_path):
    record = options().manifest()
    assert record["cells"] == "paper"
    assert "SafeGesture" in record["consensus"]
    assert load() is load()
    with pytest.raises(HandbenchError, match="variant must be one of"):
        options("safegesture?variant=C")
