"""SV-CoT asked of a local vision-language model: through processor, generation and decoding, turn by turn."""

from __future__ import annotations

import json
import os

import polars as pl
import pytest

from handbench import api
from tests import tiny_models

torch = pytest.importorskip("torch", reason="torch is not installed: local models are not tried")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]

SAID = (
    '{"direction": [0.0, -1.0], "candidates": [{"name": "everything", "bbox_2d": [0, 0, 1000, 1000]}], "scores": [0.9]}'
)
"""Holds what each turn is looked through for: a way up the image, one box that any ray meets, one score."""


@pytest.fixture(scope="module")
def scripted(tmp_path_factory):
    """A model that says one sentence whatever it is shown: a token of its own, after which the end is likeliest."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    transformers.logging.set_verbosity_error()
    told = tiny_models.tokenizer(["<image>"])
    state = json.loads(told.backend_tokenizer.to_str())
    state["model"]["vocab"][SAID.replace(" ", "Ġ")] = len(told)
    words = tiny_models.tokenizer(["<image>"])
    words._tokenizer = type(words.backend_tokenizer).from_str(json.dumps(state))
    folder = tiny_models.save("llava", tmp_path_factory.mktemp("scripted"), words=words)
    model = transformers.LlavaForConditionalGeneration.from_pretrained(folder)
    text, sentence, start = model.model.language_model, len(words) - 1, words.convert_tokens_to_ids("<|assistant|>")
    with torch.no_grad():
        for layer in text.layers:  # nothing is passed on from other places: the last token alone decides
            layer.self_attn.o_proj.weight.zero_()
            layer.mlp.down_proj.weight.zero_()
        model.lm_head.weight.zero_()
        for place, (last, following) in enumerate(((start, sentence), (sentence, words.eos_token_id))):
            text.embed_tokens.weight[last] = torch.eye(text.embed_tokens.weight.shape[1])[place]
            model.lm_head.weight[following, place] = 1.0
    model.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def garbled(tmp_path_factory):
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    transformers.logging.set_verbosity_error()
    return tiny_models.save("llava", tmp_path_factory.mktemp("garbled"))


def asked(folder, out, tokens):
    run = api.ask("pointing/edg?family=qwen3-vl", "synth:scenes?n=2&seed=5&width=96&supersample=1", out, workers=1)
    name = f"hf:{folder}?dtype=float32&device=cpu&max_tokens={tokens}"
    api.score(api.answer(run, name, strategy="sv-cot?turns=3", workers=1))
    api.report(run, workers=1)
    return run


def test_a_model_that_keeps_to_the_form_gets_all_three_turns(scripted, tmp_path):
    run = asked(scripted, tmp_path / "run", 8)
    questions, answers, readings = (run.table(name) for name in ("questions", "answers", "readings"))
    turns = answers.group_by("question_id").agg(pl.col("turn").sort())
    assert turns.height == questions.height
    assert set(map(tuple, turns["turn"].to_list())) == {(0, 1, 2)}
    assert set(answers["reply"]) == {SAID}
    assert set(answers["finish"].cast(pl.String)) == {"stop"}
    assert set(readings["status"].cast(pl.String)) == {"ok"}
    assert readings["confidence"].to_list() == pytest.approx([0.9] * readings.height)
    sizes = dict(questions.select("question_id", "image_size").iter_rows())
    for name, box in readings.select("question_id", "box").iter_rows():
        assert list(box) == pytest.approx([0, 0, *sizes[name]])
    page = run.report.read_text(encoding="utf-8")
    assert "everything</b> (chosen)" in page


def test_garbage_in_the_first_turn_ends_the_question_and_is_kept(garbled, tmp_path):
    run = asked(garbled, tmp_path / "run", 48)
    questions, answers, readings = (run.table(name) for name in ("questions", "answers", "readings"))
    assert answers.height == readings.height == questions.height
    assert set(answers["turn"]) == {0}
    assert answers["reply"].str.len_chars().min() > 0
    assert set(readings["status"].cast(pl.String)) <= {"unparsed", "truncated"}
    assert readings["box"].null_count() == readings.height
    again = api.answer(run, answers["model"].cast(pl.String)[0], workers=1)
    assert again.table("answers").equals(answers)
