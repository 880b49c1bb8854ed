"""The look of every table on a terminal: a line under the headings, numbers to the right, no frame."""

from __future__ import annotations

from rich import box
from rich.table import Table


def plain(title: str, caption: str | None = None) -> Table:
    """An empty table.

    Args:
        title: what stands above it.
        caption: what stands below.
    """
    return Table(
        title=title, caption=caption, caption_justify="left", title_justify="left", title_style="bold",
        box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False,
    )  # fmt: skip
