"""Hands of InterHand2.6M's layout that are posed by MANO parameters in the world."""

from __future__ import annotations

import mano_maker
import numpy as np
import pytest
from hand_maker import context, dump
from scipy.spatial.transform import Rotation
from test_interhand import Recording, rotation, spec

from handbench import api
from handbench.datasets.interhand import read
from handbench.errors import HandbenchError
from handbench.hand.descriptors import describe
from handbench.hand.geometry import Scale
from handbench.tables import conform

CENTRE, TURN = np.array([30.0, -20, 15]), rotation(1)
HERE = np.array([0, 0, 700.0]) @ TURN + CENTRE
MODELS = {side: mano_maker.model(side) for side in ("right", "left")}


class Posed(Recording):
    """A recording whose hands are posed by parameters; ``meshes`` keeps the vertices in the world, millimetres."""

    def __init__(self):
        super().__init__()
        self.fitted, self.meshes = {}, {}

    def pose(self, capture, subject, sequence, frame, side="right", seed=0, fitted=True):
        model = MODELS[side]
        pose, shape = (part[0] for part in mano_maker.parameters(1, side, seed))
        shift = HERE / 1000 - mano_maker.posed(model, pose, shape)[1].mean(axis=0)
        vertices, joints = mano_maker.posed(model, pose, shape, shift)
        seen = (joints * 1000 - CENTRE) @ TURN.T / 1000
        self.add(capture, subject, sequence, frame, **{side: seen})
        given = pose - np.r_[np.zeros(3), model.arrays["hands_mean"]]
        hand = {"pose": given, "shape": shape, "trans": shift} if fitted else None
        self.fitted.setdefault(str(capture), {})[str(frame)] = {side: hand}
        self.meshes[capture, frame] = vertices * 1000
        return pose, shape

    def write(self, root, **options):
        dump(root / "annotations" / "train" / "InterHand2.6M_train_MANO_NeuralAnnot.json", self.fitted)
        return super().write(root, **options)


@pytest.fixture(scope="module")
def mano(tmp_path_factory):
    return mano_maker.write_models(tmp_path_factory.mktemp("mano"))


@pytest.mark.parametrize("side", ["right", "left"])
def test_centre_and_size_are_those_of_the_mesh_in_each_camera(tmp_path, mano, side):
    made = Posed()
    for frame in range(9):
        made.pose(1, 1, "0000_neutral", frame, side, seed=frame)
    made.write(tmp_path)
    source = read(spec(tmp_path, f"?hands={side}"), context(split="train", mano=mano))
    assert source.hands.height == 9 * 3
    for hand in source.hands.iter_rows(named=True):
        camera = hand["image"].split("/cam")[1][:6]
        frame = int(hand["image"].split("image")[-1].removesuffix(".jpg"))
        views = made.cameras["1"]
        mesh = (made.meshes[1, frame] - views["campos"][camera]) @ views["camrot"][camera].T / 1000
        np.testing.assert_allclose(hand["center"], mesh.mean(axis=0), atol=1e-6)
        np.testing.assert_allclose(hand["extent"], np.ptp(mesh, axis=0), atol=1e-6)
        assert hand["extent_source"] == "mesh"
    assert any("of 27 of 27 hands are those of the MANO mesh" in note and "0.0 mm" in note for note in source.notes)
    conform(source.hands, "hands")


def test_hands_without_parameters_keep_the_size_of_their_joints(tmp_path, mano):
    made = Posed()
    for frame in range(9):
        made.pose(1, 1, "0000_neutral", frame, seed=frame, fitted=frame != 4)
    del made.fitted["1"]["5"]
    made.write(tmp_path)
    source = read(spec(tmp_path), context(split="paper-test", mano=mano))
    by = dict(source.hands.select("image", "extent_source").rows())
    assert {image[-5] for image, kind in by.items() if kind == "joints"} == {"4", "5"}
    joints = source.hands.filter(source.hands["extent_source"].cast(str) == "joints").row(0, named=True)
    np.testing.assert_allclose(joints["extent"], np.ptp(joints["joints_cam"], axis=0), atol=1e-12)
    assert any("4 hands are those of their joints: there are no parameters of them" in note for note in source.notes)
    # Without --mano all are by joints, and that is said.
    plain = read(spec(tmp_path), context(split="paper-test"))
    assert set(plain.hands["extent_source"].cast(str)) == {"joints"}
    assert any("the paper takes the MANO mesh (--mano)" in note for note in plain.notes)


