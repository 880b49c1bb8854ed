"""Ctrl-C that lets what has come in be stored before it ends the program."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


@contextmanager
def held_back(stop: Callable[[], None]) -> Iterator[None]:
    """Turn the first Ctrl-C into a call of ``stop``; the interrupt itself comes at the end of the block.

    A second Ctrl-C interrupts at once.  Outside the main thread, where signals do not come, nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before: Any = signal.getsignal(signal.SIGINT)
    came = False

    def hold(number: int, frame: FrameType | None) -> None:
        nonlocal came
        came = True
        signal.signal(signal.SIGINT, before)
        stop()

    signal.signal(signal.SIGINT, hold)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt
