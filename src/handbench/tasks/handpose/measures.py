"""Every metric as a ratio of sums over videos, so that values and cluster intervals follow from one table.

The metric's name carries its protocol: ``det_f1@iou0.5``, ``pck@0.1/box_side``, ``pose_f1@0.1,0.5``, ``jerk/px``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from handbench.tasks.handpose.arrays import LEFT, REGIONS, RIGHT, SIDES, Bools, Floats, Ints
from handbench.tasks.handpose.evaluation import Evaluation
from handbench.tasks.handpose.localization import mpjpe_per_hand, pck_strict_per_hand
from handbench.tasks.handpose.protocol import Average, JerkUnit, Normaliser
from handbench.tasks.handpose.temporal import (
    GROUPS,
    Track,
    gap_measures,
    gaps_between_appearances,
    jerk_third_difference,
    motion_energy_hand_sizes,
    sums_by_video,
    track_of_side,
)


@dataclass(frozen=True)
class Measure:
    """One number as a ratio of sums over videos.

    Attributes:
        metric: its name, with its protocol.
        axis: detection, localization, identification, joint or temporal.
        slice: ``all``, ``side``, ``region`` or a factor.
        slice_value: ``all`` or the value.
        top: (V,) numerators by video.
        bottom: (V,) denominators by video.
        n: what was counted.
        fixed: the value itself where it is no ratio of sums (a median, a maximum); no interval then.
    """

    metric: str
    axis: str
    slice: str
    slice_value: str
    top: Floats
    bottom: Floats
    n: int
    fixed: float | None = None


@dataclass(frozen=True)
class Stratum:
    """A part of the true hands, and the predictions that belong to it.

    Attributes:
        slice: the column that divides.
        value: its value.
        hands: (T,) mask of true hands.
        predictions: (P,) mask of predictions for a label-agnostic count, or None to follow the hands.
    """

    slice: str
    value: str
    hands: Bools
    predictions: Bools | None = None


def names(evaluation: Evaluation) -> dict[str, str]:
    """The metrics' names under this protocol, by their short names."""
    p = evaluation.protocol
    alpha = f"{p.alpha:g}"
    points = "" if p.average is Average.PER_HAND else ",pooled"
    within = f"{p.normaliser}{points}"
    return {
        "det_p": f"det_p@iou{p.iou:g}",
        "det_r": f"det_r@iou{p.iou:g}",
        "det_f1": f"det_f1@iou{p.iou:g}",
        "pck": f"pck@{alpha}/{within}",
        "mpjpe": f"mpjpe/{within}",
        "mpjpe_px": f"mpjpe/px{points}",
        "swap": f"swap_rate@iou{p.iou:g}",
        "ambiguous": f"ambiguous_share@iou{p.iou:g}",
        "pose_f1": f"pose_f1@{alpha},{p.beta:g}",
        "pose_p": f"pose_p@{alpha},{p.beta:g}",
        "pose_r": f"pose_r@{alpha},{p.beta:g}",
        "overlap": "cross_hand_overlap",
    }


class Summing:
    """Sums by video of an evaluation's hands and predictions."""

    def __init__(self, evaluation: Evaluation) -> None:
        self.evaluation = evaluation
        self.names = names(evaluation)
        frames = evaluation.truth.frames
        self.videos = len(frames.videos)
        self.hand_video = frames.video[evaluation.truth.hands.frame]
        self.prediction_video = frames.video[evaluation.predicted.frame]
        self._homes = {
            "any": evaluation.home(evaluation.matches.any_label),
            "same": evaluation.home(evaluation.matches.same_label),
        }

    def hands(self, mask: Bools) -> Floats:
        """(V,) how many true hands of a mask each video has."""
        return np.asarray(np.bincount(self.hand_video[mask], minlength=self.videos), np.float64)

    def predictions(self, stratum: Stratum, kind: str) -> Floats:
        """(V,) how many predictions belong to a stratum, by their match of a kind (``any``, ``same``)."""
        home = self._homes[kind]
        of_hands = (home >= 0) & np.append(stratum.hands, False)[home]
        mask = stratum.predictions
        if mask is None:
            mask = of_hands
        elif stratum.slice == "side" and kind == "any":
            # A label-agnostic match may be of the other label: the true hand tells the side wherever there is one.
            mask = of_hands | ((home < 0) & mask)
        return np.asarray(np.bincount(self.prediction_video[mask], minlength=self.videos), np.float64)

    def values(self, values: Floats, mask: Bools) -> tuple[Floats, Floats]:
        """(V,) sum and (V,) count of a value of true hands, those of a mask that have one."""
        known = mask & ~np.isnan(values)
        video = self.hand_video[known]
        total = np.asarray(np.bincount(video, values[known], self.videos), np.float64)
        return total, np.asarray(np.bincount(video, minlength=self.videos), np.float64)


