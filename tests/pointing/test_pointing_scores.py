from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import accuracy_score, f1_score, recall_score

from handbench.tasks.pointing.baselines import along_ray, as_answers, finger_ray, nearest
from handbench.tasks.pointing.scoring import macro
from handbench.tasks.pointing.words import alias_table, aliased


def value_of(scores: pl.DataFrame, metric: str, part: str = "all", value: str = "all") -> float:
    rows = scores.filter(
        (pl.col("metric").cast(pl.String) == metric)
        & (pl.col("slice").cast(pl.String) == part)
        & (pl.col("slice_value") == value)
    )
    assert rows.height == 1, metric
    return rows["value"][0]


def scored(ask, replies, text="pointing/edg?family=custom"):
    questions, task = ask(text)
    said = [replies(number, row) for number, row in enumerate(questions.iter_rows(named=True))]
    readings = task.read(questions, as_answers(questions, said, "m"))
    return questions, readings, task.score(questions, readings)


def moved(row, part):
    """The truth moved sideways so that its IoU is (1 - part) / (1 + part)."""
    x1, y1, x2, y2 = row["truth_box"]
    shift = part * (x2 - x1)
    return f"[{x1 + shift}, {y1}, {x2 + shift}, {y2}]"


def test_both_conventions_by_hand(ask):
    """Of the positives in turn: exact, IoU 0.5 (to rounding), IoU 0.2, no box."""

    def replies(number, row):
        if row["truth_box"] is None:
            return "None"
        kind = number % 4
        return "no idea" if kind == 3 else moved(row, (0.0, 1 / 3, 2 / 3)[kind])

    questions, readings, scores = scored(ask, replies)
    positive = questions["truth_box"].is_not_null().to_numpy()
    kind = np.arange(questions.height) % 4
    share = {number: (positive & (kind == number)).sum() / positive.sum() for number in range(4)}
    assert value_of(scores, "p_at_0.3") == pytest.approx(share[0] + share[1])
    assert value_of(scores, "p_at_0.7") == pytest.approx(share[0])
    answered = 1 - share[3]
    assert value_of(scores, "p_at_0.3_answered") == pytest.approx((share[0] + share[1]) / answered)
    assert value_of(scores, "p_at_0.7_above_answered") == pytest.approx(share[0] / answered)
    assert value_of(scores, "n_acc") == 1
    assert value_of(scores, "t_acc") == 1
    assert value_of(scores, "rejection_precision") == 1
    right = np.where(positive, readings["iou"].fill_null(0) >= 0.5, True).mean()
    assert value_of(scores, "combined_accuracy") == pytest.approx(right)


def test_equal_to_tau_counts_by_one_convention_alone(ask):
    """A box that is exactly half of the truth has IoU 0.5."""

    def replies(number, row):
        if row["truth_box"] is None:
            return "None"
        x1, y1, x2, y2 = row["truth_box"]
        return f"[{x1!r}, {y1!r}, {(x1 + x2) / 2!r}, {y2!r}]"

    _, readings, scores = scored(ask, replies)
    exact = (readings["iou"].drop_nulls() == 0.5).mean()
    assert exact > 0.5
    assert value_of(scores, "p_at_0.5") - value_of(scores, "p_at_0.5_above") == pytest.approx(
        (readings["iou"].drop_nulls() == 0.5).mean(), abs=1e-9
    )


def test_rejecting_everything(ask):
    questions, _, scores = scored(ask, lambda number, row: '{"bbox_2d": null}')
    negatives = questions["truth_box"].is_null().mean()
    assert value_of(scores, "n_acc") == 1
    assert value_of(scores, "t_acc") == 0
    assert value_of(scores, "p_at_0.3") == 0
    assert value_of(scores, "rejection_precision") == pytest.approx(negatives)
    assert value_of(scores, "rejection_auroc") == 0.5


def test_slices_add_up(ask):
    questions, readings, scores = scored(
        ask, lambda number, row: moved(row, 0.0) if row["truth_box"] and number % 2 else "None"
    )
    positive = questions["truth_box"].is_not_null()
    for factor in ("occlusion", "same_category", "box_size", "side"):
        rows = scores.filter(
            (pl.col("metric").cast(pl.String) == "p_at_0.5") & (pl.col("slice").cast(pl.String) == factor)
        )
        if rows.is_empty():
            assert questions[f"factor_{factor}"].filter(positive).n_unique() == 1
            continue
        assert rows["n"].sum() == positive.sum()
        assert (rows["n"] * rows["value"]).sum() == pytest.approx(value_of(scores, "p_at_0.5") * positive.sum())
    by = readings.filter(positive).with_columns(questions.filter(positive)["factor_side"].alias("side"))
    left = by.filter(pl.col("side") == "left")
    assert value_of(scores, "p_at_0.5", "side", "left") == pytest.approx((left["iou"] >= 0.5).mean())


