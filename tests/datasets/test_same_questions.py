"""The same questions from the same data: whatever the number of shards, the folder's name and the files' order."""

from __future__ import annotations

import json
import pickle
import random
import shutil

import numpy as np
import pytest
from every_layout import LAYOUTS

import handbench
from handbench.protocols import ReadContext
from handbench.runs.parts import load_source
from handbench.tasks.handvqa import questions
from handbench.tasks.handvqa.options import HandVQAOptions

SOLID = [name for name in LAYOUTS if name not in ("coco", "hint", "panoptic")]
"""Those with joints in 3D, which can be asked about."""


def read(name, root):
    return load_source(LAYOUTS[name].spec.format(root=root), ReadContext(split=LAYOUTS[name].split))


def asked(source):
    return questions.ask(source.hands, HandVQAOptions())[0]


@pytest.mark.parametrize("name", SOLID)
def test_one_shard_and_seven_give_equal_tables(tmp_path, name):
    LAYOUTS[name].write(tmp_path / "data") if name != "ge" else _written(name, tmp_path / "data")
    data, split = LAYOUTS[name].spec.format(root=tmp_path / "data"), LAYOUTS[name].split
    whole = handbench.ask("handvqa", data, tmp_path / "whole", split=split, workers=1)
    parts = [
        handbench.ask("handvqa", data, tmp_path / str(number), split=split, shard=f"{number}/7", workers=1)
        for number in (3, 1, 7, 2, 5, 4, 6)
    ]
    merged = handbench.merge([part.folder.root for part in parts], tmp_path / "merged")
    for table in ("questions", "hands", "frames"):
        one, other = whole.table(table), merged.table(table)
        if table == "frames":  # an image whose hands fall into two shards is in both
            other = other.unique(maintain_order=True).sort("image")
        assert one.equals(other), table
    assert merged.manifest["questions"]["hash"] == whole.manifest["questions"]["hash"]
    taken = [part.table("questions")["question_id"] for part in parts]
    assert sum(len(ids) for ids in taken) == len(set().union(*taken)) == whole.table("questions").height


def _written(name, root):
    root.mkdir(parents=True, exist_ok=True)
    LAYOUTS[name].write(root)


def _shuffle_lists(root):
    """Lists and dicts of records in another order, as another download or another tool may write them."""
    draw = random.Random(3)
    for path in root.rglob("*.json"):
        content = json.loads(path.read_text())
        if isinstance(content, dict) and {"images", "annotations"} <= content.keys():
            draw.shuffle(content["images"])
            draw.shuffle(content["annotations"])
        if isinstance(content, dict):
            content = dict(reversed(content.items()))
        path.write_text(json.dumps(content))
    for path in root.rglob("*.pickle"):
        path.write_bytes(pickle.dumps(dict(reversed(pickle.loads(path.read_bytes()).items())), protocol=2))
    for path in root.rglob("*.npy"):
        content = np.load(path, allow_pickle=True).item()
        draw.shuffle(content["imgnames"])
        np.save(path, content)
    for name in ("train.txt",):
        if (root / name).exists():
            lines = (root / name).read_text().splitlines()
            (root / name).write_text("\n".join(reversed(lines)))
    for path in root.rglob("skeleton.txt"):
        lines = path.read_text().splitlines()
        path.write_text("\n".join(reversed(lines)))


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_renamed_and_reordered_folder_gives_the_same(tmp_path, name):
    first = tmp_path / "first"
    _written(name, first)
    one = read(name, first)
    # Made file by file in another order, as the file system may list them.
    files = sorted((path for path in first.rglob("*") if path.is_file()), reverse=True)
    random.Random(5).shuffle(files)
    other = tmp_path / "quite another" / "name"
    for path in files:
        target = other / path.relative_to(first)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    _shuffle_lists(other)
    two = read(name, other)
    assert one.hands.equals(two.hands)
    assert one.frames.equals(two.frames)
    assert one.skipped == two.skipped
    if name in SOLID:
        assert asked(one).height > 5
        assert asked(one).equals(asked(two))
