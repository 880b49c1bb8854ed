from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from handbench.tasks.handpose.cleanup import STAGES, Cleanup, clean, cleaned_poses
from handbench.tasks.handpose.evaluation import Truth, evaluate_hands, prepare_truth
from handbench.tasks.handpose.protocol import Protocol
from handbench.tasks.handpose.rates import detection_counts_label_agnostic, f1_micro, pose_counts_alpha_beta
from tests.handpose.makers import SHAPE, frames, hands, moved
from tests.handpose.test_scoring import pose_table


def _walk(count: int, speed: float = 2.0) -> np.ndarray:
    return np.stack([moved(speed * t, 5 * np.sin(t / 9)) for t in range(count)])


def _truth(grid, points, side) -> Truth:
    true = hands(np.arange(len(points)), side=side, points=points)
    table = pl.DataFrame(
        {
            "hand_id": [f"h{row}" for row in range(len(points))],
            "image": grid.images,
            "side": ["left" if s == 0 else "right" for s in side],
            "joints_px": pl.Series(points, dtype=pl.Array(pl.Float64, (21, 2))),
            "in_frame": pl.Series(true.valid, dtype=pl.Array(pl.Boolean, 21)),
            "occluded": pl.Series(~true.valid, dtype=pl.Array(pl.Boolean, 21)),
        }
    )
    return prepare_truth(grid, table, Protocol())


def _scores(truth, predicted):
    e = evaluate_hands(truth, predicted, Protocol())
    det = f1_micro(*detection_counts_label_agnostic(e.matches.any_label, len(e.predicted)))
    pose = f1_micro(*pose_counts_alpha_beta(e.matches.same_label, e.passed, len(e.predicted)))
    return float(det), float(pose), float(e.crossed.mean())


def _sorted(frame, side, points, score):
    order = np.lexsort((-np.asarray(score), np.asarray(frame)))
    return hands(np.asarray(frame)[order], np.asarray(side)[order], np.asarray(points)[order], np.asarray(score)[order])


def _faulty(rng, count, speed=0.8):
    """A right hand with a crossed left one in 85 % of the frames, a flickering label and gaps of 1 to 3 frames."""
    points = _walk(count, speed)
    present, side = np.ones(count, bool), np.ones(count, np.int8)
    for start in range(20, count - 10, 37):
        present[start : start + int(rng.integers(1, 4))] = False
    flicker = (np.arange(count) % 29 == 11) & present
    side[flicker] = 0
    ghost = present & ~flicker & (rng.random(count) < 0.85)
    frame = np.concatenate([np.flatnonzero(present), np.flatnonzero(ghost)])
    sides = np.concatenate([side[present], np.zeros(int(ghost.sum()), np.int8)])
    placed = np.concatenate([points[present], points[ghost] + rng.normal(0, 0.4, (int(ghost.sum()), 21, 2))])
    score = np.concatenate([np.full(int(present.sum()), 0.9), np.full(int(ghost.sum()), 0.7)])
    return points, _sorted(frame, sides, placed, score)


def test_detection_comes_back_on_simulated_faults():
    """As the paper reports in kind: overlap vanishes, detection returns, the temporal stage adds a little more."""
    rng = np.random.default_rng(4)
    count = 600
    points, predicted = _faulty(rng, count)
    grid = frames([0] * count)
    truth = _truth(grid, points, np.ones(count, np.int8))
    raw = _scores(truth, predicted)
    spatial = _scores(truth, clean(predicted, grid, STAGES["spatial"]).hands)
    both = _scores(truth, clean(predicted, grid, STAGES["both"]).hands)
    assert raw[0] < 0.75
    assert raw[2] > 0.7
    assert spatial[0] > 0.95
    assert spatial[2] < 0.001
    assert both[0] > spatial[0]
    assert both[0] > 0.99
    assert both[1] > 0.99


def test_clean_predictions_are_left_alone():
    count = 2000
    grid = frames([0] * 1000 + [1] * 1000, number=[*range(1000)] * 2)
    points = np.concatenate([_walk(1000, 0.5), _walk(1000, 0.3)])
    rng = np.random.default_rng(0)
    jittered = points + rng.normal(0, 1.0, points.shape)
    for stage, how in STAGES.items():
        done = clean(hands(np.arange(count), points=jittered), grid, how)
        assert done.touched.mean() < 0.001, stage


def test_the_surer_of_two_crossed_hands_stays():
    predicted = hands([0, 0, 1, 1], side=[0, 1, 1, 0], score=[0.9, 0.8, 0.9, 0.8])
    done = clean(predicted, frames([0, 1]), STAGES["spatial"])
    assert done.hands.side.tolist() == [0, 1]
    assert done.counts == {"on a surer hand of the other label": 2}


def test_a_dropped_hand_does_not_drop_another():
    """Along x at 0, 7 and 14: the first lies on the second and the second on the third; the third stays."""
    predicted = hands([0, 0, 0], side=[1, 0, 1], points=[SHAPE, moved(7), moved(14)], score=[0.9, 0.8, 0.7])
    done = clean(predicted, frames([0]), STAGES["spatial"])
    assert done.hands.score.tolist() == [0.9, 0.7]


def test_crossed_hands_just_beside_the_thresholds_stay():
    # Boxes 70 wide moved by 8: IoU 62/78 = 0.795 < 0.8.
    done = clean(hands([0, 0], side=[0, 1], points=[SHAPE, moved(8)]), frames([0]), STAGES["spatial"])
    assert len(done.hands) == 2


