"""The report of a run: one HTML file, laid out by the task's own module.

Replies are untrusted text: the templates escape everything, scripts come from the templates alone, and the
pages' content policy allows no other.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Final, cast

from handbench.errors import HandbenchError
from handbench.protocols import ReadContext
from handbench.runs.answering import task_of
from handbench.runs.folder import RunFolder

_WRITERS: Final = {
    "handvqa": "handbench.reports.handvqa",
    "safegesture": "handbench.reports.safegesture",
    "gestures": "handbench.reports.choices",
    "interactions": "handbench.reports.choices",
    "handpose": "handbench.reports.handpose",
    "pointing": "handbench.reports.pointing",
}


def write_report(folder: RunFolder, context: ReadContext | None = None, beside: Sequence[RunFolder] = ()) -> Path:
    """Write ``report.html`` of a scored run.

    Args:
        folder: the run.
        context: workers and progress, for rendered images that the report shows.
        beside: scored runs whose numbers stand beside this one's, where the task's report has a place for them.

    Returns:
        The report's path.
    """
    task, _ = task_of(folder.manifest())
    module = import_module(_WRITERS.get(task.name.partition("/")[0], "handbench.reports.handvqa"))
    if not beside:
        return cast(Path, module.write(folder, context))
    if "beside" not in signature(module.write).parameters:
        raise HandbenchError(f"{folder.root}: the report of {task.name} has no place for other runs (--beside)")
    return cast(Path, module.write(folder, context, beside))
