from __future__ import annotations

import numpy as np
import pytest
from hand_maker import context, hands, joints_of, picture

from handbench.datasets.fpha import INTRINSICS, read
from handbench.errors import HandbenchError
from handbench.hand.skeleton import JOINTS
from handbench.specs import Spec
from handbench.tables import conform

# The owner's order: wrist, five knuckles from the thumb on, then three joints of each finger.
SEGMENTS = {"thumb": ("cmc", "mcp", "ip", "tip")}
FINGERS = ("thumb", "index", "middle", "ring", "little")
NAMES = {finger: SEGMENTS.get(finger, ("mcp", "pip", "dip", "tip")) for finger in FINGERS}
THEIRS = [
    "wrist",
    *(f"{finger}_{NAMES[finger][0]}" for finger in FINGERS),
    *(f"{finger}_{segment}" for finger in FINGERS for segment in NAMES[finger][1:]),
]
ROWS = [JOINTS.index(name) for name in THEIRS]
EXTRINSICS = np.array(
    [
        [0.999988496304, -0.00468848412856, 0.000982563360594, 25.7],
        [0.00469115935266, 0.999985218048, -0.00273845880292, 1.22],
        [-0.000969709653873, 0.00274303671904, 0.99999576807, 3.902],
        [0, 0, 0, 1],
    ]
)


def to_depth_camera(joints):
    """Colour-camera metres to the file's millimetres, by inverting the owner's 4 x 4 matrix."""
    points = np.concatenate([joints * 1000, np.ones((*joints.shape[:2], 1))], axis=2)
    return (points @ np.linalg.inv(EXTRINSICS).T)[..., :3]


def sequence(root, name, frames, seed, version="v1_1", pictures=True):
    joints = hands(len(frames), seed=seed, distance=0.45)
    rows = to_depth_camera(joints)[:, ROWS].reshape(len(frames), 63)
    path = root / f"Hand_pose_annotation_{version}" / name / "skeleton.txt"
    path.parent.mkdir(parents=True)
    np.savetxt(path, np.c_[frames, rows], fmt=["%d"] + ["%.6f"] * 63)
    for frame in frames if pictures else []:
        picture(root / "Video_files" / name / "color" / f"color_{frame:04d}.jpeg", 1920, 1080)
    return joints


@pytest.fixture
def data(tmp_path):
    """Joints by sequence."""
    return {
        name: sequence(tmp_path, name, frames, seed)
        for seed, (name, frames) in enumerate(
            {
                # Numbers that do not start at 0, with a gap, and out of order.
                "Subject_5/open_milk/1": (9, 3, 5),
                "Subject_6/pour_milk/1": (0, 1),
                "Subject_6/pour_milk/10": (0,),
                "Subject_5/open_milk/2": (0, 1),
                "Subject_1/open_milk/1": tuple(range(6)),
                "Subject_2/close_milk/4": (0,),
            }.items()
        )
    }


def spec(root, options=""):
    return Spec.parse(f"fpha:{root}{options}")


def test_papers_test_split_round_trip(data, tmp_path):
    source = read(spec(tmp_path), context())
    found = joints_of(source)
    assert list(found) == [
        f"fpha/paper-test/{key}/right"
        for key in (
            "Subject_5/open_milk/1/color_0003",
            "Subject_5/open_milk/1/color_0005",
            "Subject_5/open_milk/1/color_0009",
            "Subject_6/pour_milk/1/color_0000",
            "Subject_6/pour_milk/1/color_0001",
        )
    ]
    for frame, row in ((9, 0), (3, 1), (5, 2)):
        hand = f"fpha/paper-test/Subject_5/open_milk/1/color_{frame:04d}/right"
        np.testing.assert_allclose(found[hand], data["Subject_5/open_milk/1"][row], atol=1e-5)
    np.testing.assert_allclose(source.hands["intrinsics"].to_numpy()[0], INTRINSICS)
    assert source.hands["cluster"].unique().sort().to_list() == [
        "Subject_5/open_milk/1",
        "Subject_6/pour_milk/1",
    ]
    assert set(source.hands["subject"]) == {"5", "6"}
    assert source.frames["frame"].to_list() == [3, 5, 9, 0, 1]
    assert any(
        "warning: paper-test has 5 images here, 8,506 fewer than the 8,511 of the paper" in note
        for note in source.notes
    )
    conform(source.hands, "hands")
    conform(source.frames, "frames")


def test_an_image_goes_with_the_number_of_its_frame(data, tmp_path):
    hands_ = read(spec(tmp_path), context()).hands
    for hand, image in zip(hands_["hand_id"], hands_["image"], strict=True):
        key = hand.removeprefix("fpha/paper-test/").removesuffix("/right")
        assert image == f"Video_files/{key.rsplit('/', 1)[0]}/color/{key.rsplit('/', 1)[1]}.jpeg"


