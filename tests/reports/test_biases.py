from __future__ import annotations

import polars as pl
import pytest

from handbench import api
from handbench.reports import biases
from handbench.runs.answering import answers_of, task_of
from tests import scripted


def said(tmp_path, task, *scripts):
    run = api.ask(task, "synth:hands?n=24&seed=5", tmp_path / "r", workers=1)
    questions = run.table("questions")
    models = [scripted.write(questions, script, tmp_path / f"{script.__name__}.parquet") for script in scripts]
    api.answer(run, [*models, "prior", "chance"], workers=1)
    task, _ = task_of(run.manifest)
    names = [*(script.__name__ for script in scripts), "prior", "chance"]
    answers = pl.concat([answers_of(run.folder, name, questions) for name in names])
    return biases.sentences(biases.rows_of(questions, task.read(questions, answers)))


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plain")
    return said(folder, "handvqa", scripted.by_position, scripted.always_close, scripted.refuses_half)


def test_answers_by_position_are_named(plain):
    mine = [line for line in plain if line.startswith("by_position")]
    assert len(mine) == 1, mine
    assert "answers by position, whatever the options say: it chose A in 100 % of questions with 2 options" in mine[0]
    assert "with 2 options (by chance 50 %)" in mine[0]
    assert "A in 100 % of questions with 4 options (by chance 25 %)" in mine[0]


def test_one_label_for_everything_is_named(plain):
    mine = [line for line in plain if line.startswith("always_close")]
    assert len(mine) == 1, mine
    assert mine[0].startswith("always_close always says “close to”: in 100 % of its answers about distance")


def test_refusals_are_named(plain):
    mine = [line for line in plain if line.startswith("refuses_half")]
    assert mine == [
        "refuses_half gave no answer to 50 % of the questions (refused 50 %). Among those that it did answer it is "
        "right in 100 %, of all in 50 %."
    ]


def test_blind_answerers_are_not_judged(plain):
    assert not [line for line in plain if line.startswith(("prior", "chance"))]


def test_reversed_confidence_is_named(tmp_path):
    lines = said(tmp_path, "handvqa?answer=likelihoods", scripted.reversed_confidence)
    mine = [line for line in lines if line.startswith("reversed_confidence")]
    assert any(
        "confidence is reversed: its right answers are less sure than its wrong ones (AUROC 0.00" in line
        for line in mine
    ), mine
