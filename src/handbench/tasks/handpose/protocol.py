"""The choices behind every number of this task, and the words that name them.

VERA-Hand (arXiv 2610.32517) fixes alpha = 0.10 and beta = 0.5 (section 3.4), matching by hand-box IoU and the
label rules (section 3.3).  What it leaves open is a field here, with the field's usual choice as default.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

from handbench.errors import HandbenchError
from handbench.specs import Options


class Normaliser(StrEnum):
    """What a distance in pixels is divided by."""

    BOX_SIDE = "box_side"
    """Longer side of the true hand's box (mmpose's ``bbox``)."""

    BOX_DIAGONAL = "box_diagonal"
    HAND_LENGTH = "hand_length"
    """Wrist to middle MCP of the true hand: needs both points."""

    NONE = "px"
    """Nothing: the distance stays in pixels."""


class Average(StrEnum):
    """What PCK and MPJPE are means over."""

    PER_HAND = "per_hand"
    """Keypoints of a hand first, then hands."""

    POOLED = "pooled"
    """All keypoints of all hands alike."""


class JerkUnit(StrEnum):
    """Unit of jerk; the paper's own is not stated."""

    PX = "px"
    """Pixels per frame³."""

    HAND = "hand"
    """Median hand sizes of the run per frame³."""

    HAND_PCT = "hand_pct"
    """The same in percent."""

    PER_SECOND = "per_second"
    """Hand sizes per second³: the former times the frame rate cubed."""


@dataclass(frozen=True)
class Protocol:
    """How predictions are matched and measured.

    Attributes:
        iou: least IoU of a match.
        pad: enlargement of every hand box, as a share of its sides, before it is clipped to the image.
        alpha: a keypoint is right within ``alpha`` normalisers.
        beta: a hand passes when at least this share of its keypoints is right.
        normaliser: of PCK, MPJPE and Pose-F1.
        average: of PCK and MPJPE.
        occluded: whether occluded keypoints count; those out of the frame never do.
        jerk_unit: of jerk in the main table; all four are measured.
        frames: ``annotated``: frames whose hands are all annotated; ``all``: partly annotated ones too, where a
            hand that was not annotated counts as a false positive.
        sharpness: threshold of the blur classes; the least sharp third of the set unless given.
        motion: likewise, hand sizes per frame; the fastest third unless given.
    """

    iou: float = 0.5
    pad: float = 0.0
    alpha: float = 0.1
    beta: float = 0.5
    normaliser: Normaliser = Normaliser.BOX_SIDE
    average: Average = Average.PER_HAND
    occluded: bool = True
    jerk_unit: JerkUnit = JerkUnit.PX
    frames: str = "annotated"
    sharpness: float | None = None
    motion: float | None = None

    def __post_init__(self) -> None:
        for name in ("iou", "alpha", "beta"):
            value = getattr(self, name)
            if not 0 < value <= 1:
                raise HandbenchError(f"handpose: {name} must lie above 0 and at most at 1, found {value:g}")
        if self.pad < 0:
            raise HandbenchError(f"handpose: pad must not be negative, found {self.pad:g}")

    @classmethod
    def from_options(cls, options: Options, protocol: str) -> Protocol:
        """Read ``handpose?iou=0.5&alpha=0.1&...``; ``protocol`` (paper or released) makes no difference here."""
        return cls(
            iou=options.number("iou", 0.5),
            pad=options.number("pad", 0.0),
            alpha=options.number("alpha", 0.1),
            beta=options.number("beta", 0.5),
            normaliser=Normaliser(options.choice("normaliser", "box_side", tuple(Normaliser))),
            average=Average(options.choice("average", "per_hand", tuple(Average))),
            occluded=options.flag("occluded", default=True),
            jerk_unit=JerkUnit(options.choice("jerk_unit", "px", tuple(JerkUnit))),
            frames=options.choice("frames", "annotated", ("annotated", "all")),
            sharpness=_given(options, "sharpness"),
            motion=_given(options, "motion"),
        )

    def manifest(self) -> dict[str, Any]:
        """The choices as the run's record keeps them."""
        told = {name: value for name, value in asdict(self).items() if value is not None}
        return {name: str(value) if isinstance(value, StrEnum) else value for name, value in told.items()}

    def at_iou(self, iou: float) -> Protocol:
        """The same with another gate."""
        return replace(self, iou=iou)

    @property
    def words(self) -> str:
        """One line for tables: every choice that changes a number."""
        return (
            f"iou {self.iou:g}, pad {self.pad:g}, alpha {self.alpha:g}, beta {self.beta:g}, {self.normaliser}, "
            f"{self.average}, {'with' if self.occluded else 'without'} occluded points, {self.frames} frames"
        )


def _given(options: Options, key: str) -> float | None:
    """A number that may be left out."""
    value = options.number(key, -1.0)
    return None if value == -1.0 else value
