"""What every hand must have whatever its dataset: an image with bytes in it, and joints that can be a hand's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from handbench.datasets import files
from handbench.protocols import ReadContext


@dataclass
class Columns:
    """Columns of equal length, some of them absent or one value for all."""

    def take(self, rows: NDArray[np.bool_]) -> Self:
        """The rows marked, of every column."""
        number = np.flatnonzero(rows).tolist()

        def part(column: Any) -> Any:
            if isinstance(column, np.ndarray | pl.Series):
                return column[number]
            if isinstance(column, Sequence) and not isinstance(column, str):
                return [column[row] for row in number]
            return column

        return replace(self, **{one.name: part(getattr(self, one.name)) for one in fields(self)})


def sound(hands: Any, root: Path, source: Path, context: ReadContext) -> Any:
    """Hands without those that nothing could be asked about.

    Args:
        hands: N hands as :class:`handbench.datasets.build.Hands`.
        root: the folder that images are relative to.
        source: what to call the annotations in an error.
        context: says whether bad rows stop the work or are left out.

    Raises:
        HandbenchError: a row is bad, or none is left.
    """
    faults = context.faults
    keep = files.not_empty(root, hands.images, faults)
    if faults.keep_going:
        keep = keep & files.readable(root, hands.images, faults, keep)[0]
    for reason, what, good in _checks(hands):
        # A row counts once, for the first reason found.
        keep = keep & faults.good(good | ~keep, reason, partial(_tell, f"{source}", hands.keys, what))
    if keep.all():
        return hands
    if not keep.any():
        files.refuse_nothing(source, faults)
    return hands.take(keep)


def _tell(source: str, keys: Sequence[str], what: str, row: int) -> str:
    return f"{source}: {keys[row]}: {what}"


def _checks(hands: Any) -> Iterator[tuple[str, str, NDArray[np.bool_]]]:
    """A reason for the count, what is said of a hand, and (N,) which hands are good."""
    joints = hands.joints_cam
    if joints is not None:
        if not np.isfinite(joints).all():
            flat = joints.reshape(len(joints), -1)
            yield "joints not finite", "a joint is not a finite number", ~np.isinf(flat).any(axis=1)
            given = np.isfinite(joints).all(axis=2)
            torn = (given != np.isfinite(joints).any(axis=2)).any(axis=1)
            yield "joints not finite", "a part of a joint is not a finite number", ~torn
            yield "joints not finite", "no joint is a finite number", given.any(axis=1)
        yield (
            "joints all at one point",
            "all joints lie at one point, which stands for 'not annotated'",
            ~_at_one_point(joints),
        )
    for name in ("intrinsics", "center", "extent"):
        values = getattr(hands, name)
        if values is not None:
            finite = np.isfinite(values).reshape(len(values), -1).all(axis=1)
            yield f"{name} not finite", f"{name} is not of finite numbers", finite


def _at_one_point(joints: NDArray[np.floating]) -> NDArray[np.bool_]:
    """(N,) hands whose joints, those given, are one and the same point."""
    found = np.zeros(len(joints), bool)
    # Few rows are left after a look at two neighbours, and at those with joints that are not given.
    likely = np.flatnonzero((joints[:, 5] == joints[:, 6]).all(axis=1) | ~np.isfinite(joints[:, 5:7]).all(axis=(1, 2)))
    some = joints[likely]
    given = np.isfinite(some).all(axis=2)
    first = some[np.arange(len(some)), given.argmax(axis=1)]
    same = (some == first[:, None]).all(axis=2) | ~given
    found[likely] = same.all(axis=1) & (given.sum(axis=1) > 1)
    return found
