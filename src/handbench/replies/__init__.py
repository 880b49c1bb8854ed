"""Reply text → what it says: a choice, fields, a box.  Pure, always with a status, never a guess."""

from __future__ import annotations

from handbench.replies.choice import read_choice
from handbench.replies.reading import Reading, Status
from handbench.replies.vectorised import read_choices

__all__ = ["Reading", "Status", "read_choice", "read_choices"]
