"""Fields out of replies, against labelled replies, strict JSON as oracle, and properties."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handbench.replies import Field, Status, read_fields
from handbench.replies.fields_objects import find_records
from handbench.replies.fields_values import is_blank, words
from handbench.tasks.safegesture.cells_file import GESTURES, LABELS
from handbench.tasks.safegesture.reading import fields, read_reply


def corpus(name):
    return [json.loads(line) for line in (Path(__file__).parent / name).read_text(encoding="utf-8").split("\n") if line]


CASES = corpus("cases_fields.jsonl")
SHAPES = corpus("cases_fields_shapes.jsonl")
GESTURE, SAFETY = fields()[:2]


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_labelled_replies(case):
    reading = read_reply(case["reply"], finish=case["finish"])
    assert (reading.gesture, reading.safety) == (case["gesture"], case["safety"])


@pytest.mark.parametrize("case", SHAPES, ids=[case["id"] for case in SHAPES])
def test_shapes_that_replies_take(case):
    reading = read_reply(case["reply"], finish=case["finish"])
    assert (reading.gesture, reading.safety) == (case["gesture"], case["safety"])
    assert "status" not in case or reading.status == case["status"]


def test_every_style_has_variants():
    styles = [case["style"] for case in CASES]
    assert min(styles.count(style) for style in set(styles)) >= 10


def test_reference_corpus(shared):
    lines = (shared / "golden/replies/safegesture_dev.jsonl").read_text(encoding="utf-8").splitlines()
    cases = [json.loads(line) for line in lines]
    wrong = []
    for case in cases:
        reading = read_reply(case["reply"], finish=case["finish_reason"])
        if (reading.gesture, reading.safety or "INVALID") != (case["expected_gesture"], case["expected_safety"]):
            wrong.append(case["id"])
    assert len(cases) > 50
    assert len(wrong) <= 0.02 * len(cases), wrong


@pytest.mark.parametrize(
    ("reply", "finish", "status", "rule"),
    [
        ('{"gesture": "stop", "safety_label": "SAFE_NEUTRAL"}', "stop", Status.OK, "object"),
        ('{"gesture": "stop", "safety_label": "SAFE_NEUTRAL",}', "stop", Status.OK, "repaired"),
        ("gesture: stop\nsafety_label: SAFE_NEUTRAL", "stop", Status.OK, "lines"),
        ('{"gesture": "stop", "safety_label": "SAFE"}', "stop", Status.OFF_LIST, "object"),
        ('{"gesture": "stop"}', "stop", Status.UNPARSED, "object"),
        ('{"gesture": "stop", "saf', "length", Status.TRUNCATED, "repaired"),
        ("I see a fist.", "stop", Status.UNPARSED, "nothing-usable"),
        ("I'm sorry, I can't help with that.", "stop", Status.REFUSED, "nothing-usable"),
        ('{"gesture": "stop", "safety_label": "SAFE_NEUTRAL or HELP_DISTRESS"}', "stop", Status.HEDGED, "object"),
        (" <|im_end|>\n", "stop", Status.EMPTY, "nothing-usable"),
        (None, "error", Status.ERROR, "error"),
        ("", "content_filter", Status.REFUSED, "content_filter"),
        (None, "none", Status.EMPTY, "nothing-usable"),
    ],
)
def test_status_and_rule(reply, finish, status, rule):
    reading = read_reply(reply, finish=finish)
    assert (reading.status, reading.rule) == (status, rule)


def test_free_text_is_kept_as_written():
    reply = {"gesture": "fist", "safety_label": "SAFE_NEUTRAL", "system_behavior": "Go on.", "explanation": 'a "b", c'}
    reading = read_reply(json.dumps(reply))
    assert (reading.behavior, reading.explanation) == ("Go on.", 'a "b", c')


def test_what_was_written_is_shown_where_it_is_no_label():
    reading = read_reply('{"gesture": "wave", "safety_label": ["SAFE_NEUTRAL", "HELP_DISTRESS"]}')
    assert reading.written == {"gesture": "wave", "safety_label": "SAFE_NEUTRAL, HELP_DISTRESS"}


def test_longest_alias_wins_and_borders_are_words():
    assert GESTURE.resolve(["index finger on lips"]) == "mute"
    assert GESTURE.resolve(["index finger"]) == "point"
    assert GESTURE.resolve(["stopwatch"]) is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abcdef_ ", min_size=1, max_size=6), inner),
    max_leaves=8,
)


@given(
    values=st.dictionaries(st.text("abcdefgh_", min_size=1, max_size=8), st.text(max_size=30), max_size=6),
    indent=st.sampled_from([None, 0, 2]),
    ascii_only=st.booleans(),
)
def test_strict_json_is_read_as_strict_json_reads_it(values, indent, ascii_only):
    text = json.dumps(values, indent=indent, ensure_ascii=ascii_only)
    (record,) = find_records(text)
    assert record.closed
    assert (record.start, record.end) == (0, len(text))
    assert {pair.key: pair.values[0].text for pair in record.pairs} == values


@given(
    gesture=st.sampled_from(GESTURES),
    safety=st.sampled_from(LABELS),
    explanation=st.text(max_size=60),
    more=json_values,
    first=st.booleans(),
)
def test_other_fields_never_change_the_reading(gesture, safety, explanation, more, first):
    asked = {"gesture": gesture, "safety_label": safety}
    rest = {"explanation": explanation, "zz": more}
    reply = json.dumps(rest | asked if first else asked | rest)
    reading = read_reply(reply)
    assert (reading.gesture, reading.safety, reading.explanation) == (gesture, safety, explanation)


@given(st.text(max_size=300))
def test_prose_without_a_key_has_no_reading(text):
    reading = read_reply(text.replace("{", "(").replace(":", " ").replace("=", " ").replace("|", " "))
    assert reading.safety is None


@given(reply=st.text("{}[]\"':,\\ \ngestures_labl", max_size=200), finish=st.sampled_from(["stop", "length"]))
def test_a_status_for_any_text(reply, finish):
    reading = read_reply(reply, finish=finish)
    assert (reading.status is Status.OK) == (reading.gesture is not None and reading.safety is not None)


@given(cut=st.integers(0, 120))
def test_a_cut_reply_never_tells_another_label(cut):
    reply = '{"gesture": "call", "safety_label": "HELP_DISTRESS", "explanation": "a phone, the person calls"}'
    reading = read_reply(reply[:cut], finish="length")
    assert reading.gesture in (None, "call")
    assert reading.safety in (None, "HELP_DISTRESS")


@given(
    gesture=st.sampled_from(GESTURES),
    safety=st.sampled_from(LABELS),
    form=st.sampled_from(["compact", "pretty", "python", "lines"]),
    slips=st.lists(
        st.tuples(st.integers(0, 10_000), st.sampled_from(["", '"', "'", "{", "}", ",", ":", "\n", "`"])), max_size=3
    ),
)
def test_slips_never_turn_a_label_into_another(gesture, safety, form, slips):
    said = {"gesture": gesture, "safety_label": safety, "explanation": "it's clear: the hand, up"}
    lines = "\n".join(f"{key}: {value}" for key, value in said.items())
    forms = {"compact": json.dumps(said), "pretty": json.dumps(said, indent=2), "python": repr(said), "lines": lines}
    reply = forms[form]
    for place, sign in slips:
        signs = [number for number, letter in enumerate(reply) if not (letter.isalnum() or letter == "_")]
        place = signs[place % len(signs)]
        reply = reply[:place] + sign + reply[place + 1 :]
    reading = read_reply(reply)
    assert reading.gesture in (None, gesture)
    assert reading.safety in (None, safety)


def test_one_field_alone():
    """A prompt that shows no gesture asks for the label alone."""
    cases = {
        "## Safety label\nHELP_DISTRESS": "HELP_DISTRESS",
        "| Safety label |\n|---|\n| SAFE_NEUTRAL |": "SAFE_NEUTRAL",
        '{"safety_label": "critical stop"}': "CRITICAL_STOP",
        "CRITICAL_STOP": None,
    }
    for reply, label in cases.items():
        assert read_fields(reply, [SAFETY]).values == {"safety_label": label}


def test_gestures_of_another_grid_are_something_else():
    only_fist = fields(("fist",), LABELS)
    reply = '{"gesture": "%s", "safety_label": "SAFE_NEUTRAL"}'
    assert read_reply(reply % "closed fist", asked=only_fist).gesture == "fist"
    assert read_reply(reply % "open palm, or a fist", asked=only_fist).gesture is None
    assert read_reply(reply % "stop", asked=only_fist).gesture is None


@pytest.mark.parametrize(
    "unit", ["{", '{"', '{"a":', '[{"', "{'a': 'b', ", '{"gesture": "', '{\\"', "/*", "<think>", '" ', "{ \n", '{"a" ']
)
def test_hostile_input_is_read_to_its_end(unit):
    assert read_reply(unit * (100_000 // len(unit))).safety is None


@settings(max_examples=50)
@given(st.sampled_from(LABELS), st.sampled_from([str.lower, str.title, lambda text: text.replace("_", "-")]))
def test_labels_fold(label, change):
    assert SAFETY.resolve([change(label) + "."]) == label


def test_key_words():
    assert words("safetyLabel") == ["safety", "label"]
    assert SAFETY.names("Safety-Action label")
    assert not SAFETY.names("safety_explanation")
    assert not GESTURE.names("gesture_confidence")


@pytest.mark.parametrize("text", [None, "", "...", "<label>", "[gesture]", "{x}", "string", "____", "?"])
def test_placeholders(text):
    assert is_blank(text)


def test_another_task_brings_its_own_fields():
    colour = Field(
        "colour", frozenset({"colour", "color"}), aliases={"crimson": "red", "scarlet": "red"}, labels=("red",)
    )
    size = Field("size", frozenset({"size"}), labels=("S", "M"))
    reading = read_fields("Color: a crimson one\nSize: m", [colour, size])
    assert reading.values == {"colour": "red", "size": "M"}
