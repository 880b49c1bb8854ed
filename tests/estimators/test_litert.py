from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from handbench.errors import HandbenchError
from handbench.estimators._litert import MODEL_SHA256, Network, read_model

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", MODEL_SHA256)
def test_every_vendored_network_is_the_pinned_one(name: str) -> None:
    content = read_model(name)
    assert content[4:8] == b"TFL3"  # the FlatBuffers file identifier of the format
    assert len(content) > 1_900_000


def test_a_changed_network_is_refused_in_one_line(tmp_path: Path) -> None:
    name = "hand_landmark_lite.tflite"
    content = bytearray(read_model(name))
    content[-1] ^= 1
    (tmp_path / name).write_bytes(content)
    with pytest.raises(HandbenchError, match=r"hand_landmark_lite\.tflite: sha256 is \w{64}, expected 048edd") as info:
        read_model(name, tmp_path)
    assert "\n" not in str(info.value)


def test_a_missing_network_is_named(tmp_path: Path) -> None:
    with pytest.raises(HandbenchError, match=r"yoha_landmark\.tflite: the network is missing"):
        read_model("yoha_landmark.tflite", tmp_path)


def test_a_missing_runtime_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ai_edge_litert.interpreter", None)
    with pytest.raises(HandbenchError, match=r"pip install 'handbench\[hands\]'") as info:
        Network("hand_landmark_lite.tflite")
    assert "\n" not in str(info.value)


def test_the_estimators_can_be_imported_without_the_runtime() -> None:
    code = (
        "import sys; sys.modules['ai_edge_litert'] = None;"
        "import handbench.estimators.blaze, handbench.estimators.yoha, handbench.estimators._tracking"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": str(ROOT / "src")})


def test_fetch_models_refuses_another_wheel(tmp_path: Path) -> None:
    wheel = tmp_path / "mediapipe.whl"
    wheel.write_bytes(b"not the wheel")
    spec = importlib.util.spec_from_file_location("fetch_models", ROOT / "tools" / "fetch_models.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with pytest.raises(SystemExit, match=r"mediapipe\.whl: sha256 is \w{64}, expected 05dc4a9e"):
        module.read_wheel(wheel)
    assert set(module.WHEEL_MODELS) | set(module.TARBALL_MODELS) == set(MODEL_SHA256)
