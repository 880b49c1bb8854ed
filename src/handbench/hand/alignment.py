"""Similarity alignment of joint sets, so that errors of shape are told apart from place, turn and size."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def align(predicted: Floats, true: Floats) -> Floats:
    """Move, turn and scale predicted joints onto the true ones in the least-squares sense (Umeyama 1991).

    Args:
        predicted: (N, J, 3) any unit.
        true: (N, J, 3) metres.

    Returns:
        (N, J, 3) in the frame and unit of ``true``; NaN for a hand with a NaN in it.  No reflection is used: a left
        hand does not become a right one.
    """
    usable = ~(np.isnan(predicted).any((1, 2)) | np.isnan(true).any((1, 2)))
    aligned = np.full(true.shape, np.nan)
    if not usable.any():
        return aligned
    from_, to = predicted[usable], true[usable]
    from_mean, to_mean = from_.mean(1, keepdims=True), to.mean(1, keepdims=True)
    source, target = from_ - from_mean, to - to_mean
    left, size, right = np.linalg.svd(np.einsum("nji,njk->nik", source, target))
    sign = np.ones_like(size)
    sign[:, -1] = np.sign(np.linalg.det(left) * np.linalg.det(right))
    turn = np.einsum("nik,nk,nkj->nij", left, sign, right)
    variance = (source**2).sum((1, 2))
    scale = np.divide((size * sign).sum(1), variance, out=np.zeros_like(variance), where=variance > 0)
    aligned[usable] = scale[:, None, None] * np.einsum("nji,nik->njk", source, turn) + to_mean
    return aligned


def aligned_errors(predicted: Floats, true: Floats) -> Floats:
    """(N, J) distance of every joint after :func:`align`, metres; their mean is the PA-MPJPE."""
    return np.asarray(np.linalg.norm(align(predicted, true) - true, axis=2))
