"""What a server is sent, and what is made of what it says."""

from __future__ import annotations

import asyncio
import base64
import json
import signal
import threading
import time
from dataclasses import replace

import polars as pl
import pytest
from aiohttp import web
from PIL import Image

from handbench.errors import HandbenchError
from handbench.runs.parts import make_model
from tests.models.chat_questions import draw, question_table
from tests.models.fault_server import FaultServer, completion, error, prompt_of, reply_to


async def good(request, prompt):
    return web.json_response(completion(reply_to(prompt)))


def saying(status, message):
    async def script(request, prompt):
        return error(status, message)

    return script


def make(server, options="", root=None):
    model = make_model(f"server:m?base_url={server.base_url}{options}")
    model.pace = replace(model.pace, first_wait=0.01, longest_wait=0.05, timeout=10.0)
    if root is not None:
        model.images_at(root)
    return model


def answers_of(model, questions):
    return pl.concat(list(model.answer(questions))).sort("question_id")


def test_image_bytes_come_first_and_unchanged(tmp_path):
    data = {name: draw(tmp_path / name, kind=kind) for name, kind in (("a.jpg", "JPEG"), ("b.png", "PNG"))}
    with FaultServer(script=good) as server:
        rows = answers_of(make(server, root=tmp_path), question_table(1, images=[["a.jpg", "b.png"]]))
    (body,) = server.bodies
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    first, second, text = body["messages"][1]["content"]
    assert text == {"type": "text", "text": "question 0"}
    for part, name, mime in ((first, "a.jpg", "image/jpeg"), (second, "b.png", "image/png")):
        head, _, tail = part["image_url"]["url"].partition(";base64,")
        assert head == f"data:{mime}"
        assert base64.b64decode(tail) == data[name]
    assert rows["sent_sizes"].to_list() == [[[40, 30], [40, 30]]]
    assert (rows["tokens_in"].item(), rows["tokens_out"].item()) == (7, 3)
    assert (body["temperature"], body["max_tokens"], body["model"]) == (0, 128, "m")


def test_a_declared_resize_is_recorded(tmp_path):
    draw(tmp_path / "wide.jpg", (100, 50))
    draw(tmp_path / "small.jpg", (20, 10))
    questions = question_table(2, images=[["wide.jpg"], ["small.jpg"]])
    with FaultServer(script=good) as server:
        rows = answers_of(make(server, "&image_max_side=40", tmp_path), questions)
    assert rows["sent_sizes"].to_list() == [[[40, 20]], [[20, 10]]]
    sizes = set()
    for body in server.bodies:
        data = base64.b64decode(body["messages"][1]["content"][0]["image_url"]["url"].partition(",")[2])
        (tmp_path / "sent").write_bytes(data)
        with Image.open(tmp_path / "sent") as image:
            sizes.add(image.size)
    assert sizes == {(40, 20), (20, 10)}


def test_equal_requests_are_sent_once(tmp_path):
    for name in ("a.jpg", "same.jpg"):
        draw(tmp_path / name)
    draw(tmp_path / "other.jpg", colour=(1, 2, 3))
    images = [["a.jpg"], ["same.jpg"], ["a.jpg"], ["other.jpg"], [], []]
    questions = question_table(6, images=images, prompts=["p"] * 6)
    with FaultServer(script=good) as server:
        rows = answers_of(make(server, root=tmp_path), questions)
    assert len(server.bodies) == 3  # one image under two paths, another image, none
    assert rows["question_id"].to_list() == questions["question_id"].to_list()
    assert rows["reply"].to_list() == [reply_to("p")] * 6


def test_extra_fields_seed_and_system_text_without_a_role():
    with FaultServer(script=good) as server:
        options = "&extra=%7B%22top_k%22:1%7D&seed=5&system=user&limit_name=max_completion_tokens&max_tokens=9"
        answers_of(make(server, options), question_table(1))
    (body,) = server.bodies
    assert body == {
        "model": "m",
        "temperature": 0.0,
        "max_completion_tokens": 9,
        "seed": 5,
        "top_k": 1,
        "messages": [{"role": "user", "content": "Be brief.\n\nquestion 0"}],
    }


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_wrong_key_or_model_stops_with_the_servers_words(status):
    with FaultServer(script=saying(status, "no such thing as model m")) as server:
        with pytest.raises(HandbenchError, match=f"HTTP {status}.*no such thing as model m"):
            list(make(server).answer(question_table(100)))
        assert sum(server.asked.values()) < 20


def test_one_wrong_question_is_no_reason_to_stop():
    async def script(request, prompt):
        return error(400, "too long") if prompt == "question 3" else await good(request, prompt)

    with FaultServer(script=script) as server:
        rows = answers_of(make(server), question_table(40))
    failed = rows.filter(pl.col("reply").is_null())
    assert failed["question_id"].to_list() == ["t/000003"]
    assert failed["error"].item() == "fatal (HTTP 400): too long"
    assert failed["finish"].cast(pl.String).item() == "error"


