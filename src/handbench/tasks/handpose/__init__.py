"""Hand-pose reliability: 2D estimators on four axes and Pose-F1 (VERA-Hand, arXiv 2610.32517)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from importlib.util import find_spec

import numpy as np
import polars as pl

from handbench import tables
from handbench.errors import HandbenchError
from handbench.protocols import task
from handbench.tasks.handpose import strata
from handbench.tasks.handpose.arrays import frames_of
from handbench.tasks.handpose.cleanup import STAGES, cleaned_poses
from handbench.tasks.handpose.evaluation import evaluate, prepare_truth
from handbench.tasks.handpose.protocol import Protocol
from handbench.tasks.handpose.reading import matches_table
from handbench.tasks.handpose.scoring import score_rows, scored


class HandPose:
    """Any 2D hand-pose estimator, frame by frame and over time, against 2D truth."""

    name = "handpose"
    options = Protocol

    def strata(
        self, frames: pl.DataFrame, hands: pl.DataFrame, options: Protocol, signals: pl.DataFrame
    ) -> pl.DataFrame:
        """The true hands with size, occlusion, and, where the signals allow, blur.

        Args:
            frames: the ``frames`` table.
            hands: the ``hands`` table.
            options: the protocol; its thresholds of blur, else thirds.
            signals: ``hand_id`` and ``sharpness``, for hands whose images could be read.
        """
        grid = frames_of(frames)
        sharpness = hands.join(signals, on="hand_id", how="left", maintain_order="left")["sharpness"]
        sharp = np.asarray(sharpness.fill_null(float("nan")).to_numpy(), np.float64)
        motion = strata.motion_of_hands(hands, grid)
        hands = hands.with_columns(
            strata.size_class(strata.boxes_of(hands, grid)).alias("factor_size"),
            strata.occlusion_class(hands).alias("factor_occlusion"),
        )
        found = strata.blur_thresholds(sharp, motion)
        if found is None:
            return hands
        limits = strata.BlurThresholds(
            found.sharpness if options.sharpness is None else options.sharpness,
            found.motion if options.motion is None else options.motion,
        )
        return hands.with_columns(strata.blur_class(sharp, motion, limits).alias("factor_blur"))

    def clean(self, frames: pl.DataFrame, poses: pl.DataFrame, stage: str) -> tuple[pl.DataFrame, dict[str, int]]:
        """One estimator's raw poses after a stage of :data:`handbench.tasks.handpose.cleanup.STAGES`."""
        if stage not in STAGES:
            raise HandbenchError(f"cleanup {stage!r}: stages are {', '.join(STAGES)}")
        grid = frames_of(frames)
        table, done = cleaned_poses(poses, grid, stage)
        return table, {**done.counts, "frames touched": int(done.touched.sum()), "frames": len(grid)}

    def judge(
        self, frames: pl.DataFrame, hands: pl.DataFrame, poses: Sequence[pl.DataFrame], options: Protocol
    ) -> tuple[pl.DataFrame, pl.DataFrame, dict[str, dict[str, int]]]:
        """Matches, scores and what was left out.

        Args:
            frames: the ``frames`` table.
            hands: the ``hands`` table, with its ``factor_*`` columns.
            poses: a ``poses`` table per estimator and stage.
            options: the protocol.
        """
        truth = prepare_truth(frames_of(frames, options.frames), hands, options)
        if not truth.frames.scored.any():
            raise HandbenchError(
                "handpose: no frame is annotated as a whole, so no prediction can be called spurious; "
                "handpose?frames=all takes partly annotated frames all the same"
            )
        matches, runs, skipped = [], [], {"truth": truth.skipped}
        oks = find_spec("faster_coco_eval") is not None
        if not oks:
            skipped["scores"] = {"OKS-AP left out, since handbench[handpose] is not installed; tables": len(poses)}
        for table in poses:
            estimator, stage = (str(table[name].cast(pl.String)[0]) for name in ("estimator", "stage"))
            found = evaluate(truth, table, options)
            matches.append(matches_table(found, estimator, stage, table))
            runs.append(scored(estimator, stage, found, oks=oks))
            skipped[f"{estimator} ({stage})"] = found.skipped
        return tables.concat(matches), tables.conform(score_rows(runs), "scores"), skipped

    def published(self) -> pl.DataFrame:
        """The paper's own numbers, as far as its summary gives them: model, metric, value, and what they are of."""
        text = (files(__package__) / "published.json").read_text(encoding="utf-8")
        return pl.DataFrame(json.loads(text)["results"], infer_schema_length=None)


task("handpose")(HandPose())
