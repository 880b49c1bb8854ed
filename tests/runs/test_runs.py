from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from handbench import api
from handbench.errors import HandbenchError
from handbench.protocols import ReadContext
from handbench.runs import answering
from handbench.runs.folder import RunFolder
from handbench.runs.log import AnswerLog
from tests.handvqa.conftest import random_hands, write_source


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> str:
    return write_source(tmp_path_factory.mktemp("source"), random_hands(24))


def scores(run: api.Run) -> pl.DataFrame:
    return api.score(run).scores


def same_scores(first: pl.DataFrame, second: pl.DataFrame) -> bool:
    return first.equals(second)


def test_a_log_cut_at_every_byte_gives_the_same_answers(tmp_path):
    source = write_source(tmp_path / "source", random_hands(2))
    run = api.ask("handvqa?per_descriptor=1", source, tmp_path / "run")
    api.answer(run, "chance")
    wanted = scores(run)
    answers = run.table("answers")
    log = run.folder.log("chance")
    whole = log.read_bytes()
    lines = len(whole.splitlines())
    assert lines == 10
    for cut in range(len(whole) + 1):
        log.write_bytes(whole[:cut])
        found = answering.answer(run.folder, "chance", ReadContext())
        assert found.height == lines
        assert found.equals(answers.select(found.columns)), cut
        assert len(log.read_bytes().splitlines()) == lines
    assert same_scores(scores(run), wanted)


