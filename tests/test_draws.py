from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from handbench import draws

names = st.lists(st.text(min_size=1, max_size=12), min_size=2, max_size=20, unique=True)


@given(names, st.integers(-5, 5), st.randoms())
def test_a_draw_depends_on_nothing_but_seed_and_name(ids, seed, random):
    columns = draws.name_keys(["a", "b", "c"])
    whole = draws.pair_keys(draws.name_keys(ids), columns, seed)
    order = list(range(len(ids)))
    random.shuffle(order)
    part = draws.pair_keys(draws.name_keys([ids[index] for index in order[:2]]), columns[[2]], seed)
    assert (part == whole[order[:2]][:, [2]]).all()


def test_samples_are_uniform():
    rows = draws.name_keys([f"hand {index}" for index in range(20_000)])
    keys = draws.pair_keys(rows, draws.name_keys([str(index) for index in range(15)]), 0)
    taken = draws.smallest(keys, np.ones(keys.shape, bool), 5)
    assert (taken.sum(1) == 5).all()
    # Without replacement the counts are a little less spread than independent ones, so this is lenient.
    assert chisquare(taken.sum(0)).pvalue > 1e-4
    orders = (draws.mix(keys[:, 0]) % np.uint64(24)).astype(int)
    assert chisquare(np.bincount(orders)).pvalue > 1e-4


def test_rows_with_few_give_all_they_have():
    keys = draws.pair_keys(draws.name_keys(["a", "b"]), draws.name_keys(list("pqrstuv")), 1)
    eligible = np.zeros((2, 7), bool)
    eligible[0, [1, 4]] = True
    taken = draws.smallest(keys, eligible, 5)
    assert (taken == eligible).all()


def test_seeds_differ():
    rows, columns = draws.name_keys(["a"]), draws.name_keys(["b"])
    assert len({int(draws.pair_keys(rows, columns, seed)[0, 0]) for seed in range(100)}) == 100
