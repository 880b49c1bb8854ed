"""Runs that are killed in the middle lose nothing and ask nothing twice but what was under way."""

from __future__ import annotations

import asyncio
import random
import signal
import subprocess
import sys
import time

import pytest
from aiohttp import web

from handbench.runs.log import AnswerLog
from tests.models.chat_questions import question_table
from tests.models.fault_server import FaultServer, completion, reply_to

AT_ONCE = 8

CHILD = """
import sys
from pathlib import Path

from handbench import tables
from handbench.runs.log import AnswerLog
from handbench.runs.parts import make_model

url, questions, log, at_once = sys.argv[1:]
model = make_model(f"server:m?base_url={url}&name=m&concurrency={at_once}")
table = tables.read(questions, "questions")
with AnswerLog(Path(log), "m") as kept:
    left = table.join(kept.done.select("question_id"), on="question_id", how="anti", maintain_order="left")
    for answers in model.answer(left):
        kept.append(answers)
"""


@pytest.mark.parametrize(
    "kills",
    [2, pytest.param(20, marks=pytest.mark.slow), pytest.param(1000, marks=pytest.mark.slow)],
)
def test_kills_lose_nothing(kills, tmp_path):
    from handbench import tables

    draw = random.Random(kills)
    count = 100 * kills
    questions = question_table(count)
    tables.write(questions, tmp_path / "questions.parquet", "questions")
    log = tmp_path / "log.jsonl"

    async def script(request, prompt):
        await asyncio.sleep(0.01)
        return web.json_response(completion(reply_to(prompt)))

    done = 0
    with FaultServer(script=script) as server:
        server.keep_bodies = False
        where = [server.base_url, str(tmp_path / "questions.parquet"), str(log)]
        command = [sys.executable, "-c", CHILD, *where, str(AT_ONCE)]
        before = b""
        while done < kills:
            child = subprocess.Popen(command)
            try:
                while child.poll() is None and _size(log) <= len(before):
                    time.sleep(0.002)
                time.sleep(draw.uniform(0, 0.1))
            finally:
                child.send_signal(signal.SIGKILL)
                ended = child.wait()
            now = log.read_bytes()
            whole = before[: before.rfind(b"\n") + 1]
            assert now.startswith(whole)  # what was written stays, whatever happens later
            before = now
            if ended == 0:
                break
            done += 1
        finished = subprocess.run(command, check=False, timeout=3600)
        assert finished.returncode == 0
        asked = sum(server.asked.values())
    with AnswerLog(log, "m") as kept:
        rows = kept.done
    assert sorted(rows["question_id"].to_list()) == questions["question_id"].to_list()
    replies = dict(rows.select("question_id", "reply").iter_rows())
    assert all(replies[f"t/{number:06d}"] == reply_to(f"question {number}") for number in range(count))
    assert log.read_bytes().count(b"\n") == count
    assert done == kills
    # what had been answered but not stored is bounded: a tenth of a second's worth for each kill
    assert asked - count <= kills * (AT_ONCE * 40)


def _size(path):
    return path.stat().st_size if path.exists() else 0
