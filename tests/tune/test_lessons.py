from __future__ import annotations

import json

import pytest

from handbench import api
from handbench.errors import HandbenchError
from handbench.tune.lessons import lessons, read_mix


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    run = api.ask("handvqa?per_descriptor=2", "synth:hands?n=3&size=32", tmp_path_factory.mktemp("q"), workers=1)
    return run.table("questions")


def test_a_lesson_is_an_image_with_all_its_questions(asked):
    made = lessons(asked)
    assert len(made) == 3
    assert sum(map(len, made)) == asked.height
    by_prompt = {row["prompt"]: row for row in asked.iter_rows(named=True)}
    for lesson in made:
        assert len({ask.images for ask in lesson.asks}) == 1
        for ask, reply in zip(lesson.asks, lesson.replies, strict=True):
            row = by_prompt[ask.prompt]
            letter, _, words = reply.partition(". ")
            assert "ABCD".index(letter) == row["truth_index"]
            assert words == row["options"][row["truth_index"]]


def test_a_letter_is_learned_where_a_letter_is_asked_for(tmp_path):
    run = api.ask("handvqa?answer=letter&per_descriptor=1", "synth:hands?n=2&size=32", tmp_path, workers=1)
    assert {reply for lesson in lessons(run.table("questions")) for reply in lesson.replies} <= set("ABCD")


def test_other_instructions_are_read(tmp_path):
    path = tmp_path / "chat.jsonl"
    rows = [
        {"messages": [{"role": "user", "content": "<image>What is it?"}, {"role": "assistant", "content": "A cat."}],
         "images": ["cat.png"]},
        {"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Two and two?"},
                      {"role": "assistant", "content": "Four."}]},
    ]  # fmt: skip
    path.write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "cat.png").write_bytes(b"a cat")
    picture, words = read_mix(path)
    assert picture.asks[0].images == (str(tmp_path / "cat.png"),)
    assert (picture.asks[0].prompt, picture.replies) == ("What is it?", ("A cat.",))
    assert (words.asks[0].system, words.asks[0].images, words.replies) == ("Be brief.", (), ("Four.",))


def _line(*said, **more):
    return json.dumps({"messages": [{"role": role, "content": text} for role, text in said], **more})


@pytest.mark.parametrize(
    "line",
    [
        "{", "[]", '{"messages": []}', '{"messages": 3}', '{"messages": ["a", "b"]}',
        _line(("user", 3), ("assistant", "b")),
        _line(("user", "a"), ("assistant", "b"), ("user", "c"), ("assistant", "d")),
        _line(("user", "a"), ("assistant", " ")),
        _line(("user", "a"), ("assistant", "b"), images="pic.jpg"),
        _line(("user", "a"), ("assistant", "b"), images=["nowhere.jpg"]),
    ],
)  # fmt: skip
def test_a_damaged_line_is_named(tmp_path, line):
    path = tmp_path / "chat.jsonl"
    path.write_text('{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}\n' + line)
    with pytest.raises(HandbenchError, match="line 2: expected"):
        read_mix(path)
