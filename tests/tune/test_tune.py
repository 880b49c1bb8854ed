"""Tuning, tried on small models with random weights."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tomllib
import warnings
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from tests import tiny_models

from handbench import api
from handbench.errors import HandbenchError
from handbench.runs import asking
from handbench.runs.parts import make_model
from handbench.tune.settings import Settings

torch = pytest.importorskip("torch", reason="torch is not installed: tuning is not tried")
pytest.importorskip("trl", reason="trl is not installed: tuning is not tried")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

from handbench.tune import packing  # noqa: E402
from handbench.tune.run import Base, tune  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]

SHORT = Settings(rate=1e-3, batch=3, steps=3, save_every=1, per_image=3)


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    run = api.ask(
        "handvqa?per_descriptor=1&answer=letter", "synth:hands?n=3&size=32&supersample=1",
        tmp_path_factory.mktemp("asked"), split="train", workers=1,
    )  # fmt: skip
    asking.ensure_images(run.folder, run.table("questions")["images"].explode().unique().to_list())
    return run


def model(name, tmp_path_factory):
    there = tiny_models.torchvision_shim()
    if name in tiny_models.NEED_TORCHVISION and not there:
        pytest.skip(f"torchvision is not installed: {name} cannot be built")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tiny_models.save(name, tmp_path_factory.mktemp(name))


@pytest.fixture(scope="module", params=["llava", "idefics3", "qwen2.5-vl"])
def any_model(request, tmp_path_factory):
    return model(request.param, tmp_path_factory)


@pytest.fixture(scope="module")
def llava(tmp_path_factory):
    return model("llava", tmp_path_factory)


def go(asked, folder, out, settings=SHORT, **more):
    return tune(
        asked.table("questions"), asked.folder.images, Base.named(f"hf:{folder}?device=cpu"), settings, out, **more
    )


def losses(out):
    return pl.read_parquet(out / "losses.parquet")["loss"].to_numpy()


def test_an_adapter_is_made_checked_and_found_again(asked, any_model, tmp_path):
    record = go(asked, any_model, tmp_path)
    assert record["packing"]["on"], record["packing"]
    assert record["packing"]["tokens"] < record["packing"]["plain_tokens"]
    assert record["parity"]["passed"]
    assert record["trained"]["questions"] == 9
    assert record["trained"]["steps"] == 3
    again = go(asked, any_model, tmp_path)  # done already: nothing is trained
    assert again["trained"] == record["trained"]
    with pytest.raises(HandbenchError, match="holds another training"):
        go(asked, any_model, tmp_path, replace(SHORT, rank=4))


def test_packed_rows_train_as_plain_ones_do(asked, llava, tmp_path):
    # Three images of three questions each are one step either way.
    whole = replace(SHORT, batch=9, steps=2)
    go(asked, llava, tmp_path / "packed", replace(whole, packing="on"))
    go(asked, llava, tmp_path / "plain", replace(whole, packing="off"))
    np.testing.assert_allclose(losses(tmp_path / "packed"), losses(tmp_path / "plain"), rtol=1e-3)


def test_where_packing_would_change_something_rows_are_plain(asked, llava, tmp_path, monkeypatch):
    def leaky(self):
        length = self.tokens.shape[1]
        return np.broadcast_to(np.tri(length, dtype=bool), (len(self.tokens), 1, length, length)).copy()

    monkeypatch.setattr(packing.Packed, "mask", leaky)  # each question sees those before it
    record = go(asked, llava, tmp_path / "auto")
    assert not record["packing"]["on"]
    assert "differ" in record["packing"]["checked"]
    with pytest.raises(HandbenchError, match="packed rows do not agree"):
        go(asked, llava, tmp_path / "on", replace(SHORT, packing="on"))


KILLED = """
import os, sys
from pathlib import Path
import polars as pl
import torch
from handbench import tables
from handbench.tune.run import Base, tune
from tests.tune.test_tune import SHORT

torch.set_num_threads(1)

def progress(done, total, what):
    if what == "tuning" and done == 2:
        os.kill(os.getpid(), 9)

questions, images, folder, out = sys.argv[1:]
base = Base.named(f"hf:{folder}?device=cpu")
tune(tables.read(questions, "questions"), Path(images), base, SHORT, Path(out), progress=progress)
"""


def test_a_killed_training_goes_on_to_the_same_losses_and_answers(asked, llava, tmp_path):
    go(asked, llava, tmp_path / "whole")
    arguments = [str(asked.folder.table("questions")), str(asked.folder.images), str(llava), str(tmp_path / "killed")]
    died = subprocess.run([sys.executable, "-c", KILLED, *arguments], capture_output=True, text=True)
    assert died.returncode == -9, died.stderr
    assert not (tmp_path / "killed" / "adapter_config.json").exists()
    record = go(asked, llava, tmp_path / "killed")
    assert record["trained"]["resumed_at"] == 1
    np.testing.assert_allclose(losses(tmp_path / "killed"), losses(tmp_path / "whole"), rtol=1e-5)


FRESH = """
import sys
from pathlib import Path
import polars as pl
from handbench import tables
from handbench.runs.parts import make_model

