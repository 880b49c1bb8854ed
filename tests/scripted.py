"""Answerers with one known fault each, for tests of what the report says of them."""

from __future__ import annotations

import json

import numpy as np
import polars as pl


def _letter(place: int) -> str:
    return "ABCDEFGH"[place]


def by_position(question: dict, number: int) -> str:
    """Always the first option."""
    return "A"


def always_close(question: dict, number: int) -> str:
    """ "Close to" for every distance; right otherwise in 7 of 10."""
    labels = list(question["option_labels"])
    if question["about_descriptor"] == "distance":
        return _letter(labels.index("close to"))
    return _letter(question["truth_index"] if number % 10 < 7 else (question["truth_index"] + 1) % len(labels))


def refuses_half(question: dict, number: int) -> str:
    """Right, or a refusal."""
    return _letter(question["truth_index"]) if number % 2 else "I'm sorry, but I can't help with that."


def reversed_confidence(question: dict, number: int) -> str:
    """Sure where it is wrong, unsure where it is right; asked for likelihoods."""
    count = len(question["option_labels"])
    right = number % 3 > 0
    chosen = question["truth_index"] if right else (question["truth_index"] + 1) % count
    share = (0.55 if right else 0.9) + 0.01 * (number % 5)
    told = {_letter(place): round((1 - share) / (count - 1), 4) for place in range(count)}
    return json.dumps({**told, _letter(chosen): share})


def write(questions: pl.DataFrame, script, path, seed: int = 0) -> str:
    """Write a script's replies and give the model's name."""
    numbers = np.random.default_rng(seed).permutation(questions.height)
    rows = [
        {"question_id": row["question_id"], "variant": row["variant"], "reply": script(row, int(number))}
        for row, number in zip(questions.iter_rows(named=True), numbers, strict=True)
    ]
    pl.DataFrame(rows).write_parquet(path)
    return f"replies:{path}?name={script.__name__}"
