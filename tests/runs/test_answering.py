"""Asking a server through the verbs: samples, estimates, budgets, errors, and who answered in the report."""

from __future__ import annotations

import asyncio
import json
import re

import polars as pl
import pytest
from aiohttp import web
from typer.testing import CliRunner

from handbench import api
from handbench.cli import app
from handbench.errors import HandbenchError
from handbench.runs.folder import RunFolder
from handbench.runs.sampling import expected_width
from tests.handvqa.conftest import random_hands, write_source
from tests.models.chat_questions import draw
from tests.models.fault_server import FaultServer, completion, error, prompt_of, reply_to

PRICES = '["server:m"]\ntokens_in = 1e6\ntokens_out = 1e6\n'


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> str:
    folder = tmp_path_factory.mktemp("source")
    spec = write_source(folder, random_hands(12))
    for number, image in enumerate(sorted(folder.glob("*.jpg"))):  # no two requests are the same
        draw(image, (32, 24), (20 * number, 0, 0))
    return spec


def cli(*arguments):
    found = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if found.exception and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found


async def good(request, prompt):
    return web.json_response(completion("A"))


def sent(server):
    return sum(server.asked.values())


def test_a_sample_is_part_of_every_larger_one_and_says_what_to_expect(source, tmp_path):
    ids = []
    for count in (20, 40):
        found = cli("ask", "handvqa", "--data", source, "--sample", count, "-o", tmp_path / str(count))
        assert f"{count} questions about" in found.stdout
        half = 50 * expected_width(count)
        assert f"A stratified sample of {count} from 300 questions: expect ±{half:.1f} points" in found.stdout
        run = api.Run.open(tmp_path / str(count))
        shown = run.table("questions")["images"].explode().unique()
        assert sorted(run.table("frames")["image"]) == sorted(run.table("hands")["image"]) == sorted(shown)
        assert run.manifest["questions"]["hands"] == shown.len()
        ids.append(set(run.table("questions")["question_id"]))
    assert ids[0] < ids[1]
    with pytest.raises(HandbenchError, match="sample is 20 there and None here"):
        api.ask("handvqa", source, tmp_path / "20")
    with pytest.raises(HandbenchError, match="without --shard"):
        api.ask("handvqa", source, tmp_path / "x", shard="1/2", sample=5)


def test_a_dry_run_asks_nothing(source, tmp_path):
    prices = tmp_path / "prices.toml"
    prices.write_text(PRICES)
    with FaultServer(script=good) as server:
        spec = f"server:m?base_url={server.base_url}&max_tokens=5"
        where = ("--data", source, "-o", tmp_path / "run", "--sample", 30)
        found = cli("run", "handvqa", *where, "-m", spec, "--dry-run", "--prices", prices)
        assert sent(server) == 0
        assert re.match(
            r"server:m.*: 30 requests for 30 questions, 30 images \(0\.\d MB\), "
            r"about [\d,]+ tokens in, at most 150 out, at most [\d,.]+ to pay\n",
            found.stdout,
        )
        assert not (tmp_path / "run" / "answers").exists()
        api.answer(tmp_path / "run", spec)
        left = json.loads(cli("answer", tmp_path / "run", "-m", spec, "--dry-run", "--json").stdout)
    assert [row["requests"] for row in left.values()] == [0]


async def unhurried(request, prompt):
    """Slow enough that the first answers are counted while later questions wait."""
    await asyncio.sleep(0.02)
    return await good(request, prompt)


def test_a_budget_stops_sending_and_keeps_what_was_paid(source, tmp_path):
    prices = tmp_path / "prices.toml"
    prices.write_text(PRICES)
    run = api.ask("handvqa", source, tmp_path / "run")
    with FaultServer(script=unhurried) as server:
        spec = f"server:m?base_url={server.base_url}&concurrency=4"
        with pytest.raises(HandbenchError, match=r"budget of 200 is spent \(\d+\); \d+ questions are left"):
            api.answer(run, spec, budget=200, prices=prices)  # 10 tokens each: 20 answers
        kept = run.folder.log(f"server:m?base_url={server.base_url}").read_bytes().count(b"\n")
        assert kept == sent(server)  # every reply that was paid for is there
        assert 20 <= kept < 300
        with pytest.raises(HandbenchError, match="--budget needs the price of"):
            api.answer(run, spec.replace("server:m", "server:n"), budget=200, prices=prices)
        assert len(run.manifest["models"]) == 1
        made = cli("answer", run.folder.root, "-m", spec, "--budget", 1e4, "--prices", prices)
    assert made.exit_code == 0
    assert sent(server) == 300
    assert json.loads(json.dumps(run.manifest["prices"])) == {
        f"server:m?base_url={server.base_url}": {"tokens_in": 1e6, "tokens_out": 1e6}
    }


def test_a_budget_without_tokens_is_refused(source, tmp_path):
    async def silent(request, prompt):
        return web.json_response({**completion("A"), "usage": None})

    (tmp_path / "prices.toml").write_text(PRICES)
    run = api.ask("handvqa", source, tmp_path / "run")
    with FaultServer(script=silent) as server, pytest.raises(HandbenchError, match="replies came without the tokens"):
        api.answer(run, f"server:m?base_url={server.base_url}", budget=5, prices=tmp_path / "prices.toml")


