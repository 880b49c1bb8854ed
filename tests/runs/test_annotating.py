from __future__ import annotations

import json

import polars as pl
import pytest

from handbench.errors import HandbenchError
from handbench.protocols import ReadContext
from handbench.runs import annotating
from handbench.runs.folder import RunFolder
from handbench.runs.parts import load_source
from handbench.runs.studies import bias_study, blur_study, size_study

DATA = "synth:clips?n=5&frames=16&size=96"


@pytest.fixture(scope="module")
def sampled(tmp_path_factory):
    root = tmp_path_factory.mktemp("sampled")
    context = ReadContext(cache=root / "images", workers=1)
    return annotating.sample(DATA, "blaze-lite", {"*": 5}, root / "a.json", context)


def _read(path):
    return load_source(f"annotations:{path}?images=images", ReadContext())


def test_frames_are_picked_at_a_rate_per_class_with_both_ends():
    frames = annotating.class_of_frames(load_source(DATA, ReadContext()))
    assert frames["gesture"].null_count() == 0
    commonest = frames.filter(pl.col("gesture") != "none")["gesture"].mode()[0]
    some = annotating.pick(frames, {"*": 100, commonest: 1})
    assert some.filter(pl.col("gesture") == commonest).height == frames.filter(pl.col("gesture") == commonest).height
    assert {0, 15} <= set(some["frame"])
    assert some.height < frames.height
    with pytest.raises(HandbenchError, match="no such class"):
        annotating.pick(frames, {"G05": 2})


def test_a_sample_keeps_its_initial_estimates(sampled):
    source = _read(sampled.path)
    assert source.frames.height == sampled.frames
    assert source.hands.height == sampled.hands > 5
    assert source.hands["initial_px"].null_count() == 0
    assert not source.hands["verified"].any()
    assert json.loads(sampled.path.read_text())["frames"][0]["hands"][0]["initial_by"] == "blaze-lite"
    with pytest.raises(HandbenchError, match="may hold corrections"):
        annotating.sample(DATA, "blaze-lite", {"*": 5}, sampled.path, ReadContext())


def test_all_rare_frames_are_audited_and_the_draw_is_pure(sampled):
    source = _read(sampled.path)
    sides = source.hands.group_by("image").agg(pl.col("side").cast(pl.String).sort())
    rare = set(sides.filter((pl.col("side").list.len() > 1) | (pl.col("side") == ["left"]))["image"])
    one, two = (annotating.frames_to_audit(source.frames, source.hands, 8, seed) for seed in (0, 0))
    assert rare <= set(one["image"])
    assert one.equals(two)
    other = annotating.frames_to_audit(source.frames, source.hands, len(rare) + 4, 1)
    assert other.height == len(rare) + 4


def test_corrections_are_counted_and_merged(sampled, tmp_path):
    """A point moved, a side changed, a hand removed, one added, a flag set: five frames of seven."""
    before = _read(sampled.path)
    content = json.loads(sampled.path.read_text())
    with_hand = [frame for frame in content["frames"] if len(frame["hands"]) == 1][:6]
    empty = next(frame for frame in content["frames"] if not frame["hands"])
    hand = json.loads(json.dumps(with_hand[0]["hands"][0]))
    with_hand[0]["hands"][0]["points"][7][0] += 2
    with_hand[1]["hands"][0]["side"] = {"left": "right", "right": "left"}[with_hand[1]["hands"][0]["side"]]
    with_hand[2]["hands"].clear()
    with_hand[3]["hands"][0]["occluded"] = [4]
    hand.pop("initial")
    empty["hands"].append(hand)
    path = tmp_path / "audited.json"
    path.write_text(json.dumps({**content, "frames": [*with_hand, empty]}))
    after = _read(path)
    found = annotating.corrections(before, after)
    assert found.counts == {
        "frames checked": 7, "frames corrected": 5, "hands added": 1, "hands removed": 1, "sides changed": 1,
        "points moved": 1, "flags changed": 1,
    }  # fmt: skip
    frames, hands = annotating.merged(before, after)
    assert frames.height == before.frames.height
    assert hands.height == before.hands.height
    assert hands["verified"].sum() == 6


def test_studies_of_a_run_with_initial_estimates(sampled, tmp_path):
    """Judged by its own estimates, the initialiser is perfect on hands that nobody moved: the study says so."""
    import handbench

    content = json.loads(sampled.path.read_text())
    hands = [hand for frame in content["frames"] for hand in frame["hands"]]
    for hand in hands[::2]:
        hand["points"] = [[x + 2.5, y] for x, y in hand["points"]]
    truth = tmp_path / "truth.json"
    truth.write_text(json.dumps(content))
    run = handbench.run(
        "handpose", f"annotations:{truth}?images={sampled.path.parent / 'images'}",
        estimator="blaze-lite?track=no", out=tmp_path / "run", workers=1,
    )  # fmt: skip
    folder = RunFolder(run.folder.root)
    study = bias_study(folder)
    assert study.facts["bias-free hands"] == len(hands[::2])
    pck = {
        row["slice_value"]: row["value"]
        for row in study.scores.iter_rows(named=True)
        if row["metric"].startswith("pck@") and row["slice"] == "bias"
    }
    assert pck["as initialised"] == 1
    assert pck["bias-free"] < pck["all"] < 1
    sizes = size_study(folder, lambda *_: None, (0.5, 1.0))
    counts = sizes.filter(pl.col("metric").str.starts_with("det_f1"))["n"].to_list()
    assert counts[0] < counts[1] == len(hands)
    blur = blur_study(folder)
    assert blur.table.height > 3
    assert set(blur.table["blur"]) <= {"sharp", "mild", "blurry"}
