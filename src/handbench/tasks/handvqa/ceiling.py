"""How sure the truth is: how many labels another, equally good annotation of the same hands would change.

Annotated joints are off by some millimetres.  Joints are disturbed by as much again, and the share of questions
whose right option stays the same is the accuracy that nothing can be expected to exceed, as the label itself
is no surer than that.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from handbench import draws, tables
from handbench.hand.descriptors import describe
from handbench.hand.geometry import Floats, center_and_extent
from handbench.stats.bootstrap import RESAMPLES, group_clusters, percentile_interval, resample
from handbench.tasks.handvqa.baselines import columns_of, nearest_ranks
from handbench.tasks.handvqa.options import HandVQAOptions
from handbench.tasks.handvqa.questions import joint_arrays, vector_arrays

REPEATS: Final = 8
"""How often the joints of each hand are disturbed, at most."""

ENOUGH: Final = 400_000
"""So many disturbed questions are enough: with more questions, each hand is disturbed less often."""

MEAN_LENGTH: Final = float(np.sqrt(8 / np.pi))
"""Mean length of a 3D vector of independent standard normal numbers (Maxwell distribution)."""

_HANDS = 4_000
_CELLS = draws.name_keys([f"{joint}/{axis}" for joint in range(21) for axis in "xyz"])


def disturbance(hand_ids: list[str], noise: float, seed: int) -> Floats:
    """Isotropic Gaussian displacements of joints, a pure function of hand, joint and seed.

    Args:
        hand_ids: N hands.
        noise: mean 3D length of a displacement, metres; each coordinate has the standard deviation
            ``noise / sqrt(8 / pi)``, which is 0.627 times that.
        seed: of the draw.

    Returns:
        (N, 21, 3) metres.
    """
    keys = draws.pair_keys(draws.name_keys(hand_ids), _CELLS, seed)
    return np.asarray(draws.normals(keys).reshape(-1, 21, 3) * (noise / MEAN_LENGTH))


def ceiling(
    questions: pl.DataFrame,
    hands: pl.DataFrame,
    options: HandVQAOptions,
    noise: float,
    source: str = "given",
    *,
    seed: int = 0,
    repeats: int | None = None,
    resamples: int = RESAMPLES,
) -> pl.DataFrame:
    """How many right options stay right where joints are off by so much.

    The extent of a hand is that of its disturbed joints, or of its mesh as it is.  A value that the noise
    moves between the options (an offset that is "aligned", which no option offers) picks the nearer one.

    Args:
        questions: the ``questions`` table.
        hands: the ``hands`` table that the questions are about.
        options: scale rule and catalogue of the questions.
        noise: mean 3D error of a joint, metres.
        source: ``given``, ``published`` or ``assumed``: where that number is from.
        seed: of the noise.
        repeats: how often each hand is disturbed; by default :data:`REPEATS` times, less often where there are
            many questions.
        resamples: bootstrap resamples of the clusters.

    Returns:
        The ``ceiling`` table: a row for each descriptor, and one for all together.
    """
    repeats = repeats or max(1, min(REPEATS, ENOUGH // max(questions.height, 1)))
    catalogue = options.catalogue
    items = {(catalogue.descriptors[d].name, a, b): c for c, (d, a, b) in enumerate(catalogue.items)}
    item = columns_of(questions, items)
    known = hands.filter(pl.col("hand_id").is_in(questions["hand_id"].unique().implode()))
    rows = dict(zip(known["hand_id"].to_list(), range(known.height), strict=True))
    row = questions["hand_id"].replace_strict(rows, return_dtype=pl.Int64).to_numpy()
    truth = questions["truth_rank"].to_numpy().astype(np.int64)
    dropped = np.array([descriptor.dropped is not None for descriptor in catalogue.descriptors])[
        catalogue.descriptor_of[item]
    ]
    # Sums over the repeats: right, ranks away, undecided.
    sums = np.zeros((questions.height, 3))
    for repeat in range(repeats):
        ranks, between = _disturbed(known, options, noise, seed * 1_000 + repeat)
        chosen = ranks[row, item].astype(np.int64)
        sums[:, 0] += chosen == truth
        sums[:, 1] += np.abs(chosen - truth)
        sums[:, 2] += between[row, item] & dropped
    names = [descriptor.name for descriptor in catalogue.descriptors]
    which = catalogue.descriptor_of[item]
    clusters = questions["cluster"].to_physical().rank("dense").to_numpy().astype(np.int64) - 1
    parts = [which == index for index in range(len(names))] + [np.ones(questions.height, bool)]
    ends = _intervals(sums[:, 0] / repeats, parts, clusters, resamples)
    found = []
    for name, mine, (low, high) in zip((*names, "all"), parts, ends, strict=True):
        if not mine.any():
            continue
        ordinal = name != "all" and catalogue.descriptors[names.index(name)].ordinal
        right, away, undecided = (float(mean) for mean in sums[mine].mean(axis=0) / repeats)
        found.append(
            {
                "task": "handvqa",
                "descriptor": name,
                "noise": noise,
                "noise_source": source,
                "accuracy": right,
                "low": low,
                "high": high,
                "mae": away if ordinal else None,
                "undecided": undecided,
                "n": int(mine.sum()),
                "clusters": len(np.unique(clusters[mine])),
                "repeats": repeats,
                "seed": seed,
            }
        )
    return tables.conform(pl.DataFrame(found, infer_schema_length=None), "ceiling", "the ceiling")


def _disturbed(
    hands: pl.DataFrame, options: HandVQAOptions, noise: float, seed: int
) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
    """(N, C) rank of the option that each disturbed value picks, and whether it lies between the options."""
    catalogue = options.catalogue
    ranks = np.zeros((hands.height, len(catalogue.items)), np.int8)
    between = np.zeros(ranks.shape, bool)
    for start in range(0, hands.height, _HANDS):
        part = hands[start : start + _HANDS]
        joints = joint_arrays(part) + disturbance(part["hand_id"].to_list(), noise, seed)
        center, extent = center_and_extent(joints)
        mesh = (part["extent_source"].cast(pl.String) == "mesh").fill_null(False).to_numpy()
        center[mesh] = vector_arrays(part["center"])[mesh]
        extent[mesh] = vector_arrays(part["extent"])[mesh]
        values = describe(joints, center, extent, options.scale, catalogue)
        ranks[start : start + _HANDS] = nearest_ranks(values, catalogue)
        for index, descriptor in enumerate(catalogue.descriptors):
            if descriptor.dropped is not None:
                part_of = values[:, catalogue.columns(index)]
                low, high = descriptor.thresholds[0], descriptor.thresholds[-1]
                between[start : start + _HANDS, catalogue.columns(index)] = (part_of >= low) & (part_of < high)
    return ranks, between


def _intervals(
    shares: Floats, parts: list[NDArray[np.bool_]], clusters: NDArray[np.int64], resamples: int
) -> list[tuple[float | None, float | None]]:
    """The 95 % cluster interval of each part's mean, from the same draws; none where there is one cluster alone."""
    count = int(clusters.max()) + 1
    if count == 1:
        return [(None, None)] * len(parts)
    groups = group_clusters(count)[clusters]
    size = int(groups.max()) + 1
    counts = [np.bincount(groups[part], shares[part], size) for part in parts]
    counts += [np.bincount(groups[part], minlength=size) for part in parts]
    half = len(parts)
    values = resample(
        np.stack(counts, axis=1).astype(np.float32),
        lambda sums: np.divide(
            sums[:, :half], sums[:, half:], out=np.full_like(sums[:, :half], np.nan), where=sums[:, half:] > 0
        ),
        resamples=resamples,
    )
    low, high = percentile_interval(values)
    return [(float(a), float(b)) if np.isfinite(a) else (None, None) for a, b in zip(low, high, strict=True)]
