"""The same reply frames over many option lists: what must be read, and what must never be."""

from __future__ import annotations

import re
from itertools import permutations

import pytest

from handbench.replies import Status, read_choice

LETTERS = "ABCDEFGH"
SETS = [
    (
        "The tip joint of the ring finger is at the right of the tip joint of the little finger.",
        "The tip joint of the ring finger is at the left of the tip joint of the little finger.",
    ),
    (
        "The proximal interphalangeal joint of the thumb is above the tip joint of the middle finger.",
        "The proximal interphalangeal joint of the thumb is below the tip joint of the middle finger.",
    ),
    (
        "The index finger is straight at the proximal interphalangeal joint.",
        "The index finger is bent slightly inward at the proximal interphalangeal joint.",
        "The index finger is bent inward at the proximal interphalangeal joint.",
        "The index finger is bent completely inward at the proximal interphalangeal joint.",
    ),
    (
        "The tip joint of the thumb is close to the tip joint of the index finger.",
        "The tip joint of the thumb is spread from the tip joint of the index finger.",
        "The tip joint of the thumb is spread wide from the tip joint of the index finger.",
    ),
    ("The thumb touches the index finger", "The thumb touches the palm", "The thumb touches no other finger"),
    ("CRITICAL_STOP", "WARNING_ATTENTION", "HELP_DISTRESS", "SAFE_NEUTRAL", "AMBIGUOUS_VERIFY"),
    ("stop", "stop inverted", "peace", "peace inverted", "call", "point", "mute", "like"),
    ("hammer", "screwdriver", "pair of pliers"),
    ("two", "three", "four", "five"),
    ("She wants to pay the bill", "She asks for the menu", "She greets the waiter"),
    ("Der Daumen ist gestreckt.", "Der Daumen ist gebeugt."),
    ("左手", "右手"),
]
CHOSEN = [
    "{L}", "{L}.", "({L})", "({l})", "{l}.", "{L})", "{L}:", "**{L}**", "`{L}`", "Answer: {L}", "The answer is {L}.",
    "{L}. {t}", "{L}: {t}", "({L}) {t}", "{L}) {s}", "{t}", "{s}", '"{t}"', "Answer: {t}", "The answer is {L}. {t}",
    "**{L}. {t}**", "\\boxed{{{L}}}", "\\boxed{{\\text{{{L}}}}}", '{{"answer": "{L}"}}', '{{"answer": "{t}"}}',
    "I choose {L}", "<think>A or B?</think>{L}", "Option {L}", "{L}\n\n{t}", "The correct option is {L}: {s}",
    "Ответ: {L}", "答案是{L}", "La respuesta correcta es {L}.", "Final answer: {s}", "{L} - {s}",
    "Therefore, {L} is correct.", "The correct answer is:\n\n{L}. {t}", "The correct answer is: **{L}. {s}**",
    "Based on the image, the correct answer is {L}. {t}", "<answer>{L}</answer>", "Sure! {L}", "{L}<|im_end|>",
]  # fmt: skip
DENIED = [
    "It is not {L}.", "{L} is wrong.", "Not {L}", "{L} is not correct", "I rule out {L}.", "Is it {L}?",
    "The answer is not {L}.", 'Option {L} says "{s}".', "It is not true that {s}.", 'The statement "{s}" is false.',
    "{L}. {s} - this is wrong.", "nicht {L}", "no es {L}", "pas {L}", "不是{L}", "{L}ではない", "{L}는 아니다",
    "Option {L} ({s}) does not match the image.", "{L} can be eliminated.", "{s}? No.", "Not {s}.", "If {s}, then",
    "{L} is less likely", "I initially considered {L}.", "At first glance it looks like {L}, but that is wrong.",
]  # fmt: skip
CLASHING = [
    "{L}. {t}", "({L}) {t}", "{L}: {t}", "Option {L}: {t}", "{L}\n{t}", "The answer is {L}. {t}", "**{L}. {t}**",
    '{{"answer": "{L}. {t}"}}', "\\boxed{{{L}. {t}}}", "Answer: ({L}) {t}", "<answer>{L}. {t}</answer>", "{t} ({L})",
]  # fmt: skip
HEDGED = [
    "{A} or {B}", "It could be {A} or {B}.", "{A}, {B}", "Both {A} and {B}.", "{A}/{B}", "Maybe {A}, maybe {B}.",
    "The answer is {A} or {B}.", "Answer: {A}\nAnswer: {B}", "{A} oder {B}", "{A}或{B}", "{A} ou {B}", "{A}\n{B}",
    "I can't decide between {A} and {B}.", "The answer is {A}. The answer is {B}.",
    "The answer could be {A} but it could also be {B}.",
]  # fmt: skip
CORRECTED = [
    "Not {A} but {B}.", "The answer is {B}, not {A}.", "{A}? No, {B}.", "{A} is wrong, {B} is right.",
    "{A}. Wait, no. {B}.", "Initially {A}, but the correct answer is {B}.", "{B} because {A} is wrong.",
    "The answer is {A}. Correction: the answer is {B}.", "{A} or {B}? I go with {B}.", "Rather than {A}, {B}.",
    "{A} does not fit. {B} fits.", "Although {A} looks plausible, the answer is {B}.", "{A}\n\nEdit: {B}",
]  # fmt: skip
FINGERS = ["thumb", "index finger", "middle finger", "ring finger", "little finger"]
JOINTS = [
    "tip joint",
    "distal interphalangeal joint",
    "proximal interphalangeal joint",
    "metacarpophalangeal joint",
]


