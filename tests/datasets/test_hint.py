from __future__ import annotations

import numpy as np
import pytest
from hand_maker import camera, context, dump, hands, picture, pixels

from handbench.datasets.hint import read
from handbench.errors import HandbenchError
from handbench.specs import Spec
from handbench.tables import conform

SIZE = (456, 256)
POINTS = pixels(hands(5), camera(*SIZE, 300.0))
HIDDEN = (np.arange(21) % 4 == 0).astype(int)


def write(root, folder="TEST_newdays_img", names="abc", instances=1):
    for row, name in enumerate(names):
        found = [
            {"bbox": [[1, 2, 3, 4]], "keypoints": POINTS[row + number], "occlusion": HIDDEN}
            for number in range(instances)
        ]
        dump(root / folder / f"{name}.json", found)
        picture(root / folder / f"{name}.jpg", *SIZE)
    return Spec.parse(f"hint:{root}")


def test_round_trip(tmp_path):
    source = read(write(tmp_path), context())
    assert source.hands["hand_id"].to_list() == [f"hint/test/TEST_newdays_img/{n}/0/unknown" for n in "abc"]
    np.testing.assert_allclose(source.hands["joints_px"].to_numpy(), POINTS[:3], atol=1e-9)
    assert (source.hands["occluded"].to_numpy() == (HIDDEN == 1)).all()
    assert (source.hands["visible"].to_numpy() == (HIDDEN == 0)).all()
    assert source.frames.select("width", "height").row(0) == SIZE
    assert not source.frames["annotated"].any()
    conform(source.hands, "hands")
    conform(source.frames, "frames")


def test_several_hands_in_one_image(tmp_path):
    source = read(write(tmp_path, instances=3), context())
    assert (source.hands.height, source.frames.height, source.hands["cluster"].n_unique()) == (9, 3, 3)


def test_splits_and_sources(tmp_path):
    for folder in ("TEST_newdays_img", "TEST_epick_img", "VAL_ego4d_seq", "TRAIN_ego4d_img", "VAL_other_img"):
        write(tmp_path, folder, "a")
    spec = Spec.parse(f"hint:{tmp_path}")
    assert read(spec, context()).hands.height == 2
    assert read(Spec.parse(f"{spec}?sources=epick"), context()).hands["image"].to_list() == ["TEST_epick_img/a.jpg"]
    assert read(spec, context(split="val")).hands["image"].to_list() == ["VAL_ego4d_seq/a.jpg"]


def test_images_that_were_not_fetched_are_counted(tmp_path):
    spec = write(tmp_path)
    (tmp_path / "TEST_newdays_img" / "b.jpg").unlink()
    assert read(spec, context()).skipped == {"no image": 1}
    for name in "ac":
        (tmp_path / "TEST_newdays_img" / f"{name}.jpg").unlink()
    with pytest.raises(HandbenchError, match=r"nothing is left of the split test \(no image: 3\)"):
        read(spec, context())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"keypoints": 1}, r"b.json: expected a list of hands"),
        ([{"occlusion": [0] * 21}], r"b.json: keypoints must be 21 x 2 finite numbers"),
        (
            [{"keypoints": [[1, 2]] * 21, "occlusion": [0] * 20}],
            r"b.json: occlusion must be 21 finite numbers",
        ),
        ([[1, 2]], r"b.json: keypoints must be"),
    ],
)
def test_bad_input_is_one_clear_line(tmp_path, content, message):
    spec = write(tmp_path)
    dump(tmp_path / "TEST_newdays_img" / "b.json", content)
    with pytest.raises(HandbenchError, match=message) as caught:
        read(spec, context())
    assert "\n" not in str(caught.value)


def test_bad_places(tmp_path):
    (tmp_path / "a").mkdir()
    with pytest.raises(HandbenchError, match="no HInt folder of test; expected TEST_newdays_img"):
        read(Spec.parse(f"hint:{tmp_path}"), context())
    with pytest.raises(HandbenchError, match="no split 'all'"):
        read(Spec.parse(f"hint:{tmp_path}"), context(split="all"))
