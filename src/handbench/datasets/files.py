"""Files of a dataset: found, listed in a fixed order, read, and refused in one line where they are bad."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, NoReturn

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from handbench.errors import HandbenchError
from handbench.faults import Faults
from handbench.protocols import Progress, no_progress
from handbench.specs import Spec

IMAGE_SUFFIXES: Final = (".jpg", ".jpeg", ".png", ".bmp", ".webp")
"""Endings that count as an image, in lower case."""

_LEADS_OUT: Final = re.compile(r"(?:^|[/\\])\.\.(?:[/\\]|$)|^[/\\~]|^[A-Za-z]:")
_ARCHIVES: Final = (".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar")


def folder(spec: Spec) -> Path:
    """The folder that a spec such as ``ge:PATH`` names.

    Raises:
        HandbenchError: no path is given, nothing is there, or it is a file (an archive is named as one).
    """
    if not spec.name:
        raise HandbenchError(f"{spec}: expected the dataset's folder after the colon, e.g. {spec.kind}:PATH")
    path = Path(spec.name).expanduser()
    if path.is_dir():
        if not any(path.iterdir()):
            raise HandbenchError(f"{path}: the folder is empty; expected the {spec.kind} dataset in it")
        return path
    if path.is_file():
        what = "an archive; unpack it and give the folder" if path.suffix.lower() in _ARCHIVES else "a file"
        raise HandbenchError(f"{path}: expected the folder of the {spec.kind} dataset, found {what}")
    raise HandbenchError(f"{path}: expected the folder of the {spec.kind} dataset, found nothing there")


def file(spec: Spec, what: str) -> Path:
    """The file that a spec such as ``coco:FILE`` names.

    Raises:
        HandbenchError: no path is given, nothing is there, it is a folder, or it has no bytes.
    """
    if not spec.name:
        raise HandbenchError(f"{spec}: expected {what} after the colon, e.g. {spec.kind}:FILE")
    path = Path(spec.name).expanduser()
    if path.is_dir():
        raise HandbenchError(f"{path}: expected {what}, found a folder; name the file in it")
    return must_exist(path, what)


def must_exist(path: Path, what: str) -> Path:
    """The path itself, if a file that is not empty stands there.

    Raises:
        HandbenchError: the file is absent or has no bytes.
    """
    if not path.is_file():
        raise HandbenchError(f"{path}: missing; expected {what}", "missing file")
    if path.stat().st_size == 0:
        raise HandbenchError(f"{path}: the file is empty (0 bytes); expected {what}", "file of 0 bytes")
    return path


def first_of(root: Path, patterns: Iterable[str], what: str) -> Path:
    """The first file (in sorted order) that matches the earliest pattern.

    Args:
        root: folder to look in.
        patterns: glob patterns, best first.
        what: what is looked for, for the error.

    Raises:
        HandbenchError: none matches, or the file is empty.
    """
    patterns = list(patterns)
    for pattern in patterns:
        for path in sorted(root.glob(pattern)):
            return must_exist(path, what)
    raise HandbenchError(f"{root}: missing {what}; expected {' or '.join(patterns)} in this folder")


def list_images(root: Path) -> list[str]:
    """Paths of all images under a folder, relative to it, with forward slashes, sorted."""
    found = []
    for directory, folders, names in os.walk(root):
        folders.sort()
        inside = Path(directory).relative_to(root)
        found += [(inside / name).as_posix() for name in names if name.lower().endswith(IMAGE_SUFFIXES)]
    return sorted(found)


def numbered(paths: Iterable[str]) -> dict[int, str]:
    """Number in the file name → path, for files such as ``00012.jpg``; others are left out.

    Raises:
        HandbenchError: two files have one number.
    """
    found: dict[int, str] = {}
    for path in paths:
        if re.fullmatch(r"\d+", Path(path).stem):
            other = found.setdefault(int(Path(path).stem), path)
            if other != path:
                raise HandbenchError(f"{path} and {other} have one number; expected one image for each row")
    return found


def existing(root: Path, paths: Sequence[str], *, anywhere: bool = False) -> NDArray[np.bool_]:
    """Which files are there.

    Args:
        root: folder that the paths are relative to.
        paths: N paths.
        anywhere: whether a path may lead out of the folder; one that an outside file names may not, as images
            are shown to models.

    Returns:
        (N,) bool; a file without bytes is there, and refused where the hands are finished.

    Raises:
        HandbenchError: a path leads out of the folder.
    """
    there = np.zeros(len(paths), bool)
    listed: dict[str, frozenset[str]] = {}
    for row, path in enumerate(paths):
        if not anywhere and (".." in path or path[:1] in "/\\~" or path[1:2] == ":") and _LEADS_OUT.search(path):
            raise HandbenchError(f"{root}: the image path {path[:80]!r} leads out of this folder")
        folder, _, name = path.rpartition("/")
        if folder not in listed:
            listed[folder] = _names_in(os.path.join(root, folder or "/" * path.startswith("/")))
        there[row] = name in listed[folder]
    return there


def _names_in(folder: str) -> frozenset[str]:
    """Names of the files in a folder, none where there is no such folder; one look instead of one for each file."""
    try:
        with os.scandir(folder) as entries:
            return frozenset(entry.name for entry in entries if entry.is_file())
    except (OSError, ValueError):
        return frozenset()


def not_empty(root: Path, paths: Sequence[str], faults: Faults) -> NDArray[np.bool_]:
    """Which images have bytes in them.

    Args:
        root: folder that the paths are relative to.
        paths: N paths of files that are there.
        faults: what is done about an image without bytes.

    Returns:
        (N,) bool.

    Raises:
        HandbenchError: one has none and bad rows are not to be left out.
    """
    base = os.fspath(root)
    return faults.good(
        np.array([os.stat(os.path.join(base, path)).st_size > 0 for path in paths], bool),
        "image of 0 bytes",
        lambda row: f"{root / paths[row]}: the image is empty (0 bytes); copy it again or delete it",
    )


def numbers(values: Any) -> NDArray[np.float64]:
    """Outside values as float64.

    Args:
        values: an array, nested lists or a number.

    Raises:
        ValueError: they are ragged, or hold text, complex numbers, objects or numbers beyond float64.
    """
    array = np.asarray(values)
    if array.dtype.kind not in "fiub" + "O" * (array.size > 0):
        raise ValueError(f"not numbers but {array.dtype}")
    if array.dtype.kind == "O" and any(isinstance(one, str | bytes | complex) for one in array.ravel().tolist()):
        raise ValueError("not numbers but text or complex numbers")
    try:
        return array.astype(np.float64)
    except (TypeError, OverflowError) as error:
        raise ValueError(str(error)) from None


def stem(path: str) -> str:
    """A relative path without its suffix, with forward slashes."""
    return str(Path(path).with_suffix("").as_posix())


def hash_images(root: Path, paths: Sequence[str], workers: int = 1, progress: Progress = no_progress) -> dict[str, str]:
    """SHA-256 of each file's bytes, the first 32 hex digits, by path.

    Raises:
        HandbenchError: a file is missing, empty or cannot be read.
    """

    def digest(path: str) -> str:
        try:
            data = (root / path).read_bytes()
        except OSError as error:
            raise HandbenchError(f"{root / path}: cannot be read: {error.strerror}") from None
        if not data:
            raise HandbenchError(f"{root / path}: the image is empty (0 bytes); copy it again or delete it")
        return hashlib.sha256(data).hexdigest()[:32]

    digests: dict[str, str] = {}
    with ThreadPoolExecutor(max_workers=max(workers, 1)) as pool:
        for row, (path, value) in enumerate(zip(paths, pool.map(digest, paths), strict=True)):
            digests[path] = value
            if row % 256 == 0:
                progress(row, len(paths), "hashing images")
    return digests


def image_sizes(root: Path, paths: Sequence[str]) -> NDArray[np.int64]:
    """Width and height of each image, read from its header.

    Returns:
        (N, 2) pixels.

    Raises:
        HandbenchError: a file is missing, empty or no image.
    """
    return readable(root, paths, Faults())[1]


def readable(
    root: Path, paths: Sequence[str], faults: Faults, wanted: NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Which images have a header that can be read, and the sizes that it gives.

    Args:
        root: folder that the paths are relative to.
        paths: N paths; one that comes again is read once.
        faults: what is done about an image that cannot be read.
        wanted: (N,) which of them to look at, all by default.

    Returns:
        (N,) bool, and (N, 2) width and height in pixels, 0 where there is none.

    Raises:
        HandbenchError: a file is missing, empty or no image.
    """
    sizes = np.zeros((len(paths), 2), np.int64)
    known: dict[str, tuple[int, int]] = {}
    rows = [row for row in range(len(paths)) if wanted is None or wanted[row]]
    places, found = faults.each(rows, lambda row: known.get(paths[row]) or _size(root / paths[row]))
    good = np.zeros(len(paths), bool)
    for place, size in zip(places, found, strict=True):
        row = rows[place]
        good[row], sizes[row] = True, size
        known[paths[row]] = size
    return good, sizes


