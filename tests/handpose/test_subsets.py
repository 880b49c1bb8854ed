from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handbench import tables
from handbench.tasks.handpose.subsets import bias_of, nested_order, subset_of_frames
from tests.handpose.makers import SHAPE, frames, hands, moved


@given(st.integers(1, 200))
def test_the_order_holds_every_frame_once_and_its_beginnings_are_spread(count):
    order = nested_order(count)
    assert sorted(order) == list(range(count))
    if count > 2:
        assert order[:2].tolist() == [0, count - 1]
        for taken in (3, 5, 9, 17):
            if taken < count:
                gaps = np.diff(np.sort(order[:taken]))
                # Farthest-point order: no gap is more than twice the mean one, rounded up.
                assert gaps.max() <= np.ceil(2 * (count - 1) / (taken - 1))


def test_the_first_eight_of_nine_frames_by_hand():
    """0 and 8; the middle 4; then 2 and 6 (2 away), then the odd ones in order."""
    assert nested_order(9).tolist() == [0, 8, 4, 2, 6, 1, 3, 5, 7]


def test_subsets_are_nested_per_video_and_keep_both_ends():
    grid = frames([0] * 30 + [1] * 7 + [2], number=[*range(30), *range(7), 0])
    before = np.zeros(38, bool)
    for fraction in (0.1, 0.25, 0.5, 1.0):
        chosen = subset_of_frames(grid, fraction)
        assert chosen[[0, 29, 30, 36, 37]].all()
        assert (chosen | ~before).all()
        assert chosen[:30].sum() == max(2, round(fraction * 30))
        before = chosen
    assert before.all()


def test_bias_by_hand():
    """Box side 92: a shift of 1.84 px is 0.02.  Moved by 3 px: free; by 1: as initialised; no estimate: added."""
    true = hands([0, 1, 2], points=[SHAPE] * 3)
    initial = pl.Series([moved(3), moved(1), None], dtype=tables.JOINTS_2D)
    bias = bias_of(true, pl.DataFrame({"initial_px": initial}))
    assert bias.free.tolist() == [True, False, True]
    assert bias.added.tolist() == [False, False, True]
    assert np.nanmedian(bias.displacement[0]) == pytest.approx(3 / 92)
    assert np.isnan(bias.displacement[2]).all()
    none = bias_of(true, pl.DataFrame({"initial_px": pl.Series([None] * 3, dtype=tables.JOINTS_2D)}))
    assert not none.has_estimates
    assert not none.free.any()
