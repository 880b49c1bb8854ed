"""Random choices that are a pure function of (seed, name): no stream, so order and sharding do not matter."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]


def name_keys(names: list[str]) -> Keys:
    """One 64-bit key per name, the same on every machine.

    Args:
        names: ids of hands or of descriptors.

    Returns:
        (N,) uint64.
    """
    digests = b"".join(blake2b(name.encode(), digest_size=8).digest() for name in names)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def mix(keys: Keys) -> Keys:
    """Scramble keys (the finaliser of SplitMix64: every input bit reaches every output bit)."""
    keys = keys + np.uint64(0x9E3779B97F4A7C15)
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))


def pair_keys(rows: Keys, columns: Keys, seed: int) -> Keys:
    """A key for every (row, column) pair.

    Args:
        rows: (N,) keys.
        columns: (C,) keys.
        seed: any whole number.

    Returns:
        (N, C) uint64, independent of which other rows and columns are present.
    """
    salt = mix(np.array([seed & 0xFFFFFFFFFFFFFFFF], np.uint64))
    salted = mix(rows ^ salt)
    return mix(salted[:, None] ^ columns[None, :])


def normals(keys: Keys) -> NDArray[np.float64]:
    """A standard normal number from each key, by the inverse of the distribution function.

    Args:
        keys: uint64 of any shape, as :func:`pair_keys` gives them.

    Returns:
        Numbers of the same shape.
    """
    from scipy.special import ndtri

    # The upper 53 bits, at the middle of their interval, so that neither 0 nor 1 comes out.
    share = ((keys >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    return np.asarray(ndtri(share), np.float64)


def smallest(keys: Keys, eligible: NDArray[np.bool_], count: int) -> NDArray[np.bool_]:
    """Mark the ``count`` eligible entries with the smallest keys in each row: a uniform sample.

    Args:
        keys: (N, C) uint64.
        eligible: (N, C) entries that may be taken.
        count: how many to take; rows with fewer give all they have.

    Returns:
        (N, C) bool.
    """
    if count >= keys.shape[1]:
        return eligible
    last = np.uint64(0xFFFFFFFFFFFFFFFF)
    ranked = np.where(eligible, keys, last)
    limit = np.partition(ranked, count - 1, axis=1)[:, count - 1]
    return eligible & (ranked <= limit[:, None])