def test_statuses_are_counted(ask):
    kinds = [
        "[1, 2, 3]",
        "",
        "I cannot see the image.",
        "[5000, 5000, 6000, 6000]",
        "[0.1, 0.2, 0.3, 0.4]",
        "[1,2,30,40] or [50,60,90,99]",
    ]
    questions, _, scores = scored(ask, lambda number, row: kinds[number % 6])
    names = ["unparsed", "empty", "refused", "out_of_range", "frame_mismatch", "multiple"]
    for place, name in enumerate(names):
        expected = (np.arange(questions.height) % 6 == place).mean()
        assert value_of(scores, f"rate_{name}") == pytest.approx(expected)


def test_macro_scores_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    names = np.array(["cup", "ball", "book", "vase", "a thing", ""], dtype=object)
    for _ in range(25):
        truth = names[rng.integers(0, 4, 80)]
        said = np.where(rng.random(80) < 0.6, truth, names[rng.integers(0, 6, 80)])
        for union in (False, True):
            labels = sorted(set(truth) | (set(said) if union else set()))
            f1, recall = macro(truth, said, union=union)
            kept = {"labels": labels, "average": "macro", "zero_division": 0}
            assert f1 == pytest.approx(f1_score(truth, said, **kept))
            assert recall == pytest.approx(recall_score(truth, said, **kept))


def test_words_are_scored_plain_and_by_alias(ask):
    said = {"cup": "It is a mug.", "ball": "Ball", "book": "**the book**", "none": "none"}

    def replies(number, row):
        return said.get(row["truth_category"], "a nondescript thing")

    questions, readings, scores = scored(ask, replies, "pointing/d-vqa?family=qwen3-vl")
    truth = questions["truth_text"]
    positive = truth.is_not_null()
    plain = truth.filter(positive).is_in(["ball", "book"])
    assert value_of(scores, "accuracy") == pytest.approx(plain.mean())
    assert value_of(scores, "accuracy_aliased") == pytest.approx(
        truth.filter(positive).is_in(["ball", "book", "cup"]).mean()
    )
    assert value_of(scores, "n_acc") == 1
    words = readings["text"].filter(positive).to_list()
    assert value_of(scores, "accuracy") == pytest.approx(accuracy_score(truth.drop_nulls().to_list(), words))
    expected = f1_score(
        truth.drop_nulls().to_list(), words, average="macro", labels=sorted(set(truth.drop_nulls())), zero_division=0
    )
    assert value_of(scores, "macro_f1") == pytest.approx(expected)


def test_no_alias_stands_in_two_groups():
    table = alias_table()
    assert aliased("sofa") == aliased("couch")
    assert aliased("chopstick") == "chopsticks"
    assert aliased("zebra") == "zebra"
    assert len({alias for alias in table}) == len(table)


def test_the_finger_decides_by_hand():
    joints = np.zeros((21, 2))
    joints[5], joints[8] = (100, 100), (110, 100)
    ray = finger_ray(joints)
    assert ray.tolist() == [110, 100, 1, 0]
    boxes = np.array([[200.0, 95, 220, 115], [130, 90, 140, 130], [130, 0, 140, 10]])
    assert along_ray(ray, boxes) == 0  # least off its middle of the two that the ray meets
    assert nearest(np.array([90.0, 90, 110, 110]), boxes) == 1
    assert along_ray(ray, boxes[2:]) is None
    assert finger_ray(np.full((21, 2), np.nan)) is None


def test_geometry_beats_what_does_not_look(ask, scenes):
    from handbench.tasks.pointing.baselines import SceneModel

    questions, task = ask("pointing/pog?family=qwen3-vl")
    found = {}
    for kind in ("geometry", "nearest", "centre", "commonest"):
        model = SceneModel(kind, kind)
        model.rows_are(scenes)
        found[kind] = value_of(
            task.score(questions, task.read(questions, pl.concat(model.answer(questions)))), "p_at_0.5"
        )
    assert found["geometry"] > 0.8
    assert found["geometry"] > 0.3 + max(found["nearest"], found["centre"], found["commonest"])
