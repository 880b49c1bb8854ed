"""The package's own small model: that it loads with standard classes, offline, and does what its card says."""

from __future__ import annotations

import socket

import numpy as np
import polars as pl
import pytest

from handbench import api
from handbench.errors import HandbenchError
from handbench.runs.parts import make_estimator, make_model

torch = pytest.importorskip("torch", reason="torch is not installed: the tiny model is not tried")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

from handbench.models.tiny import FOLDER, TUNED  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def loaded():
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    from handbench.models._hf_load import load

    return load(str(FOLDER), "", "float32", "cpu")


def test_it_is_small_and_of_standard_classes(loaded):
    assert sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()) < 12e6
    assert type(loaded.model).__name__ == "LlavaForConditionalGeneration"
    assert type(loaded.model.model.vision_tower).__name__ == "LevitModel"
    # The tower without its shrinking blocks is an override of a derived setting: loading must keep it (and adds
    # empty operations to the end of the list each time).
    assert all(operation == [""] for operation in loaded.model.config.vision_config.down_ops)
    image = torch.zeros(1, 3, 80, 80)
    assert loaded.model.model.vision_tower(image, output_hidden_states=True).hidden_states[-1].shape == (1, 25, 256)


@pytest.fixture(scope="module")
def questions(tmp_path_factory):
    made = api.ask("handvqa", "synth:hands?n=4&size=64", tmp_path_factory.mktemp("asked"), workers=1)
    return made.table("questions")


def test_every_question_is_a_few_tokens_and_comes_back_as_it_was(loaded, questions):
    tokenizer = loaded.tokenizer
    for prompt in questions["prompt"]:
        ids = tokenizer(prompt, add_special_tokens=False)["input_ids"]
        assert len(ids) < 30, prompt  # another wording would be spelt in bytes: the model has learned this one
        assert tokenizer.decode(ids) == prompt
    odd = "Größe 5 cm,\nnicht gelernt"
    assert tokenizer.decode(tokenizer(odd, add_special_tokens=False)["input_ids"]) == odd


def test_base_and_tuned_are_two_states_of_one_model():
    with pytest.raises(HandbenchError, match="tiny takes no path"):
        make_model("tiny:somewhere")
    base, tuned = make_model("tiny"), make_model(f"tiny?adapter={TUNED}")
    assert (base.name, tuned.name) == ("tiny", "tiny?adapter=tuned")
    one, other = (dict(m.loaded.model.named_parameters()) for m in (base, tuned))
    changed = {name for name in one if not torch.equal(one[name], other[name])}
    assert changed
    assert all("language_model.layers" in name for name in changed)  # the eyes are the same


@pytest.mark.slow
def test_the_base_is_at_chance_and_the_adapter_is_not(tmp_path):
    """The card's claim, on fewer hands: the whole of it is measured by the command that the card names."""
    models = ["chance", "prior", "tiny", "pose:tiny", "tiny?adapter=tuned"]
    run = api.run("handvqa", "synth:hands?n=120&seed=5", models, tmp_path, workers=1)
    whole = run.scores.filter(pl.col("slice") == "all", pl.col("metric") == "accuracy")
    found = {(row["model"], row["descriptor"]): row["value"] for row in whole.iter_rows(named=True)}
    assert abs(found["tiny", "all"] - 0.416) < 0.08
    for name in ("x", "y", "z"):
        assert found["tiny?adapter=tuned", name] > found["prior", name] + 0.1


def test_its_eyes_find_the_hand_in_the_middle():
    from handbench.synth.sample import annotate, recipe, render

    eyes = make_estimator("tiny")
    errors, shares = [], []
    for index in range(12):
        made = recipe(77, index, size=128)
        truth = annotate(made)
        (hand,) = eyes(render(made, truth))
        assert hand.keypoints_px.shape == (21, 2)
        errors.append(np.linalg.norm(hand.keypoints_px - truth.joints_px, axis=1).mean())
        middle = np.full((21, 2), 64.0)
        shares.append(np.linalg.norm(middle - truth.joints_px, axis=1).mean())
    assert np.mean(errors) < 0.6 * np.mean(shares)
    assert hand.extent.max() == pytest.approx(0.18)


def test_nothing_is_looked_up_elsewhere(monkeypatch):
    asked = []

    def noted(host, *rest, **more):
        asked.append(host)
        raise OSError(f"no network here: {host}")

    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr(socket, "getaddrinfo", noted)
    make_model("tiny?adapter=tuned")
    assert not asked
