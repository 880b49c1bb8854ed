"""Worker processes that leave an interruption to the process that started them."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any


def _start(then: Callable[..., None] | None, arguments: tuple[Any, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if then is not None:
        then(*arguments)


@contextmanager
def process_pool(
    workers: int, start: Callable[..., None] | None = None, arguments: tuple[Any, ...] = ()
) -> Iterator[ProcessPoolExecutor]:
    """A pool of processes; what has not begun is dropped when the block is left by an exception.

    Args:
        workers: how many.
        start: called once in each process.
        arguments: of that call.
    """
    context = multiprocessing.get_context("spawn")  # a fork would copy polars' locked thread pool
    pool = ProcessPoolExecutor(workers, context, initializer=_start, initargs=(start, arguments))
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()
