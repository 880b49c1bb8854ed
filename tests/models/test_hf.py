"""Local models, tried on small ones with random weights."""

from __future__ import annotations

import json
import os
import warnings

import numpy as np
import polars as pl
import pytest
from PIL import Image

from handbench.errors import HandbenchError
from tests import tiny_models
from tests.models.chat_questions import question_table

torch = pytest.importorskip("torch", reason="torch is not installed: local models are not tried")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module", params=sorted(tiny_models.MAKERS))
def folder(request, tmp_path_factory):
    return tiny(request.param, tmp_path_factory)


@pytest.fixture(scope="module")
def llava(tmp_path_factory):
    return tiny("llava", tmp_path_factory)


def tiny(name, tmp_path_factory, seed=0):
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    transformers.logging.set_verbosity_error()
    there = tiny_models.torchvision_shim()
    if name in tiny_models.NEED_TORCHVISION and not there:
        pytest.skip(f"torchvision is not installed: {name} cannot be built")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tiny_models.save(name, tmp_path_factory.mktemp(name), seed)


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    root = tmp_path_factory.mktemp("images")
    draw = np.random.default_rng(0)
    for number in range(4):
        Image.fromarray(draw.integers(0, 255, (40, 48 + number, 3), dtype=np.uint8)).save(root / f"{number}.png")
    return root


def load(folder, images, options=""):
    from handbench.runs.parts import make_model

    model = make_model(f"hf:{folder}?dtype=float32&device=cpu{options}")
    model.images_at(images)
    return model


def table(images=3, each=4):
    shown = [[f"{number}.png"] for number in range(images) for _ in range(each)]
    prompts = [f"Is it so? {'Look well. ' * (number % 3)}{number % each}" for number in range(images * each)]
    return question_table(images * each, shown, prompts)


def answers_of(model, questions):
    return pl.concat(list(model.answer(questions))).sort("question_id")


def one_by_one(model, questions, images):
    """First-token log-likelihoods through nothing but the processor and the model, one prompt at a time."""
    processor, network = model.loaded.processor, model.loaded.model
    rows = []
    for name, system, prompt in questions.select(
        pl.col("images").list.first(), pl.col("system", "prompt").cast(pl.String)
    ).iter_rows():
        chat = [
            {"role": "system", "content": [{"type": "text", "text": system}]},
            {"role": "user", "content": [{"type": "image", "image": Image.open(images / name)},
                                         {"type": "text", "text": prompt}]},
        ]  # fmt: skip
        inputs = processor.apply_chat_template(
            chat, add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt"
        )
        with torch.inference_mode():
            rows.append(network(**inputs).logits[0, -1].log_softmax(-1))
    return torch.stack(rows)


def test_replies_of_a_batch_are_those_of_single_prompts(folder, images):
    questions = table()
    model = load(folder, images, "&max_tokens=5&batch=5")
    rows = answers_of(model, questions)
    assert rows["question_id"].to_list() == questions["question_id"].to_list()
    first = one_by_one(model, questions, images).argmax(-1).tolist()
    end = model.loaded.end_tokens
    decode = model.loaded.tokenizer.decode
    for token, reply in zip(first, rows["reply"].to_list(), strict=True):
        if token not in end:
            start = decode([token], skip_special_tokens=True)
            assert reply.startswith(start.rstrip("�"))
    single = answers_of(load(folder, images, "&max_tokens=5&batch=1"), questions)
    assert rows["reply"].to_list() == single["reply"].to_list()
    assert rows["tokens_in"].to_list() == single["tokens_in"].to_list()
    assert (rows["tokens_out"] <= 5).all()
    assert set(rows["finish"].cast(pl.String)) <= {"stop", "length"}


def test_options_are_weighed_as_one_by_one_with_the_image_shared(folder, images):
    questions = table(each=6)
    model = load(folder, images, "&mode=options")
    rows = answers_of(model, questions)
    assert model.facts()["sharing"] == "on"
    reference = one_by_one(model, questions, images)
    tokens = model.loaded.tokenizer.convert_tokens_to_ids(["A", "B"])
    found = torch.tensor(rows["option_logprobs"].to_list())
    assert torch.allclose(found, reference[:, tokens], atol=2e-4)
    likely = reference[:, tokens].argmax(-1).tolist()
    assert rows["reply"].to_list() == [["A. the one", "B. the other"][place] for place in likely]
    assert found.std(0).min() > 1e-3  # the questions are told apart


