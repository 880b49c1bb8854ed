"""The choices a person can make about pointing questions; each is recorded with the questions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from handbench.errors import HandbenchError
from handbench.replies.families import Family, family
from handbench.replies.frames import Frame, Placement, Size
from handbench.specs import Options
from handbench.tasks.pointing.prompts import VERSION

SUBTASKS: Final = ("edg", "d-rec", "pog", "no-cue", "d-vqa")
"""What is given: hand box and referent; referent; hand box; nothing; hand box and a question (section 3)."""


@dataclass(frozen=True)
class PointingOptions:
    """Which questions are asked, and how boxes are said.

    Attributes:
        subtasks: of :data:`SUBTASKS`.
        family: the model family whose prompts and coordinates are used.
        frame: for family ``custom``: the declared frame.
        layout: for family ``custom``: the declared layout.
        max_pixels: another upper bound of the image's area for families that resize, 0 for their own.
        reject: whether the prompt says how to answer that nothing is pointed at; the paper's prompts do not.
    """

    subtasks: tuple[str, ...] = SUBTASKS
    family: str = "custom"
    frame: str = ""
    layout: str = ""
    max_pixels: int = 0
    reject: bool = False

    source_table = "scenes"

    @classmethod
    def from_options(cls, options: Options, protocol: str) -> PointingOptions:
        """Read ``pointing/edg?family=qwen3-vl&reject=yes``, ``pointing?family=custom&frame=norm_1000&layout=xywh``.

        Raises:
            HandbenchError: there is no such family; those that there are are listed.
        """
        kind, _, subtask = options.spec.kind.partition("/")
        if protocol != "paper":
            raise HandbenchError(f"{kind}: there is no protocol {protocol!r}: the paper's code is not released")
        made = cls(
            subtasks=(subtask,) if subtask else SUBTASKS,
            family=options.text("family", "custom").lower(),
            frame=options.text("frame", ""),
            layout=options.text("layout", ""),
            max_pixels=options.integer("max_pixels", 0, least=0),
            reject=options.flag("reject"),
        )
        _ = made.speaks
        return made

    @property
    def speaks(self) -> Family:
        """The family, with what was declared of it."""
        return family(self.family, frame=self.frame, layout=self.layout, max_pixels=self.max_pixels)

    @property
    def tag(self) -> str:
        """How the questions' ``variant`` tells these choices."""
        speaks = self.speaks
        own = f";max_pixels={self.max_pixels}" if self.max_pixels else ""
        return (
            f"family={self.family};frame={speaks.frame};layout={speaks.layout}{own};"
            f"wording={VERSION}{';reject' if self.reject else ''}"
        )

    def resize(self, size: Size) -> Size | None:
        """The size that an image must have on its way to the model; None where it may go as it is.

        Pixels of the image as sent mean what the prompt says of them only if the model's own resizing has nothing left
        to do.
        """
        speaks = self.speaks
        return speaks.placement(size).size if speaks.frame is Frame.PIXEL_SENT else None

    def manifest(self) -> dict[str, Any]:
        """What goes into the run's record."""
        speaks = self.speaks
        return {
            "subtasks": list(self.subtasks),
            "family": self.family,
            "frame": str(speaks.frame),
            "layout": str(speaks.layout),
            "max_pixels": self.max_pixels,
            "reject": self.reject,
            "wording": VERSION,
        }


def speaks_of(variant: str) -> Family:
    """The family that a question's ``variant`` tells of."""
    told = dict(part.split("=", 1) for part in variant.split(";") if "=" in part)
    custom = told.get("family") == "custom"
    return family(
        told.get("family", "custom"),
        frame=told.get("frame", "") if custom else "",
        layout=told.get("layout", "") if custom else "",
        max_pixels=int(told.get("max_pixels", 0)),
    )


def seen_by(speaks: Family, original: Size, sent: Size | None) -> Placement:
    """How the original image lies in what the model got, by the size that was recorded when it was sent.

    Args:
        speaks: the family, whose own processor comes last.
        original: of the image file, pixels.
        sent: of the image as it left, pixels; None where nobody recorded it.
    """
    first = Placement.resized(original, sent or original)
    last = speaks.place(first.size)
    return Placement(
        last.size,
        (first.scale[0] * last.scale[0], first.scale[1] * last.scale[1]),
        last.shift,
    )
