"""handbench: does this model understand hands, and what would fix it?

``handbench.run("handvqa", data="synth:hands?n=200", model=["chance", "pose:blaze-full"])`` does the whole
job; the verbs are those of the command line.  They are imported when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from handbench.api import Run, answer, ask, merge, report, run, score

__all__ = ["Run", "answer", "ask", "merge", "report", "run", "score"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module("handbench.api"), name)
    raise AttributeError(f"module 'handbench' has no attribute {name!r}")