def strata(evaluation: Evaluation) -> list[Stratum]:
    """All hands, each side, and each value of the ``factor_*`` columns of the true hands."""
    hands = evaluation.truth.hands
    everyone = np.ones(len(hands), bool)
    found = [Stratum("all", "all", everyone, np.ones(len(evaluation.predicted), bool))]
    for code, side in enumerate(SIDES):
        found.append(Stratum("side", side, hands.side == code, evaluation.predicted.side == code))
    table = evaluation.truth.table
    for column in (name for name in table.columns if name.startswith("factor_")):
        values = table[column].cast(pl.String).gather(hands.row)
        for value in values.drop_nulls().unique().sort():
            found.append(Stratum(column, value, np.asarray((values == value).fill_null(False).to_numpy(), bool)))
    return found


def measure(evaluation: Evaluation) -> list[Measure]:
    """Every metric of an evaluation, overall and in every stratum."""
    sums = Summing(evaluation)
    found: list[Measure] = []
    for stratum in strata(evaluation):
        found += of_stratum(sums, stratum)
    found += _overlap(sums)
    found += _temporal(evaluation, sums.videos)
    return found


def of_stratum(sums: Summing, stratum: Stratum) -> Iterator[Measure]:
    """Detection, localisation, label swaps and Pose-F1 of one stratum."""
    e, name = sums.evaluation, sums.names
    where = (stratum.slice, stratum.value)
    mask = stratum.hands
    hands, count = sums.hands(mask), int(mask.sum())

    def ratio(key: str, axis: str, top: Floats, bottom: Floats, n: int) -> Measure:
        return Measure(name[key], axis, *where, top, bottom, n)

    hit = sums.hands(mask & (e.matches.any_label >= 0))
    said = sums.predictions(stratum, "any")
    yield ratio("det_p", "detection", hit, said, int(said.sum()))
    yield ratio("det_r", "detection", hit, hands, count)
    yield ratio("det_f1", "detection", 2 * hit, said + hands, count)
    passed = sums.hands(mask & e.passed & (e.matches.same_label >= 0))
    own = sums.predictions(stratum, "same")
    yield ratio("pose_p", "joint", passed, own, int(own.sum()))
    yield ratio("pose_r", "joint", passed, hands, count)
    yield ratio("pose_f1", "joint", 2 * passed, own + hands, count)
    judged = sums.hands(mask & e.judged)
    yield ratio("swap", "identification", sums.hands(mask & e.swapped), judged, int(judged.sum()))
    ambiguous = mask & (e.matches.any_label >= 0) & ~e.matches.unambiguous
    yield ratio("ambiguous", "identification", sums.hands(ambiguous), hit, int(hit.sum()))
    yield from _localization(sums, where, mask, None)
    if stratum.slice in ("all", "side"):
        for region, rows in REGIONS.items():
            value = region if stratum.slice == "all" else f"{stratum.value}/{region}"
            yield from _localization(sums, ("region", value), mask, rows)


def _localization(
    sums: Summing, where: tuple[str, str], mask: Bools, rows: tuple[int, ...] | None
) -> Iterator[Measure]:
    e, name = sums.evaluation, sums.names
    chosen = slice(None) if rows is None else list(rows)
    counted, right = e.counted[:, chosen], e.right[:, chosen]
    if e.protocol.average is Average.POOLED:
        weight = counted.sum(axis=1)
        known = mask & (weight > 0)
        video = sums.hand_video[known]
        bottom = np.asarray(np.bincount(video, weight[known], sums.videos), np.float64)
        parts = {
            "pck": right.sum(axis=1).astype(np.float64),
            "mpjpe": np.nansum(e.distance[:, chosen], axis=1),
            "mpjpe_px": np.nansum(e.distance_px[:, chosen], axis=1),
        }
        for key, part in parts.items():
            top = np.asarray(np.bincount(video, part[known], sums.videos), np.float64)
            yield Measure(name[key], "localization", *where, top, bottom, int(bottom.sum()))
        return
    values = {
        "pck": pck_strict_per_hand(right, counted),
        "mpjpe": mpjpe_per_hand(e.distance[:, chosen]),
        "mpjpe_px": mpjpe_per_hand(e.distance_px[:, chosen]),
    }
    for key, value in values.items():
        if key == "mpjpe_px" and e.protocol.normaliser is Normaliser.NONE:
            continue
        top, bottom = sums.values(value, mask)
        yield Measure(name[key], "localization", *where, top, bottom, int(bottom.sum()))