def test_sentences_are_weighed_token_by_token(folder, images, monkeypatch):
    from handbench.models import _hf_options

    questions = table(images=2, each=3)
    model = load(folder, images, "&mode=options&weigh=sentences")
    rows = answers_of(model, questions)
    assert model.facts()["sharing"] == "on"
    processor, network = model.loaded.processor, model.loaded.model
    for row, (name, prompt) in enumerate(
        questions.select(pl.col("images").list.first(), pl.col("prompt").cast(pl.String)).rows()
    ):
        image = Image.open(images / name)
        chat = [
            {"role": "system", "content": [{"type": "text", "text": "Be brief."}]},
            {"role": "user", "content": [{"type": "image", "image": image}, {"type": "text", "text": prompt}]},
        ]
        text = processor.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
        for place, option in enumerate(("the one", "the other")):
            whole = processor(text=text + option, images=[image], return_tensors="pt", add_special_tokens=False)
            own = model.loaded.tokenizer(option, add_special_tokens=False)["input_ids"]
            with torch.inference_mode():
                values = network(**whole).logits[0].log_softmax(-1)
            assert whole["input_ids"][0, -len(own) :].tolist() == own
            expected = sum(float(values[at - len(own) - 1, token]) for at, token in enumerate(own))
            assert rows["option_logprobs"][row][place] == pytest.approx(expected, abs=1e-3)
    likely = [["A. the one", "B. the other"][int(b > a)] for a, b in rows["option_logprobs"]]
    assert rows["reply"].to_list() == likely
    monkeypatch.setattr(_hf_options.Weigher, "_shared_inputs", lambda *_: None)
    plain = answers_of(load(folder, images, "&mode=options&weigh=sentences"), questions)
    assert np.allclose(plain["option_logprobs"].to_list(), rows["option_logprobs"].to_list(), atol=1e-3)


def test_an_architecture_that_cannot_share_falls_back_and_says_so(llava, images, monkeypatch):
    from handbench.models import _hf_options

    questions = table()
    right = answers_of(load(llava, images, "&mode=options"), questions)
    whole = _hf_options.shared
    monkeypatch.setattr(_hf_options, "shared", lambda *given: whole(*given).roll(1, 0))
    model = load(llava, images, "&mode=options")
    rows = answers_of(model, questions)
    assert model.facts()["sharing"].startswith("off: log-likelihoods differ from the plain way's by")
    assert np.allclose(rows["option_logprobs"].to_list(), right["option_logprobs"].to_list(), atol=1e-4)


def test_sizes_and_visual_tokens_are_logged(folder, images):
    model = load(folder, images, "&mode=options")
    rows = answers_of(model, table(images=1))
    facts = model.facts()
    (size,) = facts["seen_sizes"]
    width, height = map(int, size.split("x"))
    assert rows["sent_sizes"].to_list() == [[[width, height]]] * 4
    (tokens,) = facts["visual_tokens"]
    name = facts["architecture"]
    known = {"Llava": ("32x32", 16), "Idefics3": ("32x32", 4), "Janus": ("32x32", 16), "Qwen2_5": ("48x32", 6)}
    assert (size, int(tokens)) == next(value for key, value in known.items() if name.startswith(key))


def test_memory_that_does_not_suffice_halves_the_batch(llava, images, monkeypatch):
    questions = table()
    right = answers_of(load(llava, images, "&max_tokens=3"), questions)
    model = load(llava, images, "&max_tokens=3&batch=8")
    generate = type(model.loaded.model).generate

    def narrow(self, **given):
        if len(given["input_ids"]) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return generate(self, **given)

    monkeypatch.setattr(type(model.loaded.model), "generate", narrow)
    rows = answers_of(model, questions)
    assert rows["reply"].to_list() == right["reply"].to_list()
    assert model.facts()["counts"]["out of memory"] > 0
    assert model.batch == 2


def test_a_damaged_image_costs_its_own_questions_only(llava, images, tmp_path):
    (tmp_path / "0.png").write_bytes((images / "0.png").read_bytes()[:300])
    (tmp_path / "1.png").write_bytes((images / "1.png").read_bytes())
    rows = answers_of(load(llava, tmp_path, "&max_tokens=2"), table(images=2))
    assert rows["error"].is_not_null().to_list() == [True] * 4 + [False] * 4
    assert "0.png: not a readable image" in rows["error"][0]


def test_several_images_and_none(llava, images):
    shown = [["0.png", "1.png"], [], ["2.png"]]
    rows = answers_of(load(llava, images, "&max_tokens=2&batch=1"), question_table(3, shown))
    assert rows["sent_sizes"].list.len().fill_null(0).to_list() == [2, 0, 1]
    swapped = answers_of(load(llava, images, "&mode=options"), question_table(1, [["1.png", "0.png"]]))
    straight = answers_of(load(llava, images, "&mode=options"), question_table(1, [["0.png", "1.png"]]))
    assert swapped["option_logprobs"].to_list() != straight["option_logprobs"].to_list()


