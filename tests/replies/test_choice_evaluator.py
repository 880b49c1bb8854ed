"""Ten thousand replies of 35 styles to HandVQA questions, against the choices that their authors meant."""

from __future__ import annotations

import csv
import gzip
import json
import re
from collections import Counter

import pytest

from handbench.replies import read_choice

PARTS = ("angle", "distance", "relative_pos_x", "relative_pos_y", "relative_pos_z")
APART = {"wrong_joint_letter", "paraphrase_article"}
"""Left unread: a letter beside a sentence about another joint (never a guess here, a choice in the
reference), and "before" for "in front of"."""


@pytest.mark.parametrize("part", PARTS)
def test_every_reply_is_read_as_meant_or_not_at_all(shared, part):
    folder = shared / "golden/handvqa/evaluator"
    with gzip.open(folder / f"{part}_result.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    with (folder / f"{part}_intended.csv").open() as file:
        meant = list(csv.DictReader(file))
    unread: Counter[str] = Counter()
    for row, want in zip(rows, meant, strict=True):
        prompt = row["messages"][0]["content"]
        options = [re.sub(r"^\s*[A-D]\. ", "", line).strip() for line in re.findall(r"(?m)^\s*[A-D]\. .*$", prompt)]
        found = read_choice(row["response"] or "", options)
        intended = None if want["intended_index"] == "" else int(want["intended_index"])
        if found.choice != intended:
            assert found.choice is None, (want["style"], row["response"], options)
            unread[want["style"]] += 1
    assert set(unread) <= APART
    assert unread.total() < 50
    assert len(rows) == 2000
