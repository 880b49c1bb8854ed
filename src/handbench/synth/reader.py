"""``synth:NAME``: the rendered sources, each in its own module."""

from __future__ import annotations

from handbench.errors import HandbenchError
from handbench.protocols import ReadContext, Source, dataset
from handbench.specs import Spec
from handbench.synth import clips, gestures, hands, scenes

_SOURCES = {"hands": hands.read, "gestures": gestures.read, "scenes": scenes.read, "clips": clips.read}


@dataset("synth")
def read(spec: Spec, context: ReadContext) -> Source:
    """Make a rendered source, e.g. ``synth:hands?n=200&seed=0``.

    Raises:
        HandbenchError: there is no such source.
    """
    if spec.name not in _SOURCES:
        known = ", ".join(f"synth:{name}" for name in _SOURCES)
        raise HandbenchError(f"{spec}: rendered sources are {known}")
    return _SOURCES[spec.name](spec, context)
