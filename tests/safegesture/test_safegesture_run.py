"""The task from the command's verbs: ask, answer, score, report."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import polars as pl
import pytest

from handbench import api, schemas, tables
from handbench.errors import HandbenchError
from handbench.reports.safegesture_chain import chains
from handbench.reports.summary import summary
from handbench.runs.answering import task_of
from handbench.synth.gestures import gesture_recipe
from handbench.synth.sample import annotate
from handbench.tasks.safegesture import chain
from handbench.tasks.safegesture.cells_file import PAPER

MODELS = ["chance", "prior", "oracle", "said"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("safegesture")
    replies = folder / "said.jsonl"
    made = api.ask("safegesture", "synth:gestures?n=1&size=48&supersample=1", folder / "run", workers=1)
    lines = []
    for number, row in enumerate(made.table("questions").iter_rows(named=True)):
        reply = '{"gesture": "<script>alert(1)</script>", "safety_label": "SAFE_NEUTRAL"}'
        if number % 2:
            reply = f"```json\n{row['options'][row['truth_index']]}\n```"
        key = {name: row[name] for name in ("question_id", "variant")}
        lines.append(json.dumps({**key, "reply": reply}))
    replies.write_text("\n".join(lines))
    api.answer(made, [*MODELS[:3], f"replies:{replies}?name=said"], workers=1)
    api.score(made)
    api.report(made, workers=1)
    return made


def number(run, model, metric):
    rows = run.scores.with_columns(pl.col("model", "metric", "slice", "protocol").cast(pl.String)).filter(
        (pl.col("model") == model)
        & (pl.col("metric") == metric)
        & (pl.col("slice") == "all")
        & pl.col("protocol").str.ends_with("percentile")
    )
    return rows["value"][0]


def test_48_items_of_six_images(run):
    assert run.manifest["questions"]["count"] == 48
    assert run.table("gestures").height == 6


def test_who_sees_no_image(run):
    assert number(run, "oracle", "safety_accuracy") == 1.0
    assert number(run, "oracle", "gesture_accuracy") == 1.0
    assert number(run, "prior", "safety_accuracy") == pytest.approx(17 / 48)
    assert number(run, "prior", "macro_f1") == pytest.approx(0.10461538)
    assert number(run, "oracle", "own_gesture_majority") == pytest.approx(30 / 48)


def test_replies_from_elsewhere(run):
    assert number(run, "said", "gesture_accuracy") == 0.5
    assert number(run, "said", "gesture_rate") == 0.5
    assert number(run, "said", "label_rate") == 1.0


def test_report_escapes_replies_and_names_the_consensus(run):
    text = run.report.read_text(encoding="utf-8")
    assert "<script" not in text
    assert "&lt;script&gt;alert(1)" in text
    assert PAPER.consensus in text
    assert "GPT-4o" in text
    assert "[40.3, 66.1]" in text


def test_report_shows_the_cells_their_items_and_where_errors_are_born(run):
    text = run.report.read_text(encoding="utf-8")
    for gesture in PAPER.gesture_ids:
        for scenario in PAPER.scenario_ids:
            anchor = f"cell-{gesture}-{scenario}"
            assert text.count(f'href="#{anchor}"') == 1 + 2 * len(
                MODELS
            )  # the truth; what each model says, how often it is right
            assert text.count(f'id="{anchor}"') == 1
    assert "Where its errors are born" in text
    assert text.count("background-image:url") == 6  # each image once, however many cells show it


def test_runs_of_the_text_variants_beside(run, tmp_path):
    words = api.run("safegesture?variant=gesture-as-text", None, ["oracle", "prior"], tmp_path / "words", workers=1)
    alone = api.run("safegesture?variant=scenario-only", None, ["oracle"], tmp_path / "alone", workers=1)
    text = api.report(run, beside=[words.folder.root, alone.folder.root], workers=1).read_text(encoding="utf-8")
    table = text[text.index("Text-only ablations") :]
    row = table[table.index("<td>oracle</td>") :].split("</tr>")[0]
    assert re.findall(r"<td>([^<]*)</td>", row) == ["oracle", "58.3", "100.0", "–", "100.0", "41.7", "0.0"]
    other = tmp_path / "cells.csv"
    other.write_text("gesture,scenario,safety_label\nlike,home_daily,SAFE_NEUTRAL\n")
    own = api.run(f"safegesture?variant=scenario-only&cells={other}", None, "oracle", tmp_path / "own", workers=1)
    with pytest.raises(HandbenchError, match="is about other cells"):
        api.report(run, beside=[own.folder.root], workers=1)


def test_an_estimator_s_chain_in_the_report(run):
    """Joints of a fist in every image: hands are found, the gesture is right in one image of six."""
    images = run.table("gestures")["image"].to_list()
    fist = annotate(gesture_recipe("fist", 126, 0, 48).hand)
    poses = pl.DataFrame(
        {
            "estimator": "e",
            "stage": "raw",
            "image": images,
            "hand": 0,
            "score": 1.0,
            "keypoints_px": [fist.joints_px.tolist()] * 6,
            "keypoints_cam": [fist.joints_cam.tolist()] * 6,
        },
        schema_overrides={"keypoints_px": schemas.JOINTS_2D, "keypoints_cam": schemas.JOINTS_3D},
    )
    path = run.folder.poses("blaze-full")
    path.parent.mkdir()
    tables.write(tables.conform(poses, "poses"), path, "poses")
    (chain_found,) = chains(
        run.folder, {**run.manifest, "models": ["pose:blaze-full"]}, run.table("questions"), PAPER, None
    )
    links = {name: number.value for name, number in chain_found.links}
    assert links["A hand is found"] == 1
    assert links["Gesture right"] == pytest.approx(1 / 6)
    assert links["Index right"] == pytest.approx(3 / 6)  # in for a fist, out for stop, point and mute
    agree = (PAPER.truth == PAPER.truth[PAPER.gesture_ids.index("fist")]).mean()
    assert links["Action right"] == pytest.approx(agree)
    assert {example.named for example in chain_found.examples} == {"fist"}
    assert len(chain_found.examples) == 6


def test_terminal(run):
    task, options = task_of(run.manifest)
    table, sentences = summary(task, options, run.scores, "synth-gestures", "title")
    assert table.row_count == 4 + 6 + 5
    assert sentences[2].startswith("oracle takes the right action in 100.0\u00a0%")


def test_text_variant_needs_no_source(tmp_path):
    made = api.run("safegesture?variant=scenario-only", None, ["prior", "chance"], tmp_path / "a", workers=1)
    assert made.manifest["questions"]["count"] == 8
    assert number(made, "prior", "safety_accuracy") == pytest.approx(17 / 48)
    assert made.report.exists()


def test_a_source_is_asked_for_where_images_are_shown_and_refused_where_none_are(tmp_path):
    with pytest.raises(HandbenchError, match="say where the gestures come from with --data"):
        api.ask("safegesture", None, tmp_path / "a")
    with pytest.raises(HandbenchError, match="needs no source; leave out --data"):
        api.ask("safegesture?variant=gesture-as-text", "synth:gestures?n=1", tmp_path / "b")


def cli(*arguments, folder):
    command = [sys.executable, "-m", "handbench.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)


def test_commands_of_the_text_variants_and_own_cells(tmp_path):
    ran = cli("run", "safegesture", "--variant", "gesture-as-text", "-m", "oracle", folder=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "48 questions" in ran.stdout
    assert (tmp_path / ran.stdout.splitlines()[-1].strip()).name == "report.html"
    (tmp_path / "mine.csv").write_text("gesture,scenario,safety_label\nlike,home_daily,SAFE_NEUTRAL\n")
    ran = cli("ask", "safegesture", "--variant", "scenario-only", "--cells", "mine.csv", "-o", "own", folder=tmp_path)
    assert ran.stdout.splitlines()[0] == "1 questions"
    (tmp_path / "mine.csv").write_text("gesture,scenario,safety_label\nlike,home_daily,HELP_DISTRESS\n")
    (tmp_path / "elsewhere").mkdir()
    cli("answer", "../own", "-m", "oracle", folder=tmp_path / "elsewhere")
    ran = cli("score", "../own", folder=tmp_path / "elsewhere")
    assert "the file of cells has changed" in ran.stderr


def test_a_source_without_gestures_is_refused(tmp_path):
    with pytest.raises(HandbenchError, match="no gestures to ask about"):
        api.ask("safegesture", "synth:hands?n=2", tmp_path / "b", workers=1)


def test_chain_errs_where_perception_does(run):
    """Poses made of exact joints of another gesture: the chain names that one and acts on it."""
    questions = run.table("questions")
    images = run.table("gestures").select("image", "gesture")
    fist = annotate(gesture_recipe("fist", 126, 0, 48).hand)
    poses = pl.DataFrame(
        {
            "estimator": "e",
            "stage": "raw",
            "image": images["image"].to_list()[:5],
            "hand": [0, 0, 0, 0, -1],
            "score": [1.0] * 5,
            "keypoints_px": [fist.joints_px.tolist()] * 5,
            "keypoints_cam": [fist.joints_cam.tolist()] * 3 + [None] * 2,
        },
        schema_overrides={"keypoints_px": schemas.JOINTS_2D, "keypoints_cam": schemas.JOINTS_3D},
    )
    answers = chain.answer(questions, tables.conform(poses, "poses"), "chain", PAPER)
    readings = task_of(run.manifest)[0].read(questions, answers)
    seen = readings.filter(pl.col("gesture").is_not_null())
    assert set(seen["gesture"].cast(pl.String)) == {"fist"}
    assert seen.height >= 3 * 8
    wrong = seen.filter(~pl.col("gesture_correct"))
    assert wrong.height == seen.height - 8 * int("fist" in images["gesture"].cast(pl.String).to_list()[:4])
    assert answers.filter(pl.col("reply").is_null()).height >= 2 * 8
