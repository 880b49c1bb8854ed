from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handbench import tables
from handbench.tasks.handpose.arrays import frames_of, predicted_hands
from handbench.tasks.handpose.evaluation import evaluate, prepare_truth
from handbench.tasks.handpose.protocol import Average, Normaliser, Protocol
from handbench.tasks.handpose.reading import matches_table
from handbench.tasks.handpose.scoring import ranks, score_rows, scored
from tests.handpose.makers import SHAPE, moved

PROTOCOL = Protocol()


def frame_table(count, videos=3, size=(640, 480), annotated=True):
    number = np.arange(count)
    return tables.conform(
        pl.DataFrame(
            {
                "image": [f"v{n % videos}/{n // videos:04d}.jpg" for n in number],
                "dataset": ["test"] * count,
                "split": ["test"] * count,
                "video": [f"v{n % videos}" for n in number],
                "frame": [int(n // videos) for n in number],
                "seconds": [float(n // videos) / 30 for n in number],
                "width": [size[0]] * count,
                "height": [size[1]] * count,
                "annotated": [annotated] * count,
            }
        ),
        "frames",
    )


def hand_table(images, sides, points, **columns):
    count = len(images)
    return tables.conform(
        pl.DataFrame(
            {
                "hand_id": [
                    f"{image}/{side}/{row}" for row, (image, side) in enumerate(zip(images, sides, strict=True))
                ],
                "image": images,
                "dataset": ["test"] * count,
                "split": ["test"] * count,
                "side": sides,
                "cluster": images,
                "joints_px": pl.Series(np.asarray(points, float), dtype=tables.JOINTS_2D),
                **columns,
            }
        ),
        "hands",
    )


def pose_table(images, sides, points, scores=None, name="e"):
    count = len(images)
    table = pl.DataFrame(
        {
            "estimator": [name] * count,
            "stage": ["raw"] * count,
            "image": pl.Series(images, dtype=pl.String),
            "side": pl.Series(sides, dtype=pl.String),
            "score": pl.Series(scores if scores is not None else [0.9] * count, dtype=pl.Float32),
            "keypoints_px": pl.Series(np.asarray(points, float).reshape(count, 21, 2), dtype=tables.JOINTS_2D),
        }
    ).with_columns(hand=pl.int_range(pl.len()).over("image").cast(pl.Int16))
    return tables.conform(table, "poses")


def _values(frames, hands, poses, protocol=PROTOCOL, **options):
    grid = frames_of(frames, protocol.frames)
    e = evaluate(prepare_truth(grid, hands, protocol), poses, protocol)
    table = score_rows([scored("e", "raw", e, oks=False, sweep=False)], intervals=False)
    return {(row["metric"], row["slice"], row["slice_value"]): row["value"] for row in table.iter_rows(named=True)}


def _all(values):
    return {key[0]: value for key, value in values.items() if key[1] == "all"}


def _set(rng, count=24):
    frames = frame_table(count)
    images = frames["image"].to_list()
    points = [moved(*rng.uniform(0, 300, 2)) * rng.uniform(0.7, 1.3) for _ in images]
    sides = [("left", "right")[int(k)] for k in rng.integers(0, 2, count)]
    return frames, images, sides, np.array(points)


def test_a_perfect_predictor_is_perfect_on_every_axis():
    frames, images, sides, points = _set(np.random.default_rng(0))
    found = _all(_values(frames, hand_table(images, sides, points), pose_table(images, sides, points)))
    assert found["det_p@iou0.5"] == found["det_r@iou0.5"] == found["det_f1@iou0.5"] == 1
    assert found["pose_f1@0.1,0.5"] == found["pck@0.1/box_side"] == 1
    assert found["mpjpe/box_side"] == found["mpjpe/px"] == found["swap_rate@iou0.5"] == found["cross_hand_overlap"] == 0


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**31))
def test_a_phantom_away_from_every_hand_raises_no_f1(seed):
    rng = np.random.default_rng(seed)
    frames, images, sides, points = _set(rng)
    keep = rng.random(len(images)) < 0.7
    noisy = points + rng.normal(0, 8, points.shape)
    kept = [image for image, k in zip(images, keep, strict=True) if k]
    said = [side for side, k in zip(sides, keep, strict=True) if k]
    hands = hand_table(images, sides, points)
    before = _all(_values(frames, hands, pose_table(kept, said, noisy[keep])))
    place = images[int(rng.integers(len(images)))]
    with_phantom = pose_table([*kept, place], [*said, "right"], np.concatenate([noisy[keep], [moved(540, 370)]]))
    after = _all(_values(frames, hands, with_phantom))
    for metric in ("det_f1@iou0.5", "pose_f1@0.1,0.5"):
        assert after[metric] <= before[metric]
    assert after["pck@0.1/box_side"] == before["pck@0.1/box_side"]


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**31))
def test_a_swap_leaves_detection_raises_the_swap_rate_and_lowers_pose_f1(seed):
    rng = np.random.default_rng(seed)
    frames, images, sides, points = _set(rng)
    hands = hand_table(images, sides, points)
    swapped = list(sides)
    place = int(rng.integers(len(images)))
    swapped[place] = {"left": "right", "right": "left"}[sides[place]]
    before = _all(_values(frames, hands, pose_table(images, sides, points)))
    after = _all(_values(frames, hands, pose_table(images, swapped, points)))
    assert after["det_f1@iou0.5"] == before["det_f1@iou0.5"]
    assert after["swap_rate@iou0.5"] == pytest.approx(1 / 24)
    assert after["pose_f1@0.1,0.5"] == pytest.approx(23 / 24)


