from __future__ import annotations

import polars as pl
import pytest

from handbench.models.baselines import Oracle
from handbench.replies.families import FAMILIES


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_a_perfect_model_scores_one_through_prompt_reply_and_reader(ask, name):
    """IoU at least 0.7 for every box, in each family's own convention."""
    questions, task = ask(f"pointing?family={name}")
    answers = pl.concat(Oracle("oracle").answer(questions))
    assert answers["reply"].null_count() == 0
    readings = task.read(questions, answers)
    assert readings["correct"].all()
    scores = task.score(questions, readings)
    whole = scores.filter((pl.col("slice") == "all") & (pl.col("metric").cast(pl.String) == "p_at_0.7"))
    assert whole["value"].to_list() == [1.0] * 4
    words = scores.filter(pl.col("metric").cast(pl.String).is_in(["accuracy", "macro_f1", "n_acc", "t_acc"]))
    assert (words["value"] == 1).all()


@pytest.mark.parametrize(
    ("said_in", "read_in", "best"),
    [
        ("custom&frame=pixel", "custom&frame=norm_1000", "pixel"),
        ("qwen3-vl", "custom&frame=pixel", "norm_1000"),
        ("llava-onevision", "qwen3-vl", "norm_1"),
        ("qwen3-vl", "llava-onevision", "norm_1000"),
    ],
)
def test_a_wrongly_declared_frame_is_told_and_never_scored(ask, said_in, read_in, best):
    from handbench.replies.frames import Frame
    from handbench.tasks.pointing.frames_check import likelier
    from handbench.tasks.pointing.options import speaks_of

    said, _ = ask(f"pointing/pog?family={said_in}")
    questions, task = ask(f"pointing/pog?family={read_in}")
    answers = pl.concat(Oracle("oracle").answer(said)).with_columns(questions["variant"])
    scores = task.score(questions, task.read(questions, answers))
    value = dict(scores.filter(pl.col("slice") == "all").select(pl.col("metric").cast(pl.String), "value").iter_rows())
    assert value["p_at_0.5"] < 0.2
    declared = speaks_of(str(questions["variant"][0])).frame
    found = likelier(scores.filter(pl.col("metric").cast(pl.String) == "frame_diagnosis"), Frame(declared))
    assert found is not None
    assert found[0] == best
    assert found[1] > 0.9
    if {read_in, said_in} & {"llava-onevision"}:
        assert value["rate_frame_mismatch"] > 0.9 * value["box_rate"]


def test_a_rightly_declared_frame_is_not_accused(ask):
    from handbench.replies.frames import Frame
    from handbench.tasks.pointing.frames_check import likelier

    questions, task = ask("pointing/pog?family=qwen3-vl")
    scores = task.score(questions, task.read(questions, pl.concat(Oracle("oracle").answer(questions))))
    assert likelier(scores.filter(pl.col("metric").cast(pl.String) == "frame_diagnosis"), Frame.NORM_1000) is None
