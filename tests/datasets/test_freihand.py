from __future__ import annotations

import numpy as np
import pytest
from hand_maker import camera, context, dump, hands, joints_of, picture, pixels

from handbench.datasets.freihand import read
from handbench.errors import HandbenchError
from handbench.specs import Spec
from handbench.tables import conform

POSES = 12
JOINTS = hands(POSES)
K = np.stack([camera(224, 224, 380.0 + pose) for pose in range(POSES)])


def mesh(joints, seed=0):
    """778 points scattered around the joints."""
    draw = np.random.default_rng(seed)
    return joints[draw.integers(0, 21, 778)] + draw.normal(0, 0.004, (778, 3))


MESHES = np.stack([mesh(joints, pose) for pose, joints in enumerate(JOINTS)])


def owners(root, folder="training", meshes=True, images=range(4 * POSES)):
    dump(root / f"{folder}_xyz.json", JOINTS)
    dump(root / f"{folder}_K.json", K)
    if meshes:
        dump(root / f"{folder}_verts.json", MESHES)
    for number in images:
        picture(root / folder / "rgb" / f"{number:08d}.jpg", shade=number)
    return root


def one_file_each(root, folder, numbers, keys=("xyz", "vertices", "K", "uv")):
    for row, number in enumerate(numbers):
        path = root / folder / "rgb" / f"{number:08d}.json"
        content = {
            "xyz": JOINTS[row],
            "vertices": MESHES[row],
            "K": K[row],
            "uv": pixels(JOINTS[row], K[row]),
        }
        dump(path, {key: content[key] for key in keys})
        picture(path.with_suffix(".jpg"), shade=row)
    return root


def spec(root, options=""):
    return Spec.parse(f"freihand:{root}{options}")


def test_owners_layout_round_trip(tmp_path):
    source = read(spec(owners(tmp_path)), context(split="training"))
    found = joints_of(source)
    assert list(found) == [f"freihand/training/{number:08d}/right" for number in range(4 * POSES)]
    for number in range(4 * POSES):
        hand = f"freihand/training/{number:08d}/right"
        np.testing.assert_allclose(found[hand], JOINTS[number % POSES], atol=1e-6)
    clusters = source.hands["cluster"].to_list()
    assert clusters == [f"{number % POSES:08d}" for number in range(4 * POSES)]
    np.testing.assert_allclose(source.hands["joints_px"].to_numpy()[5], pixels(JOINTS[5], K[5]), atol=1e-3)
    assert source.skipped == {}
    assert any("has 12 rows; the owner's has 32560" in note for note in source.notes)
    conform(source.hands, "hands")
    conform(source.frames, "frames")


def test_centre_and_size_are_those_of_the_mesh(tmp_path):
    hands_ = read(spec(owners(tmp_path)), context(split="training")).hands
    np.testing.assert_allclose(hands_["center"].to_numpy()[:POSES], MESHES.mean(axis=1), atol=1e-6)
    size = MESHES.max(axis=1) - MESHES.min(axis=1)
    np.testing.assert_allclose(hands_["extent"].to_numpy()[:POSES], size, atol=1e-6)
    assert set(hands_["extent_source"]) == {"mesh"}


def test_without_a_mesh_the_joints_give_the_size_and_a_note_says_so(tmp_path):
    source = read(spec(owners(tmp_path, meshes=False)), context(split="training"))
    assert set(source.hands["extent_source"]) == {"joints"}
    assert any("no mesh" in note for note in source.notes)


@pytest.mark.parametrize(("version", "first"), [("gs", 0), ("hom", POSES), ("sample", 2 * POSES), ("auto", 3 * POSES)])
def test_one_version(tmp_path, version, first):
    source = read(spec(owners(tmp_path), f"?version={version}"), context(split="training"))
    numbers = [int(hand.split("/")[2]) for hand in source.hands["hand_id"]]
    assert numbers == list(range(first, first + POSES))


def test_papers_test_split_is_the_whole_evaluation_and_the_default(tmp_path):
    owners(tmp_path, "evaluation", images=range(POSES - 2))
    source = read(spec(tmp_path), context())
    assert source.hands.height == POSES - 2
    assert source.skipped == {"no image": 2}
    assert any(
        "warning: paper-test has 10 images here, 3,950 fewer than the 3,960 of the paper" in note
        for note in source.notes
    )
    assert source.hands["hand_id"][0] == "freihand/paper-test/00000000/right"


def test_the_layout_of_the_released_code(tmp_path):
    one_file_each(tmp_path, "evaluation", range(POSES))
    source = read(spec(tmp_path), context(workers=2))
    found = joints_of(source)
    for number in range(POSES):
        hand = f"freihand/paper-test/{number:08d}/right"
        np.testing.assert_allclose(found[hand], JOINTS[number], atol=1e-6)
    np.testing.assert_allclose(source.hands["center"].to_numpy(), MESHES.mean(axis=1), atol=1e-6)
    np.testing.assert_allclose(source.hands["intrinsics"].to_numpy(), K, atol=1e-6)


def test_papers_training_split_is_the_last_30000_images(tmp_path):
    numbers = [0, 32560, 100239, 100240, 100300, 130239]
    one_file_each(tmp_path, "training", numbers)
    source = read(spec(tmp_path), context(split="paper-train"))
    assert source.hands["hand_id"].to_list() == [
        f"freihand/paper-train/{number:08d}/right" for number in (100240, 100300, 130239)
    ]
    assert source.hands["cluster"].to_list() == ["00002560", "00002620", "00032559"]
    everything = read(spec(tmp_path), context(split="training"))
    assert everything.hands["cluster"][:3].to_list() == ["00000000", "00000000", "00002559"]


