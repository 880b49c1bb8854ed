"""Scenes → questions: EDG, D-REC, POG, the image alone, and D-VQA (EgoPoint-Ground, section 3 and appendix 8.1).

Each referent is a question of its own for EDG and D-REC; the other sub-tasks ask once per image.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import numpy as np
import polars as pl

from handbench import tables
from handbench.replies.name import NOTHING
from handbench.tasks.pointing.options import PointingOptions
from handbench.tasks.pointing.prompts import prompt, template

BY_REFERENT: Final = ("edg", "d-rec")
OCCLUSION: Final = ((0.02, "none"), (0.25, "slight"), (0.5, "moderate"), (1.0, "severe"))
SIZES: Final = ((0.01, "small"), (0.05, "medium"), (1.0, "large"))
"""Upper ends of the target's share of the image's area, and names."""

_ORIGIN = ("dataset", "split", "subject", "sequence")


def ask(scenes: pl.DataFrame, options: PointingOptions) -> tuple[pl.DataFrame, dict[str, int]]:
    """Make the questions.

    Args:
        scenes: rows of the ``scenes`` table.
        options: sub-tasks and family.

    Returns:
        The ``questions`` table, and what could not be asked, counted by reason.
    """
    skipped: Counter[str] = Counter()
    rows = [
        row
        for scene in scenes.iter_rows(named=True)
        for subtask in options.subtasks
        for row in _about(scene, subtask, options, skipped)
    ]
    if not rows:
        return tables.empty("questions"), dict(skipped)
    frame = pl.DataFrame(
        rows, infer_schema_length=None, schema_overrides={"truth_box": tables.BOX, "hand_box": tables.BOX}
    )
    return tables.conform(frame, "questions", "pointing"), dict(skipped)


def _about(
    scene: dict[str, Any], subtask: str, options: PointingOptions, skipped: Counter[str]
) -> list[dict[str, Any]]:
    """The questions of one sub-task about one scene."""
    if subtask not in BY_REFERENT:
        return [_row(scene, subtask, None, "", options)]
    if "{object_caption}" in template(options.family, subtask)[0] and not scene["caption_object"]:
        skipped[f"{subtask}: no caption of the object"] += 1
        return []
    return [_row(scene, subtask, number, text, options) for number, text in enumerate(scene["referents"])]


def _row(
    scene: dict[str, Any], subtask: str, number: int | None, referent: str, options: PointingOptions
) -> dict[str, Any]:
    speaks = options.speaks
    size = (int(scene["width"]), int(scene["height"]))
    negative = is_negative(scene, subtask)
    target = None if negative else scene["target_box"]
    category = NOTHING if negative else str(scene["target_category"])
    if subtask == "d-vqa":
        # Kept in the order of the scene, so that nothing but the truth's place tells it.
        labels = [*dict.fromkeys(scene["candidate_categories"]), NOTHING]
        truth_text = None if negative else scene["answer"]
        if truth_text is not None and truth_text not in labels:
            labels.insert(0, truth_text)
        replies, index = labels, labels.index(NOTHING if truth_text is None else truth_text)
    else:
        truth_text = None
        labels = [*scene["candidate_categories"], NOTHING]
        replies = [*(speaks.write(np.array(box), size) for box in scene["candidate_boxes"]), speaks.rejection()]
        index = len(replies) - 1 if target is None else _place(scene["candidate_boxes"], target)
    suffix = "" if number is None else f"/{number}"
    return {
        "question_id": f"pointing/{subtask}/{scene['scene_id']}{suffix}",
        "variant": options.tag,
        "task": "pointing",
        "kind": "text" if subtask == "d-vqa" else "box",
        "images": [scene["image"]],
        "image_hash": scene["image_hash"],
        "system": "",
        "prompt": prompt(
            speaks,
            subtask,
            size,
            hand=np.array(scene["hand_box"]),
            referent=referent,
            caption=scene["caption_object"] or "",
            question=scene["question"] or "what is this?",
            reject=options.reject,
        ),
        "options": replies,
        "option_labels": labels,
        "truth_index": index,
        "truth_category": category,
        "truth_rank": 0,
        "about_descriptor": subtask,
        "about_referent": referent or None,
        "about_category": category,
        "about_side": scene["hand_side"],
        "scene_id": scene["scene_id"],
        "image_size": list(size),
        "hand_box": scene["hand_box"],
        "truth_box": target,
        "truth_text": truth_text,
        **{name: scene[name] for name in _ORIGIN},
        "cluster": scene["cluster"],
        **_factors(scene, target, category),
        **{name: value for name, value in scene.items() if name.startswith("factor_")},
    }


def is_negative(scene: dict[str, Any], subtask: str) -> bool:
    """Whether the right answer is that there is nothing to point out.

    A contradicting referent has no target; without the referent the hand still points at something.
    """
    if scene["target_box"] is None:
        return True
    return scene["negative"] is not None and (subtask in BY_REFERENT or scene["negative"] != "contradiction")


def _place(boxes: list[list[float]], target: list[float]) -> int:
    return next(number for number, box in enumerate(boxes) if list(box) == list(target))


def _factors(scene: dict[str, Any], target: list[float] | None, category: str) -> dict[str, str | None]:
    """What scores are divided by (section 2.1)."""
    found: dict[str, str | None] = {
        "factor_source": scene["source"],
        "factor_negative": scene["negative"] or "no",
        "factor_occlusion": None,
        "factor_same_category": None,
        "factor_box_size": None,
    }
    if target is None:
        return found
    if scene["occluded"] is not None:
        found["factor_occlusion"] = _named(OCCLUSION, scene["occluded"])
    same = scene["candidate_categories"].count(category)
    found["factor_same_category"] = str(same) if same < 3 else "3 or more"
    share = (target[2] - target[0]) * (target[3] - target[1]) / (scene["width"] * scene["height"])
    found["factor_box_size"] = _named(SIZES, share)
    return found


def _named(limits: tuple[tuple[float, str], ...], value: float) -> str:
    return next((name for limit, name in limits if value <= limit), limits[-1][1])
