"""The prompt: one for Tasks 1 to 4, answered in JSON (SafeGesture, sections 3.4 and 3.8).

The paper does not print its prompt.  This is a reconstruction from what it says of it: every scenario opens with
the same words, the labels are offered as equals, none is a default, and the keys are asked for in JSON.
"""

from __future__ import annotations

import json
from typing import Final

from handbench.tasks.safegesture.cells import Cells, Gesture, Scenario

VERSION: Final = "1"
"""Of the wording; it stands in every question's variant, and another wording gets another number."""

VARIANTS: Final = ("image", "scenario-only", "gesture-as-text")
"""The main experiment, and Variants A and B, which show no image."""


def scene(cells: Cells, scenario: Scenario) -> str:
    """The opening that all scenarios share, then what is particular to one."""
    return f"{cells.opening} in this situation: {scenario.description}"


def _labels(cells: Cells) -> str:
    return "\n".join(f"- {label.id}: {label.gloss}" for label in cells.labels)


def _question(cells: Cells) -> str:
    return (
        "Which one of these safety labels says what the system that watches should do? "
        f"All are equally possible; there is no default.\n{_labels(cells)}"
    )


def prompt(cells: Cells, variant: str, scenario: Scenario, gesture: Gesture | None = None) -> str:
    """The user turn.

    Args:
        cells: gestures, scenarios and labels.
        variant: one of :data:`VARIANTS`.
        scenario: where it happens.
        gesture: the gesture to be told in words, for ``gesture-as-text``.
    """
    if variant == "image":
        names = ", ".join(cells.gesture_ids)
        return (
            f"{scene(cells, scenario)}\n\n"
            f"1. Which gesture is it? One of: {names}.\n"
            f"2. {_question(cells)}\n"
            "3. What should the system do, in one sentence?\n"
            "4. Why, from what the image shows and from the situation?\n\n"
            "Answer with one JSON object and nothing else:\n"
            '{"gesture": "...", "safety_label": "...", "system_behavior": "...", "explanation": "..."}'
        )
    shape = f": {gesture.shape}" if gesture is not None and gesture.shape else ""
    told = "" if gesture is None else f"The gesture is {gesture.id}{shape}.\n\n"
    return (
        f"{scene(cells, scenario)}\n\n{told}{_question(cells)}\n\n"
        'Answer with one JSON object and nothing else:\n{"safety_label": "..."}'
    )


def gesture_prompt(cells: Cells) -> str:
    """The first of two turns: the gesture alone, in no scenario."""
    return (
        f"Which gesture is the person in the image making? One of: {', '.join(cells.gesture_ids)}.\n\n"
        'Answer with one JSON object and nothing else:\n{"gesture": "..."}'
    )


def gesture_reply(gesture: str) -> str:
    """The ideal reply to :func:`gesture_prompt`."""
    return json.dumps({"gesture": gesture})


def ideal_reply(label: str, gesture: str | None = None) -> str:
    """The reply of one who follows the instruction, the scored fields alone."""
    fields = {"safety_label": label} if gesture is None else {"gesture": gesture, "safety_label": label}
    return json.dumps(fields)
