from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from PIL import Image

from handbench import api
from handbench.controls import images as control_images
from handbench.controls.names import control_names, main, parse
from handbench.errors import HandbenchError
from handbench.runs import controls
from handbench.runs.controls import with_controls
from handbench.specs import Options, Spec
from handbench.tasks.handvqa.controls import vary
from handbench.tasks.handvqa.options import HandVQAOptions
from handbench.tasks.handvqa.questions import ask


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "r"
    made = api.ask("handvqa?controls=rotations,mirror,masked,blank", "synth:hands?n=5&seed=3", folder, workers=1)
    api.answer(made, ["oracle", "prior"], workers=1)
    return api.score(made)


def scores(run, **wanted):
    rows = run.scores.filter(pl.col("slice").cast(pl.String) == "control")
    for column, value in wanted.items():
        rows = rows.filter(pl.col(column).cast(pl.String) == value)
    assert rows.height, wanted
    return rows


def test_each_label_stands_once_in_each_place(run):
    questions = run.table("questions")
    named = control_names(questions["variant"])
    turned = pl.concat([questions.filter(named.is_null()), questions.filter(named.str.starts_with("rotation"))])
    for (question,), part in turned.group_by("question_id"):
        labels = np.array(part["option_labels"].cast(pl.List(pl.String)).to_list())
        assert len(labels) == labels.shape[1], question
        assert all(len(set(column)) == len(column) for column in labels.T)
        for row in part.iter_rows(named=True):
            assert row["option_labels"][row["truth_index"]] == row["truth_category"]
            shown = [f"{letter}. {option}" for letter, option in zip("ABCD", row["options"], strict=False)]
            assert "\n".join(shown) in row["prompt"]
            order = [int(digit) for digit in row["variant"].partition("order=")[2].partition(";")[0]]
            assert order.index(row["truth_rank"]) == row["truth_index"]
    assert turned.select("question_id", "variant").is_unique().all()


def test_a_mirror_asks_what_the_mirrored_hand_is_asked():
    options = HandVQAOptions.from_options(Options(Spec("handvqa", "", {"per_descriptor": "all"})))
    hands = make_hands_table()
    questions, _ = ask(hands, options)
    varied, missing = vary(questions, "mirror", options)
    assert not missing
    flip = np.array([-1.0, 1, 1])
    joints = hands["joints_cam"].to_numpy().reshape(-1, 21, 3) * flip
    center = hands["center"].to_numpy() * flip
    side = hands["side"].cast(pl.String).replace({"left": "right", "right": "left"})
    mirrored = hands.with_columns(
        pl.Series("joints_cam", joints.tolist(), dtype=hands.schema["joints_cam"]),
        pl.Series("center", center.tolist(), dtype=hands.schema["center"]),
        side.cast(pl.Categorical).alias("side"),
    )
    wanted, _ = ask(mirrored, options)
    same = varied.with_columns(pl.col("variant").cast(pl.String).str.replace(";control=mirror", ""))
    key = ["question_id", "variant"]
    both = same.join(wanted.with_columns(pl.col("variant").cast(pl.String)), on=key, how="inner", suffix="_w")
    assert both.height == questions.height
    for column in ("truth_category", "truth_index", "truth_rank", "prompt", "about_side"):
        assert (both[column].cast(pl.String) == both[f"{column}_w"].cast(pl.String)).all(), column
    assert np.allclose(both["truth_value"], both["truth_value_w"], atol=1e-5)
    assert np.allclose(both["truth_margin"], both["truth_margin_w"], atol=1e-5)
    sideways = both["about_descriptor"].cast(pl.String) == "x"
    before = questions.select("question_id", pl.col("truth_category").alias("before"))
    changed = both.join(before, on="question_id", maintain_order="left")
    differs = changed["before"].cast(pl.String) != changed["truth_category"].cast(pl.String)
    assert (differs == sideways).all()


def make_hands_table() -> pl.DataFrame:
    from handbench.protocols import ReadContext
    from handbench.runs.parts import load_source

    return load_source("synth:hands?n=6&seed=1", ReadContext()).hands.sort("hand_id")


def test_thresholds_that_are_not_symmetric_lose_some(tmp_path):
    limits = tmp_path / "t.json"
    limits.write_text('{"x": [-0.05, 0.3]}')
    spec = Spec("handvqa", "", {"per_descriptor": "all", "thresholds": str(limits)})
    options = HandVQAOptions.from_options(Options(spec))
    questions, _ = ask(make_hands_table(), options)
    varied, missing = vary(questions, "mirror", options)
    sideways = questions.filter(pl.col("about_descriptor").cast(pl.String) == "x")["truth_value"]
    between = int(((sideways < -0.05) & (sideways > -0.3)).sum())
    assert missing == {"aligned": between}
    assert varied.height == questions.height - between


