"""A real server: ``transformers serve`` and the same model in this process agree answer by answer."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

from handbench.errors import HandbenchError
from handbench.runs.parts import make_model
from tests import tiny_models
from tests.models.test_hf import answers_of, table

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("transformers", reason="transformers is not installed")

pytestmark = [pytest.mark.slow, pytest.mark.torch, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """The folder of a small model and the address at which it is served."""
    program = shutil.which("transformers", path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip("the transformers command is not installed")
    tiny_models.torchvision_shim()
    folder = tiny_models.save("llava", tmp_path_factory.mktemp("served"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = (folder / "serve.log").open("w")
    hidden = tmp_path_factory.mktemp("hidden")  # a torchvision whose operators do not load would fail every request
    (hidden / "sitecustomize.py").write_text("import sys\nsys.modules['torchvision'] = None\n")
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(hidden)}
    server = subprocess.Popen(
        [program, "serve", str(folder), "--port", str(port), "--device", "cpu", "--dtype", "float32"],
        stdout=log, stderr=log, env=environment,
    )  # fmt: skip
    try:
        _wait(f"http://127.0.0.1:{port}/health", server, folder / "serve.log")
        yield folder, f"http://127.0.0.1:{port}/v1"
    finally:
        server.terminate()
        server.wait(30)
        log.close()


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """Images of the model's own size: two ways of resizing would not agree to the last bit."""
    root = tmp_path_factory.mktemp("images")
    draw = np.random.default_rng(0)
    for number in range(3):
        Image.fromarray(draw.integers(0, 255, (32, 32, 3), dtype=np.uint8)).save(root / f"{number}.png")
    return root


def _wait(url, server, log):
    for _ in range(240):
        if server.poll() is not None:
            pytest.skip(f"transformers serve does not start here: {log.read_text()[-300:]}")
        try:
            with urllib.request.urlopen(url, timeout=2) as reply:
                if reply.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
    pytest.fail(f"no answer from {url}")


def test_server_and_local_model_agree_answer_by_answer(served, images):
    folder, url = served
    questions = table(images=3, each=4)
    remote = make_model(f"server:{folder}?base_url={url}&max_tokens=8&concurrency=4")
    remote.images_at(images)
    local = make_model(f"hf:{folder}?dtype=float32&device=cpu&max_tokens=8")
    local.images_at(images)
    there, here = answers_of(remote, questions), answers_of(local, questions)
    assert there["error"].null_count() == questions.height
    assert there["reply"].to_list() == here["reply"].to_list()
    assert there["finish"].cast(pl.String).to_list() == here["finish"].cast(pl.String).to_list()
    assert there["tokens_in"].to_list() == here["tokens_in"].to_list()
    assert len(set(here["reply"])) > 4  # the model does tell images and questions apart


def test_likelihoods_that_are_not_sent_are_told(served, images):
    folder, url = served
    remote = make_model(f"server:{folder}?base_url={url}&mode=options")
    remote.images_at(images)
    with pytest.raises(HandbenchError, match="without them, though asked"):
        list(remote.answer(table(images=1)))