@pytest.mark.parametrize("number", ["bfloat16", "float16"])
def test_half_precision(llava, images, number):
    from handbench.runs.parts import make_model

    model = make_model(f"hf:{llava}?dtype={number}&device=cpu&mode=options")
    model.images_at(images)
    rows = answers_of(model, table())
    exact = answers_of(load(llava, images, "&mode=options"), table())
    assert model.facts()["dtype"] == number
    assert np.allclose(rows["option_logprobs"].to_list(), exact["option_logprobs"].to_list(), atol=0.2)


def make_adapter(folder, place, trained=True):
    peft = pytest.importorskip("peft", reason="peft is not installed")
    network = transformers.AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.float32)
    config = peft.LoraConfig(r=2, target_modules=r".*language_model.*(q_proj|v_proj)")
    tuned = peft.get_peft_model(network, config)
    if trained:
        torch.manual_seed(1)
        for name, weight in tuned.named_parameters():
            if "lora_B" in name:
                weight.data.normal_(0, 0.5)
    tuned.save_pretrained(place)
    return place


def test_an_adapter_changes_the_answers(llava, images, tmp_path):
    adapter = make_adapter(llava, tmp_path / "adapter")
    bare = answers_of(load(llava, images, "&mode=options"), table())
    tuned = answers_of(load(llava, images, f"&mode=options&adapter={adapter}"), table())
    assert not np.allclose(bare["option_logprobs"].to_list(), tuned["option_logprobs"].to_list(), atol=0.05)
    assert bare["model"][0] != tuned["model"][0]


def test_what_is_wrong_with_a_folder_is_one_clear_line(llava, images, tmp_path):
    def refused(options="", folder=llava):
        with pytest.raises(HandbenchError) as caught:
            load(folder, images, options)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    assert "no processor could be loaded" in refused(folder=tmp_path / "nowhere")
    assert "no adapter_config.json" in refused(f"&adapter={tmp_path}")
    adapter = make_adapter(llava, tmp_path / "adapter")
    weights = transformers.AutoConfig.from_pretrained(llava)
    assert weights.text_config.hidden_size == 64
    config = json.loads((adapter / "adapter_config.json").read_text())
    (adapter / "adapter_config.json").write_text(json.dumps({**config, "target_modules": ".*no_such_layer"}))
    assert "does not fit this model" in refused(f"&adapter={adapter}")
    (adapter / "adapter_config.json").write_text(json.dumps({**config, "r": 4}))
    assert "does not fit this model" in refused(f"&adapter={adapter}")
    (adapter / "adapter_config.json").write_text(json.dumps({**config, "target_modules": ".*language_model.*q_proj"}))
    assert "does not fit this model" in refused(f"&adapter={adapter}")


def test_a_folder_without_a_processor_and_an_adapter_of_another_base(llava, images, tmp_path, tmp_path_factory):
    import shutil

    bare = tmp_path / "bare"
    shutil.copytree(llava, bare)
    for name in ("processor_config.json", "preprocessor_config.json"):
        (bare / name).unlink(missing_ok=True)
    with pytest.raises(HandbenchError, match=r"bare: .*processor") as caught:
        load(bare, images)
    assert "\n" not in str(caught.value)
    other = make_adapter(tiny("janus", tmp_path_factory), tmp_path / "other")
    with pytest.raises(HandbenchError, match=r"was tuned on a JanusForCond.*, and this is a LlavaForCond"):
        load(llava, images, f"&adapter={other}")
    sister = make_adapter(tiny("llava", tmp_path_factory, seed=1), tmp_path / "sister")
    with pytest.raises(HandbenchError, match=r"sister was tuned on .*, whose weights are others"):
        load(llava, images, f"&adapter={sister}")


def test_facts_tell_other_weights_and_templates_apart(llava, images, tmp_path, tmp_path_factory):
    told = [load(folder, images).facts()["identity"] for folder in (llava, tiny("llava", tmp_path_factory, seed=1))]
    assert told[0]["chat template"] == told[1]["chat template"]
    assert told[0]["weights"] != told[1]["weights"]
    tuned = load(llava, images, f"&adapter={make_adapter(llava, tmp_path / 'adapter')}").facts()["identity"]
    assert tuned["weights"] not in (told[0]["weights"], told[1]["weights"])