def test_papers_training_split_is_drawn_by_seed_and_id(data, tmp_path):
    def draw(options):
        return set(read(spec(tmp_path, options), context(split="paper-train")).hands["hand_id"])

    assert len(draw("")) == 6
    four = draw("?images=4")
    assert len(four) == 4
    assert draw("?images=4") == four
    assert draw("?images=3") < four
    assert any(draw(f"?images=4&seed={seed}") != four for seed in range(1, 5))
    # Among the same images the draw is the same, whichever others there are.
    alone = {count: draw(f"?images={count}") for count in range(1, 7)}
    sequence(tmp_path, "Subject_3/zzz/1", tuple(range(30)), seed=9)
    kept = {hand for hand in draw("?images=18") if "Subject_1" in hand}
    assert 0 < len(kept) < 6
    assert kept == alone[len(kept)]
    notes = read(spec(tmp_path), context(split="paper-train")).notes
    assert any("drawn by seed 0" in note for note in notes)


def test_ignored_sequences_and_missing_images_are_counted(data, tmp_path):
    (tmp_path / "Video_files/Subject_5/open_milk/1/color/color_0003.jpeg").unlink()
    source = read(spec(tmp_path), context(split="all"))
    assert source.hands.height == 3 + 2 + 1 + 2 + 6 - 1
    assert source.skipped == {"sequence on the owner's ignore list": 1, "no image": 1}


def test_the_owners_split(data, tmp_path):
    (tmp_path / "data_split_action_recognition.txt").write_text(
        "Training 2\nSubject_1/open_milk/1 0\nSubject_5/open_milk/2 0\nTest 1\nSubject_6/pour_milk/1 3\n"
    )
    train, test = (read(spec(tmp_path), context(split=split)).hands for split in ("train", "test"))
    assert set(train["sequence"]) == {"Subject_1/open_milk/1", "Subject_5/open_milk/2"}
    assert set(test["sequence"]) == {"Subject_6/pour_milk/1"}


def test_the_older_folder_name(tmp_path):
    sequence(tmp_path, "Subject_5/open_milk/1", range(4), 0, version="v1")
    assert read(spec(tmp_path), context()).hands.height == 4


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (lambda rows: rows / 10, "median wrist-to-middle-MCP length is 0.008"),
        (lambda rows: rows.reshape(-1, 21, 3)[:, np.argsort(ROWS)].reshape(-1, 63), "order openpose:"),
        (lambda rows: rows * np.tile([1, -1, -1], 21), "OpenGL axes"),
        (lambda rows: rows * np.tile([-1, 1, 1], 21), "mirrored"),
        (lambda rows: np.where(np.arange(63) // 3 == 8, 0, rows), "stands for 'not annotated'"),
    ],
)
def test_damaged_copies_are_refused_with_their_cause(tmp_path, change, cause):
    sequence(tmp_path, "Subject_5/open_milk/1", range(12), 0)
    path = tmp_path / "Hand_pose_annotation_v1_1/Subject_5/open_milk/1/skeleton.txt"
    rows = np.loadtxt(path)
    rows[:, 1:] = change(rows[:, 1:])
    np.savetxt(path, rows)
    with pytest.raises(HandbenchError, match=cause):
        read(spec(tmp_path), context())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"skeleton.txt: the file is empty"),
        ("0 1 2 3\n", r"skeleton.txt, line 1: expected a frame number and 63"),
        ("0" + " 1.5" * 63 + "\n1" + " 1.5" * 62 + "\n", r"skeleton.txt, line 2: expected"),
        ("0" + " 1.5" * 63 + "\n1" + " 1.5" * 62 + " x\n", r"skeleton.txt, line 2: expected"),
        ("0" + " 1.5" * 63 + "\n1" + " 1.5" * 62 + " nan\n", r"skeleton.txt, line 2: not a finite number"),
        ("0" + " 1.5" * 63 + "\n0" + " 1.5" * 63 + "\n", r"frame numbers, each once"),
        ("\n\n", r"nothing is left of the split paper-test|expected a frame number"),
    ],
)
def test_bad_input_is_one_clear_line(tmp_path, text, message):
    sequence(tmp_path, "Subject_5/open_milk/1", range(2), 0)
    (tmp_path / "Hand_pose_annotation_v1_1/Subject_5/open_milk/1/skeleton.txt").write_text(text)
    with pytest.raises(HandbenchError, match=message) as caught:
        read(spec(tmp_path), context())
    assert "\n" not in str(caught.value)


def test_bad_places(tmp_path):
    (tmp_path / "Video_files").mkdir()
    with pytest.raises(HandbenchError, match="no FPHA annotations"):
        read(spec(tmp_path), context())
    sequence(tmp_path, "Subject_5/open_milk/1", range(2), 0, pictures=False)
    with pytest.raises(HandbenchError, match=r"nothing is left .*no image: 2"):
        read(spec(tmp_path), context())
    with pytest.raises(HandbenchError, match=r"data_split_action_recognition.txt: missing"):
        read(spec(tmp_path), context(split="test"))
    with pytest.raises(HandbenchError, match="no split 'val'"):
        read(spec(tmp_path), context(split="val"))
