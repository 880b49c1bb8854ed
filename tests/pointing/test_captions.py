"""Images beside captions: the figures by hand-made vectors, the encoder against the model's own arithmetic."""

from __future__ import annotations

import os
import re

import numpy as np
import polars as pl
import pytest
from PIL import Image

from handbench import api, tables
from handbench.errors import HandbenchError
from handbench.models import encoder
from handbench.reports import caption_figures, captions
from tests import tiny_models


def made(image, caption, texts=None):
    count = len(image)
    return tables.conform(
        pl.DataFrame(
            {
                "scene_id": [f"s{number}" for number in range(count)],
                "caption": texts or [f"text {number}" for number in range(count)],
                "target_category": ["cup", "ball"] * (count // 2) + ["cup"] * (count % 2),
                "encoder": ["by hand"] * count,
                "cut": [False] * count,
                "image_vector": np.asarray(image, float).tolist(),
                "caption_vector": np.asarray(caption, float).tolist(),
            }
        ),
        "captions",
    )


def test_similarity_by_hand():
    """Images along x, y, z; captions along x, z, and between y and z."""
    half = 0.5**0.5
    own, others = captions.own_and_others(made(np.eye(3), [[1, 0, 0], [0, 0, 1], [0, half, half]]))
    assert own == pytest.approx([1, 0, half])
    assert sorted(others) == pytest.approx([0, 0, 0, 0, half, 1])
    table = captions.similarity(made(np.eye(3), np.eye(3)))
    assert table.select("caption", "pairs", "mean", "least", "most").rows() == [
        ("its own", 3, 1, 1, 1),
        ("another's", 6, 0, 0, 0),
    ]


def test_equal_captions_are_not_anothers():
    own, others = captions.own_and_others(made(np.eye(4), np.eye(4), ["same", "same", "third", "fourth"]))
    assert len(own) == 4
    assert len(others) == 12 - 2


def test_the_plane_is_that_of_scikit_learn():
    decomposition = pytest.importorskip("sklearn.decomposition")
    points = np.random.default_rng(0).normal(size=(30, 7)) * np.arange(1, 8)
    model = decomposition.PCA(2).fit(points)
    places, share = captions.plane(points)
    assert np.abs(places) == pytest.approx(np.abs(model.transform(points)))
    assert share == pytest.approx(model.explained_variance_ratio_)


def test_a_sample_does_not_depend_on_the_order():
    table = made(np.eye(9), np.eye(9))
    first = captions.sample(table, 4)["scene_id"].to_list()
    assert len(first) == 4
    assert sorted(first) == sorted(captions.sample(table.reverse(), 4)["scene_id"])


def test_figures_show_every_category():
    vectors = np.random.default_rng(1).normal(size=(20, 5))
    drawn = caption_figures.encoded(made(vectors, vectors))
    assert drawn.count("<svg") == 1
    assert {"cup", "ball"} <= set(re.findall(r">(\w+)</text>", drawn))
    assert caption_figures.encoded(made(vectors[:2], vectors[:2])) == ""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "r"
    made = api.ask("pointing/pog", "synth:scenes?n=6&seed=2&width=96&supersample=1", folder, workers=1)
    api.answer(made, "geometry", workers=1)
    return api.score(made)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    pytest.importorskip("torch", reason="torch is not installed: no encoder can be tried")
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    transformers.logging.set_verbosity_error()
    return tiny_models.save("clip", tmp_path_factory.mktemp("clip"))


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")
def test_an_encoder_says_what_the_model_says_one_at_a_time(run, folder):
    import torch
    from transformers import CLIPModel, CLIPProcessor

    found = api.describe(run.folder.root, encoder=str(folder), workers=1)["similarity"]
    kept = run.table("captions")
    assert kept.height == 6
    own, _ = captions.own_and_others(kept)
    model, processor = CLIPModel.from_pretrained(folder), CLIPProcessor.from_pretrained(folder)
    images = dict(run.table("scenes").select("scene_id", "image").iter_rows())
    for row, value in zip(kept.iter_rows(named=True), own, strict=True):
        with Image.open(run.folder.images / images[row["scene_id"]]) as picture, torch.no_grad():
            inputs = processor(
                text=[row["caption"]], images=[picture], return_tensors="pt", truncation=True, max_length=256
            )
            logit = float(model(**inputs).logits_per_image / model.logit_scale.exp())
        assert value == pytest.approx(logit, abs=1e-5)
        assert row["cut"] == (len(row["caption"].encode()) > 255)
    assert found["mean"][0] == pytest.approx(own.mean())
    assert np.ptp(own) > 1e-3
    assert np.ptp(captions.vectors(kept, "caption"), axis=0).max() > 1e-3
    vectors, cut = encoder.load(str(folder)).texts(["a" * 255 + "bc", "a" * 255 + "bd", "short"])
    assert cut.tolist() == [True, True, False]
    assert vectors[0] == pytest.approx(vectors[1])
    api.report(run, workers=1)
    page = run.report.read_text(encoding="utf-8")
    assert "Images and captions, by" in page
    assert "their encodings" in page


def test_the_report_without_an_encoder_counts_words(tmp_path):
    made = api.ask("pointing/pog", "synth:scenes?n=4&seed=2&width=96&supersample=1", tmp_path / "r", workers=1)
    api.answer(made, "geometry", workers=1)
    api.report(api.score(made), workers=1)
    page = made.report.read_text(encoding="utf-8")
    assert "the words that they hold" in page
    assert "Images and captions, by" not in page


@pytest.mark.torch
def test_what_is_no_encoder_is_refused(run, tmp_path):
    with pytest.raises(HandbenchError, match="needs a run's folder"):
        api.describe("synth:scenes?n=2&width=96", encoder=str(tmp_path), task="pointing/pog", workers=1)
    with pytest.raises(HandbenchError, match="expected the folder of a CLIP-like model"):
        api.describe(run.folder.root, encoder=str(tmp_path / "nowhere"), workers=1)
    pytest.importorskip("transformers", reason="transformers is not installed")
    with pytest.raises(HandbenchError, match="could not be loaded"):
        api.describe(run.folder.root, encoder=str(tmp_path), workers=1)


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")
def test_a_model_of_another_kind_is_no_encoder(run, tmp_path):
    pytest.importorskip("torch", reason="torch is not installed: no encoder can be tried")
    with pytest.raises(HandbenchError, match="does not lay images and texts into one space"):
        api.describe(run.folder.root, encoder=str(tiny_models.save("llava", tmp_path / "llava")), workers=1)
