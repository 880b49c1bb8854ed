"""The pieces below a server: patience, the adaptive limit, reading of untrusted bodies, waiting times."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handbench.errors import HandbenchError
from handbench.models._concurrency import AdaptiveLimit
from handbench.models._http import LONGEST_WAIT, retry_after
from handbench.models._reply import ChatReply, error_words, is_filtered, read_reply
from handbench.models._trouble import ANY, AWAY, FATAL, IMAGE, PASSING, SETUP, Patience, Trouble

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["choices", "message", "content", "usage", "logprobs", "text"]), inner, max_size=3
        )
    ),
    max_leaves=12,
)


def read_or_refuse(body):
    try:
        return read_reply(body)
    except Trouble as trouble:
        words = str(trouble)
    assert "\n" not in words
    assert len(words) < 300
    return None


def fail_often(patience, troubles):
    for number, trouble in enumerate(troubles):
        patience.failed(number, trouble, number)


@given(st.binary(max_size=200))
def test_no_bytes_make_the_reader_fail(body):
    read_or_refuse(body)
    assert "\n" not in error_words(body)
    is_filtered(body)


@given(JSON, JSON, JSON, JSON)
def test_no_json_makes_the_reader_fail(content, usage, logprobs, finish):
    choice = {"message": {"content": content}, "finish_reason": finish, "logprobs": logprobs}
    body = json.dumps({"choices": [choice], "usage": usage}).encode()
    reply = read_or_refuse(body)
    if reply is not None:
        reply.text.encode()
        assert reply.finish in ("stop", "length", "content_filter", "unknown")
        weights = reply.option_logprobs(4)
        assert weights is None or all(value is None or value <= 1e-9 for value in weights)


def test_words_of_errors():
    assert error_words(b'{"error": {"message": "no\\n such model", "code": 5}}') == "no such model"
    assert error_words(b'{"detail": [{"msg": "bad"}]}') == '[{"msg": "bad"}]'
    assert error_words(b"<html><style>x{}</style><h1>502</h1> Bad&nbsp;Gateway") == "502 Bad&nbsp;Gateway"
    assert error_words(b"") == "(nothing)"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "0.5"}, 0.5),
        ({"Retry-After": "-3"}, 0.0),
        ({"Retry-After": "1e9"}, LONGEST_WAIT),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "Mon, 01 Jan 2001 00:00:30 GMT"}, None),
        ({"Retry-After": "Mon, 01 Jan 2001 00:00:30 GMT", "Date": "Mon, 01 Jan 2001 00:00:00 GMT"}, 30.0),
        ({"Retry-After": "Mon, 01 Jan 2001 00:00:00 GMT", "Date": "Mon, 01 Jan 2001 00:00:30 GMT"}, 0.0),
    ],
)
def test_a_date_is_read_by_the_servers_own_clock(headers, seconds):
    assert retry_after(headers) == seconds


def feed(limit, latency, rounds):
    """Let replies come as from a server with the given latency at a number of requests under way."""
    for _ in range(rounds):
        for _ in range(limit.limit):
            limit.replied(latency(limit.limit))
    return limit.limit


def test_the_limit_grows_while_latency_holds():
    assert feed(AdaptiveLimit(512), lambda many: 1.0, 30) == 512
    assert feed(AdaptiveLimit(3), lambda many: 1.0, 30) == 3


def test_the_limit_stays_where_more_at_once_is_no_faster():
    assert feed(AdaptiveLimit(512), lambda many: 0.1 * many, 200) <= 12  # one after the other
    assert 48 <= feed(AdaptiveLimit(512), lambda many: max(1.0, many / 64), 200) <= 96  # 64 side by side


def test_a_busy_server_halves_the_limit_once_per_burst():
    limit = AdaptiveLimit(64, 64)
    for _ in range(20):
        limit.too_busy()
    assert limit.limit == 32
    feed(limit, lambda many: 1.0, 3)
    grown = limit.limit
    assert 32 < grown < 40  # by one at a time from now on
    limit.too_busy()
    assert limit.limit == grown // 2
    assert min(_halved(AdaptiveLimit(64, 64))) == 1


def _halved(limit):
    for _ in range(12):
        limit.too_busy()
        for _ in range(200):
            limit._cooling = max(0, limit._cooling - 1)
        yield limit.limit


def test_patience_hands_out_what_was_the_questions_fault():
    patience = Patience("here")
    for number in range(4):
        patience.failed(number, Trouble(FATAL, "too long", 400), number)
    assert [number for number, _ in patience.succeeded()] == [0, 1, 2, 3]
    assert patience.succeeded() == []
    patience.failed(9, Trouble(FATAL, "too long", 400), 9)
    assert [number for number, _ in patience.ended()] == [9]


def test_patience_ends_with_failures_alike_whatever_their_numbers():
    troubles = [Trouble(PASSING, f"request {number} died", 500) for number in range(9)]
    with pytest.raises(HandbenchError, match=r"here: stopped after 5 .* alike: passing \(HTTP 500\): request 4 died"):
        fail_often(Patience("here"), troubles)


def test_patience_ends_with_many_failures_of_all_kinds():
    words = [f"{chr(97 + number // 26)}{chr(97 + number % 26)}" for number in range(ANY + 1)]
    with pytest.raises(HandbenchError, match=f"{ANY} failures in a row"):
        fail_often(Patience("here"), [Trouble(PASSING, word) for word in words])


@pytest.mark.parametrize("kind", [SETUP, AWAY])
def test_a_setup_that_does_not_work_is_nobodys_answer(kind):
    patience = Patience("here")
    patience.failed(0, Trouble(kind, "gone"), 0)
    with pytest.raises(HandbenchError, match="gone"):
        patience.ended()


def test_damaged_images_alone_are_answers():
    patience = Patience("here")
    for number in range(7):
        patience.failed(number, Trouble(IMAGE, "damaged"), "one.jpg")
    assert len(patience.ended()) == 7


def test_all_alike_with_no_success_is_no_answer():
    patience = Patience("here")
    for number in range(7):
        patience.failed(number, Trouble(PASSING, "died", 500), "one.jpg")
    with pytest.raises(HandbenchError, match="all 7 questions failed alike"):
        patience.ended()


def test_letters_of_all_spellings_are_added_up():
    shares = {"A": 0.2, " (A)": 0.1, "C.": 0.05, "AB": 0.5}
    reply = ChatReply("", "stop", top=tuple((token, math.log(share)) for token, share in shares.items()))
    a, b, c = reply.option_logprobs(3)
    assert (a, b, c) == (pytest.approx(math.log(0.3)), None, pytest.approx(math.log(0.05)))