def test_pose_f1_by_hand():
    """Four frames: a pass, a match that fails (11 of 21 points moved by 20 px: PCK 10/21), a missed hand, a phantom.

    Det: TP 2, FP 1, FN 1: F1 4/6.  Pose: TP 1, FP 2, FN 2: F1 2/6.  PCK over the two matches: (1 + 10/21) / 2.
    """
    frames = frame_table(4, videos=1)
    images = frames["image"].to_list()
    bad = SHAPE.copy()
    bad[:11] += [0, 20]
    hands = hand_table(images[:3], ["right"] * 3, [SHAPE] * 3)
    poses = pose_table([images[0], images[1], images[3]], ["right"] * 3, [SHAPE, bad, SHAPE])
    found = _all(_values(frames, hands, poses))
    assert found["det_f1@iou0.5"] == pytest.approx(4 / 6)
    assert found["pose_f1@0.1,0.5"] == pytest.approx(2 / 6)
    assert found["pck@0.1/box_side"] == pytest.approx((1 + 10 / 21) / 2)
    pooled = _all(_values(frames, hands, poses, Protocol(average=Average.POOLED, normaliser=Normaliser.NONE, alpha=1)))
    # In pixels, 11 of 42 points are 20 px off.
    assert pooled["mpjpe/px,pooled"] == pytest.approx(11 * 20 / 42)


def test_empty_missed_spurious_and_single_inputs_have_values_or_null():
    frames = frame_table(3, videos=1)
    images = frames["image"].to_list()
    nothing, none = hand_table([], [], np.zeros((0, 21, 2))), pose_table([], [], np.zeros((0, 21, 2)))
    hands, poses = hand_table(images, ["right"] * 3, [SHAPE] * 3), pose_table(images, ["right"] * 3, [SHAPE] * 3)
    for true, said, expected in (
        (nothing, none, (None, None)),
        (hands, none, (0.0, 0.0)),
        (nothing, poses, (0.0, 0.0)),
        (hands.head(1), poses.head(1), (1.0, 1.0)),
    ):
        values = _values(frames, true, said)
        found = _all(values)
        assert (found["det_f1@iou0.5"], found["pose_f1@0.1,0.5"]) == expected
        assert not any(value is not None and np.isnan(value) for value in values.values())
        assert values["jerk/px", "side", "right"] is None
    assert _all(_values(frames, hands, none))["pck@0.1/box_side"] is None
    assert _all(_values(frames, nothing, none))["cross_hand_overlap"] == 0


def test_wrong_rows_are_named_and_counted():
    frames = frame_table(4, videos=1)
    images = frames["image"].to_list()
    part = SHAPE.copy()
    part[20] = np.nan
    poses = pose_table(
        [images[0], images[1], "elsewhere.jpg", images[2]], ["right"] * 4, [SHAPE, part, SHAPE, moved(1000)]
    )
    poses = pl.concat([poses, poses.head(1)])
    hands, skipped = predicted_hands(poses, frames_of(frames))
    assert skipped == {
        "prediction for a frame that does not exist": 1,
        "duplicate row of a prediction": 1,
        "prediction without a point inside the frame": 1,
        "prediction with missing points (kept)": 1,
        "frame without any row (taken as no hand)": 1,
    }
    assert len(hands) == 2


def test_partly_annotated_frames_are_left_out_unless_asked_for():
    frames = frame_table(4, videos=1).with_columns(annotated=pl.Series([True, True, False, False]))
    images = frames["image"].to_list()
    hands, poses = hand_table(images[:1], ["right"], [SHAPE]), pose_table(images, ["right"] * 4, [SHAPE] * 4)
    assert _all(_values(frames, hands, poses))["det_p@iou0.5"] == pytest.approx(1 / 2)
    assert _all(_values(frames, hands, poses, Protocol(frames="all")))["det_p@iou0.5"] == pytest.approx(1 / 4)


