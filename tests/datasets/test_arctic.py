from __future__ import annotations

import os

import numpy as np
import pytest
from hand_maker import MANO_ROWS, Evil, camera, context, dump, hands, joints_of, picture, pixels

from handbench.datasets.arctic import read
from handbench.errors import HandbenchError
from handbench.specs import Spec
from handbench.tables import conform

FRAMES, OFFSET, SIZE = 6, 3, (280, 200)
SEQUENCE = "s05/box_use_01"
K = np.stack([camera(*SIZE, 300.0 + view) for view in range(8)])
# (frames, fixed cameras, 21, 3)
RIGHT = hands(FRAMES * 8).reshape(FRAMES, 8, 21, 3)
LEFT = hands(FRAMES * 8, "left", seed=1).reshape(FRAMES, 8, 21, 3)


def ten_views(values):
    """Between the two renderings of the head-mounted camera."""
    blank = np.zeros_like(values[:, :1])
    return np.concatenate([blank, values, blank], axis=1)


def split(right=RIGHT, left=LEFT):
    def drawn(joints):
        points = np.stack([pixels(joints[:, view], K[view]) for view in range(8)], axis=1)
        return ten_views(points)[:, :, MANO_ROWS]

    valid = np.ones((FRAMES, 10))
    record = {
        "cam_coord": {
            "joints.right": ten_views(right)[:, :, MANO_ROWS].astype(np.float32),
            "joints.left": ten_views(left)[:, :, MANO_ROWS].astype(np.float32),
            "is_valid": valid.copy(),
            "left_valid": valid.copy(),
            "right_valid": valid.copy(),
        },
        "2d": {"joints.right": drawn(right), "joints.left": drawn(left)},
    }
    names = [
        f"./arctic_data/data/images/{SEQUENCE}/{view}/{frame + OFFSET:05d}.jpg"
        for view in range(9)
        for frame in range(FRAMES)
    ]
    return {"data_dict": {SEQUENCE: record}, "imgnames": names}


def write(root, content=None):
    content = content or split()
    (root / "splits").mkdir(exist_ok=True, parents=True)
    np.save(root / "splits" / "p1_val.npy", content)
    sizes = [[2800, 2000]] + [list(SIZE)] * 8
    dump(root / "meta" / "misc.json", {"s05": {"intris_mat": K, "image_size": sizes, "ioi_offset": OFFSET}})
    for name in content["imgnames"]:
        picture(root / name.split("data/")[-1], *SIZE)
    return root


def spec(root, options=""):
    return Spec.parse(f"arctic:{root}{options}")


def test_round_trip(tmp_path):
    source = read(spec(write(tmp_path)), context())
    found = joints_of(source)
    assert len(found) == FRAMES * 8 * 2
    for side, joints in (("right", RIGHT), ("left", LEFT)):
        for frame in range(FRAMES):
            for view in range(8):
                hand = f"arctic/p1_val/{SEQUENCE}/{view + 1}/{frame + OFFSET:05d}/{side}"
                np.testing.assert_allclose(found[hand], joints[frame, view], atol=1e-6)
    assert source.skipped == {"other view": FRAMES}
    assert set(source.hands["cluster"]) == {SEQUENCE}
    conform(source.hands, "hands")
    conform(source.frames, "frames")


def test_views_sides_and_flags(tmp_path):
    content = split()
    content["data_dict"][SEQUENCE]["cam_coord"]["left_valid"][2, 3] = 0
    content["data_dict"][SEQUENCE]["cam_coord"]["is_valid"][4, 3] = 0
    write(tmp_path, content)
    source = read(spec(tmp_path, "?views=3"), context())
    assert source.hands.height == FRAMES * 2 - 3
    assert source.skipped["hand not valid"] == 3
    annotated = dict(source.frames.select("frame", "annotated").iter_rows())
    assert [annotated[frame + OFFSET] for frame in (0, 1, 2, 3, 5)] == [True, True, False, True, True]
    assert set(read(spec(tmp_path, "?views=3&hands=left"), context()).hands["side"]) == {"left"}
    with pytest.raises(HandbenchError, match=r"nothing is left of the split p1_val \(other view: 54"):
        read(spec(tmp_path, "?views=0"), context())


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        (split(right=LEFT, left=RIGHT), "left and right are exchanged"),
        (split(right=RIGHT * 1000, left=LEFT * 1000), "look like millimetres"),
        (
            split(right=RIGHT[:, :, np.argsort(MANO_ROWS)], left=LEFT[:, :, np.argsort(MANO_ROWS)]),
            "order openpose:",
        ),
    ],
)
def test_damaged_copies_are_refused_with_their_cause(tmp_path, content, cause):
    with pytest.raises(HandbenchError, match=cause):
        read(spec(write(tmp_path, content)), context())


def changed(change):
    content = split()
    change(content)
    return content


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"data": 1}, r"expected a dict with data_dict and imgnames"),
        (changed(lambda c: c.update(imgnames=["a.jpg"])), r"imgnames: expected s05/box_use_01"),
        (changed(lambda c: c["data_dict"][SEQUENCE].pop("2d")), r"s05/box_use_01: expected cam_coord and 2d"),
        (changed(lambda c: c["data_dict"].clear()), r"no annotation of the sequence: 48"),
        (changed(lambda c: c["imgnames"].append(f"images/{SEQUENCE}/1/00099.jpg")), r"outside the 6 frames"),
        ({"data_dict": Evil(os.getcwd), "imgnames": []}, r"getcwd, which is not plain data"),
    ],
)
def test_bad_input_is_one_clear_line(tmp_path, content, message):
    write(tmp_path)
    for name in content.get("imgnames", []):
        picture(tmp_path / name.split("data/")[-1], *SIZE)
    np.save(tmp_path / "splits" / "p1_val.npy", content)
    with pytest.raises(HandbenchError, match=message) as caught:
        read(spec(tmp_path), context())
    assert "\n" not in str(caught.value)


def test_bad_places(tmp_path):
    (tmp_path / "images").mkdir()
    with pytest.raises(HandbenchError, match=r"p1_val.npy: missing"):
        read(spec(tmp_path), context())
    with pytest.raises(HandbenchError, match="no split 'val'"):
        read(spec(tmp_path), context(split="val"))
    write(tmp_path)
    dump(tmp_path / "meta" / "misc.json", {"s01": {}})
    with pytest.raises(HandbenchError, match=r"misc.json: s05: expected intris_mat"):
        read(spec(tmp_path), context())
