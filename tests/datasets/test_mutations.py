"""Damaged datasets: a right table or one line that says what is wrong; never another exception, never a wrong table."""

from __future__ import annotations

import os
import random
import shutil

import numpy as np
import pytest
from every_layout import LAYOUTS
from mutations import mutate

from handbench import tables
from handbench.errors import HandbenchError
from handbench.faults import Faults
from handbench.protocols import ReadContext
from handbench.runs.parts import load_source

QUICK, MANY = 5, 1000
_EXCUSED = ("less", "value")


def read(name, root, keep_going):
    layout = LAYOUTS[name]
    context = ReadContext(split=layout.split, faults=Faults(keep_going))
    return load_source(layout.spec.format(root=root), context)


def rows_of(source):
    found = {}
    for row in source.hands.select("hand_id", "side", "image", "joints_cam", "joints_px").to_dicts():
        points = [np.asarray(row[name], float) for name in ("joints_cam", "joints_px") if row[name] is not None]
        found[row["hand_id"]] = (row["side"], row["image"], points)
    return found


def same(one, other):
    return one[:2] == other[:2] and all(
        np.allclose(a, b, atol=1e-6, equal_nan=True) for a, b in zip(one[2], other[2], strict=True)
    )


def trouble(name, folder, truth, expected, keep_going):
    """What is wrong with how a damaged folder is read, or nothing."""
    try:
        source = read(name, folder, keep_going)
    except HandbenchError as error:
        text = str(error)
        if "\n" in text or not text or len(text) > 700:
            return f"not one line: {text[:300]!r}"
        return None if str(folder) in text else f"names no place: {text!r}"
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:200]}"
    tables.conform(source.hands, "hands")
    tables.conform(source.frames, "frames")
    found = rows_of(source)
    if strangers := set(found) - set(truth):
        return None if expected in _EXCUSED else f"made up {sorted(strangers)[:2]}"
    differing = [hand for hand in found if not same(found[hand], truth[hand])]
    if differing and expected != "value":
        return f"another {differing[0]} ({len(differing)} of {len(found)})"
    if len(found) < len(truth) and expected not in _EXCUSED and not source.skipped:
        return f"{len(truth) - len(found)} hands are gone and none is counted"
    return None


def check(name, tmp_path, seeds):
    whole = tmp_path / "whole"
    whole.mkdir()
    LAYOUTS[name].write(whole)
    truth = rows_of(read(name, whole, False))
    found = []
    for seed in seeds:
        folder = tmp_path / f"{seed}"
        shutil.copytree(whole, folder, copy_function=os.link)
        done, expected = mutate(folder, random.Random(f"{name} {seed}"))
        for keep_going in (False, True):
            wrong = trouble(name, folder, truth, expected, keep_going)
            if wrong:
                found.append(f"{seed} [{done}]{' --keep-going' if keep_going else ''}: {wrong}")
        shutil.rmtree(folder)
    assert same_files(name, whole, truth), "a mutation reached the original"
    return found


def same_files(name, whole, truth):
    again = rows_of(read(name, whole, False))
    return again.keys() == truth.keys() and all(same(again[hand], truth[hand]) for hand in truth)


@pytest.mark.parametrize("name", LAYOUTS)
def test_some_mutations(name, tmp_path):
    assert check(name, tmp_path, range(QUICK)) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", LAYOUTS)
def test_a_thousand_mutations(name, tmp_path):
    assert check(name, tmp_path, range(MANY)) == []


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_zip_or_nothing_instead_of_the_folder(name, tmp_path):
    whole = tmp_path / "whole"
    whole.mkdir()
    LAYOUTS[name].write(whole)
    packed = shutil.make_archive(str(tmp_path / "packed"), "zip", whole)
    kind, _, rest = LAYOUTS[name].spec.partition(":{root}")
    split = LAYOUTS[name].split
    (tmp_path / "empty").mkdir()
    for place, message in (
        (packed, "archive; unpack it" if kind != "coco" else "expected"),
        (tmp_path / "none", "nothing there|missing"),
        (tmp_path / "empty", "empty|missing"),
    ):
        rest_here = rest if place != packed or kind != "coco" else ""
        with pytest.raises(HandbenchError, match=message):
            load_source(f"{kind}:{place}{rest_here}", ReadContext(split=split))
