from __future__ import annotations

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from handbench.models._images import ImagePolicy, header, load
from handbench.models._trouble import Trouble


def encoded(kind, size, mode="RGB", **how):
    buffer = io.BytesIO()
    Image.new(mode, size, 3).save(buffer, kind, **how)
    return buffer.getvalue()


@pytest.mark.parametrize("size", [(1, 1), (640, 3), (7, 900)])
@pytest.mark.parametrize(
    ("kind", "mode", "how"),
    [
        ("JPEG", "RGB", {}),
        ("JPEG", "L", {}),
        ("JPEG", "CMYK", {}),
        ("JPEG", "RGB", {"progressive": True, "comment": b"\xff\xd9 \xff\xc0 mischief"}),
        ("JPEG", "RGB", {"exif": b"Exif\0\0" + b"\xff\xc0" * 40}),
        ("PNG", "RGB", {}),
        ("PNG", "P", {}),
    ],
)
def test_header_agrees_with_pillow(kind, mode, how, size):
    data = encoded(kind, size, mode, **how)
    with Image.open(io.BytesIO(data)) as image:
        assert header(data) == (image.format, image.size)


@settings(deadline=None)
@given(st.binary(max_size=60), st.sampled_from(["JPEG", "PNG"]), st.integers(0, 400))
def test_header_of_damaged_files_never_fails(noise, kind, place):
    data = encoded(kind, (9, 5))
    place = min(place, len(data))
    found = header(data[:place] + noise + data[place + len(noise) :])
    assert found is None or (found[1][0] > 0 and found[1][1] > 0)
    assert header(noise) is None


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_every_cut_off_file_is_refused(kind, tmp_path):
    data = encoded(kind, (30, 20))
    for end in range(0, len(data) - 40, 7):  # the pixels of a PNG are whole before its last bytes
        (tmp_path / "cut").write_bytes(data[:end])
        with pytest.raises(Trouble, match="not a readable image"):
            load(tmp_path / "cut", ImagePolicy())


def test_other_kinds_go_as_they_are(tmp_path):
    (tmp_path / "a.webp").write_bytes(encoded("WEBP", (12, 8)))
    image = load(tmp_path / "a.webp", ImagePolicy())
    assert image.size == (12, 8)
    assert image.data_uri.startswith(b"data:image/webp;base64,")
