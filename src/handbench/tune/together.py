"""Several processes that train together, as ``accelerate launch`` or ``torchrun`` started them: one of them speaks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def main_process() -> bool:
    """Whether this process writes the files; no package is needed to know."""
    return os.environ.get("RANK", "0") == "0"


def on_processors() -> bool:
    """Whether there is no accelerator to train on."""
    import torch

    return not torch.cuda.is_available() and not torch.backends.mps.is_available()


def processes() -> int:
    """How many work together."""
    return int(_state().num_processes)


@contextmanager
def main_first() -> Iterator[None]:
    """Let the others wait till the main process is through: they find its work done."""
    if os.environ.get("WORLD_SIZE", "1") == "1":
        yield
        return
    with _state().main_process_first():
        yield


def _state() -> Any:
    """What accelerate knows of the others.

    It is told where the training will be: whoever asks first decides how the processes are bound together.
    """
    from accelerate import PartialState

    return PartialState(cpu=on_processors())