def _size(path: Path) -> tuple[int, int]:
    file = must_exist(path, "an image")
    try:
        with Image.open(file) as image:
            return image.size
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, ValueError, SyntaxError):
        raise HandbenchError(f"{file}: no readable image; copy it again or delete it", "unreadable image") from None


def refuse_nothing(source: str | Path, faults: Faults) -> NoReturn:
    """Say that no row is left where all were bad.

    Raises:
        HandbenchError: always.
    """
    counts, _ = faults.take()
    reasons = "; ".join(f"{reason}: {count}" for reason, count in counts.items())
    raise HandbenchError(f"{source}: nothing is left ({reasons})")


def same_sizes(root: Path, paths: Sequence[str], sizes: NDArray[np.number], looked_at: int = 16) -> None:
    """Compare the sizes that annotations give with those of a few images, evenly spread.

    Args:
        root: folder that the paths are relative to.
        paths: N relative paths.
        sizes: (N, 2) width and height by annotation.
        looked_at: how many images are opened.

    Raises:
        HandbenchError: an image has another size, as resized or cropped copies do.
    """
    rows = np.unique(np.linspace(0, len(paths) - 1, min(looked_at, len(paths))).astype(int))
    found = image_sizes(root, [paths[row] for row in rows])
    for row, (width, height) in zip(rows, found, strict=True):
        if (width, height) != tuple(sizes[row]):
            expected = " x ".join(f"{number:.0f}" for number in sizes[row])
            raise HandbenchError(
                f"{root / paths[row]}: {width} x {height} pixels, the annotations say {expected}; "
                "they are for the images as their owner ships them, not for resized or cropped copies"
            )
