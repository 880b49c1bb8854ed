"""The choices a person can make about SafeGesture items; each is recorded with the questions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from handbench.specs import Options
from handbench.tasks.safegesture.cells import Cells, fingerprint
from handbench.tasks.safegesture.cells_file import PAPER, load
from handbench.tasks.safegesture.text import VARIANTS, VERSION


@dataclass(frozen=True)
class SafeGestureOptions:
    """How the items are made.

    Attributes:
        variant: ``image``, ``scenario-only`` (Variant A) or ``gesture-as-text`` (Variant B).
        cells: gestures, scenarios, labels and the truth.
        path: the file of the cells, empty for the paper's.
    """

    variant: str = "image"
    cells: Cells = PAPER
    path: str = ""

    @classmethod
    def from_options(cls, options: Options, protocol: str = "paper") -> SafeGestureOptions:
        """Read ``variant, cells``; the protocols do not differ here."""
        path = options.text("cells", "")
        return cls(options.choice("variant", "image", VARIANTS), load(path or None), path)

    @property
    def source_table(self) -> str | None:
        """The table that the items are made of; None where no image is shown."""
        return "gestures" if self.variant == "image" else None

    @property
    def tag(self) -> str:
        """What stands in every question's variant."""
        own = "" if self._mark == "paper" else f";cells={self._mark}"
        return f"{self.variant};wording={VERSION}{own}"

    @property
    def _mark(self) -> str:
        mark = fingerprint(self.cells)
        return "paper" if mark == fingerprint(PAPER) else mark

    def manifest(self) -> dict[str, Any]:
        """What goes into the run's record."""
        return {
            "variant": self.variant,
            "wording": VERSION,
            "cells": self._mark,
            "consensus": self.cells.consensus,
        }