def test_files_without_camera_and_mesh(tmp_path):
    one_file_each(tmp_path, "evaluation", range(POSES), keys=("xyz",))
    hands_ = read(spec(tmp_path), context()).hands
    assert hands_["intrinsics"].null_count() == hands_["joints_px"].null_count() == POSES
    assert set(hands_["extent_source"]) == {"joints"}


def test_images_without_annotation_are_counted(tmp_path):
    one_file_each(tmp_path, "evaluation", range(POSES))
    picture(tmp_path / "evaluation" / "rgb" / "00003000.jpg")
    (tmp_path / "evaluation" / "rgb" / "00000004.jpg").unlink()
    assert read(spec(tmp_path), context()).skipped == {"no image": 1, "image without annotation": 1}


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (lambda joints: joints * 1000, "look like millimetres"),
        (lambda joints: joints * np.array([1, -1, -1]), "OpenGL axes"),
        (lambda joints: joints * np.array([-1, 1, 1]), "mirrored"),
        (lambda joints: joints - joints[:, :1], "not annotated"),
        (lambda joints: joints - joints[:, 9:10] + 1e-6, "relative to a root joint"),
        (lambda joints: joints[:, [20, *range(20)]], "order"),
    ],
)
def test_damaged_copies_are_refused_with_their_cause(tmp_path, change, cause):
    owners(tmp_path)
    dump(tmp_path / "training_xyz.json", change(JOINTS))
    with pytest.raises(HandbenchError, match=cause):
        read(spec(tmp_path), context(split="training"))


def owners_short(root):
    for name, rows in (("xyz", JOINTS), ("K", K), ("verts", MESHES)):
        dump(root / f"training_{name}.json", rows[:5])


def _cut(path):
    path.write_text(path.read_text()[:5000])


RGB = "training/rgb/00000003.jpg"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (
            lambda r: _cut(r / "training_xyz.json"),
            r"training_xyz.json: expected .* in JSON: .* line 1, column",
        ),
        (lambda r: (r / "training_xyz.json").write_text(""), r"training_xyz.json: the file is empty"),
        (lambda r: dump(r / "training_xyz.json", {"a": 1}), r"training_xyz.json: expected"),
        (lambda r: dump(r / "training_xyz.json", JOINTS[:, :20]), r"expected xyz of each pose: 21 x 3"),
        (
            owners_short,
            r"5 rows, too few for the image .*00000047.jpg",
        ),
        (lambda r: dump(r / "training_K.json", K[:5]), r"training_K.json: 5 rows, expected 12"),
        (lambda r: dump(r / "training_verts.json", MESHES[:, :700]), r"expected vertices: 778 x 3"),
        (lambda r: (r / "training_K.json").unlink(), r"training_K.json: missing"),
        (lambda r: (r / RGB).write_bytes(b""), r"00000003.jpg: .*empty"),
        (lambda r: picture(r / RGB, 320, 320), r"320 x 320 pixels, the annotations say 224 x 224"),
        (lambda r: (r / "training/rgb").rename(r / "training/color"), r"no image of the split training"),
    ],
)
def test_bad_lists_are_one_clear_line(tmp_path, damage, message):
    damage(owners(tmp_path))
    with pytest.raises(HandbenchError, match=message) as caught:
        read(spec(tmp_path), context(split="training"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda p: _cut(p), r"00000003.json: expected .* line 1, column"),
        (lambda p: p.write_text("[]"), r"00000003.json: expected an object"),
        (lambda p: dump(p, {"vertices": MESHES[3], "K": K[3]}), r"00000003.json: xyz must be 21 x 3"),
        (lambda p: dump(p, {"xyz": JOINTS[3, :20], "vertices": MESHES[3], "K": K[3]}), r"xyz must be 21 x 3"),
        (lambda p: dump(p, {"xyz": JOINTS[3], "K": K[3]}), r"00000003.json: vertices must be 778 x 3"),
        (lambda p: dump(p, {"xyz": JOINTS[3], "vertices": [["a", 1, 2]], "K": K[3]}), r"00000003.json: "),
    ],
)
def test_bad_files_are_one_clear_line(tmp_path, damage, message):
    one_file_each(tmp_path, "evaluation", range(POSES))
    damage(tmp_path / "evaluation" / "rgb" / "00000003.json")
    with pytest.raises(HandbenchError, match=message) as caught:
        read(spec(tmp_path), context())
    assert "\n" not in str(caught.value)


def test_bad_places(tmp_path):
    with pytest.raises(HandbenchError, match="folder is empty"):
        read(spec(tmp_path), context())
    (tmp_path / "readme.txt").write_text("hello")
    with pytest.raises(HandbenchError, match=r"evaluation/rgb: missing"):
        read(spec(tmp_path), context())
    picture(tmp_path / "evaluation" / "rgb" / "00000000.jpg")
    with pytest.raises(HandbenchError, match=r"no annotations of evaluation; expected evaluation_xyz.json or"):
        read(spec(tmp_path), context())
    with pytest.raises(HandbenchError, match="no split 'val'; there are training"):
        read(spec(tmp_path), context(split="val"))
