"""Rendered gestures: the same every time, labelled, and with a face where there should be one."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from handbench.errors import HandbenchError
from handbench.protocols import ReadContext
from handbench.specs import Spec
from handbench.synth.gestures import GESTURES, gesture_recipe, read, render_gesture
from handbench.synth.sample import annotate


def test_table_and_images(tmp_path):
    spec = Spec.parse("synth:gestures?n=2&size=64&supersample=1")
    source = read(spec, ReadContext(cache=tmp_path))
    assert source.synthetic
    assert source.gestures["gesture"].cast(str).value_counts()["count"].to_list() == [2] * 6
    assert source.gestures["gesture_id"].is_sorted()
    told = []
    source.images(source.frames.head(3), lambda done, total, what: told.append((done, total)))
    assert told == [(1, 3), (2, 3), (3, 3)]
    with Image.open(tmp_path / source.frames["image"][0]) as image:
        assert image.size == (64, 64)
    assert read(spec, ReadContext(cache=tmp_path)).frames.equals(source.frames)


def test_splits_share_no_recipe():
    spec = Spec.parse("synth:gestures?n=3&size=64")
    hashes = [set(read(spec, ReadContext(split=split)).frames["image_hash"]) for split in ("test", "train", "val")]
    assert not hashes[0] & hashes[1]
    assert not hashes[1] & hashes[2]


def test_wrong_words():
    with pytest.raises(HandbenchError, match="splits are"):
        read(Spec.parse("synth:gestures"), ReadContext(split="dev"))
    with pytest.raises(HandbenchError, match="unknown option"):
        read(Spec.parse("synth:gestures?gesture=stop"), ReadContext())


@pytest.mark.parametrize("gesture", GESTURES)
def test_hand_lies_in_the_picture_and_aims_as_it_should(gesture):
    for index in range(6):
        made = gesture_recipe(gesture, 5, index, 96)
        truth = annotate(made.hand)
        assert truth.in_frame.all()
        x, y = truth.joints_px[8] - truth.joints_px[5]
        angle = abs(np.degrees(np.arctan2(x, -y)))
        if gesture == "mute":
            assert angle < 30
        if gesture == "point":
            assert 50 < angle < 120
        assert (made.face is not None) == (gesture == "mute")


def test_a_picture_is_a_function_of_its_recipe():
    made = gesture_recipe("mute", 3, 0, 64)
    assert (render_gesture(made) == render_gesture(made)).all()
    assert render_gesture(made).shape == (64, 64, 3)
