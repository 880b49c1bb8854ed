"""Studies of a finished run of pose estimators: bias of the annotation, size of the set, thresholds of blur."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from handbench import tables
from handbench.errors import HandbenchError
from handbench.protocols import Progress
from handbench.runs.folder import RunFolder
from handbench.runs.posebench import find_pose_task
from handbench.tasks.handpose.arrays import Bools, Floats, Frames, Hands, frames_of, predicted_hands
from handbench.tasks.handpose.evaluation import Truth, evaluate_hands, prepare_truth
from handbench.tasks.handpose.measures import Measure, Stratum, Summing, measure, of_stratum
from handbench.tasks.handpose.protocol import Protocol
from handbench.tasks.handpose.scoring import Scored, score_rows
from handbench.tasks.handpose.strata import boxes_of, motion_of_hands
from handbench.tasks.handpose.subsets import FRACTIONS, MOVED, Bias, bias_of, on_subset

_TOLD: Final = ("det_f1", "pck", "swap_rate", "pose_f1", "cross_hand_overlap")


@dataclass(frozen=True)
class Opened:
    """A run's tables as arrays."""

    manifest: dict[str, Any]
    protocol: Protocol
    frames: Frames
    hands: pl.DataFrame
    predicted: dict[str, Hands]


def open_run(folder: RunFolder) -> Opened:
    """Open a run of pose estimators.

    Raises:
        HandbenchError: it is a run of questions, or no estimator has looked at it.
    """
    manifest = folder.manifest()
    if manifest.get("kind") != "poses" or not manifest.get("estimators"):
        raise HandbenchError(f"{folder.root}: expected a run of handpose with at least one estimator")
    _, protocol = find_pose_task(manifest["asked"]["task"], manifest["asked"]["protocol"])
    frames = frames_of(folder.read("frames"), protocol.frames)
    predicted = {
        told["name"]: predicted_hands(tables.read(folder.poses(told["name"]), "poses"), frames)[0]
        for told in manifest["estimators"].values()
    }
    return Opened(manifest, protocol, frames, folder.read("hands"), predicted)


@dataclass(frozen=True)
class BiasStudy:
    """What the initial estimates did to the annotation, and to the scores.

    Attributes:
        bias: displacement hand by hand.
        facts: counts and medians, as the paper gives them.
        scores: rows of ``scores`` with ``slice`` ``bias``: all, bias-free, as initialised.
    """

    bias: Bias
    facts: dict[str, float | int | None]
    scores: pl.DataFrame


def bias_study(folder: RunFolder) -> BiasStudy:
    """Score every estimator on the bias-free subset beside the whole set (VERA-Hand, section C.4).

    Raises:
        HandbenchError: the truth keeps no initial estimate.
    """
    run = open_run(folder)
    truth = prepare_truth(run.frames, run.hands, run.protocol)
    bias = bias_of(truth.hands, run.hands)
    if not bias.has_estimates:
        raise HandbenchError(
            f"{folder.root}: its truth keeps no initial estimates, so nothing can be said of their bias; "
            "handbench sample writes annotations that keep them"
        )
    runs = []
    for name, hands in run.predicted.items():
        evaluation = evaluate_hands(truth, hands, run.protocol)
        sums = Summing(evaluation)
        home = evaluation.home(evaluation.matches.any_label)
        measures: list[Measure] = []
        for value, mask in (("all", np.ones(len(bias.free), bool)), ("bias-free", bias.free),
                            ("as initialised", ~bias.free)):  # fmt: skip
            mine: Bools = (home >= 0) & np.append(mask, False)[home]
            if value != "as initialised":
                mine |= home < 0  # what is seen where no hand is leans on no annotation
            measures += of_stratum(sums, Stratum("bias", value, mask, mine))
        runs.append(Scored(name, "raw", evaluation, measures))
    return BiasStudy(bias, _facts(bias), score_rows(runs, resamples=2_000))


def _facts(bias: Bias) -> dict[str, float | int | None]:
    free, held = bias.displacement[bias.free], bias.displacement[~bias.free]

    def median(values: Floats) -> float | None:
        return float(np.nanmedian(values)) if np.isfinite(values).any() else None

    told = free[np.isfinite(free)]
    return {
        "hands": len(bias.free),
        "bias-free hands": int(bias.free.sum()),
        "of these added by hand": int(bias.added.sum()),
        f"share of their keypoints moved by more than {MOVED}": float((told > MOVED).mean()) if len(told) else None,
        "median displacement, bias-free": median(free),
        "median displacement, as initialised": median(held),
    }


def size_study(folder: RunFolder, progress: Progress, fractions: tuple[float, ...] = FRACTIONS) -> pl.DataFrame:
    """Scores on nested subsets of the frames of every video (VERA-Hand, section C.5).

    Returns:
        Rows of ``scores``, ``slice`` being ``fraction``.
    """
    run = open_run(folder)
    parts = []
    for done, fraction in enumerate(fractions, 1):
        frames = on_subset(run.frames, fraction)
        truth: Truth = prepare_truth(frames, run.hands, run.protocol)
        runs = []
        for name, hands in run.predicted.items():
            evaluation = evaluate_hands(truth, hands, run.protocol)
            kept = [
                each for each in measure(evaluation) if each.slice == "all" and each.metric.partition("@")[0] in _TOLD
            ]
            runs.append(Scored(name, "raw", evaluation, kept))
        rows = score_rows(runs, resamples=2_000)
        parts.append(rows.with_columns(slice=pl.lit("fraction"), slice_value=pl.lit(f"{fraction:g}")))
        progress(done, len(fractions), "scoring subsets")
    return pl.concat(parts)


@dataclass(frozen=True)
class BlurStudy:
    """The two signals of blur for every true hand whose image could be read.

    Attributes:
        table: ``hand_id, image, sharpness, motion, blur`` and the box ``x1, y1, x2, y2``.
        thresholds: of sharpness and of motion, as the run used them.
    """

    table: pl.DataFrame
    thresholds: tuple[float, float]


def blur_study(folder: RunFolder) -> BlurStudy:
    """Gather what the calibration page shows.

    Raises:
        HandbenchError: no hand has both signals.
    """
    run = open_run(folder)
    signals = pl.read_parquet(folder.table("signals"))
    hands = run.hands
    boxes = boxes_of(hands, run.frames)
    table = pl.DataFrame(
        {
            "hand_id": hands["hand_id"],
            "image": hands["image"],
            "motion": motion_of_hands(hands, run.frames),
            "blur": hands["factor_blur"].cast(pl.String) if "factor_blur" in hands.columns else None,
            **{name: boxes[:, place] for place, name in enumerate(("x1", "y1", "x2", "y2"))},
        }
    ).join(signals, on="hand_id", how="inner", maintain_order="left")
    table = table.filter(pl.col("motion").is_finite() & pl.col("sharpness").is_not_null())
    if table.is_empty():
        raise HandbenchError(f"{folder.root}: no hand has both sharpness and motion; images or neighbours are missing")
    sharpness, motion = table["sharpness"].to_numpy(), table["motion"].to_numpy()
    wanted = run.protocol
    return BlurStudy(
        table,
        (
            float(np.quantile(sharpness, 1 / 3)) if wanted.sharpness is None else wanted.sharpness,
            float(np.quantile(motion, 2 / 3)) if wanted.motion is None else wanted.motion,
        ),
    )