def test_a_model_that_does_not_fit_is_refused(tmp_path, mano):
    made = Posed()
    for frame in range(9):
        made.pose(1, 1, "0000_neutral", frame, seed=frame)
    made.write(tmp_path)
    template = MODELS["right"].arrays["v_template"] * 1.5
    mano_maker.dump(tmp_path / "other" / "MANO_RIGHT.pkl", MODELS["right"], v_template=template)
    settings = {"split": "paper-test", "mano": tmp_path / "other"}
    with pytest.raises(
        HandbenchError, match=r"lies \d+ mm from the annotated joints, expected at most 15: another model"
    ):
        read(spec(tmp_path), context(**settings))
    source = read(spec(tmp_path), context(**settings, force=True))
    assert set(source.hands["extent_source"].cast(str)) == {"joints"}
    assert any("18 hands are those of their joints: the mesh lies more than 15 mm" in note for note in source.notes)


def released(root, mano, split="paper-test", **more):
    return read(spec(root), context(split=split, protocol="released", mano=mano, **more))


def test_released_protocol_is_that_of_the_released_code(tmp_path, mano):
    made = Posed()
    given = {frame: made.pose(1, 1, "0000_neutral", frame, seed=frame) for frame in range(9)}
    made.pose(24, 24, "0000_neutral", 50, seed=50)
    made.write(tmp_path)
    source = released(tmp_path, mano)
    assert source.hands.height == 9 * 2
    found = {hand["image"]: hand for hand in source.hands.iter_rows(named=True)}
    values = describe(
        source.hands["joints_cam"].to_numpy(),
        source.hands["center"].to_numpy(),
        source.hands["extent"].to_numpy(),
        Scale.RELEASED,
    )
    for row, (image, _) in enumerate(found.items()):
        frame, camera = int(image.split("image")[-1].removesuffix(".jpg")), image.split("/cam")[1][:6]
        # Word for word what the facts say: MANO without translation, the x extent of the mesh in the world, a turn by
        # 180 degrees about x, then 75 about y or 10 about x, both as row vectors times matrix.
        vertices, joints = mano_maker.posed(MODELS["right"], *given[frame])
        scaled = (joints - vertices.mean(axis=0)) / np.ptp(vertices[:, 0])
        second = (
            Rotation.from_euler("y", 75, degrees=True)
            if camera == "400053"
            else Rotation.from_euler("x", 10, degrees=True)
        )
        viewed = scaled @ (Rotation.from_euler("x", 180, degrees=True).as_matrix() @ second.as_matrix())
        # Thumb tip and index tip: the fifth pair.
        difference = viewed[4] - viewed[8]
        np.testing.assert_allclose(
            values[row, [15 + 4, 38 + 4, 61 + 4, 84 + 4]], [np.linalg.norm(difference), *difference], atol=1e-9
        )
    assert any(note.startswith("interhand: protocol released: MANO joints") for note in source.notes)
    # The hand lies where the image shows it; the camera would put the released joints elsewhere.
    assert source.hands["intrinsics"].null_count() == source.hands.height
    assert source.hands["in_frame"].to_numpy().mean() > 0.95
    conform(source.hands, "hands")


