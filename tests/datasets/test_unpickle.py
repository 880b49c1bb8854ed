from __future__ import annotations

import collections
import os
import pickle

import numpy as np
import pytest
from hand_maker import Evil

from handbench.datasets.unpickle import load_npy, load_pickle
from handbench.errors import HandbenchError

CONTENT = {
    "array": np.arange(6.0).reshape(2, 3),
    "integers": np.arange(4, dtype=np.int16),
    "scalar": np.float32(1.5),
    "nested": [{"a": (1, None, True)}, {"b", "c"}, collections.OrderedDict(x=1)],
    "objects": np.array([None, "text"], object),
    "bytes": b"\xff\x00",
}


def same(found):
    np.testing.assert_array_equal(found["array"], CONTENT["array"])
    np.testing.assert_array_equal(found["integers"], CONTENT["integers"])
    assert found["scalar"] == 1.5
    assert found["nested"] == CONTENT["nested"]
    assert list(found["objects"]) == [None, "text"]


@pytest.mark.parametrize("protocol", range(6))
def test_plain_data_of_every_protocol(tmp_path, protocol):
    path = tmp_path / "data.pkl"
    path.write_bytes(pickle.dumps(CONTENT, protocol=protocol))
    found = load_pickle(path, "data")
    same(found)
    assert found["bytes"] == CONTENT["bytes"]


def test_a_pickle_of_older_numpy_and_python_2(tmp_path):
    path = tmp_path / "data.pkl"
    content = {"joints": np.arange(63.0).reshape(21, 3), "name": "kitchen"}
    raw = pickle.dumps(content, protocol=2).replace(b"numpy._core.multiarray", b"numpy.core.multiarray")
    # As Python 2 writes text: SHORT_BINSTRING.
    raw = raw.replace(b"X\x07\x00\x00\x00kitchen", b"U\x07kitchen")
    assert b"U\x07kitchen" in raw
    path.write_bytes(raw)
    found = load_pickle(path, "data")
    np.testing.assert_array_equal(found["joints"], content["joints"])
    assert found["name"] == "kitchen"


@pytest.mark.parametrize("protocol", [0, 2, 4])
@pytest.mark.parametrize(
    ("call", "arguments", "named"),
    [
        (os.system, ("touch {}",), "system"),
        (eval, ("open('{}', 'w')",), "eval"),
        (getattr, ("text", "upper"), "getattr"),
        (np.load, ("{}",), "load"),
        (open, ("{}", "w"), "open"),
    ],
)
def test_what_is_not_plain_data_is_named_and_never_run(tmp_path, protocol, call, arguments, named):
    path, mark = tmp_path / "data.pkl", tmp_path / "mark"
    arguments = tuple(argument.format(mark) for argument in arguments)
    path.write_bytes(pickle.dumps({"joints": [Evil(call, *arguments)]}, protocol=protocol))
    with pytest.raises(HandbenchError, match=rf"an object of \S*{named}, which is not plain data") as caught:
        load_pickle(path, "data")
    assert "\n" not in str(caught.value)
    assert not mark.exists()


def test_an_encoding_other_than_latin1_is_refused(tmp_path):
    import codecs

    path = tmp_path / "data.pkl"
    path.write_bytes(pickle.dumps(Evil(codecs.encode, "text", "rot13"), protocol=2))
    with pytest.raises(HandbenchError, match="text in the encoding 'rot13'"):
        load_pickle(path, "data")


@pytest.mark.parametrize("cut", [1, 20, -1])
def test_damaged_pickles_are_one_clear_line(tmp_path, cut):
    path = tmp_path / "data.pkl"
    path.write_bytes(pickle.dumps(CONTENT)[:cut])
    with pytest.raises(HandbenchError, match=r"data.pkl: expected frames as a plain pickle: ") as caught:
        load_pickle(path, "frames")
    assert "\n" not in str(caught.value)


def test_missing_and_empty(tmp_path):
    with pytest.raises(HandbenchError, match="missing"):
        load_pickle(tmp_path / "data.pkl", "data")
    (tmp_path / "data.pkl").write_bytes(b"")
    with pytest.raises(HandbenchError, match="empty"):
        load_pickle(tmp_path / "data.pkl", "data")
    (tmp_path / "data.pkl").write_text("no pickle at all")
    with pytest.raises(HandbenchError, match="plain pickle"):
        load_pickle(tmp_path / "data.pkl", "data")


def test_npy_of_numbers_and_of_one_object(tmp_path):
    path = tmp_path / "data.npy"
    np.save(path, CONTENT["array"])
    np.testing.assert_array_equal(load_npy(path, "data"), CONTENT["array"])
    np.save(path, CONTENT)
    same(load_npy(path, "data"))
    np.save(path, {"a": Evil(os.system, "true")})
    with pytest.raises(HandbenchError, match="not plain data"):
        load_npy(path, "data")
    path.write_bytes(b"no array")
    with pytest.raises(HandbenchError, match=r"expected data in a .npy file"):
        load_npy(path, "data")