def test_what_came_before_a_stop_is_kept():
    async def script(request, prompt):
        number = int(prompt.split()[1])
        return await good(request, prompt) if number < 50 else error(401, "the key has expired")

    got = []
    with FaultServer(script=script) as server, pytest.raises(HandbenchError, match="the key has expired"):
        got.extend(make(server, "&concurrency=1").answer(question_table(100)))
    rows = pl.concat(got)
    assert sorted(rows["question_id"].to_list()) == [f"t/{number:06d}" for number in range(50)]
    assert rows["error"].null_count() == 50


def test_the_key_is_sent_and_never_shown(monkeypatch, tmp_path):
    monkeypatch.setenv("TOY_KEY", "sk-secret-1234")

    async def script(request, prompt):
        return error(401, f"wrong key {request.headers['Authorization']}")

    with FaultServer(script=script) as server:
        model = make(server, "&key_env=TOY_KEY")
        with pytest.raises(HandbenchError) as caught:
            list(model.answer(question_table(9)))
    assert server.headers[0]["Authorization"] == "Bearer sk-secret-1234"
    assert "Bearer ***" in str(caught.value)
    for text in (str(caught.value), repr(model), json.dumps(model.facts()), model.name):
        assert "secret" not in text


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("server:m", "base_url is missing"),
        ("server?base_url=http://h/v1", "name the model"),
        ("server:m?base_url=h:8000", "expected http"),
        ("server:m?base_url=http://u:p@h/v1", "key_env=NAME"),
        ("server:m?base_url=http://h/v1&key=sk-1", "no key on the command line"),
        ("server:m?base_url=http://h/v1&key_env=NOT_SET_ANYWHERE", "holds no key"),
        ("server:m?base_url=http://h/v1&key_file=/nowhere/key", "cannot be read"),
        ("server:m?base_url=http://h/v1&extra=[1]", "JSON object"),
        ("server:m?base_url=http://h/v1&timeout=0", "timeout"),
        ("server:m?base_url=http://h/v1&colour=red", "unknown option colour"),
    ],
)
def test_wrong_options_are_refused(spec, words):
    with pytest.raises(HandbenchError, match=words) as caught:
        make_model(spec)
    assert "sk-1" not in str(caught.value)


def test_damaged_and_missing_images_are_answers_of_their_own(tmp_path):
    whole = draw(tmp_path / "good.jpg", (64, 64))
    (tmp_path / "cut.jpg").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "text.jpg").write_text("hello")
    Image.new("RGB", (4, 4)).save(tmp_path / "old.bmp")
    images = [["good.jpg"], ["cut.jpg"], ["text.jpg"], ["absent.jpg"], ["old.bmp"]]
    with FaultServer(script=good) as server:
        rows = answers_of(make(server, root=tmp_path), question_table(5, images=images))
    assert len(server.bodies) == 1
    errors = rows["error"].to_list()
    assert errors[0] is None
    for words, text in zip(("not a readable image", "not a readable", "is missing", "BMP"), errors[1:], strict=True):
        assert words in text


def test_a_dataset_that_was_moved_stops_the_run(tmp_path):
    images = [[f"{number}.jpg"] for number in range(30)]
    with FaultServer(script=good) as server, pytest.raises(HandbenchError, match="folder moved"):
        list(make(server, root=tmp_path).answer(question_table(30, images=images)))


def test_many_questions_about_one_damaged_image_do_not_stop_the_run(tmp_path):
    (tmp_path / "bad.jpg").write_text("x")
    draw(tmp_path / "good.jpg")
    images = [["bad.jpg"]] * 25 + [["good.jpg"]] * 2
    with FaultServer(script=good) as server:
        rows = answers_of(make(server, root=tmp_path), question_table(27, images=images))
    assert rows["error"].null_count() == 2


def test_retry_after_is_waited_for():
    times = []

    async def script(request, prompt):
        times.append(time.monotonic())
        if len(times) == 1:
            return error(429, "slow down", {"Retry-After": "1"})
        return await good(request, prompt)

    with FaultServer(script=script) as server:
        answers_of(make(server, "&concurrency=1"), question_table(3))
    assert min(times[1:]) - times[0] >= 1.0


def test_questions_of_an_image_go_to_one_server(tmp_path):
    images = [[f"{number // 5}.png"] for number in range(100)]
    for number in range(20):
        draw(tmp_path / f"{number}.png", colour=(number, 0, 0), kind="PNG")
    questions = question_table(100, images=images)
    with FaultServer(script=good) as first, FaultServer(script=good) as second:
        model = make_model(f"server:m?base_url={first.base_url},{second.base_url}")
        model.images_at(tmp_path)
        rows = answers_of(model, questions)
    assert rows.height == 100
    seen = [
        {body["messages"][1]["content"][0]["image_url"]["url"] for body in server.bodies} for server in (first, second)
    ]
    assert seen[0]
    assert seen[1]
    assert not seen[0] & seen[1]


def test_a_server_that_is_down_is_told_before_long():
    with FaultServer(script=good) as gone:
        address = gone.base_url
    model = make_model(f"server:m?base_url={address}")
    model.pace = replace(model.pace, first_wait=0.01)
    with pytest.raises(HandbenchError, match=f"stopped after 5 failures alike: away: no connection to {address}"):
        list(model.answer(question_table(100)))
    assert model.counts["sent"] <= 40