def test_of_two_hands_of_a_label_the_surer_stays_and_the_frame_before_decides_a_tie():
    predicted = hands([0, 1, 1, 2, 2], points=[SHAPE, moved(150), moved(1), SHAPE, moved(90)],
                      score=[0.9, 0.8, 0.8, 0.6, 0.7])  # fmt: skip
    done = clean(predicted, frames([0, 0, 0]), STAGES["deduplicate"])
    assert done.hands.points[:, 0, 0].tolist() == [50, 51, 140]


def test_a_hand_without_two_neighbours_is_a_phantom():
    """Seen at 3, 20-21, 40-42 of 60 frames: only the last three have two neighbours each."""
    grid = frames([0] * 60)
    done = clean(hands([3, 20, 21, 40, 41, 42]), grid, STAGES["phantoms"])
    assert done.hands.frame.tolist() == [40, 41, 42]


def test_a_fast_hand_is_no_phantom_and_one_that_jumps_is():
    """A hand 92 px large moves 80 px per frame, so that boxes 70 px wide never meet; another is alone 400 px away."""
    points = [moved(80 * t) for t in range(5)]
    done = clean(hands(range(5), points=points), frames([0] * 12), STAGES["phantoms"])
    assert len(done.hands) == 5
    jumped = clean(hands([4, 5, 6, 7], points=[SHAPE, SHAPE, SHAPE, moved(400)]), frames([0] * 12), STAGES["phantoms"])
    assert jumped.hands.frame.tolist() == [4, 5, 6]


def test_a_single_photo_cannot_ask_for_neighbours():
    done = clean(hands([0, 1]), frames([0, 1]), STAGES["both"])
    assert len(done.hands) == 2


@pytest.mark.parametrize(("gap", "filled"), [(1, True), (2, True), (3, True), (4, False)])
def test_gaps_of_up_to_three_frames_are_interpolated(gap, filled):
    present = np.r_[0:6, 6 + gap : 14 + gap]
    grid = frames([0] * (14 + gap))
    points = _walk(14 + gap)
    done = clean(hands(present, points=points[present]), grid, STAGES["gaps"])
    assert len(done.hands) == len(present) + (gap if filled else 0)
    if filled:
        x = done.hands.points[6 : 6 + gap, 0, 0]
        assert x == pytest.approx(points[6 : 6 + gap, 0, 0])  # the hand moves evenly along x


def test_a_gap_without_enough_support_stays():
    """Two frames, a gap of one, one frame: three neighbours in the window of the missing frame, four are asked for."""
    done = clean(hands([3, 4, 6]), frames([0] * 10), STAGES["gaps"])
    assert len(done.hands) == 3
    # Four neighbours, but all before the gap's end: none within the window after it.
    one_sided = clean(hands([0, 1, 2, 3, 8]), frames([0] * 9), replace(Cleanup(), gap_longest=9, phantoms=False))
    assert one_sided.hands.frame.tolist() == [0, 1, 2, 3, 8]


def test_a_gap_across_a_large_motion_stays():
    points = _walk(11)
    points[6:] += [60, 0]  # 0.5 hand sizes (46 px) per missing frame are allowed; one frame is missing
    present = np.r_[0:5, 6:11]
    assert len(clean(hands(present, points=points[present]), frames([0] * 11), STAGES["gaps"]).hands) == 10


def test_no_gap_is_filled_from_one_video_to_the_next():
    grid = frames([0] * 5 + [1] * 5, number=[0, 1, 2, 3, 4, 0, 1, 2, 3, 4])
    present = [0, 1, 2, 3, 6, 7, 8, 9]
    assert len(clean(hands(present), grid, STAGES["gaps"]).hands) == 8


def test_the_majority_vote_renames_and_neither_adds_nor_removes():
    side = np.ones(20, np.int8)
    side[[4, 12]] = 0
    done = clean(hands(np.arange(20), side=side), frames([0] * 20), STAGES["majority"])
    assert done.hands.side.tolist() == [1] * 20
    assert done.counts == {"label outvoted": 2}


def test_table_in_table_out():
    """Frames 0-11 without 5; frame 2 has a crossed left hand, frame 11 a lone left hand elsewhere."""
    frame = [*range(5), *range(6, 11), 2, 11]
    side = [1] * 10 + [0, 0]
    points = [SHAPE] * 10 + [SHAPE, moved(300)]
    sides = ["left" if s == 0 else "right" for s in side]
    poses = pose_table([f"0/{f}" for f in frame], sides, np.array(points), [0.9] * 10 + [0.5, 0.6])
    grid = frames([0] * 12)
    table, done = cleaned_poses(poses, grid, "both")
    assert table["stage"].cast(pl.String).unique().to_list() == ["both"]
    made = table.filter(pl.col("image") == "0/5")
    assert made["hand"].to_list() == [0]
    assert np.asarray(made["keypoints_px"][0]) == pytest.approx(SHAPE)
    assert table.filter(pl.col("image") == "0/2").height == 1
    # The frame that lost its only hand says so.
    assert table.filter(pl.col("image") == "0/11")["hand"].to_list() == [-1]
    assert done.counts == {
        "on a surer hand of the other label": 1, "second hand of its label": 0, "phantom": 1, "filled in": 1,
    }  # fmt: skip
