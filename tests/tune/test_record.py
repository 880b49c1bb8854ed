"""What an adapter's folder says of itself, and what is refused."""

from __future__ import annotations

import polars as pl
import pytest

from handbench.errors import HandbenchError
from handbench.tune import record

WANTED = {"base": "tiny", "settings": {"rank": 8, "seed": 0, "emphasis": {"x": 2.0}}, "questions": "abc"}
DONE = {**WANTED, "trained": {"steps": 3}, "packing": {"on": True}, "parity": {"passed": True}}


def write(out, state="done", **changes):
    record.write_record(out, {**DONE, **changes, "state": state})
    (out / record.WEIGHTS).write_bytes(b"weights")


def test_the_same_training_is_found_done(tmp_path):
    assert record.there(tmp_path, WANTED) is None
    write(tmp_path)
    assert record.there(tmp_path, WANTED)["trained"] == {"steps": 3}
    write(tmp_path, "begun")
    assert record.there(tmp_path, WANTED) is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"settings": {**WANTED["settings"], "seed": 3}}, r"settings.seed is 3 there and 0 here"),
        (
            {"settings": {**WANTED["settings"], "emphasis": {"x": 1.0}}},
            r"settings.emphasis.x is 1.0 there and 2.0 here",
        ),
        ({"base": "hf:x"}, "base is 'hf:x' there and 'tiny' here"),
        ({"questions": "other"}, "the questions differ"),
    ],
)
def test_another_training_is_told_by_what_differs(tmp_path, changes, message):
    write(tmp_path, **changes)
    with pytest.raises(HandbenchError, match=message):
        record.there(tmp_path, WANTED)


def test_files_that_must_not_be_used_are_no_success(tmp_path):
    write(tmp_path, "failed")
    with pytest.raises(HandbenchError, match="do not use them"):
        record.there(tmp_path, WANTED)
    write(tmp_path)
    (tmp_path / record.WEIGHTS).unlink()
    with pytest.raises(HandbenchError, match="is missing, though the training was done"):
        record.there(tmp_path, WANTED)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"state = ", b"x = 1\n", b'state = "done"\n'])
def test_a_damaged_record_is_one_line(tmp_path, content):
    (tmp_path / record.RECORD).write_bytes(content)
    with pytest.raises(HandbenchError, match="damaged"):
        record.there(tmp_path, WANTED)


def test_what_is_not_ours_is_not_written_into(tmp_path):
    (tmp_path / "questions").mkdir()
    record.refuse_what_is_not_ours(tmp_path)
    (tmp_path / "README.md").write_text("a project")
    with pytest.raises(HandbenchError, match=r"holds something else \(README.md\)"):
        record.there(tmp_path, WANTED)
    (tmp_path / "README.md").unlink()
    (tmp_path / "checkpoints" / "checkpoint-50").mkdir(parents=True)
    with pytest.raises(HandbenchError, match="holds checkpoints"):
        record.there(tmp_path, WANTED)


def test_the_questions_are_told_by_their_order_too():
    table = pl.DataFrame({"question_id": ["a", "b"], "variant": ["", ""]})
    assert record.fingerprint(table) != record.fingerprint(table.reverse())
