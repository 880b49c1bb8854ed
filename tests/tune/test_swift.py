from __future__ import annotations

import json
import shlex

import pytest

from handbench import api
from handbench.errors import HandbenchError
from handbench.exchange import swift


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    return api.ask("handvqa?per_descriptor=1", "synth:hands?n=2&size=32", tmp_path_factory.mktemp("q"), workers=1)


@pytest.fixture
def exported(asked, tmp_path):
    swift.export(
        swift.Asked(asked.table("questions"), asked.folder.images), tmp_path, swift.Plan("base/model", accumulation=16)
    )
    return tmp_path


def flags(text: str, verb: str) -> dict[str, str]:
    command = next(part for part in text.split("\n\n") if part.startswith(f"swift {verb}"))
    words = shlex.split(command.replace("\\\n", " "))[2:]
    return dict(zip(words[::2], words[1::2], strict=True))


def test_rows_have_the_form_that_swift_reads(asked, exported):
    questions = asked.table("questions")
    rows = [json.loads(line) for line in (exported / swift.DATA).read_text().splitlines()]
    assert len(rows) == questions.height
    for row, question in zip(rows, questions.iter_rows(named=True), strict=True):
        system, user, assistant = row["messages"]
        assert [m["role"] for m in row["messages"]] == ["system", "user", "assistant"]
        assert system["content"] == question["system"]
        assert user["content"] == "<image>" + question["prompt"]
        assert assistant["content"].endswith(question["options"][question["truth_index"]])
        assert row["images"] == [str((asked.folder.images / question["images"][0]).resolve())]


def test_the_command_is_the_papers(exported):
    said = flags((exported / swift.COMMANDS).read_text(), "sft")
    wanted = {
        "--tuner_type": "lora", "--lora_rank": "8", "--lora_alpha": "32", "--target_modules": "all-linear",
        "--freeze_vit": "true", "--learning_rate": "0.0001", "--warmup_ratio": "0.05", "--torch_dtype": "bfloat16",
        "--num_train_epochs": "1", "--gradient_accumulation_steps": "16", "--model": "base/model",
    }  # fmt: skip
    assert wanted.items() <= said.items()
    assert "--train_type" not in said


def results(exported, change=None):
    rows = [json.loads(line) for line in (exported / swift.DATA).read_text().splitlines()]
    said = [{**row, "response": f"A. {n}", "labels": row["messages"][-1]["content"]} for n, row in enumerate(rows)]
    if change:
        change(said)
    path = exported / "results.jsonl"
    path.write_text("\n".join(map(json.dumps, said)))
    return path


def test_results_become_replies_of_the_same_questions(asked, exported):
    replies = swift.read_results(results(exported), exported)
    questions = asked.table("questions")
    assert replies["question_id"].to_list() == questions["question_id"].to_list()
    assert replies["reply"].to_list() == [f"A. {n}" for n in range(questions.height)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows.pop(), "9 results, but 10 questions"),
        (lambda rows: rows.reverse(), "line 1: is the result of another question"),
        (lambda rows: rows[3].pop("response"), "line 4: expected a result"),
    ],
)
def test_results_of_other_questions_are_refused(exported, change, message):
    with pytest.raises(HandbenchError, match=message):
        swift.read_results(results(exported, change), exported)


def test_the_tuned_model_is_asked_another_run_where_one_is_named(asked, tmp_path):
    test = api.ask("handvqa?per_descriptor=1", "synth:hands?n=1&size=32&seed=4", tmp_path / "test", workers=1)
    parts = [swift.Asked(run.table("questions"), run.folder.images) for run in (asked, test)]
    swift.export(parts[0], tmp_path / "out", swift.Plan("base/model", devices=4), parts[1])
    text = (tmp_path / "out" / swift.COMMANDS).read_text()
    assert "set -e" in text
    assert "NPROC_PER_NODE=4 swift sft" in text
    infer = flags(text, "infer")
    assert infer["--val_dataset"] == str(tmp_path / "out" / swift.TEST)
    rows = [json.loads(line) for line in (tmp_path / "out" / swift.TEST).read_text().splitlines()]
    said = tmp_path / "out" / "results.jsonl"
    said.write_text("\n".join(json.dumps({**row, "response": "A."}) for row in rows))
    replies = swift.read_results(said, tmp_path / "out")
    assert replies["question_id"].to_list() == test.table("questions")["question_id"].to_list()
