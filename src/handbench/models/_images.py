"""Image files → what is sent: the bytes as they are, or made smaller by a declared rule."""

from __future__ import annotations

import io
from base64 import b64encode
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from PIL import Image, UnidentifiedImageError

from handbench.models._trouble import IMAGE, Trouble

MOST_BYTES: Final = 64 << 20
"""Larger image files are refused."""

_TYPES: Final = {"JPEG": "image/jpeg", "PNG": "image/png", "WEBP": "image/webp", "GIF": "image/gif"}
_ENDS: Final = {"JPEG": b"\xff\xd9", "PNG": b"IEND"}


@dataclass(frozen=True)
class ImagePolicy:
    """What may happen to an image on its way.

    Attributes:
        max_side: the longer side is brought down to this many pixels (Lanczos, sent as PNG); None sends every
            file as it is.
    """

    max_side: int | None = None

    def __str__(self) -> str:
        return "as it is" if self.max_side is None else f"longer side at most {self.max_side}, Lanczos, PNG"


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

    Only the header is decoded, unless the policy makes the image smaller or the file's end is missing.

    Raises:
        Trouble: the file is missing, damaged, too large, or of a kind that chat endpoints do not take.
    """
    data = _bytes(path)
    try:
        with Image.open(io.BytesIO(data)) as image:
            kind, size = str(image.format), image.size
            if kind in _ENDS and _ENDS[kind] not in data:
                image.load()
            if policy.max_side is not None and max(size) > policy.max_side:
                return _smaller(image, policy.max_side)
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise Trouble(IMAGE, f"{path}: not a readable image ({error})") from None
    if kind not in _TYPES:
        raise Trouble(IMAGE, f"{path}: {kind} images are not sent; convert to JPEG or PNG")
    return _sent(data, _TYPES[kind], size, size)


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb", buffering=0) as file:
            data = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise Trouble(IMAGE, f"{path}: the image is missing; was the dataset's folder moved?") from None
    except OSError as error:
        raise Trouble(IMAGE, f"{path}: cannot be read ({error.strerror})") from None
    if len(data) > MOST_BYTES:
        raise Trouble(IMAGE, f"{path}: larger than {MOST_BYTES >> 20} MB")
    return data


def _smaller(image: Image.Image, max_side: int) -> SentImage:
    scale = max_side / max(image.size)
    width, height = (max(1, round(side * scale)) for side in image.size)
    colour = image.convert("RGB")
    buffer = io.BytesIO()
    colour.resize((width, height), Image.Resampling.LANCZOS).save(buffer, "PNG")
    return _sent(buffer.getvalue(), "image/png", (width, height), image.size)


def _sent(data: bytes, mime: str, size: tuple[int, int], original: tuple[int, int]) -> SentImage:
    uri = b"data:" + mime.encode() + b";base64," + b64encode(data)
    return SentImage(uri, sha256(data).digest(), size, original)
