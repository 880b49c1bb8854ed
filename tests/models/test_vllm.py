"""The offline engine, through a stand-in for the part of vLLM's interface that is used."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import polars as pl
import pytest

from handbench.errors import HandbenchError
from handbench.runs.parts import make_model
from tests.models.chat_questions import draw, question_table
from tests.models.fault_server import prompt_of, reply_to


class LLM:
    def __init__(self, **how):
        self.how = how
        self.calls = []

    def chat(self, messages, sampling_params, use_tqdm):
        self.calls.append(messages)
        return [self.reply(conversation, sampling_params) for conversation in messages]

    def reply(self, conversation, sampling):
        text = reply_to(prompt_of({"messages": conversation}))
        likely = {
            1: SimpleNamespace(decoded_token="A", logprob=-2.0),
            2: SimpleNamespace(decoded_token=" B", logprob=-1.0),
        }
        logprobs = [likely] if getattr(sampling, "logprobs", 0) else None
        said = SimpleNamespace(text=text, finish_reason="stop", token_ids=[1, 2, 3], logprobs=logprobs)
        return SimpleNamespace(outputs=[said], prompt_token_ids=[0] * 9)


@pytest.fixture
def engine(monkeypatch):
    package = ModuleType("vllm")
    package.__version__ = "0.0"
    package.LLM = LLM
    package.SamplingParams = SimpleNamespace
    monkeypatch.setitem(sys.modules, "vllm", package)


def test_same_rows_as_any_model(engine, tmp_path):
    data = draw(tmp_path / "a.jpg")
    model = make_model("vllm:some/model?max_tokens=7")
    model.images_at(tmp_path)
    rows = pl.concat(list(model.answer(question_table(3, [["a.jpg"], ["a.jpg"], []])))).sort("question_id")
    assert rows["reply"].to_list() == [reply_to(f"question {number}") for number in range(3)]
    assert rows["sent_sizes"].to_list() == [[[40, 30]], [[40, 30]], None]
    assert rows["tokens_in"].to_list() == [9] * 3
    assert rows["tokens_out"].to_list() == [3] * 3
    assert model.engine.how["enable_prefix_caching"] is True
    assert (model.sampling.max_tokens, model.sampling.temperature) == (7, 0.0)
    system, user = model.engine.calls[0][0]
    assert (system["role"], system["content"]) == ("system", "Be brief.")
    import base64

    assert base64.b64decode(user["content"][0]["image_url"]["url"].partition(",")[2]) == data


def test_options_and_batches(engine, monkeypatch):
    monkeypatch.setattr("handbench.models.vllm._BATCH", 4)
    model = make_model("vllm:some/model?mode=options")
    rows = pl.concat(list(model.answer(question_table(10))))
    assert [len(call) for call in model.engine.calls] == [4, 4, 2]
    assert rows["reply"].unique().to_list() == ["B. the other"]
    assert rows["option_logprobs"][0].to_list() == [-2.0, -1.0]
    monkeypatch.setattr(LLM, "reply", lambda self, chat, _: reply_without(chat))
    with pytest.raises(HandbenchError, match="sent none"):
        list(model.answer(question_table(1)))


def reply_without(chat):
    said = SimpleNamespace(text="A", finish_reason="length", token_ids=[1], logprobs=None)
    return SimpleNamespace(outputs=[said], prompt_token_ids=[0])


def test_a_damaged_image_costs_its_own_question(engine, tmp_path):
    draw(tmp_path / "a.jpg")
    (tmp_path / "b.jpg").write_text("x")
    model = make_model("vllm:some/model")
    model.images_at(tmp_path)
    rows = pl.concat(list(model.answer(question_table(2, [["a.jpg"], ["b.jpg"]])))).sort("question_id")
    assert rows["error"].is_null().to_list() == [True, False]


def test_without_the_package_one_line_tells(monkeypatch):
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(HandbenchError, match=r"handbench\[vllm\]"):
        make_model("vllm:some/model")
    with pytest.raises(HandbenchError, match="unknown option colour"):
        make_model("vllm:some/model?colour=red")
