"""The progress bar."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from handbench.protocols import Progress


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Progress]:
    """Give a function that shows how far things are, on stderr; nothing is shown if quiet."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        disable=quiet,
    )
    tasks: dict[str, Any] = {}

    def tell(done: int, total: int | None, what: str) -> None:
        if what not in tasks:
            for earlier in tasks.values():
                bar.stop_task(earlier)
            tasks[what] = bar.add_task(what, total=total)
        bar.update(tasks[what], completed=done, total=total)

    with bar:
        yield tell
