from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest

from handbench import tables
from handbench.protocols import ReadContext, model
from handbench.runs.parts import find_task, load_source
from handbench.tasks.pointing.baselines import as_answers
from handbench.tasks.pointing.options import speaks_of

Reply = Callable[[dict[str, Any], dict[str, Any]], str]
"""(question, scene) → reply."""


class Scripted:
    """Knows the scenes and follows a script: what a model that sees everything would say."""

    def __init__(self, name: str, reply: Reply) -> None:
        self.name, self.reply = name, reply
        self.scenes: dict[str, dict[str, Any]] = {}

    def rows_are(self, rows: pl.DataFrame) -> None:
        self.scenes = {row["scene_id"]: row for row in rows.iter_rows(named=True)}

    def answer(self, questions: pl.DataFrame) -> Iterator[pl.DataFrame]:
        replies = [self.reply(row, self.scenes[row["scene_id"]]) for row in questions.iter_rows(named=True)]
        yield as_answers(questions, replies, self.name)


def direction_of(scene: dict[str, Any]) -> list[float]:
    """From the middle of the hand's box, where the chain's ray begins, to the target; the finger's own without one."""
    hand = np.array(scene["hand_box"])
    if scene["target_box"] is None:
        return [0.0, 1.0]
    box = np.array(scene["target_box"])
    way = (box[:2] + box[2:] - hand[:2] - hand[2:]) / 2
    return [round(float(side), 4) for side in way / np.linalg.norm(way)]


def chain_reply(row: dict[str, Any], scene: dict[str, Any]) -> str:
    """Every step, rightly: by what the prompt of the turn asks for."""
    prompt = str(row["prompt"])
    speaks = speaks_of(str(row["variant"]))
    size = scene["width"], scene["height"]
    target = None if row["truth_box"] is None else list(row["truth_box"])
    entries = []
    for box, name in zip(scene["candidate_boxes"], scene["candidate_categories"], strict=True):
        said = speaks.write(np.array(box), size).strip("{}")
        said = said if said.startswith('"') else f'"box": {json.dumps(said) if "<" in said else said}'
        score = 0.9 if list(box) == target else 0.1
        entries.append((f'{{"name": "{name}", {said}', score))
    if '"scores"' in prompt:
        told = [box for box in scene["candidate_boxes"] if _said(speaks, box, size) in prompt]
        told.sort(key=lambda box: prompt.index(_said(speaks, box, size)))
        return json.dumps({"scores": [0.9 if list(box) == target else 0.1 for box in told]})
    direction = f'"direction": {direction_of(scene)}'
    if '"candidates"' not in prompt:
        return f"{{{direction}}}"
    if '"direction"' in prompt:
        listed = ", ".join(f'{entry}, "score": {score}}}' for entry, score in entries)
        return f'{{{direction}, "candidates": [{listed}]}}'
    return '{"candidates": [' + ", ".join(f"{entry}}}" for entry, _ in entries) + "]}"


def _said(speaks: Any, box: list[float], size: tuple[int, int]) -> str:
    from handbench.tasks.pointing.prompts import said_box

    return said_box(speaks, np.array(box), size)


@model("script-chain")
def script_chain(spec: Any, options: Any) -> Scripted:
    return Scripted(options.text("name", str(spec)), chain_reply)


@pytest.fixture(scope="session")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    cache = tmp_path_factory.mktemp("pointing")
    source = load_source("synth:scenes?n=24&seed=5&width=256&negatives=0.3&supersample=1", ReadContext(cache=cache))
    return tables.conform(source.scenes, "scenes").sort("scene_id")


@pytest.fixture(scope="session")
def ask(scenes: pl.DataFrame) -> Callable[[str], tuple[pl.DataFrame, Any]]:
    """Questions and the task, by the task's name with options."""

    def make(text: str) -> tuple[pl.DataFrame, Any]:
        task, options = find_task(text)
        questions, _ = task.ask(scenes, options)
        return questions, task

    return make
