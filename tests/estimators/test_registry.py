from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from handbench.errors import HandbenchError
from handbench.estimators import blaze, yoha
from handbench.specs import Options, Spec

pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")

FACTORIES = {"blaze-full": blaze.blaze_full, "blaze-lite": blaze.blaze_lite, "yoha": yoha.yoha}


@pytest.mark.parametrize(("name", "factory"), FACTORIES.items())
def test_a_spec_sets_the_options_and_is_the_name(name: str, factory: Callable[..., Any]) -> None:
    spec = Spec.parse(f"{name}?max_hands=5&presence_threshold=0.7")
    options = Options(spec)
    made = factory(spec, options)
    options.done()
    assert made.name == str(spec)
    assert made.max_hands == 5


@pytest.mark.parametrize(("name", "factory"), FACTORIES.items())
def test_a_bad_option_is_refused(name: str, factory: Callable[..., Any]) -> None:
    spec = Spec.parse(f"{name}?presence_threshold=7")
    with pytest.raises(HandbenchError, match="presence_threshold must lie between 0 and 1, found 7"):
        factory(spec, Options(spec))
