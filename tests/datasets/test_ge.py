from __future__ import annotations

import zipfile

import numpy as np
import pytest
from hand_maker import BOX, context, hands, joints_of, picture, pixels, write_ge
from scipy.io import savemat

from handbench.datasets.anatomy import bending, bone_lengths, palm_lengths
from handbench.datasets.ge import read
from handbench.errors import HandbenchError
from handbench.specs import Spec
from handbench.tables import conform


def spec(folder, options=""):
    return Spec.parse(f"ge:{folder}{options}")


@pytest.fixture
def data(tmp_path):
    return write_ge(tmp_path, hands(20, "left"), [*range(0, 20, 2), 3])


def test_round_trip(data):
    source = read(spec(data), context())
    joints = hands(20, "left")
    read_back = joints_of(source)
    assert list(read_back) == [f"ge/test/{row:05d}/left" for row in sorted([*range(0, 20, 2), 3])]
    for row in (0, 3, 18):
        np.testing.assert_allclose(read_back[f"ge/test/{row:05d}/left"], joints[row], atol=1e-6)
    assert source.skipped == {"no image": 9}
    assert any("taken as left hands" in note for note in source.notes)
    assert set(source.hands["extent_source"]) == {"joints"}
    assert source.hands["cluster"].n_unique() == 11
    conform(source.hands, "hands")
    conform(source.frames, "frames")


def test_pixels_are_those_of_the_crop(data):
    source = read(spec(data), context())
    whole = np.array([[300.0, 0, 164], [0, 310, 114], [0, 0, 1]])
    expected = (pixels(hands(20, "left")[0], whole) - BOX[:2]) * 2
    np.testing.assert_allclose(source.hands["joints_px"].to_numpy()[0], expected, atol=1e-2)


def test_ids_and_hashes_stay_when_the_folder_moves(data, tmp_path):
    before = read(spec(data), context()).hands
    moved = data.rename(tmp_path.parent / f"{tmp_path.name}-moved")
    after = read(spec(moved), context()).hands
    assert before.equals(after)


def test_an_image_without_annotation_is_counted(data):
    picture(data / "images" / "00777.jpg", 256, 256)
    picture(data / "images" / "cover.jpg", 256, 256)
    assert read(spec(data), context()).skipped["image without annotation"] == 2


def test_without_hashes(data):
    source = read(spec(data, "?hash=no"), context())
    assert source.hands["image_hash"].null_count() == source.hands.height
    assert source.frames["image_hash"].null_count() == source.frames.height


def test_the_other_side_is_refused_by_the_way_the_hands_bend(data):
    with pytest.raises(HandbenchError, match="left and right are exchanged"):
        read(spec(data, "?side=right"), context())
    notes = read(spec(data, "?side=right"), context(force=True)).notes
    assert any("went on by force" in note for note in notes)


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (lambda joints: joints * 10, "the median wrist-to-middle-MCP length is 0.8"),
        (lambda joints: joints * np.array([1, -1, -1]), "OpenGL axes"),
        (lambda joints: joints * np.array([-1, 1, 1]), "mirrored"),
        (
            lambda joints: joints[
                :,
                [
                    0,
                    *range(4, 0, -1),
                    *range(8, 4, -1),
                    *range(12, 8, -1),
                    *range(16, 12, -1),
                    *range(20, 16, -1),
                ],
            ],
            "each finger from its tip, wrist first",
        ),
        (lambda joints: np.where(np.arange(21)[:, None] == 6, 0.0, joints), "stands for 'not annotated'"),
    ],
)
def test_damaged_copies_are_refused_with_their_cause(tmp_path, change, cause):
    write_ge(tmp_path, change(hands(20, "left")), range(20))
    with pytest.raises(HandbenchError, match=cause) as caught:
        read(spec(tmp_path), context())
    assert "\n" not in str(caught.value)


def _truncate(path):
    path.write_bytes(path.read_bytes()[:200])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: (f / "pose_gt.mat").unlink(), r"pose_gt.mat: missing"),
        (lambda f: (f / "params.mat").write_bytes(b""), r"params.mat: the file is empty"),
        (lambda f: _truncate(f / "params.mat"), r"params.mat: expected "),
        (
            lambda f: (f / "pose_gt.mat").write_text("no matlab at all" * 20),
            r"pose_gt.mat: expected a MATLAB 5 file",
        ),
        (lambda f: savemat(f / "pose_gt.mat", {"other": np.zeros((2, 2))}), r"expected the variable pose_gt"),
        (lambda f: savemat(f / "pose_gt.mat", {"pose_gt": hands(19)}), r"cam_param has 20 rows, expected 19"),
        (
            lambda f: savemat(f / "pose_gt.mat", {"pose_gt": hands(20)[:, :20]}),
            r"must be rows x 21 x 3, found 20 x 20",
        ),
        (
            lambda f: savemat(f / "pose_gt.mat", {"pose_gt": np.full((20, 21, 3), np.nan)}),
            r"row 0: not a finite",
        ),
        (lambda f: (f / "images" / "00002.jpg").write_bytes(b""), r"00002.jpg: the file is empty"),
        (lambda f: (f / "images" / "00002.jpg").write_bytes(b"no image"), r"00002.jpg: no readable image"),
        (lambda f: (f / "images").rename(f / "pictures"), r"no image such as images/00000.jpg"),
        (lambda f: picture(f / "images" / "more" / "00002.jpg"), r"have one number"),
    ],
)
def test_bad_input_is_one_clear_line(data, damage, message):
    damage(data)
    with pytest.raises(HandbenchError, match=message) as caught:
        read(spec(data), context())
    assert "\n" not in str(caught.value)


def test_bad_places(tmp_path):
    with pytest.raises(HandbenchError, match="found nothing there"):
        read(spec(tmp_path / "nowhere"), context())
    with pytest.raises(HandbenchError, match="the folder is empty"):
        read(spec(tmp_path), context())
    archive = tmp_path / "set.zip"
    zipfile.ZipFile(archive, "w").close()
    with pytest.raises(HandbenchError, match="unpack it and give the folder"):
        read(spec(archive), context())
    with pytest.raises(HandbenchError, match="after the colon"):
        read(Spec.parse("ge"), context())


def test_unknown_split_and_option(data):
    with pytest.raises(HandbenchError, match="the only split is test, not 'train'"):
        read(spec(data), context(split="train"))
    with pytest.raises(HandbenchError, match="unknown option hands"):
        read(spec(data, "?hands=left"), context())


def test_the_real_set(shared):
    folder = shared / "samples" / "ge_realworld"
    if not folder.is_dir():
        pytest.skip(f"no sample: {folder}")
    source = read(spec(folder), context())
    photos = len(list((folder / "images").glob("*.jpg")))
    assert (source.hands.height, source.skipped) == (photos, {"no image": 583 - photos})
    assert all(source.hands["in_frame"].to_numpy().ravel())
    joints = source.hands["joints_cam"].to_numpy()
    assert (palm_lengths(joints) > 0.06).all()
    assert (palm_lengths(joints) < 0.11).all()
    assert (bone_lengths(joints) > 0.01).all()
    assert (bending(joints) < 0).mean() > 0.95
    assert source.hands["hand_id"][1] == "ge/test/00024/left"
