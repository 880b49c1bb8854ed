"""The report of a run: one HTML file, laid out by the task's own module.

Replies are untrusted text: the templates escape everything, scripts come from the templates alone, and the
pages' content policy allows no other.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Final, cast

from handbench.protocols import ReadContext
from handbench.runs.answering import task_of
from handbench.runs.folder import RunFolder

_WRITERS: Final = {
    "handvqa": "handbench.reports.handvqa",
    "safegesture": "handbench.reports.safegesture",
    "gestures": "handbench.reports.choices",
    "interactions": "handbench.reports.choices",
}


def write_report(folder: RunFolder, context: ReadContext | None = None) -> Path:
    """Write ``report.html`` of a scored run.

    Args:
        folder: the run.
        context: workers and progress, for rendered images that the report shows.

    Returns:
        The report's path.
    """
    task, _ = task_of(folder.manifest())
    module = import_module(_WRITERS.get(task.name, "handbench.reports.handvqa"))
    return cast(Path, module.write(folder, context))