spec, questions, images, out = sys.argv[1:]
model = make_model(spec)
model.images_at(Path(images))
pl.concat(model.answer(tables.read(questions, "questions"))).write_parquet(out)
"""


def test_an_adapter_answers_alike_in_a_fresh_process(asked, llava, tmp_path):
    go(asked, llava, tmp_path / "adapter")
    spec = f"hf:{llava}?adapter={tmp_path / 'adapter'}&device=cpu&mode=options"
    here = make_model(spec)
    here.images_at(asked.folder.images)
    mine = pl.concat(here.answer(asked.table("questions")))
    arguments = [spec, str(asked.folder.table("questions")), str(asked.folder.images), str(tmp_path / "theirs.parquet")]
    subprocess.run([sys.executable, "-c", FRESH, *arguments], check=True, capture_output=True)
    theirs = pl.read_parquet(tmp_path / "theirs.parquet")
    assert theirs["question_id"].to_list() == mine["question_id"].to_list()
    base = make_model(f"hf:{llava}?device=cpu&mode=options")
    base.images_at(asked.folder.images)
    plain = pl.concat(base.answer(asked.table("questions")))
    ours, other, untuned = (
        np.concatenate(frame["option_logprobs"].to_list()).astype(float) for frame in (mine, theirs, plain)
    )
    np.testing.assert_allclose(ours, other, atol=1e-4)
    assert np.abs(ours - untuned).max() > 1e-3


def test_a_test_on_what_was_learned_is_refused_or_counted(asked, llava, tmp_path):
    go(asked, llava, tmp_path)
    refused = make_model(f"hf:{llava}?adapter={tmp_path}&device=cpu")
    with pytest.raises(HandbenchError, match="share something with what it was tuned on"):
        refused.prepare(asked.table("questions"))
    counted = make_model(f"hf:{llava}?adapter={tmp_path}&device=cpu&allow_overlap=yes")
    counted.prepare(asked.table("questions"))
    assert counted.facts()["overlap_with_tuning"]["questions"] == asked.table("questions").height
    other = api.ask("handvqa?per_descriptor=1", "synth:hands?n=2&size=32", tmp_path / "test", split="test", workers=1)
    refused.prepare(other.table("questions"))
    assert refused.facts()["overlap_with_tuning"] == {}


def test_the_vision_encoder_is_tuned_only_where_that_is_wanted(asked, llava, tmp_path):
    from safetensors import safe_open

    for name, vision in (("frozen", False), ("tuned", True)):
        go(asked, llava, tmp_path / name, replace(SHORT, steps=1, vision=vision))
    keys = {}
    for name in ("frozen", "tuned"):
        with safe_open(tmp_path / name / "adapter_model.safetensors", "np") as file:
            keys[name] = set(file.keys())
    assert not any("vision_tower" in key for key in keys["frozen"])
    assert any("vision_tower" in key for key in keys["tuned"])
    assert not any("lm_head" in key or "projector" in key for key in keys["tuned"])


def test_other_instructions_are_mixed_in(asked, llava, tmp_path):
    from handbench.tune.run import Mix

    chat = tmp_path / "chat.jsonl"
    chat.write_text(
        '{"messages": [{"role": "user", "content": "Two and two?"}, {"role": "assistant", "content": "4"}]}\n'
    )
    record = go(asked, llava, tmp_path / "out", replace(SHORT, steps=1), mix=Mix.parse(f"{chat}:0.25"))
    assert record["trained"]["questions"] == 12  # nine about hands, three others


def seen(folder):
    return set(pl.read_parquet(folder / "trained_on.parquet").iter_rows())


def test_an_adapter_that_goes_on_has_seen_what_the_first_one_saw(asked, llava, tmp_path):
    shows = pl.col("images").list.first().str
    some = [asked.table("questions").filter(shows.contains(name)) for name in ("000000", "000001")]
    base = Base.named(f"hf:{llava}?device=cpu")
    tune(some[0], asked.folder.images, base, replace(SHORT, steps=1), tmp_path / "one")
    tune(some[1], asked.folder.images, base, replace(SHORT, steps=1), tmp_path / "two", start=tmp_path / "one")
    only = tmp_path / "only"
    tune(some[1], asked.folder.images, base, replace(SHORT, steps=1), only)
    assert seen(tmp_path / "two") == seen(tmp_path / "one") | seen(only)
    assert not seen(tmp_path / "one") & seen(only)
    for change, message in (
        ({"rank": 16}, "its rank is 8, not 16"),
        ({"alpha": 8}, "its alpha is 32, not 8"),
        ({"vision": True}, "go on without --vision"),
    ):
        with pytest.raises(HandbenchError, match=message):
            tune(
                some[1], asked.folder.images, base, replace(SHORT, steps=1, **change), tmp_path / "three",
                start=tmp_path / "one",
            )  # fmt: skip
    (tmp_path / "one" / "adapter_model.safetensors").unlink()
    with pytest.raises(HandbenchError, match="no weights there"):
        tune(some[1], asked.folder.images, base, SHORT, tmp_path / "four", start=tmp_path / "one")


def test_a_training_that_ended_is_not_gone_on_with(asked, llava, tmp_path):
    """Killed after the last checkpoint and before the adapter was written: no step more."""
    go(asked, llava, tmp_path / "whole")
    go(asked, llava, tmp_path / "late")
    record = (tmp_path / "late" / "tune.toml").read_text()
    (tmp_path / "late" / "tune.toml").write_text(record.replace('state = "done"', 'state = "begun"'))
    (tmp_path / "late" / "adapter_model.safetensors").unlink()
    made = go(asked, llava, tmp_path / "late")
    assert (made["trained"]["steps"], made["trained"]["resumed_at"]) == (3, 3)
    np.testing.assert_array_equal(losses(tmp_path / "late"), losses(tmp_path / "whole"))
    weights = [(tmp_path / name / "adapter_model.safetensors").read_bytes() for name in ("late", "whole")]
    assert weights[0] == weights[1]


def test_a_damaged_checkpoint_is_one_line(asked, llava, tmp_path):
    go(asked, llava, tmp_path, replace(SHORT, steps=4), stop_at=2)
    optimiser = tmp_path / "checkpoints" / "checkpoint-2" / "optimizer.pt"
    optimiser.write_bytes(optimiser.read_bytes()[:200])
    with pytest.raises(HandbenchError, match=r"checkpoint-2: the checkpoint cannot be read .* delete that folder"):
        go(asked, llava, tmp_path, replace(SHORT, steps=4))
    shutil.rmtree(optimiser.parent)
    assert go(asked, llava, tmp_path, replace(SHORT, steps=4))["trained"]["resumed_at"] == 1


def test_an_image_with_one_question_has_a_plain_row(asked, llava, tmp_path):
    record = go(asked, llava, tmp_path, replace(SHORT, per_image=1, steps=1))
    assert not record["packing"]["on"]
    assert "no image has two questions" in record["packing"]["checked"]


def test_what_is_not_trained_is_held_still():
    from handbench.tune.adapter import hold_still

    class Small(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.vision_tower = torch.nn.Sequential(torch.nn.Dropout(0.5), torch.nn.BatchNorm1d(3))
            self.language = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Dropout(0.5))

    for vision in (False, True):
        model = Small()
        hold_still(model, vision)
        model.train()
        assert model.language[1].training
        assert model.vision_tower[0].training == vision
        assert not model.vision_tower[1].training  # its statistics are no part of an adapter
        before = model.vision_tower[1].running_mean.clone()
        model.vision_tower(torch.randn(8, 3) + 5)
        assert torch.equal(before, model.vision_tower[1].running_mean)
        assert not model.eval().language[1].training


@pytest.mark.slow
def test_two_processes_take_half_of_each_step_and_one_writes(tmp_path):
    """Started as accelerate starts several devices: no step more, no file twice, one voice."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    done = subprocess.run(
        [
            sys.executable, "-m", "torch.distributed.run", "--nproc_per_node=2", f"--master_port={port}",
            "-m", "handbench.tune",
            "--data=synth:hands?n=24&size=48&supersample=1", "--base=tiny", "--batch=56", "--device-batch=2",
            "--test=none", "--workers=1", "-o", str(tmp_path / "out"),
        ],
        capture_output=True, text=True, timeout=900, env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    record = tomllib.loads((tmp_path / "out" / "tune.toml").read_text())
    assert (record["state"], record["trained"]["processes"]) == ("done", 2)
    assert record["trained"]["steps"] == 24 * 14 / 56
    assert done.stdout.count("the files give the trained model") == 1
    assert record["parity"]["passed"]