def test_strata_add_up_and_spurious_predictions_follow_the_nearest_hand():
    rng = np.random.default_rng(5)
    frames, images, sides, points = _set(rng)
    blur = ["sharp" if k % 3 else "blurry" for k in range(len(images))]
    hands = hand_table(images, sides, points, factor_blur=blur)
    poses = pose_table([*images, images[0]], [*sides, "right"], np.concatenate([points, [moved(540, 370)]]))
    values = _values(frames, hands, poses)
    # Frame 0 is blurry: the phantom counts there alone.
    blurry = blur.count("blurry")
    assert values["det_p@iou0.5", "factor_blur", "sharp"] == 1
    assert values["det_p@iou0.5", "factor_blur", "blurry"] == pytest.approx(blurry / (blurry + 1))
    assert values["pose_f1@0.1,0.5", "factor_blur", "blurry"] == pytest.approx(2 * blurry / (2 * blurry + 1))


def test_left_hands_have_rows_of_their_own_and_regions_by_side():
    frames = frame_table(4, videos=1)
    images = frames["image"].to_list()
    off = SHAPE.copy()
    off[0] += [0, -30]  # the wrist alone
    hands = hand_table(images, ["right", "right", "right", "left"], [SHAPE] * 4)
    poses = pose_table(images, ["right", "right", "right", "left"], [SHAPE, SHAPE, SHAPE, off])
    values = _values(frames, hands, poses)
    assert values["pck@0.1/box_side", "region", "left/wrist"] == 0
    assert values["pck@0.1/box_side", "region", "right/wrist"] == 1
    assert values["pck@0.1/box_side", "side", "left"] == pytest.approx(20 / 21)


def test_intervals_draw_videos_and_ranks_share_their_draws():
    rng = np.random.default_rng(2)
    frames = frame_table(240, videos=12)
    images = frames["image"].to_list()
    points = np.array([moved(*rng.uniform(0, 300, 2)) for _ in images])
    hands = hand_table(images, ["right"] * 240, points)
    truth = prepare_truth(frames_of(frames), hands, PROTOCOL)
    runs = []
    for name, share, noise in (("finds", 1.0, 12.0), ("places", 0.7, 1.0)):
        keep = rng.random(240) < share
        poses = pose_table([i for i, k in zip(images, keep, strict=True) if k], ["right"] * int(keep.sum()),
                           (points + rng.normal(0, noise, points.shape))[keep])  # fmt: skip
        runs.append(scored(name, "raw", evaluate(truth, poses, PROTOCOL), oks=False))
    table = tables.conform(score_rows(runs, resamples=500), "scores")
    recall = table.filter(metric="det_r@iou0.5", slice="all", model="places").row(0, named=True)
    assert recall["low"] < recall["value"] < recall["high"]
    assert recall["clusters"] == 12
    assert recall["high"] - recall["low"] < 0.25
    detection = ranks(runs, "det_f1@iou0.5", larger=True, resamples=500)
    placing = ranks(runs, "mpjpe/box_side", larger=False, resamples=500)
    assert [(rank.rank, rank.low, rank.high) for rank in detection] == [(1, 1, 1), (2, 2, 2)]
    assert [(rank.rank, rank.first) for rank in placing] == [(2, 0), (1, 1)]


def test_outcomes_of_hands_and_of_predictions():
    frames = frame_table(6, videos=1)
    images = frames["image"].to_list()
    bad = SHAPE.copy()
    bad[:11] += [0, 20]
    hands = hand_table(images[:5], ["right"] * 5, [SHAPE] * 5)
    poses = pose_table(
        [images[0], images[1], images[2], images[4], images[4], images[5]],
        ["right", "right", "left", "right", "right", "left"],
        [SHAPE, bad, SHAPE, SHAPE, moved(10), SHAPE],
        scores=[0.9, 0.9, 0.9, 0.9, 0.5, 0.9],
    )
    poses = pl.concat([poses, pose_table([images[0]], ["left"], [moved(2)]).with_columns(hand=pl.lit(1, pl.Int16))])
    e = evaluate(prepare_truth(frames_of(frames), hands, PROTOCOL), poses, PROTOCOL)
    table = matches_table(e, "e", "raw", poses).sort("image", "hand_id", nulls_last=True)
    assert table.select("frame", "outcome").rows() == [
        (0, "right"), (0, "crossed"), (1, "misplaced"), (2, "swapped"), (3, "missed"), (4, "right"), (4, "duplicate"),
        (5, "spurious"),
    ]  # fmt: skip
    assert table.filter(pl.col("outcome").cast(pl.String) == "swapped")["said"].to_list() == ["left"]
