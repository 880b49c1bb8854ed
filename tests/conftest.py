from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

if beside := os.environ.get("HANDBENCH_TORCHVISION"):
    # Kept out of the environment: where its operators do not load, it would break every program that has transformers.
    sys.path.append(beside)
    from tests import tiny_models

    tiny_models.torchvision_shim()

ROOT = Path(__file__).resolve().parents[1]

settings.register_profile("untimed", deadline=None)  # a busy machine is no failure
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference data and research samples, beside the checkout or where the variable says."""
    folder = Path(os.environ.get("HANDBENCH_SHARED", ROOT.parent / "shared"))
    if not folder.is_dir():
        pytest.skip(f"no reference data: {folder} is absent")
    return folder


@pytest.fixture(autouse=True, scope="session")
def no_user_cache(tmp_path_factory):
    """Keep what is read in a folder of the test run, not in the user's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HANDBENCH_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
