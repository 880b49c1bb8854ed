from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handbench.replies import Status, read_choice, read_choices

LETTERS = "ABCDEFGH"
WORDS = st.sampled_from(
    [
        "the",
        "a",
        "hand",
        "is",
        "not",
        "left",
        "right",
        "stop",
        "no",
        "or",
        "and",
        "finger",
        "thumb",
        "A",
        "B",
        "answer",
        "café",
        "左手",
        "none",
        "of",
        "them",
        "I",
    ]
)
TEXTS = st.one_of(
    st.lists(WORDS, min_size=1, max_size=7).map(" ".join),
    st.text(st.characters(categories=["Ll", "Lu", "Lo", "Nd", "Zs"]), min_size=2, max_size=30),
)


def folded(text: str) -> str:
    return " ".join(text.lower().replace("-", " ").replace("_", " ").split())


def differ(options: list[str]) -> bool:
    plain = [folded(text) for text in options]
    return len(set(plain)) == len(plain) and all(len(text) > 1 for text in plain)


OPTIONS = st.lists(TEXTS, min_size=2, max_size=8).filter(differ)
SNIPPETS = st.sampled_from(
    ["B", "(A)", "answer is ", "not ", "Answer: ", "\n", " or ", "**", "<think>", "</think>", "\\boxed{", "}", "{", '"',
     "option ", "is wrong", "✓", "70%", "second one", "none of the above", "I cannot see", "wait, no", "the thumb ",
     "?", "A. ", "assistant:", "[/INST]", "第二个", "é", "é", "\u200b", "Ⓑ", "🅱", "İ", "ß", "\x00", "~~", "'''"]
)  # fmt: skip
REPLIES = st.one_of(st.text(max_size=200), st.lists(SNIPPETS, max_size=14).map("".join))


@given(REPLIES, OPTIONS, st.sampled_from(["stop", "length", "content_filter"]))
@settings(max_examples=400, deadline=None)
def test_every_text_has_a_reading(reply, options, finish):
    found = read_choice(reply, options, finish=finish)
    assert (found.choice is not None) == (found.status is Status.OK)
    assert found.choice is None or 0 <= found.choice < len(options)
    if found.span is not None:
        assert 0 <= found.span[0] <= found.span[1] <= len(reply)
    if found.status is Status.OK:
        assert found.span is not None


@given(OPTIONS, st.data())
@settings(max_examples=300, deadline=None)
def test_the_asked_forms_are_read_for_any_options(options, data):
    index = data.draw(st.integers(0, len(options) - 1))
    letter, text = LETTERS[index], options[index]
    for reply in (letter, f"{letter}.", f"({letter.lower()})", f"{letter}. {text}", text, f" {text}\n"):
        found = read_choice(reply, options)
        assert (found.choice, found.status) == (index, Status.OK), reply


@given(OPTIONS, st.data())
@settings(max_examples=200, deadline=None)
def test_text_answers_follow_permuted_options(options, data):
    turned = data.draw(st.permutations(options))
    text = data.draw(st.sampled_from(options))
    for reply in (text, f"Answer: {text}", f'"{text}"'):
        first, second = read_choice(reply, options), read_choice(reply, turned)
        assert first.status == second.status
        assert first.choice is None or options[first.choice] == turned[second.choice]


@given(REPLIES, st.sampled_from([" ", "\n", "\t \n", "\u3000"]), st.sampled_from(["", "\n\n", "  "]))
@settings(max_examples=200, deadline=None)
def test_blanks_around_a_reply_change_nothing(reply, before, after):
    options = ("stop", "fist", "call")
    bare, padded = read_choice(reply, options), read_choice(before + reply + after, options)
    assert (bare.choice, bare.status) == (padded.choice, padded.status)


@given(st.lists(st.tuples(st.one_of(st.none(), REPLIES), st.integers(0, 2), st.sampled_from([None, "stop", "length"]))))
@settings(max_examples=60, deadline=None)
def test_columns_are_read_as_rows_are(rows):
    lists = [["stop", "fist"], ["fist", "stop"], ["The thumb is bent.", "The thumb is straight.", "stop"]]
    found = read_choices(
        pl.Series([reply for reply, _, _ in rows], dtype=pl.String),
        pl.Series([lists[number] for _, number, _ in rows], dtype=pl.List(pl.String)),
        pl.Series([finish for _, _, finish in rows], dtype=pl.String),
    )
    assert found.columns == ["choice", "status", "rule", "span_start", "span_end"]
    assert found.height == len(rows)
    for (reply, number, finish), line in zip(rows, found.rows(), strict=True):
        one = read_choice(reply or "", lists[number], finish=finish or "stop")
        assert line == (one.choice, str(one.status), one.rule, *(one.span or (None, None)))


def test_long_replies_are_read_at_both_ends():
    options = ("stop", "fist", "call")
    filler = "The hand rests on a table. " * 40_000
    late = read_choice(f"{filler}The answer is C.", options)
    assert (late.choice, late.rule) == (2, "answer-phrase-head-and-tail")
    text = f"{filler}The answer is C."
    assert text[slice(*late.span)] == "C"
    early = read_choice(f"Answer: B\n{filler}", options)
    assert (early.choice, early.span) == (1, (8, 9))
    thought = read_choice(f"<think>{'A or B? ' * 100_000}</think>\nC", options)
    assert (thought.choice, thought.rule) == (2, "letter")


@pytest.mark.parametrize(
    "piece",
    ["(", "A ", "not ", "**", "A or B ", "<think>", "{", '"a": ', "[INST]", "\\boxed{", "1% ", "first option ",
     "A > B > ", "no ", "x" * 50 + " ", "~~a", "'''", "I am sorry ", "answer is ", "\u200b", "한", "answer to the "],
)  # fmt: skip
def test_hostile_replies_are_read_without_a_choice_or_a_crash(piece):
    found = read_choice(piece * (200_000 // len(piece)), ("left hand", "right hand"))
    assert found.choice in (None, 0, 1)


def test_accents_written_apart_are_read_as_one():
    options = ["café", "thé"]
    reply = "Réponse : cafe\u0301!"
    found = read_choice(reply, options)
    assert found.choice == 0
    assert reply[slice(*found.span)] == "cafe\u0301"


def test_a_cut_reply_may_have_meant_the_longer_option():
    options = ("stop", "stop inverted", "peace")
    assert read_choice("stop", options).choice == 0
    assert read_choice("stop", options, finish="length").status is Status.TRUNCATED
    assert read_choice("stop.", options, finish="length").choice == 0
    assert read_choice("peace", options, finish="length").choice == 2


def test_options_that_are_letters_must_agree_with_their_labels():
    assert read_choice("B", ["A", "B", "C"]).choice == 1
    assert read_choice("B", ["B", "A", "C"]).choice is None
