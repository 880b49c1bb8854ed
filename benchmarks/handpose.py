"""Hand-pose metrics on one core: PCK and MPJPE, matching, and a set of the paper's size on all axes.

Prints JSON lines {"name", "value", "unit"}.  Run by `make bench`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import numpy as np
import polars as pl

from handbench import tables
from handbench.tasks.handpose.arrays import frames_of
from handbench.tasks.handpose.cleanup import STAGES, cleaned_poses
from handbench.tasks.handpose.evaluation import evaluate, prepare_truth
from handbench.tasks.handpose.localization import pck_and_mpjpe_per_hand
from handbench.tasks.handpose.matching import match_one_to_one, pairs_in_frames
from handbench.tasks.handpose.protocol import Protocol
from handbench.tasks.handpose.scoring import score_rows, scored

HANDS = 400_000
FRAMES = 1_000_000
PAPER_FRAMES, PAPER_VIDEOS = 10_768, 52


def tell(name: str, value: float, unit: str) -> None:
    """Print one figure."""
    print(json.dumps({"name": name, "value": round(value, 4), "unit": unit}), flush=True)


def best(work: Callable[[], object], times: int = 3) -> float:
    """Shortest CPU time of a few runs."""
    spent = []
    for _ in range(times):
        begun = time.process_time()
        work()
        spent.append(time.process_time() - begun)
    return min(spent)


def keypoints() -> None:
    """PCK and MPJPE of 400,000 hands, a tenth of the points out of the frame."""
    rng = np.random.default_rng(0)
    truth = rng.uniform(0, 640, (HANDS, 21, 2))
    predicted = truth + rng.normal(0, 5, truth.shape)
    valid = rng.random((HANDS, 21)) < 0.9
    size = rng.uniform(40, 120, HANDS)
    seconds = best(lambda: pck_and_mpjpe_per_hand(truth, predicted, valid, size, 0.1))
    tell("handpose PCK + MPJPE", HANDS / seconds / 1e6, "M hands per CPU second")


def matching() -> None:
    """One-to-one matching of a million frames with none to two true and predicted hands."""
    rng = np.random.default_rng(0)
    truth_frame = np.repeat(np.arange(FRAMES), rng.integers(0, 3, FRAMES))
    predicted_frame = np.repeat(np.arange(FRAMES), rng.integers(0, 3, FRAMES))

    def boxes(count: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        low = rng.uniform(0, 60, (count, 2))
        return np.concatenate([low, low + rng.uniform(60, 120, (count, 2))], axis=1)

    truth, predicted = boxes(len(truth_frame)), boxes(len(predicted_frame))

    def work() -> None:
        pairs = pairs_in_frames(truth_frame, predicted_frame, truth, predicted)
        match_one_to_one(pairs, truth_frame, predicted_frame, 0.3, np.ones(len(pairs.iou), bool))

    tell("handpose matching", FRAMES / best(work) / 1e6, "M frames per CPU second")


def paper_size() -> None:
    """All axes with intervals, the sweep of gates and OKS-AP, from tables, as one estimator of the paper."""
    rng = np.random.default_rng(0)
    frame = np.arange(PAPER_FRAMES)
    video = frame % PAPER_VIDEOS
    frames = tables.conform(
        pl.DataFrame(
            {
                "image": [f"{v}/{f // PAPER_VIDEOS:06d}.jpg" for f, v in zip(frame, video, strict=True)],
                "dataset": ["ipn"] * PAPER_FRAMES,
                "split": ["test"] * PAPER_FRAMES,
                "video": [str(v) for v in video],
                "frame": frame // PAPER_VIDEOS,
                "width": [640] * PAPER_FRAMES,
                "height": [480] * PAPER_FRAMES,
                "annotated": [True] * PAPER_FRAMES,
            }
        ),
        "frames",
    )
    count = rng.choice(3, PAPER_FRAMES, p=[0.1, 0.8, 0.1])
    at = np.repeat(frame, count)
    images = frames["image"].gather(at)
    points = rng.uniform(0, 80, (len(at), 21, 2)) + rng.uniform(0, 400, (len(at), 1, 2))
    side = np.where(rng.random(len(at)) < 0.1, "left", "right")
    hands = tables.conform(
        pl.DataFrame(
            {
                "hand_id": [f"{image}/{row}" for row, image in enumerate(images)],
                "image": images,
                "dataset": ["ipn"] * len(at),
                "split": ["test"] * len(at),
                "side": side,
                "cluster": images,
                "joints_px": pl.Series(points, dtype=tables.JOINTS_2D),
                "factor_blur": rng.choice(["sharp", "mild", "blurry"], len(at)),
            }
        ),
        "hands",
    )
    poses = tables.conform(
        pl.DataFrame(
            {
                "estimator": ["e"] * len(at),
                "stage": ["raw"] * len(at),
                "image": images,
                "side": side,
                "score": pl.Series(rng.random(len(at)), dtype=pl.Float32),
                "keypoints_px": pl.Series(points + rng.normal(0, 5, points.shape), dtype=tables.JOINTS_2D),
            }
        ).with_columns(hand=pl.int_range(pl.len()).over("image").cast(pl.Int16)),
        "poses",
    )
    protocol = Protocol()

    def score() -> None:
        truth = prepare_truth(frames_of(frames), hands, protocol)
        score_rows([scored("e", "raw", evaluate(truth, poses, protocol))])

    tell("handpose 10,768 frames on all axes", best(score), "CPU seconds")
    grid = frames_of(frames)
    tell("handpose cleanup of 10,768 frames", best(lambda: cleaned_poses(poses, grid, "both", STAGES["both"])), "CPU s")


if __name__ == "__main__":
    keypoints()
    matching()
    paper_size()
