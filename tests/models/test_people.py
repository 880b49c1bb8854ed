from __future__ import annotations

import krippendorff
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handbench import api
from handbench.errors import HandbenchError
from handbench.reports import compare
from handbench.stats.agreement import krippendorff_alpha


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return api.ask("handvqa", "synth:hands?n=6&seed=2", tmp_path_factory.mktemp("p") / "r", workers=1)


def answers(run, right: dict[str, float], count: int = 40) -> pl.DataFrame:
    """People who answer the first questions, each right that often, in letters or words."""
    generator = np.random.default_rng(0)
    rows = []
    for row in run.table("questions").head(count).iter_rows(named=True):
        for person, share in right.items():
            place = row["truth_index"] if generator.random() < share else (row["truth_index"] + 1) % len(row["options"])
            reply = "ABCD"[place] if person == "ann" else row["options"][place]
            rows.append({"question_id": row["question_id"], "respondent": person, "reply": reply})
    return pl.DataFrame(rows)


def test_people_are_a_model_with_several_answers_to_a_question(run, tmp_path):
    given_ = answers(run, {"ann": 1.0, "bob": 0.8, "eve": 0.5})
    given_.write_csv(tmp_path / "answers.csv")
    api.answer(run, [f"people:students?file={tmp_path}/answers.csv", "oracle", "prior"], workers=1)
    scores = api.score(run).scores
    mine = scores.filter(pl.col("model").cast(pl.String).str.starts_with("people:"))
    whole = mine.filter(pl.col("descriptor").cast(pl.String) == "all", pl.col("metric").cast(pl.String) == "accuracy")
    readings = run.table("readings").filter(pl.col("model").cast(pl.String).str.starts_with("people:"))
    assert whole["n"][0] == readings.height == 120  # what nobody was asked is counted nowhere
    assert whole["value"][0] == pytest.approx(readings["correct"].mean())
    said = run.table("answers").filter(pl.col("model").cast(pl.String).str.starts_with("people:"))
    assert set(said["respondent"].cast(pl.String)) == {"ann", "bob", "eve"}
    ann = said.filter(pl.col("respondent").cast(pl.String) == "ann").join(
        readings, on=["question_id", "variant", "repeat"], how="inner"
    )
    assert ann["correct"].all()

    made = compare.compare([run.folder.root], tmp_path / "out")
    table = next(table for table in made.tables if table.name == "people")
    mine_line = next(line for line in table.lines if line.cells[0].startswith("people:"))
    assert mine_line.cells[3:5] == ("120", "40")
    oracle = next(line for line in table.lines if line.cells[0] == "oracle")
    assert oracle.cells[2].startswith("100.0")
    assert oracle.cells[4] == "40"  # on the people's questions alone
    published = [line.cells for line in table.lines if line.published]
    assert ("Humans (published)", "80.94") in [(cells[0], cells[2]) for cells in published]
    questions = run.table("questions").head(40)
    ranks = readings.join(questions.select("question_id", "about_descriptor"), on="question_id")
    table_of = ranks.with_columns(
        pl.concat_str(pl.col("about_descriptor").cast(pl.String), "chosen_rank").rank("dense").alias("label")
    ).pivot("question_id", index="repeat", values="label")
    wanted = krippendorff.alpha(table_of.drop("repeat").to_numpy().astype(float), level_of_measurement="nominal")
    assert float(mine_line.cells[5]) == pytest.approx(wanted, abs=0.005)


@given(st.integers(0, 10_000), st.sampled_from(["nominal", "ordinal"]))
@settings(max_examples=40, deadline=None)
def test_alpha_equals_krippendorffs_package(seed, level):
    generator = np.random.default_rng(seed)
    people, units = int(generator.integers(2, 6)), 30
    table = (generator.integers(0, 4, units) + (generator.random((people, units)) < 0.4)) % 4
    known = generator.random((people, units)) < 0.8
    wanted = krippendorff.alpha(np.where(known, table, np.nan), level_of_measurement=level)
    unit = np.broadcast_to(np.arange(units), table.shape)
    found = krippendorff_alpha(unit[known], table[known], level=level)
    assert found == pytest.approx(wanted)


def test_alpha_at_its_ends():
    unit = np.repeat(np.arange(10), 3)
    assert krippendorff_alpha(unit, np.repeat(np.arange(10) % 3, 3)) == pytest.approx(1)
    assert krippendorff_alpha(unit, np.zeros(30, int)) == 1
    assert np.isnan(krippendorff_alpha(np.arange(4), np.array([0, 1, 0, 1])))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("question_id,reply\nq,A\n", "column 'respondent' is missing"),
        ("question_id,respondent,reply\nq,ann,A\nq,ann,B\n", "2 rows are a second answer of one person"),
        ("question_id,respondent,reply\nq,,A\n", "row 0: respondent is missing"),
        ("question_id,respondent,reply\nq,ann,A\n", "no answer fits a question here"),
    ],
)
def test_bad_files_are_one_clear_line(run, tmp_path, text, told):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(HandbenchError, match=told):
        api.answer(run, f"people:some?file={path}", workers=1)


def test_the_file_must_be_named(run):
    with pytest.raises(HandbenchError, match="name the people and their file"):
        api.answer(run, "people:some", workers=1)
