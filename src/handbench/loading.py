"""Loading weights, with a progress bar only where there is something to wait for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_SLOW: Final = 500_000_000
"""Bytes of weights that take long enough to load for a bar to be of use."""


@contextmanager
def quiet_where_small(folder: Path) -> Iterator[None]:
    """Leave out transformers' own progress bar for a model that is loaded at once.

    Args:
        folder: of the weights; where it holds none (a model by its name at the hub) the bar stays.
    """
    from transformers.utils import logging

    sizes = [file.stat().st_size for file in folder.glob("*.safetensors")]
    quiet = bool(sizes) and sum(sizes) < _SLOW and logging.is_progress_bar_enabled()
    if quiet:
        logging.disable_progress_bar()
    try:
        yield
    finally:
        if quiet:
            logging.enable_progress_bar()
