from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from PIL import Image
from scipy.ndimage import laplace

from handbench.protocols import ReadContext, no_progress
from handbench.runs.parts import load_source
from handbench.synth.clip_motion import PLANS, RATE, VIEWS, clip_recipe
from handbench.synth.clip_picture import annotate_frame, place_hand, render_frame
from handbench.synth.mesh import rest_hand
from handbench.synth.raster import project


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return load_source("synth:clips?n=10&frames=60&size=96", ReadContext(cache=tmp_path_factory.mktemp("clips")))


def _presence(source, plan):
    """(10 clips') sides present in each frame, of the clips of a plan."""
    hands = source.hands.filter(pl.col("factor_plan") == plan.replace("_", " ")).with_columns(
        pl.col("side").cast(pl.String)
    )
    for clip in hands["cluster"].unique().sort():
        mine = hands.filter(pl.col("cluster") == clip).join(source.frames.select("image", "frame"), on="image")
        by_frame = {frame: set() for frame in range(60)}
        for side, frame in mine.select("side", "frame").iter_rows():
            by_frame[frame].add(side)
        yield [by_frame[frame] for frame in range(60)]


def test_every_plan_is_seen_from_both_views():
    seen = {(clip_recipe(0, index, frames=30).plan, clip_recipe(0, index, frames=30).view) for index in range(10)}
    assert seen == {(plan, view) for plan in PLANS for view in VIEWS}


def test_recipes_are_pure_and_splits_and_seeds_differ(source):
    assert clip_recipe(3, 7) == clip_recipe(3, 7)
    assert clip_recipe(3, 7) != clip_recipe(4, 7)
    train = load_source("synth:clips?n=1&frames=5&size=96", ReadContext(split="train"))
    assert not set(train.frames["image_hash"]) & set(source.frames["image_hash"])


def test_every_frame_is_annotated_hands_or_none(source):
    assert source.frames.height == 600
    assert source.frames["annotated"].all()
    assert source.frames["seconds"].to_list()[:3] == pytest.approx([0, 1 / 30, 2 / 30])
    empty = source.frames.join(source.hands, on="image", how="anti").height
    assert 30 < empty < 300
    assert set(source.hands["side"].cast(pl.String)) == {"left", "right"}


@pytest.mark.parametrize("plan", PLANS)
def test_plans_do_what_they_say(source, plan):
    for frames in _presence(source, plan):
        sides = [side for frame in frames for side in frame]
        if plan in ("right", "left"):
            assert set(sides) == {plan}
            present = [bool(frame) for frame in frames]
            changes = sum(one != other for one, other in pairwise(present))
            assert present[0]
            assert present[-1]
            assert changes == 2  # leaves once and comes back once
        if plan == "both":
            assert 15 < sum(len(frame) == 2 for frame in frames) < 45
        if plan == "one_then_other":
            order = [next(iter(frame)) for frame in frames if frame]
            assert order == sorted(order, reverse=True)
            assert any(not frame for frame in frames)


def test_the_truth_projects_where_it_says_and_left_is_a_mirror_image(source):
    row = source.hands.filter(pl.col("factor_plan") == "both")
    for side in ("left", "right"):
        some = row.filter(pl.col("side").cast(pl.String) == side).row(3, named=True)
        found = project(np.array(some["joints_cam"]), np.array(some["intrinsics"]))
        assert np.array(some["joints_px"]) == pytest.approx(found)
    recipe = clip_recipe(0, 2, frames=60, size=96)
    left = next(path for path in recipe.hands if path.side == "left")
    placed = place_hand(recipe, rest_hand(dict(recipe.shape)), left, 1.0)
    palm = placed.joints[[5, 9, 17]] - placed.joints[0]
    shown = np.cross(palm[0], palm[2])[2]
    right = place_hand(recipe, rest_hand(dict(recipe.shape)), type(left)("right", left.keys, left.sway), 1.0)
    other = right.joints[[5, 9, 17]] - right.joints[0]
    assert np.sign(shown) == -np.sign(np.cross(other[0], other[2])[2])
    assert placed.joints[:, 0] == pytest.approx(-right.joints[:, 0])


def test_bones_keep_their_lengths_and_no_joint_jumps(source):
    lengths, steps = [], []
    for (_,), clip in source.hands.group_by(["cluster"], maintain_order=True):
        for side in ("left", "right"):
            mine = clip.filter(pl.col("side").cast(pl.String) == side).join(
                source.frames.select("image", "frame"), on="image"
            ).sort("frame")  # fmt: skip
            if mine.is_empty():
                continue
            cam, pixels = np.array(mine["joints_cam"].to_list()), np.array(mine["joints_px"].to_list())
            lengths.append(np.ptp(np.linalg.norm(cam[:, 9] - cam[:, 0], axis=1)))
            follows = np.diff(mine["frame"].to_numpy()) == 1
            steps.append(np.linalg.norm(np.diff(pixels, axis=0), axis=2)[follows].max())
    assert max(lengths) < 1e-9
    assert max(steps) < 0.25 * 96


def test_joints_behind_the_occluder_are_occluded(source):
    recipe = clip_recipe(0, 3, frames=60, size=96)
    x, y, half = recipe.occluder
    hidden = 0
    for number in range(60):
        for truth in annotate_frame(recipe, number):
            shares = truth.joints_px / 96
            inside = ((shares[:, 0] - x) / (0.6 * half)) ** 2 + ((shares[:, 1] - y) / (0.9 * half)) ** 2 < 1
            assert not truth.visible[inside].any()
            hidden += int(inside.sum())
    assert hidden > 50


def test_motion_blurs_the_picture():
    """The same frame with a long exposure has less fine detail than with a short one, and a still one has no less."""
    from dataclasses import replace

    recipe = replace(clip_recipe(0, 1, frames=60, size=160), background="solid", person=None)
    hand = rest_hand(dict(recipe.shape))
    shown = [place_hand(recipe, hand, recipe.hands[0], n / RATE).pixels for n in range(61)]
    inside = [((pixels > 0) & (pixels < 160)).all() for pixels in shown]
    speed = [np.abs(shown[n + 1] - shown[n]).max() * inside[n] for n in range(60)]
    fast = int(np.argmax(speed))
    box = place_hand(recipe, hand, recipe.hands[0], fast / RATE).pixels
    low, high = np.clip(box.min(0) - 5, 0, 159).astype(int), np.clip(box.max(0) + 5, 0, 159).astype(int)

    def detail(exposure):
        shot = render_frame(replace(recipe, exposure=exposure, grain=0.0), fast).astype(float).mean(axis=2)
        return laplace(shot[low[1] : high[1], low[0] : high[0]]).var()

    assert speed[fast] > 5
    assert detail(0.95) < 0.5 * detail(0.01)


def test_images_are_drawn_once_and_hold_the_hand(source):
    wanted = source.frames.filter(pl.col("frame") == 5).head(2)
    source.images(wanted, no_progress)
    for image in wanted["image"]:
        with Image.open(source.root / image) as picture:
            assert picture.size == (96, 96)
    before = (source.root / wanted["image"][0]).stat().st_mtime_ns
    source.images(wanted, no_progress)
    assert (source.root / wanted["image"][0]).stat().st_mtime_ns == before


def test_held_gestures_are_clips(source):
    assert source.clips.height > 15
    one = source.clips.row(0, named=True)
    assert len(one["images"]) == one["end"] - one["start"] + 1
    assert one["side"] in ("left", "right")
    assert set(one["images"]) <= set(source.frames["image"])
