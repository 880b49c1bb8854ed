"""Per-cluster confusion counts, from which every metric and interval follows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.float32]


def confusion_by_cluster(
    cluster: NDArray[np.integer],
    truth: NDArray[np.integer],
    chosen: NDArray[np.integer],
    clusters: int,
    labels: int,
) -> Counts:
    """Count (truth, chosen) pairs in every cluster.

    Args:
        cluster: (N,) cluster number of each answer, 0 to ``clusters - 1``.
        truth: (N,) rank of the true label, 0 to ``labels - 1``.
        chosen: (N,) rank of the chosen label, -1 where the reply has no reading.
        clusters: number of clusters.
        labels: number of labels K.

    Returns:
        (clusters, K, K + 1) counts; the last column holds the answers without a reading.
    """
    column = np.where(chosen < 0, labels, chosen).astype(np.int64)
    code = (cluster.astype(np.int64) * labels + truth) * (labels + 1) + column
    counts = np.bincount(code, minlength=clusters * labels * (labels + 1))
    return counts.reshape(clusters, labels, labels + 1).astype(np.float32)
