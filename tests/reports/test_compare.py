from __future__ import annotations

import csv
import io
import json
from types import SimpleNamespace

import polars as pl
import pytest
from typer.testing import CliRunner

from handbench import api
from handbench.cli import app
from handbench.errors import HandbenchError
from handbench.reports import compare, comparison
from handbench.reports.printed import Line, Printed
from tests import scripted


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two runs on the same questions, and one that asks otherwise."""
    root = tmp_path_factory.mktemp("runs")
    first = api.ask("handvqa", "synth:hands?n=16&seed=5", root / "first", workers=1)
    questions = first.table("questions")
    base = scripted.write(questions, scripted.by_position, root / "base.parquet")
    api.score(api.answer(first, [base, "prior"], workers=1))
    second = api.ask("handvqa", "synth:hands?n=16&seed=5", root / "second", workers=1)
    tuned = scripted.write(questions, scripted.refuses_half, root / "tuned.parquet")
    other = scripted.write(questions, scripted.always_close, root / "other.parquet")
    api.score(api.answer(second, [tuned, other, "prior"], workers=1))
    third = api.ask("handvqa?answer=letter", "synth:hands?n=15&seed=5", root / "third", workers=1)
    api.score(api.answer(third, ["prior"], workers=1))
    return root


def test_differences_are_the_plain_ones(runs, tmp_path):
    made = compare.compare([runs / "first", runs / "second"], tmp_path)
    whole = next(one for one in made.differences if (one.model, one.descriptor) == ("refuses_half", "all"))
    assert whole.base == "by_position"
    sides = [comparison.open_side(runs / name).readings for name in ("first", "second")]
    right = [
        dict(zip(side["question_id"], side["correct"], strict=True))
        for side, name in zip(
            (
                part.filter(pl.col("model").cast(pl.String) == name)
                for part, name in zip(sides, ("by_position", "refuses_half"), strict=True)
            ),
            ("", ""),
            strict=True,
        )
    ]
    before, after = right
    won = sum(after[key] and not before[key] for key in before)
    lost = sum(before[key] and not after[key] for key in before)
    assert (whole.won, whole.lost, whole.n) == (won, lost, len(before))
    assert whole.cell.value == pytest.approx((won - lost) / len(before))
    assert whole.first - whole.second == pytest.approx(whole.cell.value)
    assert whole.cell.low < whole.cell.value < whole.cell.high
    assert whole.mcnemar is None  # every hand has some 25 questions
    parts = [one for one in made.differences if one.descriptor != "all"]
    assert all(one.corrected >= one.p_value for one in parts)


def test_runs_that_differ_are_refused_and_every_difference_is_listed(runs, tmp_path):
    with pytest.raises(HandbenchError) as caught:
        compare.compare([runs / "first", runs / "third"], tmp_path)
    told = str(caught.value)
    assert "options.answer is 'sentence'" in told
    assert "the protocol is paper/mesh;anatomical-1;sentence in" in told
    assert "questions are only in" in told
    assert "--shared" in told
    with pytest.raises(HandbenchError, match="no question in common"):
        compare.compare([runs / "first", runs / "third"], tmp_path, shared=True)


def test_shared_questions_are_compared_and_the_rest_counted(runs, tmp_path):
    fewer = api.ask("handvqa", "synth:hands?n=15&seed=5", tmp_path / "fewer", workers=1)
    api.score(api.answer(fewer, ["prior?name=again"], workers=1))
    sides = [comparison.open_side(path) for path in (runs / "first", fewer.folder.root)]
    group = comparison.groups(sides, shared=True)[0]
    assert group.questions.height == fewer.table("questions").height
    assert group.dropped == sides[0].questions.height - group.questions.height
    again = next(one for one in comparison.paired(group, "prior") if one.model == "again" and one.descriptor == "x")
    assert again.n <= group.questions.height


def test_tables_name_what_is_published(runs, tmp_path):
    made = compare.compare(
        [runs / "first", runs / "second"], tmp_path, base="by_position", named={"refuses_half": "freihand"}
    )
    scores = next(table for table in made.tables if table.name == "scores")
    mine = [line for line in scores.lines if not line.published]
    assert [line.cells[1] for line in mine if line.cells[0] == "refuses_half"] == ["freihand"]
    theirs = [line for line in scores.lines if line.published]
    row = next(line for line in theirs if line.cells[:3] == ("LLaVA Mistral 7B (published)", "HandVQA", "FreiHAND"))
    assert row.cells[3:8] == ("64.35", "0.367", "86.71", "0.136", "93.82")  # Tables 7 and 8
    assert "not for comparison" in scores.note
    rows = list(csv.DictReader(io.StringIO((tmp_path / "scores.csv").read_text())))
    assert {row["published"] for row in rows} == {"yes", "no"}
    latex = (tmp_path / "compare.tex").read_text()
    assert latex.count("\\begin{tabular}") == latex.count("\\end{tabular}") == len(made.tables)
    assert "refuses\\_half" in latex
    page = made.page.read_text()
    assert "wrong before, right after" in page
    assert "by_position → refuses_half" in page


def test_replies_are_shown_as_text(runs, tmp_path):
    run = api.ask("handvqa", "synth:hands?n=3&seed=5", tmp_path / "bad", workers=1)
    rows = run.table("questions").select("question_id", pl.col("variant").cast(pl.String))
    rows.with_columns(pl.lit("A <script>alert(1)</script>").alias("reply")).write_parquet(tmp_path / "bad.parquet")
    api.score(api.answer(run, [f"replies:{tmp_path}/bad.parquet?name=bad", "oracle", "chance?name=other"], workers=1))
    page = compare.compare([run.folder.root], tmp_path / "out", base="other").page.read_text()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


def test_command_line(runs, tmp_path):
    arguments = ["compare", str(runs / "first"), str(runs / "second"), "-o", str(tmp_path / "o")]
    told = CliRunner().invoke(app, arguments)
    assert told.exit_code == 0, told.output
    assert "no difference between refuses_half and by_position stands after the correction" in told.output
    assert "always_close is better than by_position on angle (+" in told.output
    assert told.output.strip().endswith("compare.html")
    found = json.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)
    assert {one["descriptor"] for one in found["differences"]} == {"all", "angle", "distance", "x", "y", "z"}
    bad = CliRunner().invoke(app, [*arguments, "--tuned-on", "nothing"])
    assert isinstance(bad.exception, HandbenchError)
    assert "MODEL=DATASET" in str(bad.exception)


def test_printed_in_every_format():
    table = Printed(
        "t", "A & B", "Half: 50 %.", ("Name", "Value"),
        (Line(("a|b_c", "1.0\n(0.9–1.1)"), strong=True), Line(("p", "2"), published=True)),
    )  # fmt: skip
    assert "| a\\|b_c | 1.0 (0.9–1.1) |" in table.markdown()
    assert "| *p* | *2* |" in table.markdown()
    assert "\\textbf{a|b\\_c} & \\textbf{1.0 (0.9--1.1)} \\\\" in table.latex()
    assert "\\textcolor{gray}{p}" in table.latex()
    assert table.csv().splitlines() == ["Name,Value,published", "a|b_c,1.0 (0.9–1.1),no", "p,2,yes"]
    assert table.without("Value").headings == ("Name",)


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("tiny", None),
        ("tiny?adapter=tuned", "synth:hands?n=4000&seed=0&size=100"),
        ("tiny?adapter=nowhere/mine", "adapter mine"),
    ],
)
def test_what_a_model_was_tuned_on_is_in_its_adapters_record(spec, told):
    side = SimpleNamespace(models=["it"], spec_of=lambda model: spec)
    assert comparison.tuned_on(side, "it", {}) == told
    assert comparison.tuned_on(side, "it", {"it": "FPHA"}) == "FPHA"