def test_released_protocol_goes_by_capture_and_by_the_first_40_sequences_of_capture24(tmp_path, mano):
    made = Posed()
    for capture, person in ((1, 1), (2, 7), (27, 4), (5, 5), (24, 3)):
        made.pose(capture, person, "0000_neutral", 100 + capture, seed=capture)
    for number in range(1, 42):
        made.pose(24, 3, f"{number:04d}_more", 1000 + number, seed=number)
    made.pose(1, 1, "0039_more", 300, seed=60)
    made.pose(1, 1, "0040_more", 301, seed=61)
    made.pose(0, 9, "0777_other", 302, seed=62)
    made.pose(2, 7, "0001_more", 303, seed=63, fitted=False)
    made.write(tmp_path)
    source = released(tmp_path, mano)
    # Captures 1, 2, 27 and 0 are not among 5 to 26; the first 40 of Capture24 end with 0039.
    assert set(source.hands["sequence"].cast(str)) == {
        "1/0000_neutral",
        "2/0000_neutral",
        "27/0000_neutral",
        "1/0039_more",
    }
    assert source.skipped["other sequence"] == 3 * 2
    assert source.skipped["no MANO parameters of the hand"] == 2
    train = released(tmp_path, mano, "paper-train")
    assert train.hands["sequence"].n_unique() == 1 + 40
    assert set(train.hands["split"].cast(str)) == {"paper-train"}


def test_what_the_released_protocol_needs(tmp_path, mano):
    made = Posed()
    for frame in range(9):
        made.pose(1, 1, "0000_neutral", frame, seed=frame)
    made.write(tmp_path)
    with pytest.raises(HandbenchError, match=r"give the folder of your own MANO_RIGHT\.pkl with --mano DIR"):
        released(tmp_path, None)
    with pytest.raises(HandbenchError, match="Capture24, which is not here"):
        released(tmp_path, mano)
    assert any("Capture24" in note for note in released(tmp_path, mano, force=True).notes)
    for wish in ("?hands=left", "?cameras=400012"):
        with pytest.raises(HandbenchError, match="right hands and the cameras 400053, 400064 alone"):
            read(spec(tmp_path, wish), context(split="paper-test", protocol="released", mano=mano))


@pytest.mark.parametrize(
    ("hand", "message"),
    [
        ({"pose": [0] * 47, "shape": [0] * 10, "trans": [0] * 3}, "capture 1, frame 3, right: expected pose of 48"),
        ({"pose": [0] * 48, "shape": [0] * 10}, "capture 1, frame 3, right: expected pose of 48"),
        ({"pose": [10**400] * 48, "shape": [0] * 10, "trans": [0] * 3}, "expected pose of 48"),
        ({"pose": ["x"] * 48, "shape": [0] * 10, "trans": [0] * 3}, "expected pose of 48"),
        ({"pose": [float("nan")] * 48, "shape": [0] * 10, "trans": [0] * 3}, "frame 3, right: not a finite number"),
    ],
)
def test_bad_parameters_are_one_clear_line(tmp_path, mano, hand, message):
    made = Posed()
    made.pose(1, 1, "0000_neutral", 3)
    made.fitted["1"]["3"]["right"] = hand
    made.write(tmp_path)
    with pytest.raises(HandbenchError, match=message) as caught:
        read(spec(tmp_path), context(split="paper-test", mano=mano))
    assert "\n" not in str(caught.value)


def test_a_run_remembers_which_model_it_was_made_with(tmp_path, mano):
    made = Posed()
    for frame in range(9):
        made.pose(1, 1, "0000_neutral", frame, seed=frame)
    made.write(tmp_path)
    data, out = f"interhand:{tmp_path}", tmp_path / "run"
    first = api.ask("handvqa", data, out, split="paper-test", mano=mano).manifest
    assert first["asked"]["mano"].startswith("right ")
    assert api.ask("handvqa", data, out, split="paper-test", mano=mano).manifest == first
    variants = api.Run.open(out).table("questions")["variant"].cast(str)
    assert variants.str.starts_with("paper/mesh;").all()
    with pytest.raises(HandbenchError, match=r"mano is .right .* there and None here"):
        api.ask("handvqa", data, out, split="paper-test")
    other = mano_maker.write_models(tmp_path / "other", left=False)
    with pytest.raises(HandbenchError, match="mano is"):
        api.ask("handvqa", data, out, split="paper-test", mano=other)