def test_images_are_what_they_say(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 255, (40, 60, 3), np.uint8)
    image = Image.fromarray(pixels)
    assert (np.asarray(control_images.mirrored(image)) == pixels[:, ::-1]).all()
    covered = np.asarray(control_images.covered(image, (10.0, 5.0, 20.0, 30.0)))
    assert (covered[5:31, 10:21] == 128).all()
    outside = np.ones((40, 60), bool)
    outside[5:31, 10:21] = False
    assert (covered[outside] == pixels[outside]).all()
    assert control_images.blank(image).size == (60, 40)
    boxes = control_images.boxes_of(np.array([[[10.0, 20], [30, 24]], [[np.nan, 1], [2, np.nan]]]))
    assert boxes[0] == pytest.approx([5, 15, 35, 29])
    assert np.isnan(boxes[1]).all()


def test_control_images_lie_below_the_run_and_are_written_once(run):
    table = run.table("questions")
    shown = [image for image in table["images"].explode().unique().to_list() if control_images.is_control(image)]
    assert len(shown) == 3 * 5
    assert not any((run.folder.root / image).exists() for image in shown)  # nobody has looked yet
    from handbench.runs.asking import ensure_images

    ensure_images(run.folder, shown)
    times = {image: (run.folder.root / image).stat().st_mtime_ns for image in shown}
    ensure_images(run.folder, shown)
    assert times == {image: (run.folder.root / image).stat().st_mtime_ns for image in shown}
    located = controls.located(run.folder, table)["images"].explode().drop_nulls().unique()
    assert all((run.folder.images / image).exists() for image in located)


def test_main_scores_do_not_see_controls(run, tmp_path):
    api.ask("handvqa", "synth:hands?n=5&seed=3", tmp_path / "plain", workers=1)
    plain = api.score(api.answer(tmp_path / "plain", ["oracle", "prior"], workers=1)).scores
    mine = run.scores.filter(pl.col("slice").cast(pl.String) != "control")
    assert mine.drop("protocol").equals(plain.drop("protocol"))
    assert main(run.table("questions")).height == run.manifest["questions"]["count"]


def test_consistency_by_known_answerers(run):
    # The oracle is right whatever is changed, and so turns round in the mirror.
    for metric in ("consistency", "accuracy"):
        assert (scores(run, model="oracle", metric=metric)["value"] == 1).all()
    # The prior says the same label always: consistent, but for left and right in a mirror.
    mirror = scores(run, model="prior", metric="consistency", slice_value="mirror")
    found = dict(mirror.select(pl.col("descriptor").cast(pl.String), "value").iter_rows())
    assert found.pop("x") == 0
    count = main(run.table("questions"))["about_descriptor"].cast(pl.String).value_counts()
    counts = dict(count.iter_rows())
    assert found.pop("all") == pytest.approx(1 - counts["x"] / sum(counts.values()))
    assert set(found.values()) == {1.0}
    circular = scores(run, model="prior", metric="circular_accuracy", descriptor="angle")["value"][0]
    assert circular == pytest.approx(scores(run, model="prior", metric="accuracy", descriptor="angle")["value"][0])
    assert scores(run, model="oracle", metric="choice_at_C", descriptor="distance")["value"][0] == pytest.approx(1 / 3)


def test_all_is_what_the_task_and_the_source_have(tmp_path):
    assert with_controls("handvqa", "all") == "handvqa?controls=all"
    made = api.ask("handvqa?controls=all&per_descriptor=1", "synth:hands?n=2&seed=1", tmp_path / "r", workers=1)
    assert list(made.manifest["controls"]) == ["rotations", "mirror", "masked", "blank", "wording"]
    worded = made.table("questions").filter(pl.col("variant").cast(pl.String).str.ends_with("control=wording"))
    assert worded["variant"].cast(pl.String).str.contains("plain-").all()
    made = api.ask("safegesture?controls=all", "synth:gestures?n=6", tmp_path / "s", workers=1)
    assert list(made.manifest["controls"]) == ["blank"]


def test_names():
    assert parse("mirror,blank") == ("mirror", "blank")
    assert with_controls("handvqa?seed=1", "mirror, blank") == "handvqa?controls=mirror,blank&seed=1"
    assert with_controls("handvqa", None) == "handvqa"
    with pytest.raises(HandbenchError, match="there is no 'upside'"):
        parse("upside")
    with pytest.raises(HandbenchError, match="twice"):
        parse("blank,blank")


def test_a_task_without_such_a_control_says_what_it_has(tmp_path):
    with pytest.raises(HandbenchError, match=r"no 'rotations'; it has .*masked, blank"):
        api.ask("safegesture?controls=rotations", "synth:gestures?n=6", tmp_path / "r", workers=1)
    made = api.ask("safegesture?controls=blank", "synth:gestures?n=6", tmp_path / "b", workers=1)
    assert made.manifest["controls"]["blank"] == made.manifest["questions"]["count"]