def test_a_log_cut_at_every_line_gives_the_same_scores(source, tmp_path):
    run = api.ask("handvqa?per_descriptor=1", source, tmp_path / "run")
    api.answer(run, "chance")
    wanted = scores(run)
    log = run.folder.log("chance")
    whole = log.read_bytes()
    for cut in range(0, len(whole), len(whole) // 12):
        log.write_bytes(whole[:cut])
        api.answer(run, "chance")
        assert same_scores(scores(run), wanted)


SLOW_MODEL = """
import sys, time
from handbench import api, protocols
from handbench.models.baselines import Chance

class Slow(Chance):
    def answer(self, questions):
        for start in range(0, questions.height, 2):
            time.sleep(0.004)
            yield from super().answer(questions[start : start + 2])

protocols.model("slow")(lambda spec, options: Slow(str(spec), 0))
print("ready", flush=True)
api.answer(sys.argv[1], "slow")
"""


def killed_run(folder: Path, delay: float) -> bool:
    process = subprocess.Popen([sys.executable, "-c", SLOW_MODEL, str(folder)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    process.stdout.close()
    return process.wait() == -signal.SIGKILL


def test_twenty_kills_lose_nothing(source, tmp_path):
    run = api.ask("handvqa", source, tmp_path / "run")
    generator = random.Random(0)
    kills, grown = 0, []
    log = run.folder.log("slow")
    while kills < 20:
        kills += killed_run(tmp_path / "run", generator.uniform(0, 0.12))
        grown.append(len(log.read_bytes().splitlines()) if log.exists() else 0)
    assert grown == sorted(grown)
    assert grown[-1] > 0
    finished = subprocess.run([sys.executable, "-c", SLOW_MODEL, str(tmp_path / "run")], check=True)
    assert finished.returncode == 0
    undisturbed = api.ask("handvqa", source, tmp_path / "other")
    api.answer(undisturbed, "chance")
    first, second = scores(run), scores(undisturbed)
    assert first.drop("model").equals(second.drop("model"))


def test_one_writer_at_a_time(tmp_path):
    with (
        AnswerLog(tmp_path / "a.jsonl", "m"),
        pytest.raises(HandbenchError, match="another process is answering here"),
        AnswerLog(tmp_path / "a.jsonl", "m"),
    ):
        pass


FULL_DISK = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
from handbench.cli import main
main()
"""


def test_a_full_disk_ends_in_one_line_and_loses_nothing(source, tmp_path):
    run = api.ask("handvqa", source, tmp_path / "run")
    command = [sys.executable, "-c", FULL_DISK, "answer", str(run.folder.root), "-m", "chance"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 2
    line = found.stderr.strip().splitlines()[-1]
    assert line.startswith("handbench: ")
    assert "chance.jsonl: cannot be written (File too large); what was answered before is kept" in line
    log = run.folder.log("chance")
    torn = log.read_bytes()
    assert len(torn) == 20_000
    api.answer(run, "chance")
    assert log.read_bytes().startswith(torn[: torn.rfind(b"\n") + 1])
    whole = api.ask("handvqa", source, tmp_path / "whole")
    api.answer(whole, "chance")
    assert same_scores(scores(run), scores(whole))


def test_a_damaged_line_is_named(source, tmp_path):
    run = api.ask("handvqa?per_descriptor=1", source, tmp_path / "run")
    api.answer(run, "oracle")
    log = run.folder.log("oracle")
    lines = log.read_bytes().splitlines(keepends=True)
    lines[4] = b'{"question_id": "x", "var\n'
    log.write_bytes(b"".join(lines))
    with pytest.raises(HandbenchError, match="line 5: damaged"):
        api.answer(run, "oracle")


@pytest.mark.parametrize("shards", [2, 4, 7])
def test_shards_are_the_whole_to_the_byte(source, tmp_path, shards):
    whole = api.ask("handvqa", source, tmp_path / "whole")
    for number in range(1, shards + 1):
        api.ask("handvqa", source, tmp_path / f"part-{number}", shard=f"{number}/{shards}")
    parts = [tmp_path / f"part-{number}" for number in range(shards, 0, -1)]
    merged = api.merge(parts, tmp_path / "merged")
    for name in ("questions", "hands", "frames"):
        assert merged.folder.table(name).read_bytes() == whole.folder.table(name).read_bytes()
    assert merged.manifest["questions"] == whole.manifest["questions"]
    assert merged.manifest["not_asked"] == whole.manifest["not_asked"]
    with pytest.raises(HandbenchError, match="expected the shards"):
        api.merge(parts[1:] if shards > 2 else [parts[0]], tmp_path / "short")


def test_a_shuffled_source_gives_the_same_bytes(tmp_path):
    hands = random_hands(30)
    for name, frame in (("a", hands), ("b", hands.sample(fraction=1, shuffle=True, seed=3))):
        api.ask("handvqa", write_source(tmp_path / name, frame), tmp_path / f"run-{name}")
    first, second = (RunFolder(tmp_path / f"run-{name}").table("questions").read_bytes() for name in "ab")
    assert first == second


def test_a_run_is_taken_up_and_not_mixed_up(source, tmp_path):
    run = api.ask("handvqa", source, tmp_path / "run")
    before = run.folder.table("questions").stat().st_mtime_ns
    api.ask("handvqa", source, tmp_path / "run")
    assert run.folder.table("questions").stat().st_mtime_ns == before
    with pytest.raises(HandbenchError, match="holds the questions of another run: task"):
        api.ask("handvqa?seed=1", source, tmp_path / "run")
    with pytest.raises(HandbenchError, match="nothing to score yet"):
        api.score(run)
    with pytest.raises(HandbenchError, match="no run here"):
        api.answer(tmp_path / "nowhere", "chance")


def test_the_released_protocol_is_another_protocol(source, tmp_path):
    paper = api.ask("handvqa", source, tmp_path / "paper")
    released = api.ask("handvqa", source, tmp_path / "released", protocol="released")
    assert paper.table("questions")["variant"][0].startswith("paper/joints")
    assert released.table("questions")["variant"][0].startswith("released/joints")
    with pytest.raises(HandbenchError, match="protocols are paper and released"):
        api.ask("handvqa", source, tmp_path / "x", protocol="mine")


def test_the_report_keeps_replies_inert(source, tmp_path):
    run = api.ask("handvqa?per_descriptor=1", source, tmp_path / "run")
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)> A"
    told = run.table("questions").select("question_id", reply=pl.lit(evil))
    told.write_parquet(tmp_path / "evil.parquet")
    name = f"replies:{tmp_path}/evil.parquet?name=<b>evil</b>"
    api.answer(run, ["chance", name])
    with pytest.raises(HandbenchError, match="has the name"):
        api.answer(run, "oracle?name=<b>evil</b>")
    api.score(run)
    page = api.report(run).read_text()
    assert "alert(1)" in page
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert "<b>evil" not in page
    assert page.count("<script>") == 1
    assert "default-src 'none'" in page


def test_a_finished_run_needs_neither_images_nor_model(tmp_path):
    source = write_source(tmp_path / "source", random_hands(24))
    run = api.run("handvqa", source, ["chance", "prior"], tmp_path / "run")
    assert "image not at hand" not in run.report.read_text()
    shutil.rmtree(tmp_path / "source")
    api.report(api.score(run))
    page = run.report.read_text()
    assert "image not at hand" in page
    assert os.path.getsize(run.report) < 2_000_000
