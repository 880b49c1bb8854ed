from __future__ import annotations

import pytest

from handbench.protocols import ReadContext
from handbench.specs import Spec
from handbench.synth import hands


@pytest.mark.parametrize(("split", "count"), [("train", 7), ("test", 5), ("val", 5), (None, 5)])
def test_a_set_to_learn_from_is_larger_where_nothing_is_said(monkeypatch, split, count):
    monkeypatch.setattr(hands, "TO_LEARN_FROM", 7)
    monkeypatch.setattr(hands, "TO_TEST_ON", 5)
    for text, expected in (("synth:hands?size=32", count), ("synth:hands?size=32&n=3", 3)):
        assert hands.read(Spec.parse(text), ReadContext(split=split, workers=1)).hands.height == expected
    assert hands.TO_LEARN_FROM > hands.TO_TEST_ON
