from __future__ import annotations

import polars as pl
import pytest

from handbench import tables
from handbench.errors import HandbenchError
from handbench.runs.log import AnswerLog
from handbench.runs.strategies import drive, last_turns
from tests.models.chat_questions import question_table


class Echo:
    """Repeats a prompt in brackets; fails on demand; says what it was asked."""

    name = "echo"

    def __init__(self, fails=()):
        self.prompts = []
        self.fails = fails

    def answer(self, questions):
        for row in questions.iter_slices(2):
            prompts = row["prompt"].cast(pl.String).to_list()
            self.prompts += prompts
            bad = [any(word in prompt for word in self.fails) for prompt in prompts]
            frame = row.select("question_id", "variant").with_columns(
                pl.lit("echo").alias("model"), pl.lit(0).alias("repeat"), pl.lit(0).alias("turn"),
                pl.Series("reply", [None if no else f"[{prompt}]" for prompt, no in zip(prompts, bad, strict=True)]),
                pl.Series("finish", ["error" if no else "stop" for no in bad]),
            )  # fmt: skip
            yield tables.conform(frame, "answers")


class LookThenAnswer:
    """Two turns: what is seen, then the question with that beside it; questions with an odd number need one only."""

    name = "look-then-answer"

    def turn(self, number, questions, replies):
        if number == 0:
            return questions.with_columns(pl.lit("What do you see?").alias("prompt"))
        if number == 1:
            seen = replies.filter(pl.col("turn") == 0).select("question_id", "variant", pl.col("reply").alias("seen"))
            even = questions.filter(pl.col("question_id").str.slice(-1).cast(pl.Int64) % 2 == 0)
            with_seen = even.join(seen, on=["question_id", "variant"], how="left")
            question = pl.concat_str(pl.lit("You saw "), "seen", pl.lit(": "), pl.col("cluster"), pl.lit("?"))
            return with_seen.with_columns(question.alias("prompt")).drop("seen")
        return questions.clear()


def test_the_second_prompt_holds_the_first_reply():
    model, questions = Echo(), question_table(4)
    answers = pl.concat(list(drive(model, LookThenAnswer(), questions, tables.empty("answers"))))
    turns = answers.sort("question_id", "turn").select("question_id", "turn", "reply").rows()
    look = "[What do you see?]"
    assert turns == [
        ("t/000000", 0, look), ("t/000000", 1, f"[You saw {look}: 0?]"),
        ("t/000001", 0, look),
        ("t/000002", 0, look), ("t/000002", 1, f"[You saw {look}: 2?]"),
        ("t/000003", 0, look),
    ]  # fmt: skip
    last = last_turns(answers).sort("question_id")
    assert last["turn"].to_list() == [1, 0, 1, 0]
    assert last["question_id"].to_list() == questions["question_id"].to_list()


@pytest.mark.parametrize("stop", range(5))
def test_taken_up_anywhere_nothing_is_asked_twice(stop, tmp_path):
    questions = question_table(4)
    whole = pl.concat(list(drive(Echo(), LookThenAnswer(), questions, tables.empty("answers"))))
    asked = []
    with AnswerLog(tmp_path / "log", "echo") as log:
        model = Echo()
        for number, answers in enumerate(drive(model, LookThenAnswer(), questions, log.done)):
            if number == stop:
                model.prompts = model.prompts[: 2 * stop]
                break
            log.append(answers)
        asked += model.prompts
    with AnswerLog(tmp_path / "log", "echo") as log:
        model = Echo()
        for answers in drive(model, LookThenAnswer(), questions, log.done):
            log.append(answers)
        asked += model.prompts
    with AnswerLog(tmp_path / "log", "echo") as log:
        columns = ["question_id", "turn", "reply"]
        assert log.done.select(columns).sort(columns).equals(whole.select(columns).sort(columns))
    assert len(asked) == whole.height


def test_an_error_ends_its_question():
    model = Echo(fails=("2?",))
    answers = pl.concat(list(drive(model, LookThenAnswer(), question_table(4), tables.empty("answers"))))
    ends = dict(last_turns(answers).select("question_id", pl.col("finish").cast(pl.String)).iter_rows())
    assert [ends[f"t/00000{number}"] for number in range(4)] == ["stop", "stop", "error", "stop"]
    failing = Echo(fails=("see?",))
    answers = pl.concat(list(drive(failing, LookThenAnswer(), question_table(2), tables.empty("answers"))))
    assert answers["turn"].to_list() == [0, 0]


class Endless(LookThenAnswer):
    def turn(self, number, questions, replies):
        return questions


class Stray(LookThenAnswer):
    def turn(self, number, questions, replies):
        return pl.concat([questions, questions])


def test_a_strategy_without_end_or_with_stray_questions_is_refused():
    with pytest.raises(HandbenchError, match="did not come to an end"):
        list(drive(Echo(), Endless(), question_table(1), tables.empty("answers")))
    with pytest.raises(HandbenchError, match="not open, or twice"):
        list(drive(Echo(), Stray(), question_table(1), tables.empty("answers")))
