from __future__ import annotations

import json

import polars as pl
import pytest

from handbench import api
from handbench.errors import HandbenchError
from handbench.exchange import batch
from handbench.protocols import ReadContext
from handbench.runs.answering import answers_of
from tests.handvqa.conftest import random_hands, write_source
from tests.models.fault_server import completion, error, prompt_of, reply_to

SPEC = "server:m?base_url=http://nowhere.invalid/v1"


@pytest.fixture
def run(tmp_path):
    source = write_source(tmp_path / "source", random_hands(4))
    return api.ask("handvqa?per_descriptor=2", source, tmp_path / "run").folder


def lines_of(files):
    return [json.loads(line) for path in files for line in path.read_text().splitlines()]


def result(line, body=None, status=200):
    body = body if body is not None else completion(reply_to(prompt_of(line["body"])))
    return {"custom_id": line["custom_id"], "response": {"status_code": status, "body": body}, "error": None}


def write(path, entries):
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return path


def test_there_and_back(run, tmp_path):
    questions = run.read("questions")
    made = batch.export_batch(run, SPEC, tmp_path / "batch", ReadContext())
    lines = lines_of(made.files)
    assert (made.questions, made.requests) == (questions.height, len(lines))
    assert {line["url"] for line in lines} == {"/v1/chat/completions"}
    assert all(line["method"] == "POST" and len(line["custom_id"]) == 64 for line in lines)
    assert len({line["custom_id"] for line in lines}) == len(lines)
    back = write(tmp_path / "results.jsonl", [result(line) for line in reversed(lines)])
    read = batch.import_batch(run, SPEC, tmp_path / "batch", [back])
    assert read == batch.Imported(questions.height, 0, 0, 0)
    answers = answers_of(run, SPEC, questions)
    expected = [reply_to(prompt) for prompt in questions["prompt"].cast(pl.String)]
    assert answers["reply"].to_list() == expected
    again = batch.import_batch(run, SPEC, tmp_path / "batch", [back])
    assert again == batch.Imported(0, 0, questions.height, 0)


def test_the_body_is_what_a_server_would_get(run, tmp_path):
    from handbench.runs.parts import make_model
    from tests.models.fault_server import FaultServer

    async def script(request, prompt):
        from aiohttp import web

        return web.json_response(completion(reply_to(prompt)))

    made = batch.export_batch(run, SPEC, tmp_path / "batch", ReadContext())
    with FaultServer(script=script) as server:
        model = make_model(f"server:m?base_url={server.base_url}")
        model.images_at(tmp_path / "source")
        list(model.answer(run.read("questions")))
    sent = sorted(json.dumps(body, sort_keys=True) for body in server.bodies)
    assert sent == sorted(json.dumps(line["body"], sort_keys=True) for line in lines_of(made.files))


def test_errors_filters_and_missing_results(run, tmp_path):
    made = batch.export_batch(run, SPEC, tmp_path / "batch", ReadContext())
    lines = lines_of(made.files)
    entries = [result(line) for line in lines[4:]]
    entries.append(result(lines[0], {"error": {"message": "too long"}}, 400))
    entries.append(result(lines[1], {"error": {"message": "no", "code": "content_filter"}}, 400))
    entries.append({"custom_id": lines[2]["custom_id"], "response": None, "error": {"message": "batch expired"}})
    back = write(tmp_path / "results.jsonl", entries)
    read = batch.import_batch(run, SPEC, tmp_path / "batch", [back])
    assert (read.errors, read.missing, read.answered) == (2, 1, len(lines) - 3)
    answers = answers_of(run, SPEC, run.read("questions"))
    ended = answers["finish"].cast(pl.String).value_counts().sort("finish").rows()
    assert ended == [("content_filter", 1), ("error", 2), ("stop", len(lines) - 4)]
    assert sorted(answers["error"].drop_nulls()) == [
        "fatal (HTTP 400): no", "fatal (HTTP 400): too long", "fatal: batch expired"
    ]  # fmt: skip
    rest = batch.export_batch(run, SPEC, tmp_path / "rest", ReadContext())
    wanted = {lines[place]["custom_id"] for place in (0, 2, 3)}
    assert {line["custom_id"] for line in lines_of(rest.files)} == wanted


def test_files_stay_within_their_bounds(run, tmp_path, monkeypatch):
    monkeypatch.setattr(batch, "MOST_LINES", 7)
    made = batch.export_batch(run, SPEC, tmp_path / "batch", ReadContext())
    counts = [len(path.read_text().splitlines()) for path in made.files]
    assert max(counts) == 7
    assert sum(counts) == made.requests


def test_a_damaged_image_is_left_out_and_named(run, tmp_path):
    (image, *_) = (tmp_path / "source").glob("*.jpg")
    image.write_text("no image")
    made = batch.export_batch(run, SPEC, tmp_path / "batch", ReadContext())
    assert len(made.left_out) == 1
    assert sum(made.left_out.values()) + made.questions == run.read("questions").height
    assert image.name in next(iter(made.left_out))


def test_wrong_files_are_refused(run, tmp_path):
    made = batch.export_batch(run, SPEC, tmp_path / "batch", ReadContext())
    line = lines_of(made.files)[0]

    def refused(entries, words, spec=SPEC, folder=tmp_path / "batch"):
        path = tmp_path / "bad.jsonl"
        path.write_text(entries)
        with pytest.raises(HandbenchError, match=words):
            batch.import_batch(run, spec, folder, [path])

    good = json.dumps(result(line))
    refused(good + "\n" + good, "line 2: custom_id .* second time")
    refused(good + "\n{", "line 2: expected a batch result")
    refused('{"custom_id": "else"}', "line 1: custom_id 'else' is not of this batch")
    refused(good, "exported for server:m", SPEC + "&max_tokens=5")
    refused(good, "no batch of ours", folder=tmp_path)
    refused(good, "batch files are for server", "chance")
    with pytest.raises(HandbenchError, match="earlier export"):
        batch.export_batch(run, SPEC, tmp_path / "batch", ReadContext())
    assert error(400, "x").status == 400