def test_a_server_that_goes_down_and_comes_back_costs_nothing():
    down = threading.Event()

    async def script(request, prompt):
        if prompt == "question 20":
            down.set()
        return await good(request, prompt)

    with FaultServer(script=script) as server:
        port = server.port
        model = make(server, "&concurrency=2")
        frames = model.answer(question_table(60))
        got = [next(frames)]
        down.wait(5)
    with FaultServer(script=good, port=port):
        got += list(frames)
    rows = pl.concat(got)
    assert rows["question_id"].n_unique() == rows.height == 60
    assert rows["error"].null_count() == 60


def test_the_wall_clock_may_jump(monkeypatch):
    real, jumps = time.time, iter(range(10**9))

    def clock():
        return real() + (next(jumps) % 5 - 2) * 1e6

    calls = 0

    async def script(request, prompt):
        nonlocal calls
        calls += 1
        return error(503, "busy", {"Retry-After": "0.01"}) if calls % 7 == 0 else await good(request, prompt)

    with FaultServer(script=script) as server:
        model = make(server)
        monkeypatch.setattr(time, "time", clock)
        rows = answers_of(model, question_table(100))
        monkeypatch.undo()
    assert rows["error"].null_count() == 100
    assert rows["seconds"].is_between(0, 10).all()


def test_another_server_takes_over():
    with FaultServer(script=good) as gone:
        address = gone.base_url
    with FaultServer(script=good) as server:
        model = make_model(f"server:m?base_url={address},{server.base_url}")
        model.pace = replace(model.pace, first_wait=0.01)
        rows = answers_of(model, question_table(20))
    assert rows["error"].null_count() == 20


def _options_reply(letters):
    top = [{"token": token, "logprob": value} for token, value in letters]
    return completion("A", logprobs={"content": [{"token": "A", "logprob": -0.1, "top_logprobs": top}]})


def test_option_likelihoods():
    async def script(request, prompt):
        return web.json_response(_options_reply([("A", -2.0), (" B", -1.0), ("B.", -3.0), ("The", -0.1)]))

    with FaultServer(script=script) as server:
        rows = answers_of(make(server, "&mode=options"), question_table(1))
    assert server.bodies[0]["logprobs"] is True
    assert (server.bodies[0]["max_tokens"], server.bodies[0]["top_logprobs"]) == (1, 20)
    a, b = rows["option_logprobs"].item()
    assert a == pytest.approx(-2.0)
    assert b == pytest.approx(-0.873072)  # log(exp(-1) + exp(-3))
    assert rows["reply"].item() == "B. the other"


def test_a_server_that_ignores_logprobs_is_told():
    with FaultServer(script=good) as server, pytest.raises(HandbenchError, match="without them, though asked"):
        list(make(server, "&mode=options").answer(question_table(5)))


def test_a_refusal_is_an_answer():
    async def script(request, prompt):
        if prompt.endswith("0"):
            return error(400, "filtered", code="content_filter")
        if prompt.endswith("1"):
            return web.json_response(completion("", finish_reason="content_filter"))
        reply = completion("")
        reply["choices"][0]["message"] = {"role": "assistant", "content": None, "refusal": "I can't help."}
        return web.json_response(reply)

    with FaultServer(script=script) as server:
        rows = answers_of(make(server), question_table(3))
    assert rows["finish"].cast(pl.String).to_list() == ["content_filter"] * 3
    assert rows["reply"].to_list() == ["", "", "I can't help."]


def test_concurrency_grows_and_ends_at_its_bound():
    async def script(request, prompt):
        await asyncio.sleep(0.01)
        return await good(request, prompt)

    with FaultServer(script=script) as server:
        answers_of(make(server, "&concurrency=24"), question_table(400))
    assert 8 < server.most_under_way <= 24


def test_an_interrupt_ends_in_order():
    count = 0

    async def script(request, prompt):
        nonlocal count
        count += 1
        if count == 200:
            signal.raise_signal(signal.SIGINT)
        await asyncio.sleep(0.002)
        return await good(request, prompt)

    got = []
    with FaultServer(script=script) as server, pytest.raises(KeyboardInterrupt):
        got.extend(make(server, "&concurrency=8").answer(question_table(5000)))
    assert sum(frame.height for frame in got) >= 190
    assert sum(server.asked.values()) < 2000
    assert not [thread for thread in threading.enumerate() if thread.name == "handbench-sender"]


def test_a_surrogate_in_a_reply_can_be_stored():
    async def script(request, prompt):
        text = json.dumps(completion("X")).replace("X", "\\ud83d broken \\u0000")
        return web.Response(text=text, content_type="application/json")

    with FaultServer(script=script) as server:
        rows = answers_of(make(server), question_table(1))
    assert rows["reply"].item() == "? broken \0"


def test_prompts_are_found_where_they_are_sent():
    assert prompt_of({"messages": [{"content": "s"}, {"content": [{"type": "image_url"}, {"text": "p"}]}]}) == "p"