def _overlap(sums: Summing) -> Iterator[Measure]:
    """Cross-hand overlap over scored frames, and by how many hands are really there."""
    e, frames = sums.evaluation, sums.evaluation.truth.frames
    present = np.bincount(e.truth.hands.frame, minlength=len(frames))
    groups: list[tuple[str, str, Bools]] = [("all", "all", frames.scored)]
    for value, mask in (("none", present == 0), ("one", present == 1), ("two or more", present > 1)):
        groups.append(("hands_present", value, frames.scored & mask))
    for group, value, mask in groups:
        top = np.bincount(frames.video[mask & e.crossed], minlength=sums.videos).astype(np.float64)
        bottom = np.bincount(frames.video[mask], minlength=sums.videos).astype(np.float64)
        yield Measure(sums.names["overlap"], "identification", group, value, top, bottom, int(bottom.sum()))


def _temporal(evaluation: Evaluation, videos: int) -> Iterator[Measure]:
    """Jerk, motion energy and gaps of each side, and jerk and energy of both together."""
    frames = evaluation.truth.frames
    tracks = {side: track_of_side(evaluation.everywhere, frames, code) for side, code in
              (("left", LEFT), ("right", RIGHT))}  # fmt: skip
    moving: dict[tuple[str, str, str], tuple[Floats, Floats]] = {}
    for side, track in tracks.items():
        for metric, start, values in _motions(track):
            for group, rows in GROUPS.items():
                moving[metric, side, group] = sums_by_video(track.video[start], values[:, list(rows)], videos)
    for (metric, side, group), (top, bottom) in moving.items():
        value = side if group == "all" else f"{side}/{group}"
        yield Measure(metric, "temporal", "side" if group == "all" else "side_joints", value, top, bottom, _n(bottom))
        if side == "right":
            both = moving[metric, "left", group]
            where = ("all", "all") if group == "all" else ("joints", group)
            yield Measure(metric, "temporal", *where, top + both[0], bottom + both[1], _n(bottom + both[1]))
    for side, track in tracks.items():
        yield from _gaps(track, evaluation, side, videos)


def _n(bottom: Floats) -> int:
    return int(bottom.sum())


def _motions(track: Track) -> Iterator[tuple[str, Ints, Floats]]:
    for unit in JerkUnit:
        yield (f"jerk/{unit}", *jerk_third_difference(track, unit))
    yield ("motion_energy/hand", *motion_energy_hand_sizes(track))


def _gaps(track: Track, evaluation: Evaluation, side: str, videos: int) -> Iterator[Measure]:
    gaps = gaps_between_appearances(track, evaluation.truth.frames)
    span = gaps.span.astype(np.float64)
    length = np.asarray(np.bincount(gaps.video, gaps.length, videos), np.float64)
    count = np.asarray(np.bincount(gaps.video, minlength=videos), np.float64)
    short = np.asarray(np.bincount(gaps.video[gaps.length <= 3], minlength=videos), np.float64)
    where = ("temporal", "side", side)
    whole = gap_measures(gaps)
    yield Measure("missing_frame_rate", *where, length, span, int(span.sum()))
    yield Measure("gaps_per_1000", *where, 1000 * count, span, int(span.sum()))
    yield Measure("gap_mean", *where, length, count, int(count.sum()))
    yield Measure("gap_short_share", *where, short, count, int(count.sum()))
    for name in ("gap_median", "gap_longest"):
        yield Measure(name, *where, length, count, int(count.sum()), fixed=whole[name])
    present = np.asarray(np.bincount(track.video, minlength=videos), np.float64)
    everywhere = np.asarray(np.bincount(evaluation.truth.frames.video, minlength=videos), np.float64)
    yield Measure("presence", *where, present, everywhere, int(everywhere.sum()))
