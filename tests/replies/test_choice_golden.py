from __future__ import annotations

import json

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handbench.replies import Status, read_choice, read_choices

APART = {"paraphrase", "letter_homoglyph", "language_no_letter"}

sentence_options = (
    "The tip joint of the ring finger is at the left of the tip joint of the little finger.",
    "The tip joint of the ring finger is at the right of the tip joint of the little finger.",
)
OPTION_SETS = (
    sentence_options,
    ("stop", "stop inverted", "peace", "peace inverted"),
    ("CRITICAL_STOP", "WARNING_ATTENTION", "HELP_DISTRESS", "SAFE_NEUTRAL", "AMBIGUOUS_VERIFY"),
    ("two", "three", "four", "five"),
    ("coffee mug", "laptop", "potted plant", "water bottle", "window"),
)


@pytest.fixture(scope="module")
def golden(shared) -> list[dict[str, object]]:
    lines = (shared / "golden/replies/replies_dev.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_the_golden_replies_are_read_right(golden):
    right, total = 0, 0
    for row in golden:
        found = read_choice(row["reply"], row["options"], finish=row["finish_reason"])
        same = (found.choice, str(found.status)) == (row["expected_index"], row["expected_status"])
        if row["style"] not in APART:
            total += 1
            right += same
        if row["expected_index"] is None or found.choice is not None:
            assert found.choice == row["expected_index"], row["id"]  # never a choice that the label denies
    assert total == 302
    assert right / total >= 0.98


def test_columns_are_read_as_single_replies(golden):
    rows = golden * 2
    found = read_choices(
        pl.Series([row["reply"] for row in rows] + [None]),
        pl.Series([row["options"] for row in rows] + [["a", "b"]]),
        pl.Series([row["finish_reason"] for row in rows] + [None]),
    )
    for row, line in zip(rows, found.rows(), strict=False):
        one = read_choice(row["reply"], row["options"], finish=row["finish_reason"])
        assert line == (one.choice, str(one.status), one.rule, *(one.span or (None, None)))
    assert found.row(-1)[:2] == (None, "empty")
    categories = read_choices(
        pl.Series([row["reply"] for row in golden]),
        pl.Series([row["options"] for row in golden], dtype=pl.List(pl.Categorical)),
        pl.Series([row["finish_reason"] for row in golden], dtype=pl.Categorical),
    )
    assert categories.equals(found[: len(golden)])


@pytest.mark.parametrize("options", OPTION_SETS)
def test_canonical_forms_are_always_read(options):
    for index, option in enumerate(options):
        letter = "ABCDE"[index]
        for reply in (
            letter,
            f"{letter}.",
            f"({letter})",
            f"({letter.lower()})",
            f"{letter}. {option}",
            option,
            f"  {option}\n",
            f"Answer: {letter}",
            f"The answer is {letter}.",
            f"```\n{letter}\n```",
            f'{{"answer": "{letter}"}}',
        ):
            found = read_choice(reply, options)
            assert (found.choice, found.status) == (index, Status.OK), reply


def test_text_answers_follow_the_options_when_they_are_permuted():
    for options in OPTION_SETS:
        turned = options[1:] + options[:1]
        for index, option in enumerate(options):
            assert turned[read_choice(option, turned).choice] == options[index]


@given(st.text(max_size=300), st.sampled_from(OPTION_SETS), st.sampled_from(["stop", "length", "content_filter"]))
@settings(max_examples=300, deadline=None)
def test_any_text_has_a_reading(reply, options, finish):
    found = read_choice(reply, options, finish=finish)
    assert (found.choice is not None) == (found.status is Status.OK)
    if found.choice is not None:
        assert 0 <= found.choice < len(options)
    if found.span is not None:
        assert 0 <= found.span[0] <= found.span[1] <= len(reply)


@pytest.mark.parametrize("piece", ["(", "A ", "not ", "**", "A or B ", "<think>", "{", "\n", "answer is "])
def test_long_replies_end(piece):
    found = read_choice(piece * (200_000 // len(piece)), sentence_options)
    assert found.status in set(Status)
