from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handbench.tune.packing import IGNORED, PackedRow, Turn, pack, share

ids = st.lists(st.integers(3, 40), min_size=1, max_size=6)
turns = st.builds(Turn, ids, ids)
rows = st.lists(st.builds(PackedRow, ids, st.lists(turns, min_size=1, max_size=4)), min_size=1, max_size=3)


def seen_by(packed, row: int, place: int) -> list[int]:
    """The tokens that a token sees, by their positions."""
    keys = np.flatnonzero(packed.mask()[row, 0, place])
    return packed.tokens[row, keys[np.argsort(packed.positions[row, keys], kind="stable")]].tolist()


@given(rows)
def test_every_token_sees_what_it_would_see_alone(made):
    packed = pack(made, pad=0)
    for number, row in enumerate(made):
        end = len(row.shared)
        for turn in row.turns:
            alone = [*row.shared, *turn.prompt, *turn.answer]
            for place in range(len(turn.prompt) + len(turn.answer)):
                at = end + place
                assert packed.positions[number, at] == len(row.shared) + place
                assert seen_by(packed, number, at) == alone[: len(row.shared) + place + 1]
            end += len(turn.prompt) + len(turn.answer)


@given(rows)
def test_only_answers_are_learned(made):
    packed = pack(made, pad=0)
    for number, row in enumerate(made):
        learned = packed.labels[number][packed.labels[number] != IGNORED].tolist()
        assert learned == [token for turn in row.turns for token in turn.answer]
        where = packed.labels[number] != IGNORED
        assert (packed.labels[number][where] == packed.tokens[number][where]).all()


def test_what_all_prompts_begin_with_is_taken_off_but_one_token_is_left_to_each():
    row = share([[1, 2, 3, 7], [1, 2, 3, 8, 9], [1, 2, 3]], [[5], [5], [5]])
    assert row.shared == [1, 2]
    assert [turn.prompt for turn in row.turns] == [[3, 7], [3, 8, 9], [3]]


def test_the_gain_of_twenty_five_questions_about_a_thousand_tokens():
    shared, turn = list(range(1000)), Turn(list(range(50)), list(range(10)))
    row = PackedRow(shared, [turn] * 25)
    assert len(row) == 1000 + 25 * 60
    assert row.plain_tokens == 25 * 1060
    assert row.plain_tokens / len(row) == pytest.approx(10.6)
