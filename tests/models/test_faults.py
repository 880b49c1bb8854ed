from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from handbench.errors import HandbenchError
from handbench.models._dispatch import Pace
from handbench.models._http import Endpoint
from handbench.models._request import Decoding
from handbench.models.server import Server
from handbench.runs.log import AnswerLog
from tests.models.chat_questions import question_table
from tests.models.fault_server import FAULTS, FaultServer, reply_to

BRISK = Pace(first_wait=0.005, longest_wait=0.05, timeout=1.5)


def ask_all(server, questions, tmp_path):
    """Answers as the log gives them back, and the model."""
    model = Server("server:m", [Endpoint(server.base_url)], Decoding("m"), pace=BRISK)
    with AnswerLog(tmp_path / "log.jsonl", model.name) as log:
        for answers in model.answer(questions):
            log.append(answers)
    with AnswerLog(tmp_path / "log.jsonl", model.name) as log:
        return log.done, model, (tmp_path / "log.jsonl").read_bytes().count(b"\n")


def check(server, questions, tmp_path):
    answers, model, lines = ask_all(server, questions, tmp_path)
    assert lines == questions.height
    rows = questions.select("question_id", pl.col("prompt").cast(pl.String)).join(
        answers.with_columns(pl.col("finish").cast(pl.String)), on="question_id", how="left", validate="1:1"
    )
    finish = dict(rows.select("prompt", "finish").iter_rows())
    lasting = server.lasting
    assert {prompt for prompt, end in finish.items() if end == "content_filter"} == {
        prompt for prompt, fault in lasting.items() if fault == "400 filtered"
    }
    failed = {prompt for prompt, end in finish.items() if end == "error"}
    assert {prompt for prompt, fault in lasting.items() if fault == "400"} <= failed
    for prompt, end, reply, error in rows.select("prompt", "finish", "reply", "error").iter_rows():
        assert (reply == reply_to(prompt)) == (end == "stop")
        assert (error is None) == (end == "stop")
    # a good reply is had once; what failed for good never had one
    assert all(server.good[prompt] == (end == "stop") for prompt, end in finish.items())
    counts = model.counts
    kinds = ("fatal", "malformed", "passing", "busy", "setup", "away", "image")
    assert sum(counts[kind] for kind in kinds) == len(failed)
    assert counts["filtered"] == sum(fault == "400 filtered" for fault in lasting.values())
    assert counts["sent"] == sum(server.asked.values())
    assert counts["retried"] == counts["sent"] - questions.height
    return failed


def test_faults_in_random_order_leave_every_question_answered_once(tmp_path):
    with FaultServer(seed=3) as server:
        failed = check(server, question_table(600), tmp_path)
    assert len(failed) < 60
    assert len(server.faults) >= 15


@pytest.mark.slow
def test_ten_thousand_questions_through_twenty_kinds_of_fault(tmp_path):
    with FaultServer(seed=11) as server:
        failed = check(server, question_table(10_000), tmp_path)
    assert set(server.faults) == set(FAULTS)
    assert len(FAULTS) == 20
    assert len(failed) < 500


@pytest.mark.parametrize("name", ["endless", "40 MB", "stall", "deep nesting", "half a reply", "HTML", "wrong type"])
def test_a_fault_that_stays_is_told_in_one_line(name, tmp_path):
    timeout = 0.3 if name == "stall" else 20.0
    with FaultServer(script=FAULTS[name]) as server:
        model = Server(
            "server:m", [Endpoint(server.base_url)], Decoding("m"), pace=replace(BRISK, tries=2, timeout=timeout)
        )
        with pytest.raises(HandbenchError, match="stopped after 5 failures alike") as caught:
            list(model.answer(question_table(12)))
    words = {
        "endless": "longer than 4 MB",
        "40 MB": "longer than 4 MB",
        "stall": "no whole reply in time",
        "deep nesting": "no JSON",
        "half a reply": "the line broke",
        "HTML": "expected JSON, got text/html; charset=utf-8: Gateway Welcome",
        "wrong type": "expected JSON, got text/plain",
    }
    assert words[name] in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400
