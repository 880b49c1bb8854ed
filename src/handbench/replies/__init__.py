"""Reply text → what it says: a choice, fields, a box.  Pure, always with a status, never a guess."""

from __future__ import annotations

from handbench.replies.box import BoxReading, BoxStatus, read_box
from handbench.replies.choice import read_choice
from handbench.replies.fields import FieldsReading, read_fields
from handbench.replies.fields_values import Field
from handbench.replies.frames import Frame
from handbench.replies.reading import Reading, Status
from handbench.replies.vectorised import read_choices

__all__ = [
    "BoxReading",
    "BoxStatus",
    "Field",
    "FieldsReading",
    "Frame",
    "Reading",
    "Status",
    "read_box",
    "read_choice",
    "read_choices",
    "read_fields",
]
