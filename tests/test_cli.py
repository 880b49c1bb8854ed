from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import polars as pl
import pytest

from handbench import tables
from tests.handvqa.conftest import random_hands, write_source


def handbench(*arguments: str, cwd=None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "handbench.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False)


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> str:
    return write_source(tmp_path_factory.mktemp("source"), random_hands(12))


def test_help_teaches_and_loads_little():
    found = handbench("--help")
    assert found.returncode == 0
    for verb in ("demo", "run", "ask", "answer", "score", "report", "describe", "list"):
        assert verb in found.stdout
    heavy = "import sys, handbench.cli; print({'polars', 'numpy', 'scipy', 'matplotlib'} & set(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", heavy], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "set()"


def test_stage_by_stage_is_the_same_as_at_once(source, tmp_path):
    steps = [
        ("ask", "handvqa", "--data", source, "-o", "steps"),
        ("answer", "steps", "-m", "chance", "-m", "prior"),
        ("score", "steps"),
        ("report", "steps"),
    ]
    for step in steps:
        found = handbench(*step, cwd=tmp_path)
        assert found.returncode == 0, found.stderr
    assert found.stdout.strip().splitlines()[-1] == "steps/report.html"
    once = handbench("run", "handvqa", "--data", source, "-m", "chance", "-m", "prior", "-o", "once", cwd=tmp_path)
    assert once.returncode == 0, once.stderr
    assert once.stdout.strip().splitlines()[-1] == "once/report.html"
    first, second = (tables.read(tmp_path / name / "scores.parquet", "scores") for name in ("steps", "once"))
    assert first.equals(second)


def test_json_is_for_machines(source, tmp_path):
    found = handbench("run", "handvqa", "--data", source, "-m", "oracle", "-o", str(tmp_path / "r"), "--json")
    told = json.loads(found.stdout)
    accuracy = [row["value"] for row in told["scores"] if row["metric"] == "accuracy"]
    assert set(accuracy) == {1.0}
    assert json.loads(handbench("list", "--json").stdout)["tasks"] == sorted(
        json.loads(handbench("list", "--json").stdout)["tasks"]
    )
    counts = json.loads(handbench("describe", str(tmp_path / "r"), "--json").stdout)
    assert sum(row["count"] for row in counts["labels"]) > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "handvqa", "--data", "nowhere:x", "-m", "chance"), "no dataset is called 'nowhere'"),
        (("run", "nothing", "--data", "SOURCE", "-m", "chance"), "no task is called 'nothing'"),
        (("run", "handvqa", "--data", "SOURCE", "-m", "nobody"), "no model is called 'nobody'"),
        (("run", "handvqa", "--data", "SOURCE", "-m", "pose:nobody"), "no estimator is called 'nobody'"),
        (("run", "handvqa", "--data", "SOURCE", "-m", "chance?sed=1"), "unknown option sed"),
        (("run", "handvqa?sed=1", "--data", "SOURCE", "-m", "chance"), "unknown option sed"),
        (("run", "handvqa", "--data", "synth:feet", "-m", "chance"), "rendered sources are"),
        (("run", "handvqa", "--data", "synth:hands?n=0", "-m", "chance"), "n must be at least 1"),
        (("run", "handvqa", "--data", "synth:hands", "--split", "dev", "-m", "chance"), "splits are"),
        (("run", "handvqa", "--data", "ge:/nowhere", "-m", "chance"), "/nowhere"),
        (("ask", "handvqa", "--data", "SOURCE", "-o", "x", "--shard", "0/3"), "write i/N"),
        (("ask", "handvqa", "--data", "SOURCE", "-o", "/dev/null"), "/dev/null"),
        (("ask", "handvqa", "--data", "FLAT", "-o", "flat"), "nothing can be asked of its 12 hands"),
        (("score", "/nowhere"), "no run here"),
        (("report", "/nowhere"), "no run here"),
        (("run", "handvqa", "--data", "SOURCE"), "--model"),
        (("dance",), "dance"),
    ],
)
def test_a_users_error_is_one_line_and_exit_code_2(source, tmp_path, arguments, message):
    names = {"SOURCE": source}
    if "FLAT" in arguments:
        flat = random_hands(12).with_columns(joints_cam=pl.lit(None, tables.JOINTS_3D))
        names["FLAT"] = write_source(tmp_path / "source", flat)
    found = handbench(*(names.get(part, part) for part in arguments), cwd=tmp_path)
    lines = [line for line in found.stderr.splitlines() if line.startswith("handbench: ")]
    assert found.returncode == 2
    assert message in lines[-1]
    assert "Traceback" not in found.stderr


def test_an_interruption_ends_in_order_and_can_be_taken_up(tmp_path):
    command = [sys.executable, "-m", "handbench.cli", "run", "handvqa", "--data", "synth:hands?n=400&supersample=1"]
    command += ["-m", "chance", "-o", str(tmp_path / "run")]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    while process.poll() is None and not (tmp_path / "run").exists():  # it has begun
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=60)
    if process.returncode != 0:  # it was not done yet
        assert process.returncode == 130
        assert "stopped; repeat the command to go on" in told
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
