"""How model families say boxes: frame, layout, form and what happens to the image, in one table.

Sources: EgoPoint-Ground (arXiv 2603.26646), Tables 8 and 9 for the conventions that the paper asks for; the families'
own model cards and processors for what they were trained on.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from handbench.errors import HandbenchError
from handbench.replies.frames import Frame, Layout, Placement, Size, from_pixels, laid_out, placement_of

Word = TypeVar("Word", bound=StrEnum)


class Form(StrEnum):
    """How the numbers are written."""

    JSON = "json"
    """``{"bbox_2d": [1, 2, 3, 4]}``"""
    LIST = "list"
    """``[1, 2, 3, 4]``"""
    BOX_TOKENS = "box_tokens"
    """``<|box_start|>(1,2),(3,4)<|box_end|>``"""
    DET_TOKENS = "det_tokens"
    """``<|det|>[[1, 2, 3, 4]]<|/det|>``"""
    LOC_TOKENS = "loc_tokens"
    """``<loc_1><loc_2><loc_3><loc_4>``"""


def as_it_is(size: Size) -> Placement:
    """The image goes to the model as it is, or is stretched in a way that parts of its sides do not see."""
    return Placement(size)


def square(size: Size) -> Placement:
    """Padded to a square, the image in the middle (LLaVA-1.5's ``image_aspect_ratio = pad``)."""
    side = max(size)
    return Placement.letterboxed(size, (side, side))


@dataclass(frozen=True)
class MultiplesOf:
    """Qwen-VL's rule: sides rounded to multiples, the area held between two bounds, the image stretched to that.

    Attributes:
        factor: patch side times merge size, pixels.
        least: pixels of the smallest image.
        most: pixels of the largest image.
    """

    factor: int
    least: int
    most: int

    def __call__(self, size: Size) -> Placement:
        """The placement of an image of that size.

        Raises:
            HandbenchError: the image is more than 200 times as long as wide, which these processors refuse.
        """
        width, height = size
        if max(size) > 200 * min(size):
            raise HandbenchError(f"image {width}x{height}: longer than 200 times its other side; the model refuses it")
        # Python rounds halves to even here, as these processors do.
        sides = [max(self.factor, round(side / self.factor) * self.factor) for side in size]
        if math.prod(sides) > self.most:
            shrink = math.sqrt(width * height / self.most)
            sides = [max(self.factor, math.floor(side / shrink / self.factor) * self.factor) for side in size]
        elif math.prod(sides) < self.least:
            grow = math.sqrt(self.least / (width * height))
            sides = [math.ceil(side * grow / self.factor) * self.factor for side in size]
        return Placement.resized(size, (sides[0], sides[1]))


@dataclass(frozen=True)
class Family:
    """How one family of models says boxes.

    Attributes:
        name: as on the command line.
        frame: what its numbers count.
        form: how it writes them.
        layout: what its four numbers are.
        place: how an image of a given size comes to the model.
        native: whether this is what the family was trained on; else the paper's prompt asks for it.
    """

    name: str
    frame: Frame
    form: Form
    layout: Layout = Layout.XYXY
    place: Callable[[Size], Placement] = as_it_is
    native: bool = True

    def placement(self, size: Size) -> Placement:
        """How an image of that size (width, height) lies in what the model gets."""
        return placement_of(self.frame, size, self.place(size))

    def numbers(self, box: NDArray[np.floating], size: Size) -> list[float]:
        """The four numbers that say a box (pixels of the original image) in this family's frame and layout."""
        said = from_pixels(box, self.frame, self.placement(size))
        return [float(value) for value in laid_out(said, self.layout)]

    def write(self, box: NDArray[np.floating], size: Size) -> str:
        """A box in pixels of an image of that size, as this family says it in a reply."""
        text = [_number(value) for value in self.numbers(box, size)]
        if self.form is Form.LOC_TOKENS:
            return "".join(f"<loc_{value}>" for value in text)
        if self.form is Form.BOX_TOKENS:
            return f"<|box_start|>({text[0]},{text[1]}),({text[2]},{text[3]})<|box_end|>"
        listed = f"[{', '.join(text)}]"
        if self.form is Form.DET_TOKENS:
            return f"<|det|>[{listed}]<|/det|>"
        if self.form is Form.JSON:
            key = "bbox_2d" if self.layout is Layout.XYXY else f"bbox_{self.layout}"
            return f'{{"{key}": {listed}}}'
        return listed

    def rejection(self) -> str:
        """How this family says that there is nothing to point out."""
        return '{"bbox_2d": null}' if self.form is Form.JSON else "None"


def _number(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".") or "0"


QWEN2_RULE: Final = MultiplesOf(28, 56 * 56, 16384 * 28 * 28)
QWEN3_RULE: Final = MultiplesOf(32, 256 * 256, 4096 * 4096)

FAMILIES: Final[dict[str, Family]] = {
    family.name: family
    for family in (
        Family("qwen2-vl", Frame.NORM_1000, Form.BOX_TOKENS, place=QWEN2_RULE),
        Family("qwen2.5-vl", Frame.PIXEL_SENT, Form.JSON, place=QWEN2_RULE),
        Family("qwen3-vl", Frame.NORM_1000, Form.JSON, place=QWEN3_RULE),
        Family("internvl-3.5", Frame.NORM_1000, Form.LIST),
        Family("llava-onevision", Frame.NORM_1, Form.LIST),
        Family("llava-1.5", Frame.NORM_1, Form.LIST, place=square),
        Family("ferret", Frame.NORM_1000, Form.LIST),
        Family("deepseek-vl2", Frame.NORM_1000, Form.LIST, native=False),
        Family("deepseek-vl2-native", Frame.NORM_999, Form.DET_TOKENS),
        Family("groundinggpt", Frame.NORM_1, Form.LIST),
        Family("florence-2", Frame.LOC_1000, Form.LOC_TOKENS),
        Family("custom", Frame.PIXEL, Form.LIST),
    )
}
"""Every family by name.  ``custom`` takes its frame and layout from the person who runs it.

DeepSeek-VL2 was trained on 999ths; the paper asks it for 1000ths (Tables 8 and 9), so it stands here twice.
"""


def family(name: str, *, frame: str = "", layout: str = "", max_pixels: int = 0) -> Family:
    """A family by name.

    Args:
        name: a key of :data:`FAMILIES`.
        frame: for ``custom``: one of :class:`Frame`.
        layout: for ``custom``: one of :class:`Layout`.
        max_pixels: another upper bound of the image's area for the families that resize, 0 for their own.

    Raises:
        HandbenchError: there is no such family, or an option does not belong to it; what there is is listed.
    """
    if name not in FAMILIES:
        raise HandbenchError(f"no model family is called {name!r}; there are {', '.join(FAMILIES)}")
    found = FAMILIES[name]
    if (frame or layout) and name != "custom":
        raise HandbenchError(f"family {name}: frame and layout are its own; take family custom to declare others")
    if frame:
        found = replace(found, frame=_one_of(Frame, "frame", frame))
        if found.frame is Frame.LOC_1000:
            found = replace(found, form=Form.LOC_TOKENS)
    if layout:
        found = replace(found, layout=_one_of(Layout, "layout", layout))
        if found.layout is not Layout.XYXY and found.form is Form.LIST:
            found = replace(found, form=Form.JSON)
    if max_pixels:
        if not isinstance(found.place, MultiplesOf):
            raise HandbenchError(f"family {name}: does not resize images, so max_pixels has no meaning")
        found = replace(found, place=replace(found.place, most=max_pixels))
    return found


def _one_of(kind: type[Word], what: str, text: str) -> Word:
    try:
        return kind(text)
    except ValueError:
        raise HandbenchError(f"family custom: {what} must be one of {', '.join(kind)}, not {text!r}") from None
