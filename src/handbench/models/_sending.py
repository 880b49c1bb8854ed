"""Many requests at once: a loop in a thread of its own sends them, and outcomes come out as they arrive."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from typing import Any, Final

from handbench.models._interrupts import held_back
from handbench.models._outcome import Outcome

_GATHER_SECONDS: Final = 0.1
_GATHER_MOST: Final = 256
_UNREAD: Final = 64


class Outbox:
    """Where the sending thread puts outcomes: they come out in batches, none later than a tenth of a second."""

    def __init__(self) -> None:
        self._gathered: list[Outcome] = []
        self._out: queue.SimpleQueue[list[Outcome] | BaseException | None] = queue.SimpleQueue()

    def put(self, outcome: Outcome) -> None:
        """Put one outcome in."""
        self._gathered.append(outcome)
        if len(self._gathered) >= _GATHER_MOST:
            self.flush()

    def flush(self) -> None:
        """Hand over what is gathered."""
        if self._gathered:
            self._out.put(self._gathered)
            self._gathered = []

    def end(self, error: BaseException | None) -> None:
        """Nothing more comes, or an error does."""
        self.flush()
        if error is not None:
            self._out.put(error)
        self._out.put(None)

    async def room(self) -> None:
        """Wait until the reader has caught up."""
        while self._out.qsize() > _UNREAD:
            await asyncio.sleep(_GATHER_SECONDS)

    async def flush_in_time(self) -> None:
        """Hand over what is gathered again and again, until cancelled."""
        while True:
            await asyncio.sleep(_GATHER_SECONDS)
            self.flush()

    def batches(self) -> Generator[list[Outcome], None, None]:
        """What was put in, until the end.

        Raises:
            BaseException: the error that the sending ended with.
        """
        while (batch := self._out.get()) is not None:
            if isinstance(batch, BaseException):
                raise batch
            yield batch


def in_background(work: Callable[[Outbox], Coroutine[Any, Any, None]]) -> Generator[list[Outcome], None, None]:
    """Run a coroutine in a thread with a loop of its own, and yield the outcomes that it puts out.

    On Ctrl-C, and where the caller closes the generator, the work is cancelled.  After Ctrl-C what had come in is
    yielded before the interrupt goes on.

    Args:
        work: given the place for its outcomes.

    Raises:
        BaseException: what the work raised; everything that came in before was yielded.
    """
    outbox = Outbox()
    started: queue.SimpleQueue[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any] | None] | None] = queue.SimpleQueue()
    told = False

    async def run() -> None:
        started.put((asyncio.get_running_loop(), asyncio.current_task()))
        async with asyncio.TaskGroup() as group:
            flusher = group.create_task(outbox.flush_in_time())
            await work(outbox)
            flusher.cancel()

    def main() -> None:
        error: BaseException | None = None
        try:
            asyncio.run(run())
        except asyncio.CancelledError:
            pass
        except BaseException as raised:
            error = _innermost(raised)
        finally:
            started.put(None)
            outbox.end(error)

    def stop() -> None:
        nonlocal told
        if told:
            return
        told = True
        there = started.get()  # comes at once: the thread puts something in when it begins and when it ends
        if there is not None and there[1] is not None:
            with suppress(RuntimeError):  # the loop has just been closed: there is nothing left to cancel
                there[0].call_soon_threadsafe(there[1].cancel)

    thread = threading.Thread(target=main, name="handbench-sender", daemon=True)
    with held_back(stop):
        thread.start()
        try:
            yield from outbox.batches()
        finally:
            stop()
            thread.join()


def _innermost(error: BaseException) -> BaseException:
    """The first single error of a task group's."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