def test_errors_and_refusals_are_read_shown_and_asked_again(source, tmp_path):
    failing = True

    async def script(request, prompt):
        kind = int(reply_to(prompt)[3:], 16) % 4
        if failing and kind == 0:
            return error(400, "no such luck")
        if kind == 1:
            return web.json_response(completion("", finish_reason="content_filter"))
        return await good(request, prompt)

    (tmp_path / "prices.toml").write_text(PRICES)
    with FaultServer(script=script) as server:
        spec = f"server:m?base_url={server.base_url}&concurrency=4"
        run = api.run("handvqa", source, spec, tmp_path / "run", prices=tmp_path / "prices.toml")
        counted = dict(run.table("readings").group_by(pl.col("status").cast(pl.String)).len().iter_rows())
        assert min(counted["error"], counted["refused"], counted["ok"]) > 0
        assert sum(counted.values()) == counted["error"] + counted["refused"] + counted["ok"] == 300
        page = run.report.read_text()
        assert f"{counted['error']} errors<br>{counted['refused']} refused<br>" in page
        assert server.base_url in page
        assert "32x24" in page
        cost = run.table("answers").select(pl.col("tokens_in", "tokens_out").sum()).row(0)
        assert f"{sum(cost):,.2f}" in page
        api.answer(run, spec)
        assert sent(server) == 300  # errors stay as they are
        failing = False
        again = spec.replace("concurrency=4", "concurrency=2&tries=3")  # how it is reached makes no other row
        assert cli("answer", run.folder.root, "-m", again, "--retry-errors").exit_code == 0
    assert sent(server) == 300 + counted["error"]
    assert run.manifest["models"] == [again]
    api.score(run)
    assert set(run.table("readings")["status"].cast(pl.String)) == {"ok", "refused"}


def test_what_is_asked_otherwise_is_another_row(source, tmp_path):
    run = api.ask("handvqa?per_descriptor=1", source, tmp_path / "run")
    with FaultServer(script=good) as one, FaultServer(script=good) as other:
        specs = [
            f"server:m?base_url={one.base_url}",
            f"server:m?base_url={other.base_url}",
            f"server:m?base_url={one.base_url}&image_max_side=16",
            f"server:m?base_url={one.base_url}&system=user",
        ]
        api.answer(run, specs)
        api.score(run)
        assert run.scores["model"].n_unique() == 4
        assert sent(one) == 3 * sent(other)
        api.answer(run, specs[0] + "&name=x")
        with pytest.raises(HandbenchError, match="has the name 'x' already; give another with name="):
            api.answer(run, specs[1] + "&name=x")


class Weighted:
    """A model whose weights can be exchanged."""

    def __init__(self, name, weights):
        self.name = name
        self.weights = weights

    def facts(self):
        return {"identity": {"weights": self.weights}}

    def answer(self, questions):
        rows = questions.select("question_id", "variant").with_columns(
            reply=pl.lit("A"), finish=pl.lit("stop"), model=pl.lit(self.name), repeat=0, turn=0
        )
        yield rows.head(3)
        raise HandbenchError("broken off")


def test_other_weights_under_the_same_name_are_refused(source, tmp_path, monkeypatch):
    from handbench import protocols

    weights = ["w1"]
    monkeypatch.setitem(protocols.rooms._found, "models", dict(protocols.rooms._found["models"]))
    protocols.model("weighted")(lambda spec, options: Weighted(str(spec), weights[0]))
    run = api.ask("handvqa", source, tmp_path / "run")
    for _ in range(2):
        with pytest.raises(HandbenchError, match="broken off"):
            api.answer(run, "weighted")
    weights[0] = "w2"
    with pytest.raises(HandbenchError, match=r"weighted: its weights is not the one .*\(w2 now, w1 then\)"):
        api.answer(run, "weighted")


def test_batch_files_from_the_command_line(source, tmp_path):
    run = tmp_path / "run"
    api.ask("handvqa?per_descriptor=1", source, run)
    spec = "server:m?base_url=http://nowhere.invalid/v1"
    made = cli("export", "batch", run, "-m", spec, "-o", tmp_path / "out")
    assert re.match(r"60 requests for 60 questions in 1 files\n", made.stdout)
    lines = [json.loads(line) for line in (tmp_path / "out" / "batch-00001.jsonl").read_text().splitlines()]
    replies = [
        {
            "custom_id": line["custom_id"],
            "response": {"status_code": 200, "body": completion(reply_to(prompt_of(line["body"])))},
        }
        for line in lines
    ]
    (tmp_path / "back.jsonl").write_text("".join(json.dumps(line) + "\n" for line in replies))
    read = cli("import", "batch", run, tmp_path / "back.jsonl", "-m", spec, "--batch", tmp_path / "out")
    assert "60 answers, 0 errors; 0 were answered before, for 0 nothing came back" in read.stdout
    assert RunFolder(run).manifest()["models"] == [spec]
    api.score(run)
    with pytest.raises(HandbenchError, match="a strategy asks turn by turn"):
        cli("export", "batch", run, "-m", f"{spec} + sv-cot", "-o", tmp_path / "other")
