from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from handbench.errors import HandbenchError
from handbench.replies.families import FAMILIES
from handbench.runs.parts import find_task
from handbench.specs import Options, Spec
from handbench.tasks.pointing.options import SUBTASKS, PointingOptions, seen_by, speaks_of
from handbench.tasks.pointing.prompts import filled, said_box, template

PAPER = {
    "GroundingGPT": "groundinggpt",
    "Qwen3-VL": "qwen3-vl",
    "InternVL-3.5": "internvl-3.5",
    "LLaVA-OneVision": "llava-onevision",
    "Ferret": "ferret",
    "DeepSeek-VL2": "deepseek-vl2",
}


def test_each_referent_is_a_question_and_each_image_one(ask, scenes):
    questions, _ = ask("pointing?family=qwen3-vl")
    counts = dict(questions.group_by(pl.col("about_descriptor").cast(pl.String)).len().iter_rows())
    assert counts == {"edg": 72, "d-rec": 72, "pog": 24, "no-cue": 24, "d-vqa": 24}
    assert questions["question_id"].is_unique().all()
    assert set(questions["cluster"]) == set(scenes["cluster"])
    assert questions["question_id"][0] == f"pointing/edg/{scenes['scene_id'][0]}/0"


@pytest.mark.parametrize("subtask", SUBTASKS)
@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_every_prompt_gives_what_its_sub_task_gives_and_no_more(ask, subtask, name):
    questions, _ = ask(f"pointing/{subtask}?family={name}")
    for row in questions.iter_rows(named=True):
        prompt = row["prompt"]
        assert "{hand" not in prompt
        assert "{under" not in prompt
        assert "{object" not in prompt
        said = row["about_referent"]
        if subtask in ("edg", "d-rec") and not (name == "groundinggpt" and subtask == "d-rec"):
            assert said in prompt
        hand = said_box(speaks_of(row["variant"]), np.array(row["hand_box"]), tuple(row["image_size"]))
        assert (hand in prompt) == (subtask in ("edg", "pog", "d-vqa"))


def test_the_papers_prompts_are_word_for_word(shared, ask, scenes):
    golden = json.loads((shared / "golden/egopoint/prompts.json").read_text(encoding="utf-8"))["prompts"]
    assert len(golden) == 12
    for entry in golden:
        name, subtask = PAPER[entry["model"]], entry["task"].lower()
        text, source = template(name, subtask)
        assert text.replace("{object_caption}", "[object caption]") == entry["template"]
        assert source.startswith("paper")
        speaks = FAMILIES[name]
        assert str(speaks.frame).removeprefix("norm_") == entry["coordinate_mode"].removeprefix("relative_")
    for name in FAMILIES:
        for subtask in SUBTASKS:
            text, source = template(name, subtask)
            is_papers = any((PAPER[entry["model"]], entry["task"].lower()) == (name, subtask) for entry in golden)
            assert source.startswith("paper") == is_papers
            assert is_papers or source.startswith("ours")


def test_the_frame_is_stated_in_every_box_prompt_of_ours():
    words = {
        "norm_1000": "1000]",
        "norm_999": "999]",
        "norm_1": "[0, 1]",
        "pixel_sent": "pixels",
        "pixel": "{coordinates}",
    }
    for name, speaks in FAMILIES.items():
        if name == "florence-2" or (name == "groundinggpt"):
            continue
        for subtask in ("edg", "pog", "no-cue", "d-rec"):
            text = template(name, subtask)[0]
            assert words[str(speaks.frame)] in text or words[str(speaks.frame)].replace("[0, 1]", "[0,1]") in text


def test_values_with_braces_are_put_in_as_they_are():
    assert filled("a {x} {y} {z}", {"x": "{y}", "y": "1"}) == "a {y} 1 {z}"


def test_an_unknown_family_is_refused_with_the_list():
    with pytest.raises(HandbenchError, match=r"no model family is called 'gpt-7'; there are qwen2-vl, .*custom"):
        find_task("pointing/edg?family=gpt-7")
    with pytest.raises(HandbenchError, match="pointing/d-rec"):
        find_task("pointing/nothing")
    with pytest.raises(HandbenchError, match="no protocol"):
        find_task("pointing/edg", "released")


def test_negatives_are_negative_where_they_should_be(ask):
    questions, _ = ask("pointing?reject=yes")
    rows = questions.with_columns(pl.col("about_descriptor").cast(pl.String), pl.col("factor_negative").cast(pl.String))
    nothing = rows["truth_box"].is_null()
    for kind in ("not-pointing", "empty-ray"):
        assert nothing.filter(rows["factor_negative"] == kind).all()
    contradicted = rows.filter(pl.col("factor_negative") == "contradiction")
    assert contradicted.height
    by = contradicted.group_by("about_descriptor").agg(pl.col("truth_box").is_null().all().alias("none"))
    assert dict(by.iter_rows()) == {"edg": True, "d-rec": True, "pog": False, "no-cue": False, "d-vqa": False}
    boxes = rows.filter(pl.col("about_descriptor") != "d-vqa")
    assert boxes["prompt"].cast(pl.String).str.contains("return null instead").all()


def test_the_variant_tells_the_family_back():
    for text in (
        "pointing/edg?family=qwen2.5-vl&max_pixels=100352",
        "pointing/edg?family=custom&frame=norm_1000&layout=xywh",
    ):
        options = PointingOptions.from_options(Options(Spec.parse(text)), "paper")
        assert speaks_of(options.tag) == options.speaks
        assert speaks_of(f"{options.tag};control=mirror") == options.speaks


def test_images_are_resized_for_those_who_count_sent_pixels():
    task = "pointing/edg?family=qwen2.5-vl"
    options = PointingOptions.from_options(Options(Spec.parse(task)), "paper")
    assert options.resize((1920, 1080)) == (1932, 1092)
    assert options.resize((1932, 1092)) == (1932, 1092)  # the model's own rule then leaves the image alone
    assert PointingOptions(family="qwen3-vl").resize((1920, 1080)) is None


def test_what_was_sent_decides_where_a_pixel_lies():
    speaks = FAMILIES["qwen2.5-vl"]
    assert seen_by(speaks, (1920, 1080), None).size == (1932, 1092)
    half = seen_by(speaks, (1920, 1080), (960, 540))
    assert half.size == (952, 532)
    assert half.back(np.array([0, 0, 952, 532.0])) == pytest.approx([0, 0, 1920, 1080])
    padded = seen_by(FAMILIES["llava-1.5"], (1000, 500), (500, 250))
    assert padded.forward(np.array([0, 0, 1000, 500.0])) == pytest.approx([0, 125, 500, 375])
