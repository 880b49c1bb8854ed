from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handbench.errors import HandbenchError
from handbench.replies import BoxStatus, Frame, read_box
from handbench.replies.box import HEAD, TAIL
from handbench.replies.families import FAMILIES, QWEN2_RULE, MultiplesOf, family
from handbench.replies.frames import (
    Layout,
    Placement,
    bin_size,
    corners,
    dequantise,
    from_pixels,
    laid_out,
    least_iou,
    placement_of,
    quantise,
    to_pixels,
)

SIZE, SENT = (1000, 800), (1008, 812)
CASES = [
    json.loads(line) for line in Path(__file__).with_name("cases_boxes.jsonl").read_text(encoding="utf-8").splitlines()
]
FRAMES = {
    "absolute": Frame.PIXEL,
    "absolute_resized": Frame.PIXEL_SENT,
    "relative_1": Frame.NORM_1,
    "relative_1000": Frame.NORM_1000,
    "relative_999": Frame.NORM_999,
    "florence_loc": Frame.LOC_1000,
}


def iou(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Plain IoU of (..., 4) corners, for these tests alone."""
    low, high = np.maximum(one[..., :2], other[..., :2]), np.minimum(one[..., 2:], other[..., 2:])
    shared = np.clip(high - low, 0, None).prod(-1)
    area = [(box[..., 2:] - box[..., :2]).prod(-1) for box in (one, other)]
    return shared / (area[0] + area[1] - shared)


def test_the_golden_box_replies_are_read_right(shared):
    lines = (shared / "golden/replies/boxes_dev.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    right = 0
    for row in rows:
        sent = tuple(row["resized_size"]) if row["resized_size"] else None
        found = read_box(
            row["reply"], FRAMES[row["frame"]], tuple(row["image_size"]), sent, finish=row["finish_reason"]
        )
        same = str(found.status) == row["expected_status"]
        if found.box is not None:
            assert row["expected_box_px"] is not None, row["id"]  # never a box that the label denies
            same = same and np.abs(np.subtract(found.box, row["expected_box_px"])).max() <= row["tolerance_px"]
        if "expected_boxes_px" in row:
            same = same and np.abs(np.subtract(found.boxes, row["expected_boxes_px"])).max() <= row["tolerance_px"]
        right += same
    assert len(rows) == 86
    assert right / len(rows) >= 0.98


@pytest.mark.parametrize("case", CASES, ids=[case["reply"][:60] for case in CASES])
def test_a_reply_is_read_as_a_person_reads_it(case):
    """Replies written for these tests, about an image of 1000 by 800 pixels that is sent with 1008 by 812."""
    found = read_box(case["reply"], Frame(case["frame"]), SIZE, SENT, finish=case["finish"])
    assert str(found.status) == case["status"], found
    if case["box"] is None:
        assert found.box is None
    else:
        assert found.box == pytest.approx(case["box"], abs=0.6)


def test_what_is_held_back_is_a_refusal():
    assert read_box(None, Frame.PIXEL, SIZE, finish="content_filter").status is BoxStatus.REFUSED
    assert read_box(None, Frame.PIXEL, SIZE, finish="none").status is BoxStatus.EMPTY


def test_pixels_as_sent_need_the_size_sent():
    with pytest.raises(HandbenchError, match="sent_size"):
        read_box("[1, 2, 3, 4]", Frame.PIXEL_SENT, SIZE)
    with pytest.raises(HandbenchError, match="positive"):
        read_box("[1, 2, 3, 4]", Frame.PIXEL, (0, 10))


def test_the_declared_layout_counts_where_the_reply_states_none():
    assert read_box("[100, 200, 50, 60]", Frame.PIXEL, SIZE, layout=Layout.XYWH).box == (100, 200, 150, 260)
    stated = "As [x1, y1, x2, y2]: [100, 200, 150, 260]"
    assert read_box(stated, Frame.PIXEL, SIZE, layout=Layout.XYWH).box == (100, 200, 150, 260)


def test_a_crop_and_padding_are_undone():
    crop = Placement.cropped((200, 100, 600, 500), (800, 800))
    assert read_box("[0, 0, 400, 400]", Frame.PIXEL_SENT, SIZE, crop).box == (200, 100, 400, 300)
    padded = Placement.letterboxed(SIZE, (1000, 1000))
    assert padded.shift == (0, 100)
    assert read_box("[0.1, 0.1, 0.2, 0.5]", Frame.NORM_1, SIZE, padded).box == pytest.approx((100, 0, 200, 400))
    with pytest.raises(HandbenchError, match="no area"):
        Placement.cropped((5, 5, 5, 9), (10, 10))


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from([*"[]{}()<>|,.:;-0123456789xywh \n\"'%", "<loc_5>", "<box>", "None "]), max_size=60).map(
        "".join
    )
    | st.text(max_size=60),
    st.sampled_from(list(Frame)),
    st.sampled_from(["stop", "length"]),
)
def test_any_text_gets_a_status_and_only_ok_a_box(reply, frame, finish):
    found = read_box(reply, frame, SIZE, SENT, finish=finish)
    assert (found.box is not None) == (found.status is BoxStatus.OK)
    if found.span is not None:
        assert 0 <= found.span[0] <= found.span[1] <= len(reply)
    if found.box is not None:
        x1, y1, x2, y2 = found.box
        assert 0 <= x1 < x2 <= SIZE[0]
        assert 0 <= y1 < y2 <= SIZE[1]


@pytest.mark.parametrize("part", ["[1, 2, ", "x1=3 ", "<loc_5>", "the hand ", "{'a': ", "no ", "1, ", "from 1 to 2 "])
def test_long_replies_are_read_from_both_ends(part):
    long = part * (60_000 // len(part))
    found = read_box(long + "\nFinal answer: [100, 200, 300, 400]", Frame.PIXEL, SIZE)
    assert found.status in (BoxStatus.OK, BoxStatus.MULTIPLE, BoxStatus.UNPARSED)
    assert len(long) > HEAD + TAIL


BOXES = st.tuples(*[st.floats(0, 1)] * 4)
SIDES = st.integers(64, 4000)


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(sorted(FAMILIES)), SIDES, SIDES, BOXES, st.sampled_from(["as the family does", "letterbox"]))
def test_a_box_of_twenty_bins_comes_back_from_every_family(name, width, height, parts, how):
    """Said as the family says it and read again, every edge is at most half a bin away, and IoU is 0.7 or more."""
    chosen = family(name)
    if how == "letterbox":
        # Any family behind a server that pads to a square of 672 instead of what it does itself.
        chosen = FAMILIES[name].__class__(
            **{**chosen.__dict__, "place": lambda size: Placement.letterboxed(size, (672, 672))}
        )
    size = (width, height)
    placement = chosen.placement(size)
    step = bin_size(chosen.frame, placement)
    box = _box_of_at_least(20, step, size, parts)
    if box is None:
        return
    found = read_box(chosen.write(box, size), chosen.frame, size, placement, layout=chosen.layout)
    assert found.status is BoxStatus.OK, (chosen.write(box, size), found)
    assert np.abs(np.array(found.box) - box).max() <= step.max() * (0.5 + 1e-6) + 1e-6
    assert iou(np.array(found.box), box) >= 0.7


def _box_of_at_least(bins: int, step: np.ndarray, size: tuple[int, int], parts: tuple[float, ...]) -> np.ndarray | None:
    sides = np.array(size, float)
    least = step * bins
    if (least > sides).any():
        return None
    extent = least + np.array(parts[2:]) * (sides - least)
    low = np.array(parts[:2]) * (sides - extent)
    return np.concatenate([low, low + extent])


def test_every_family_says_a_thousand_boxes_that_read_as_perfect():
    rng = np.random.default_rng(0)
    for name, chosen in FAMILIES.items():
        for _ in range(80):
            size = (int(rng.integers(64, 4001)), int(rng.integers(64, 4001)))
            step = bin_size(chosen.frame, chosen.placement(size))
            box = _box_of_at_least(20, step, size, tuple(rng.random(4)))
            if box is None:
                continue
            found = read_box(chosen.write(box, size), chosen.frame, size, chosen.placement(size), layout=chosen.layout)
            assert found.box is not None, name
            assert iou(np.array(found.box), box) >= 0.7, name


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(FAMILIES)), SIDES, SIDES, BOXES, st.integers(2, 19))
def test_smaller_boxes_keep_the_bound_of_their_bins(name, width, height, parts, bins):
    chosen, size = FAMILIES[name], (width, height)
    placement = chosen.placement(size)
    step = bin_size(chosen.frame, placement)
    box = _box_of_at_least(bins, step, size, parts)
    if box is None:
        return
    read = to_pixels(from_pixels(box, chosen.frame, placement), chosen.frame, placement)
    found = iou(np.clip(read, 0, [*size, *size]), box)
    assert found >= least_iou((box[2:] - box[:2]) / step) - 1e-9


def test_the_bound_is_met_by_the_worst_case():
    inner = np.array([0.5, 0.5, 2.5, 1.5])
    assert iou(inner, np.array([0.0, 0.0, 3.0, 2.0])) == pytest.approx(least_iou(np.array([3.0, 2.0])))


@given(st.floats(0, 1), st.integers(1, 10_000), st.integers(2, 2000))
def test_the_papers_quantiser_is_undone_to_half_a_bin(part, side, bins):
    """Equation 2: floor(c / L (N - 1)); the inverse is off by at most L / (2 (N - 1))."""
    value = part * side
    number = quantise(np.array(value), np.array(side), bins)
    assert 0 <= number <= bins - 1
    assert abs(dequantise(number, np.array(side), bins) - value) <= side / (2 * (bins - 1)) * (1 + 1e-9)


def test_the_papers_quantiser_by_hand():
    values = quantise(np.array([0.0, 1.0, 640.0, 1279.9, 1280.0]), np.array(1280.0))
    assert values.tolist() == [0, 0, 499, 998, 999]


@pytest.mark.parametrize("layout", list(Layout))
def test_layouts_are_undone(layout):
    boxes = np.array([[1.0, 2.0, 5.0, 9.0], [0.0, 0.5, 3.0, 4.0]])
    assert np.allclose(corners(laid_out(boxes, layout), layout), boxes)


@pytest.mark.parametrize(
    ("size", "sent"),
    [((1920, 1080), (1932, 1092)), ((1080, 1440), (1092, 1428)), ((512, 334), (504, 336)), ((640, 480), (644, 476))],
)
def test_qwens_rule_by_known_sizes(size, sent):
    assert QWEN2_RULE(size).size == sent


def test_qwens_rule_keeps_the_area_between_its_bounds():
    small = MultiplesOf(28, 28 * 28 * 16, 28 * 28 * 64)
    assert small((3000, 4000)).size == (168, 252)
    assert small((20, 20)).size == (112, 112)
    with pytest.raises(HandbenchError, match="200 times"):
        small((64, 64 * 201))


def test_families_are_found_or_listed():
    with pytest.raises(HandbenchError, match=r"no model family is called 'qwen9'; there are qwen2-vl, "):
        family("qwen9")
    with pytest.raises(HandbenchError, match="its own"):
        family("ferret", frame="pixel")
    with pytest.raises(HandbenchError, match="frame must be one of"):
        family("custom", frame="inches")
    mine = family("custom", frame="norm_1000", layout="xywh")
    assert mine.write(np.array([100.0, 80.0, 300.0, 160.0]), (1000, 800)) == '{"bbox_xywh": [100, 100, 200, 100]}'
    assert family("qwen2.5-vl", max_pixels=28 * 28 * 64).placement((3000, 4000)).size == (168, 252)


def test_the_sent_size_counts_only_where_it_matters():
    plain = placement_of(Frame.NORM_1000, SIZE, SENT)
    whole = to_pixels(np.array([0, 0, 1000, 1000]), Frame.NORM_1000, plain)
    assert whole == pytest.approx(np.array([0, 0, 1000, 800]))
