from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handbench.errors import HandbenchError
from handbench.specs import Options, Spec


def test_the_parts_of_a_name():
    spec = Spec.parse("synth:hands?n=200&seed=0")
    assert spec == Spec("synth", "hands", {"n": "200", "seed": "0"})
    assert Spec.parse("chance") == Spec("chance")
    assert Spec.parse("ge:/a b/c%3Fd?side=left") == Spec("ge", "/a b/c?d", {"side": "left"})


names = st.text(st.characters(blacklist_categories=["Cs", "Cc"]), max_size=20)


@given(names, st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), names, max_size=4))
def test_what_is_written_is_read_back(name, options):
    spec = Spec("kind", name.strip(), {key: value.strip() for key, value in options.items()})
    assert Spec.parse(str(spec)) == spec


@pytest.mark.parametrize("text", ["", "?n=1", "a?n", "a?n=1&n=2", ":x"])
def test_what_names_nothing_is_refused(text):
    with pytest.raises(HandbenchError):
        Spec.parse(text)


def test_options_are_typed_and_none_is_left():
    options = Options(Spec.parse("x?n=3&share=0.5&how=fast&yes=true&odd=1"))
    assert options.integer("n", 0) == 3
    assert options.number("share", 0) == 0.5
    assert options.choice("how", "slow", ("slow", "fast")) == "fast"
    assert options.flag("yes")
    with pytest.raises(HandbenchError, match="unknown option odd"):
        options.done()


@pytest.mark.parametrize("text", ["x?n=a", "x?n=1.5", "x?n=-1"])
def test_a_wrong_number_is_named(text):
    with pytest.raises(HandbenchError, match="n must be"):
        Options(Spec.parse(text)).integer("n", 1, least=0)
    with pytest.raises(HandbenchError, match="must be a number"):
        Options(Spec.parse("x?v=nan")).number("v", 1)
