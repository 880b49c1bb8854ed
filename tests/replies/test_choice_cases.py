from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from handbench.replies import Status, read_choice

CASES = [
    json.loads(line) for line in (Path(__file__).parent / "cases_choice.jsonl").read_text(encoding="utf-8").splitlines()
]
# Styles that need meaning, or tables of words, beyond what the reader has.
MEANING = {"paraphrase", "language_no_letter"}


def outcome(case: dict[str, object]) -> tuple[object, object]:
    found = read_choice(case["reply"], case["options"], finish=case["finish_reason"])
    return str(found.status), found.choice


def test_the_cases_cover_every_style_with_ten_replies():
    styles = Counter(case["style"] for case in CASES)
    assert len(styles) == 37
    assert min(styles.values()) >= 10
    assert len({case["id"] for case in CASES}) == len(CASES) > 1500


def test_no_choice_is_read_that_the_label_denies():
    for case in CASES:
        status, choice = outcome(case)
        if status == Status.OK:
            assert choice == case["expected_index"], case


@pytest.mark.parametrize("style", sorted({case["style"] for case in CASES}))
def test_the_cases_are_read_right(style):
    cases = [case for case in CASES if case["style"] == style]
    wrong = [case for case in cases if outcome(case) != (case["expected_status"], case["expected_index"])]
    assert len(wrong) <= (len(cases) // 5 if style in MEANING else len(cases) // 100), wrong


def test_blanks_and_code_fences_around_a_reply_change_nothing():
    for case in CASES:
        if case["expected_status"] != Status.OK or case["finish_reason"] == "length" or "```" in case["reply"]:
            continue
        plain = outcome(case)
        for wrapped in (f"\n  {case['reply']} \n\t", f"```\n{case['reply']}\n```", f"```text\n{case['reply']}\n```"):
            assert outcome({**case, "reply": wrapped}) == plain, wrapped


def test_the_evidence_lies_in_the_reply():
    for case in CASES:
        found = read_choice(case["reply"], case["options"], finish=case["finish_reason"])
        if found.status is Status.OK:
            start, end = found.span
            assert 0 <= start < end <= len(case["reply"])
            assert case["reply"][start:end].strip()
        assert found.rule