@pytest.mark.parametrize("frame", CHOSEN)
def test_a_declared_answer_is_read(frame):
    for options in SETS:
        for index, text in enumerate(options):
            letter = LETTERS[index]
            reply = frame.format(L=letter, l=letter.lower(), t=text, s=text.rstrip("."))
            found = read_choice(reply, options)
            assert (found.choice, found.status) == (index, Status.OK), (reply, found)


@pytest.mark.parametrize("frame", DENIED)
def test_a_denied_or_weighed_option_is_no_answer(frame):
    for options in SETS:
        for index, text in enumerate(options):
            reply = frame.format(L=LETTERS[index], t=text, s=text.rstrip("."))
            assert read_choice(reply, options).choice is None, reply


@pytest.mark.parametrize("frame", CLASHING)
def test_a_letter_against_the_quoted_option_is_no_answer(frame):
    for options in SETS:
        for letter, index in permutations(range(len(options)), 2):
            reply = frame.format(L=LETTERS[letter], t=options[index])
            assert read_choice(reply, options).choice is None, reply


@pytest.mark.parametrize("frame", HEDGED)
def test_two_answers_alike_are_a_hedge(frame):
    for options in SETS:
        for first, second in permutations(range(len(options)), 2):
            reply = frame.format(A=LETTERS[first], B=LETTERS[second])
            assert read_choice(reply, options).status is Status.HEDGED, reply


@pytest.mark.parametrize("frame", CORRECTED)
def test_the_corrected_answer_is_read(frame):
    for options in SETS:
        for first, second in permutations(range(len(options)), 2):
            reply = frame.format(A=LETTERS[first], B=LETTERS[second])
            assert read_choice(reply, options).choice == second, reply


def other_statements(text: str) -> set[str]:
    """Statements of the same form about another joint, or with the two joints swapped."""
    out = set()
    for names in (FINGERS, JOINTS):
        for name in names:
            if name in text:
                out |= {text.replace(name, other, 1) for other in names if other != name}
    pair = re.fullmatch(r"The (.+ of the [a-z]+(?: finger)?) (is .+) the (.+ of the [a-z]+(?: finger)?)\.", text)
    if pair is not None:
        out.add(f"The {pair[3]} {pair[2]} the {pair[1]}.")
    return out


@pytest.mark.parametrize(
    "frame", ["{t}", "{L}. {t}", "{L}\n{t}", "The answer is {L}. {t}", "I see that {t}", "{L}: {t}"]
)
def test_statements_about_other_joints_are_no_answer(frame):
    count = 0
    for options in SETS[:5]:
        offered = {text.rstrip(".").lower() for text in options}
        for index, text in enumerate(options):
            for other in sorted(other_statements(text)):
                if other.rstrip(".").lower() not in offered:
                    count += 1
                    assert read_choice(frame.format(L=LETTERS[index], t=other), options).choice is None, other
    assert count > 80
