"""Reply text → one box in pixels of the original image.  The frame is declared and never taken from the values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Final

import numpy as np

from handbench.replies.box_context import Context, Role, describe
from handbench.replies.box_numbers import Mention, find
from handbench.replies.box_words import NULL_BOX, hypothetical, refuses, rejects, yields_anyway
from handbench.replies.envelope import END_TOKEN, without_roles, without_thinking
from handbench.replies.folding import fold
from handbench.replies.frames import Frame, Layout, Placement, Size, corners, placement_of, to_pixels

Box = tuple[float, float, float, float]

HEAD, TAIL = 6_000, 14_000
"""Characters of a long reply that are looked at."""


class BoxStatus(StrEnum):
    """What became of a reply; only ``ok`` carries a box."""

    OK = "ok"
    REJECTED = "rejected"
    """It says that there is nothing to point out."""
    MULTIPLE = "multiple"
    """Several boxes, none of them preferred."""
    DEGENERATE = "degenerate"
    """No width or no height."""
    OUT_OF_RANGE = "out_of_range"
    """No overlap with the image."""
    FRAME_MISMATCH = "frame_mismatch"
    """Numbers that cannot be meant in the declared frame."""
    REFUSED = "refused"
    TRUNCATED = "truncated"
    EMPTY = "empty"
    UNPARSED = "unparsed"


@dataclass(frozen=True, slots=True)
class BoxReading:
    """One reply, understood.

    Attributes:
        box: x1, y1, x2, y2 in pixels of the original image, inside it; set if and only if ``status`` is ``ok``.
        status: what became of the reply.
        rule: how the numbers were written and what happened to them, joined by ``+``; or what decided without any.
        span: start and end of the deciding slice of the original reply; None where nothing in it decided.
        boxes: where ``status`` is ``multiple``, all of them, in pixels of the original image.
        written: x1, y1, x2, y2 as the reply has them, before any conversion; None where no box was chosen.
    """

    box: Box | None
    status: BoxStatus
    rule: str
    span: tuple[int, int] | None
    boxes: tuple[Box, ...] = ()
    written: Box | None = None


_TAG_OPEN = re.compile(r"<\|?(?:box|bbox|box_start|bbox_start|det|bounding_box|quad_start)\|?>", re.IGNORECASE)
_TAG_CLOSE = re.compile(r"<\|?/?(?:/box|/bbox|box_end|bbox_end|/det|/bounding_box|quad_end)\|?>", re.IGNORECASE)
_MARKS = re.compile(r"[*$\\]|\\(?:left|right|boxed|text)\b|<\|?/?(?:ref|object_ref_start|object_ref_end)\|?>")
_FENCE = re.compile(r"'{3,}[a-zA-Z]*")
_CUT_LIST = re.compile(r"(?:[\[({,:]\s*[\"']?[\d.+-]*|<loc_?\d*|<\|?\w*)\s*\Z")
_NUMBERS = re.compile(r"\d")


def read_box(
    reply: str | None,
    frame: Frame,
    image_size: Size,
    sent_size: Size | Placement | None = None,
    *,
    finish: str = "stop",
    layout: Layout = Layout.XYXY,
) -> BoxReading:
    """Read the one box that a reply gives as its answer.

    Of several boxes, those said to be the hand's, denied, an example, another thing or a draft give way to what is
    said to be the target or the final answer; a box said again is the same box; else the reply is ``multiple``.
    Size, centre, row-first and percent forms count where the reply states them.  End points are sorted per axis, and
    a box that overlaps the image is cut to it.

    Args:
        reply: what the model wrote.
        frame: the declared frame of its numbers.
        image_size: width and height of the original image, pixels.
        sent_size: width and height of the image as the model got it, or the whole placement where it was padded or
            cropped; needed by ``Frame.PIXEL_SENT``.
        finish: ``length`` where the reply was cut, ``content_filter`` where it was held back.
        layout: the declared order of the four numbers, where the reply states none.

    Raises:
        HandbenchError: a size is not positive, or ``sent_size`` is lacking.
    """
    frame = Frame(frame)
    placement = placement_of(frame, image_size, sent_size)
    if reply is None or not reply.strip():
        status = BoxStatus.REFUSED if finish == "content_filter" else BoxStatus.EMPTY
        return BoxReading(None, status, finish if status is BoxStatus.REFUSED else "blank", None)
    text, thought, unfinished = _visible(reply)
    if not text.strip(" \n\"'"):
        if unfinished:
            cut = finish == "length"
            return BoxReading(None, BoxStatus.TRUNCATED if cut else BoxStatus.UNPARSED, "unfinished-thinking", None)
        return BoxReading(None, BoxStatus.UNPARSED if thought else BoxStatus.EMPTY, "nothing-said", None)
    mentions = find(text)
    contexts = describe(text, mentions)
    known = [
        (mention, context)
        for mention, context in zip(mentions, contexts, strict=True)
        if context.role not in (Role.DENIED, Role.HAND, Role.EXAMPLE)
    ]
    meant = _Meant(text, frame, image_size, placement, layout, finish)
    asides = all(context.role <= Role.OTHER for _, context in known)
    if not known or (asides and NULL_BOX.search(text) is not None):
        return _without_box(text, finish, bool(mentions))
    return meant.choose(known)


def _visible(reply: str) -> tuple[str, bool, bool]:
    """The reply without thinking, markers and marks, with box tags as brackets; of the reply's own length."""
    text, thought, unfinished = without_thinking(fold(reply))
    if len(text) > HEAD + TAIL:
        text = text[:HEAD] + "\n" * (len(text) - HEAD - TAIL) + text[-TAIL:]
    text = _TAG_OPEN.sub(lambda found: "[".rjust(len(found.group())), text)
    # The last sign of a closing tag keeps what follows apart: two boxes in tags are no polygon.
    text = _TAG_CLOSE.sub(lambda found: "]" + "~".rjust(len(found.group()) - 1), text)
    for pattern in (_MARKS, _FENCE, END_TOKEN):
        text = pattern.sub(lambda found: " " * len(found.group()), text)
    return without_roles(text), thought, unfinished


