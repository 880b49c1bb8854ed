"""The choices a person can make about SafeGesture items; each is recorded with the questions."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from handbench.specs import Options
from handbench.tasks.safegesture.cells import PAPER, Cells, load
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
        own = "" if not self.path else f";cells={fingerprint(self.cells)}"
        return f"{self.variant};wording={VERSION}{own}"

    def manifest(self) -> dict[str, Any]:
        """What goes into the run's record."""
        return {
            "variant": self.variant,
            "wording": VERSION,
            "cells": fingerprint(self.cells) if self.path else "paper",
            "consensus": self.cells.consensus,
        }


def fingerprint(cells: Cells) -> str:
    """Short hash of everything that decides items and scores."""
    parts = (cells.gestures, cells.scenarios, cells.labels, cells.truth.tolist(), cells.opening)
    return blake2b(repr(parts).encode(), digest_size=4).hexdigest()
