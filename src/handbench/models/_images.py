"""Image files → what is sent: the bytes as they are, or made smaller by a declared rule."""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from PIL import Image, UnidentifiedImageError
from pybase64 import b64encode

from handbench.models._trouble import IMAGE, Trouble

MOST_BYTES: Final = 64 << 20
"""Larger image files are refused."""

_TYPES: Final = {"JPEG": "image/jpeg", "PNG": "image/png", "WEBP": "image/webp", "GIF": "image/gif"}
_FRAME_MARKERS: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_BARE_MARKERS: Final = frozenset(range(0xD0, 0xDB)) | {0x00, 0x01, 0xFF}


@dataclass(frozen=True)
class ImagePolicy:
    """What may happen to an image on its way.

    Attributes:
        max_side: the longer side is brought down to this many pixels (Lanczos, sent as PNG); None sends every
            file as it is.
        rule: the size that a task prescribes for an image of some size, None to leave it (Lanczos, sent as PNG).
    """

    max_side: int | None = None
    rule: Callable[[tuple[int, int]], tuple[int, int] | None] | None = None

    def wanted(self, size: tuple[int, int]) -> tuple[int, int]:
        """Width and height that an image of a size is sent with."""
        if self.rule is not None and (prescribed := self.rule(size)) is not None:
            return prescribed
        if self.max_side is None or max(size) <= self.max_side:
            return size
        scale = self.max_side / max(size)
        return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))

    def __str__(self) -> str:
        if self.rule is not None:
            return "to the size that the task prescribes, Lanczos, PNG"
        return "as they are" if self.max_side is None else f"longer side at most {self.max_side}, Lanczos, PNG"


@dataclass(frozen=True)
class SentImage:
    """An image as it is sent.

    Attributes:
        data_uri: ``data:image/jpeg;base64,...``.
        digest: sha256 of the bytes sent.
        size: width and height as sent, pixels.
        original: width and height of the file, pixels.
    """

    data_uri: bytes
    digest: bytes
    size: tuple[int, int]
    original: tuple[int, int]


def load(path: Path, policy: ImagePolicy) -> SentImage:
    """Read an image file and make ready what is sent.

    Only the header of a whole JPEG or PNG file is looked at, unless the policy gives the image another size.

    Raises:
        Trouble: the file is missing, damaged, too large, or of a kind that chat endpoints do not take.
    """
    data = _bytes(path)
    known = header(data)
    if known is not None and policy.wanted(known[1]) == known[1]:
        return _sent(data, _TYPES[known[0]], known[1], known[1])
    try:
        with Image.open(io.BytesIO(data)) as image:
            kind, size = str(image.format), image.size
            image.load()
            if policy.wanted(size) != size:
                return _resized(image, policy.wanted(size))
    except UnidentifiedImageError:
        raise Trouble(IMAGE, f"{path}: not a readable image (of no known kind)") from None
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise Trouble(IMAGE, f"{path}: not a readable image ({error})") from None
    if kind not in _TYPES:
        raise Trouble(IMAGE, f"{path}: {kind} images are not sent; convert to JPEG or PNG")
    return _sent(data, _TYPES[kind], size, size)


def _bytes(path: Path) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:
            if os.fstat(file.fileno()).st_size > MOST_BYTES:
                raise Trouble(IMAGE, f"{path}: larger than {MOST_BYTES >> 20} MB")
            return file.read()
    except FileNotFoundError:
        raise Trouble(IMAGE, f"{path}: the image is missing; was the dataset's folder moved?") from None
    except OSError as error:
        raise Trouble(IMAGE, f"{path}: cannot be read ({error.strerror})") from None


def header(data: bytes) -> tuple[str, tuple[int, int]] | None:
    """Format and size (width, height) of a JPEG or PNG file that has its end mark; None for anything else.

    Pillow tells the same and more, in ten times the time.
    """
    if data.startswith(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR") and data.rfind(b"IEND\xaeB`\x82") > 0:
        width, height = struct.unpack_from(">II", data, 16)
        return ("PNG", (width, height)) if width and height else None
    if not data.startswith(b"\xff\xd8\xff") or data.rfind(b"\xff\xd9") < 0:
        return None
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker in _FRAME_MARKERS:
            height, width = struct.unpack_from(">HH", data, at + 5)
            return ("JPEG", (width, height)) if width and height else None
        if marker in _BARE_MARKERS:
            return None
        at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return None


def _resized(image: Image.Image, size: tuple[int, int]) -> SentImage:
    colour = image.convert("RGB")
    buffer = io.BytesIO()
    colour.resize(size, Image.Resampling.LANCZOS).save(buffer, "PNG")
    return _sent(buffer.getvalue(), "image/png", size, image.size)


def _sent(data: bytes, mime: str, size: tuple[int, int], original: tuple[int, int]) -> SentImage:
    uri = b"data:" + mime.encode() + b";base64," + b64encode(data)
    return SentImage(uri, sha256(data).digest(), size, original)
