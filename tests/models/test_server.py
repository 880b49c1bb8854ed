from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import polars as pl
import pytest

from handbench import api
from handbench.errors import HandbenchError
from handbench.runs.parts import make_model
from tests.handvqa.conftest import random_hands, write_source


class Handler(BaseHTTPRequestHandler):
    """Answers with the first option's letter; every fifth request is first turned away with 503."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:  # type: ignore[attr-defined]
            self.server.seen.append((self.headers.get("Authorization"), body))  # type: ignore[attr-defined]
            turned_away = len(self.server.seen) % 5 == 0  # type: ignore[attr-defined]
        if turned_away:
            self._send(503, {"error": {"message": "busy"}})
            return
        choice = {"message": {"role": "assistant", "content": "A"}, "finish_reason": "stop", "index": 0}
        self._send(200, {"choices": [choice], "usage": {"prompt_tokens": 10, "completion_tokens": 1}})

    def _send(self, status: int, content: object) -> None:
        data = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def chat() -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.lock, server.seen = threading.Lock(), []  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def test_every_question_is_answered_once_with_its_image(chat, tmp_path, monkeypatch):
    monkeypatch.setenv("CHAT_KEY", "sesame")
    source = write_source(tmp_path / "source", random_hands(6))
    run = api.ask("handvqa?per_descriptor=1", source, tmp_path / "run")
    url = f"http://127.0.0.1:{chat.server_port}/v1"
    api.answer(run, f"server:toy?base_url={url}&key_env=CHAT_KEY&name=toy&concurrency=4")
    api.score(run)
    answers = run.table("answers")
    assert answers.height == run.table("questions").height
    assert answers["reply"].to_list() == ["A"] * answers.height
    assert (run.table("readings")["choice"] == 0).all()
    keys = {key for key, _ in chat.seen}
    assert keys == {"Bearer sesame"}
    body = chat.seen[0][1]
    assert body["model"] == "toy"
    parts = body["messages"][-1]["content"]
    images = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    sent = base64.b64decode(images[0].partition("base64,")[2])
    assert sent in {path.read_bytes() for path in (tmp_path / "source").glob("*.jpg")}
    assert "sesame" not in "".join(path.read_text(errors="ignore") for path in (tmp_path / "run").rglob("*.*l"))


def test_an_error_is_no_reply_and_is_asked_again_on_demand(chat, tmp_path):
    source = write_source(tmp_path / "source", random_hands(2))
    run = api.ask("handvqa?per_descriptor=1", source, tmp_path / "run")
    url = f"http://127.0.0.1:{chat.server_port}/v1"
    name = f"server:toy?base_url={url}&tries=1&name=toy"
    replies = []
    for _ in range(6):  # every fifth request is turned away, and with one try that is an error
        api.answer(run, name, retry_errors=True)
        api.score(run)
        answers = run.table("answers")
        assert answers.height == run.table("questions").height
        failed = answers["finish"].cast(pl.String) == "error"
        assert answers.filter(failed)["reply"].null_count() == failed.sum()
        replies.append(answers.height - failed.sum())
    assert replies[0] < answers.height
    assert replies[-1] == answers.height


@pytest.mark.parametrize("option", ["key", "api_key"])
def test_a_key_in_a_name_is_refused_and_written_nowhere(tmp_path, option):
    run = api.ask("handvqa?per_descriptor=1", write_source(tmp_path / "source", random_hands(1)), tmp_path / "run")
    with pytest.raises(HandbenchError, match="use key_env or key_file") as caught:
        api.answer(run, f"server:toy?base_url=http://127.0.0.1:9/v1&{option}=sesame")
    assert "sesame" not in str(caught.value)
    assert all(b"sesame" not in path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file())


def test_a_name_without_an_address_is_one_line():
    with pytest.raises(HandbenchError, match="base_url is missing") as caught:
        make_model("server:toy")
    assert "\n" not in str(caught.value)
