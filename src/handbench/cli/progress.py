"""The progress bar."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from handbench.protocols import Progress


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Progress]:
    """Give a function that shows how far things are, on stderr: count, rate, time left; nothing is shown if quiet.

    What is told behind a `` · `` stands beside what is being done and may change from one time to the next.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        Task,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.progress import ProgressColumn as Column
    from rich.text import Text

    class Rate(Column):
        """Steps per second."""

        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text("" if speed is None else f"{speed:,.0f}/s" if speed >= 10 else f"{speed:.1f}/s")

    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        Rate(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        disable=quiet,
    )
    tasks: dict[str, Any] = {}

    def tell(done: int, total: int | None, what: str) -> None:
        key, _, beside = what.partition(" · ")
        if key not in tasks:
            for earlier in tasks.values():
                bar.stop_task(earlier)
            tasks[key] = bar.add_task(key, total=total, completed=done)
        bar.update(tasks[key], completed=done, total=total, description=f"{key} · {beside}" if beside else key)

    with bar:
        yield tell
