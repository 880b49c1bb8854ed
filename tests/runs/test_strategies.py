from __future__ import annotations

import polars as pl
import pytest

from handbench import api, protocols, tables
from handbench.errors import HandbenchError
from handbench.runs.log import AnswerLog
from handbench.runs.parts import Answerer
from handbench.runs.strategies import drive, last_turns, unanswered
from tests.handvqa.conftest import random_hands, write_source
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


class Timid(LookThenAnswer):
    def turn(self, number, questions, replies):
        return questions.head(1)


def test_the_first_turn_must_ask_about_every_question():
    with pytest.raises(HandbenchError, match="must ask about all 3 questions, not 1"):
        list(drive(Echo(), Timid(), question_table(3), tables.empty("answers")))


def test_a_strategy_sees_the_runs_own_questions_in_every_turn():
    seen = []

    class Watching(LookThenAnswer):
        def turn(self, number, questions, replies):
            seen.append(questions["prompt"].cast(pl.String).to_list())
            return super().turn(number, questions, replies)

    list(drive(Echo(), Watching(), question_table(2), tables.empty("answers")))
    assert seen == [["question 0", "question 1"], ["question 0", "question 1"], ["question 0"]]


def test_questions_with_a_turn_to_go_are_not_answered_yet():
    questions, strategy = question_table(4), LookThenAnswer()
    told = list(drive(Echo(), strategy, questions, tables.empty("answers")))
    assert [frame["turn"][0] for frame in told] == [0, 0, 1]
    lacking = [
        unanswered(strategy, questions, pl.concat([tables.empty("answers"), *told[:count]]))["cluster"].to_list()
        for count in range(4)
    ]
    assert lacking == [["0", "1", "2", "3"], ["0", "2", "3"], ["0", "2"], []]


class SureThen:
    """The question, and then the question again with a doubt."""

    name = "are-you-sure"

    def turn(self, number, questions, replies):
        if number == 0:
            return questions
        prompt = pl.concat_str("prompt", pl.lit("\nAre you sure?"))
        return questions.with_columns(prompt) if number == 1 else questions.clear()


class Unsure:
    def __init__(self, name):
        self.name = name

    def answer(self, questions):
        asked = questions["prompt"].cast(pl.String).str.ends_with("sure?")
        reply = pl.select(pl.when(asked).then(pl.lit("A")).otherwise(pl.lit("unsure"))).to_series()
        frame = questions.select("question_id", "variant").with_columns(
            reply.alias("reply"), finish=pl.lit("stop"), model=pl.lit(self.name), repeat=0, turn=0
        )
        yield tables.conform(frame, "answers")


@pytest.fixture
def parts(monkeypatch):
    for room in ("models", "strategies"):
        monkeypatch.setitem(protocols.rooms._found, room, dict(protocols.rooms._found[room]))
    protocols.model("unsure")(lambda spec, options: Unsure(str(spec)))
    protocols.strategy("are-you-sure")(lambda spec, options: SureThen())


@pytest.mark.usefixtures("parts")
def test_a_model_asked_by_a_strategy_is_a_row_of_its_own(tmp_path):
    source = write_source(tmp_path / "source", random_hands(2))
    run = api.run("handvqa?per_descriptor=1", source, "unsure", tmp_path / "run", strategy="are-you-sure")
    api.answer(run, ["unsure"])
    api.score(run)
    assert run.manifest["models"] == ["unsure + are-you-sure", "unsure"]
    assert run.scores["model"].cast(pl.String).unique(maintain_order=True).to_list() == [
        "unsure + are-you-sure",
        "unsure",
    ]
    count = run.manifest["questions"]["count"]
    turns = run.table("answers").group_by(pl.col("model").cast(pl.String), "turn").len().sort("model", "turn").rows()
    assert turns == [("unsure", 0, count), ("unsure + are-you-sure", 0, count), ("unsure + are-you-sure", 1, count)]
    read = run.table("readings").group_by(pl.col("model").cast(pl.String), pl.col("status").cast(pl.String)).len()
    assert sorted(read.rows()) == [("unsure", "refused", count), ("unsure + are-you-sure", "ok", count)]
    assert api.report(run).read_text().count("unsure + are-you-sure") > 1


@pytest.mark.usefixtures("parts")
def test_half_a_turn_is_not_scored(tmp_path):
    source = write_source(tmp_path / "source", random_hands(2))
    run = api.ask("handvqa?per_descriptor=1", source, tmp_path / "run")
    api.answer(run, "unsure", strategy="are-you-sure")
    log = run.folder.log("unsure + are-you-sure")
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:-3]))
    with pytest.raises(HandbenchError, match="unsure \\+ are-you-sure lacks 3"):
        api.score(run)
    api.answer(run, "unsure", strategy="are-you-sure")
    assert sorted(log.read_bytes().splitlines()) == sorted(line.strip() for line in lines)
    api.score(run)


@pytest.mark.usefixtures("parts")
def test_names_of_models_with_strategies():
    who = Answerer.parse("server:a%20%2B b?base_url=http://h/v1", "are-you-sure")
    assert str(who) == "server:a %2B b?base_url=http://h/v1 + are-you-sure"
    assert Answerer.parse(str(who)) == who
    assert who.model.name == "a + b"
    assert Answerer.parse("chance?name=c", "are-you-sure?name=s").name == "c + s"
    with pytest.raises(HandbenchError, match="has a strategy already"):
        Answerer.parse("chance + are-you-sure", "other")


@pytest.mark.usefixtures("parts")
@pytest.mark.parametrize(
    ("strategy", "words"),
    [
        ("nonesuch", "no strategy is called 'nonesuch'; there are .*are-you-sure"),
        ("are-you-sure?colour=red", "unknown option colour"),
        ("are-you-sure?key=sk-1", "no key in a name"),
    ],
)
def test_unknown_strategies_are_refused_before_anything_is_written(strategy, words, tmp_path):
    with pytest.raises(HandbenchError, match=words):
        api.run("handvqa", "ge:nowhere", "unsure", tmp_path / "run", strategy=strategy)
    assert not (tmp_path / "run").exists()