def _without_box(text: str, finish: str, others: bool) -> BoxReading:
    """What a reply says that gives no box as its answer."""
    rejection = rejects(text)
    if rejection is not None:
        return BoxReading(None, BoxStatus.REJECTED, "nothing-there", rejection)
    refusal = refuses(text)
    if refusal is not None:
        return BoxReading(None, BoxStatus.REFUSED, "refusal", refusal)
    if finish == "length":
        return BoxReading(None, BoxStatus.TRUNCATED, "cut", None)
    if finish == "content_filter":
        return BoxReading(None, BoxStatus.REFUSED, finish, None)
    return BoxReading(None, BoxStatus.UNPARSED, "other-boxes-only" if others else "no-box", None)


@dataclass(frozen=True)
class _Meant:
    """One reply's boxes on their way to pixels."""

    text: str
    frame: Frame
    image_size: Size
    placement: Placement
    layout: Layout
    finish: str

    def choose(self, known: list[tuple[Mention, Context]]) -> BoxReading:
        """The one box among those that are not the hand's and not denied."""
        # What is only listed beside a box ("A or B") is said as firmly as that box.
        statements: list[list[tuple[Mention, Context]]] = []
        for mention, context in known:
            if statements and context.joined and context.role in (Role.PLAIN, statements[-1][0][1].role):
                statements[-1].append((mention, context))
            else:
                statements.append([(mention, context)])
        best = max(part[0][1].role for part in statements)
        firm = [part for part in statements if part[0][1].role is best]
        if best in (Role.FINAL, Role.DRAFT):
            firm = firm[-1:] if best is Role.FINAL and not self._one_list(firm) else firm
        chosen = [pair for part in firm for pair in part]
        distinct = self._distinct(chosen)
        if len(distinct) > 1:
            boxes = tuple(self._pixels(mention, context) for mention, context in distinct)
            span = distinct[0][0].start, distinct[-1][0].end
            return BoxReading(None, BoxStatus.MULTIPLE, "several", span, boxes)
        return self._judge(*distinct[0])

    def _one_list(self, firm: list[list[tuple[Mention, Context]]]) -> bool:
        """Whether several firm boxes are entries of one object or list, none after the other in time."""
        between = [self.text[one[-1][0].end : other[0][0].start] for one, other in pairwise(firm)]
        return bool(between) and all(re.fullmatch(r"[^A-Za-z]*(?:\"[^\"]*\"[^A-Za-z]*)*", gap) for gap in between)

    def _distinct(self, chosen: list[tuple[Mention, Context]]) -> list[tuple[Mention, Context]]:
        kept: list[tuple[Mention, Context]] = []
        tolerance = max(1.0, 0.004 * max(self.image_size))
        for mention, context in chosen:
            here = np.array(self._pixels(mention, context))
            if all(np.abs(here - np.array(self._pixels(*other))).max() > tolerance for other in kept):
                kept.append((mention, context))
        return kept

    def _corners(self, mention: Mention, context: Context) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return np.asarray(corners(np.array(mention.values), context.layout or self.layout))

    def _percent(self, mention: Mention, context: Context) -> bool:
        return mention.unit == "%" or (not mention.unit and context.unit == "%")

    def _pixels(self, mention: Mention, context: Context) -> Box:
        """Corners in pixels of the original image, sorted, not cut."""
        said = self._corners(mention, context)
        if self._percent(mention, context):
            found = to_pixels(said / 100, Frame.NORM_1, self.placement)
        else:
            found = to_pixels(said, self.frame, self.placement)
        (x1, x2), (y1, y2) = sorted(found[[0, 2]]), sorted(found[[1, 3]])
        return float(x1), float(y1), float(x2), float(y2)

    def _judge(self, mention: Mention, context: Context) -> BoxReading:
        """The status of the one box chosen."""
        span = (mention.start, mention.end)
        said = self._corners(mention, context)
        written = (float(said[0]), float(said[1]), float(said[2]), float(said[3]))
        rejection = rejects(self.text)
        flat = said[0] == said[2] or said[1] == said[3]

        def without(status: BoxStatus, rule: str) -> BoxReading:
            return BoxReading(None, status, rule, span, (), written)

        if rejection is not None and not (rejection[0] >= span[0] and rejection[1] <= span[1]):
            if flat:
                return BoxReading(None, BoxStatus.REJECTED, "nothing-there", rejection)
            if not yields_anyway(self.text, rejection, mention.start):
                return without(BoxStatus.UNPARSED, "contradiction")
        if hypothetical(self.text) and (refusal := refuses(self.text)) is not None:
            return BoxReading(None, BoxStatus.REFUSED, "refusal", refusal)
        if self.finish == "length" and self._cut(mention, context):
            return without(BoxStatus.TRUNCATED, "cut")
        if not np.isfinite(said).all() or not any(mention.values):
            return without(BoxStatus.DEGENERATE, "no-area")
        if not self._percent(mention, context) and (why := self._mismatch(mention, context)):
            return without(BoxStatus.FRAME_MISMATCH, why)
        if flat:
            return without(BoxStatus.DEGENERATE, "no-area")
        return self._inside(mention, context, span, written)

    def _inside(self, mention: Mention, context: Context, span: tuple[int, int], written: Box) -> BoxReading:
        x1, y1, x2, y2 = self._pixels(mention, context)
        width, height = self.image_size
        box = max(x1, 0.0), max(y1, 0.0), min(x2, float(width)), min(y2, float(height))
        if box[0] >= box[2] or box[1] >= box[3]:
            return BoxReading(None, BoxStatus.OUT_OF_RANGE, "off-image", span, (), written)
        rule = [mention.how]
        layout = context.layout or self.layout
        if layout is not Layout.XYXY:
            rule.append(str(layout))
        if self._percent(mention, context):
            rule.append("percent")
        if written[0] > written[2] or written[1] > written[3]:
            rule.append("sorted")
        if box != (x1, y1, x2, y2):
            rule.append("clamped")
        return BoxReading(box, BoxStatus.OK, "+".join(rule), span, (), written)

    def _cut(self, mention: Mention, context: Context) -> bool:
        """Whether the reply was cut before it had given this box, or all of its boxes."""
        rest = self.text[mention.end :].rstrip()
        if not mention.closed and not rest.strip(" \n\"'"):
            return True
        if _CUT_LIST.search(rest) and _NUMBERS.search(rest[-24:]):
            return True
        if context.role < Role.PLAIN:
            return True
        return context.role is Role.PLAIN and not context.structured and bool(rest.strip(" \n\"'.)]"))

    def _mismatch(self, mention: Mention, context: Context) -> str:
        """Why the numbers cannot be meant in the declared frame; empty where they can."""
        values = np.array(mention.values)
        loc = self.frame is Frame.LOC_1000
        if mention.how == "loc":
            return "" if loc else "location-tokens"
        pixels = self.frame in (Frame.PIXEL, Frame.PIXEL_SENT)
        unit = mention.unit or context.unit
        if unit == "px" and not pixels:
            return "says-pixels"
        if unit == "norm" and pixels:
            return "says-normalised"
        if self.frame is Frame.NORM_1:
            return "too-large" if (values > 2).sum() >= 2 else ""
        parts = np.abs(values) <= 1.5
        if parts.all() and ((values % 1 != 0).any() or np.abs(values).max() <= 1):
            return "too-small"
        return "broken-bins" if loc and (values % 1 != 0).any() else ""


RULES: Final = ("list", "corners", "keys", "size", "ranges", "loc")
"""How a box was written: the first part of :attr:`BoxReading.rule` where the status is ``ok``."""
