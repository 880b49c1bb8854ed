"""Videos and folders of frames as streams of pictures, with what is wrong with them named and counted.

PyAV reads videos: it gives every frame's own time, its pixel format, the display rotation and each packet's error, none
of which OpenCV hands out; its wheel brings FFmpeg along and needs no system library.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from handbench.errors import HandbenchError
from handbench.runs.posing import load_image

IMAGE_SUFFIXES: Final = (".jpg", ".jpeg", ".png", ".bmp", ".webp", ".tif", ".tiff")
_STEADY: Final = 0.2
"""A step between frames that differs from the usual one by more than this share is uneven."""


@dataclass(frozen=True)
class Picture:
    """One frame.

    Attributes:
        image: its name in tables.
        video: the video's name, None for a picture by itself.
        number: of the frame, None for a picture by itself.
        seconds: its time, None where not known.
        pixels: (H, W, 3) uint8 RGB, upright; None where it was skipped.
        size: width and height, upright.
    """

    image: str
    video: str | None
    number: int | None
    seconds: float | None
    pixels: NDArray[np.uint8] | None
    size: tuple[int, int]


@dataclass
class Stream(ABC):
    """A video or a folder, ready to be read once.

    Attributes:
        name: what it is called in tables.
        path: where it is.
        total: how many frames to expect, None where nothing tells.
        problems: what was wrong, counted while it is read.
    """

    name: str
    path: Path
    total: int | None
    problems: Counter[str] = field(default_factory=Counter)

    @abstractmethod
    def pictures(self, skip: int = 0) -> Iterator[Picture]:
        """The frames in order; the first ``skip`` ones without pixels."""


class VideoFile(Stream):
    """One video file."""

    def pictures(self, skip: int = 0) -> Iterator[Picture]:
        """See :class:`Stream`."""
        times: list[float] = []
        number = -1
        with _open(self.path) as container:
            stream = container.streams.video[0]
            for frame in self._decoded(container, stream):
                number += 1
                seconds = float(frame.pts * frame.time_base) if frame.pts is not None else None
                if seconds is None:
                    self.problems["frame without a time"] += 1
                else:
                    times.append(seconds)
                pixels = self._upright(frame) if number >= skip else None
                turned = round(frame.rotation or 0) % 180 == 90
                size = (frame.height, frame.width) if turned else (frame.width, frame.height)
                yield Picture(f"{self.name}#{number:06d}", self.name, number, seconds, pixels, size)
        self._look_back(number + 1, np.array(times))

    def _decoded(self, container: Any, stream: Any) -> Iterator[Any]:
        import av

        try:
            for packet in container.demux(stream):
                try:
                    frames = packet.decode()
                except av.error.FFmpegError:
                    self.problems["packet that cannot be decoded"] += 1
                    continue
                for frame in frames:
                    if frame.is_corrupt:
                        self.problems["damaged frame (kept)"] += 1
                    yield frame
        except av.error.FFmpegError as error:
            self.problems[f"the file breaks off ({error.strerror or type(error).__name__})"] += 1

    def _upright(self, frame: Any) -> NDArray[np.uint8]:
        kind = frame.format.name
        depth = max((component.bits for component in frame.format.components), default=8)
        if depth > 8:
            self.problems[f"frame of {depth} bits (brought to 8)"] += 1
        if kind.startswith(("gray", "mono")):
            self.problems["grey frame (as RGB)"] += 1
        pixels: NDArray[np.uint8] = frame.to_ndarray(format="rgb24")
        turns = round((frame.rotation or 0) / 90) % 4  # counter-clockwise, as the file asks players to show it
        if turns:
            self.problems[f"frame turned by {90 * turns} degrees, as the file says"] += 1
            pixels = np.ascontiguousarray(np.rot90(pixels, turns))
        return pixels

    def _look_back(self, count: int, times: NDArray[np.float64]) -> None:
        if count == 0:
            self.problems["no frame can be read"] += 1
        if self.total is not None and count < self.total:
            self.problems["frame that the file announces and does not hold"] += self.total - count
        steps = np.diff(times)
        if len(steps):
            usual = float(np.median(steps))
            uneven = int((np.abs(steps - usual) > _STEADY * max(usual, 1e-9)).sum())
            if uneven:
                self.problems["step of variable frame rate (each frame keeps its own time)"] += uneven


class FrameFolder(Stream):
    """A folder of numbered frames: one video."""

    def __init__(self, name: str, path: Path, files: list[tuple[int, Path]], root: Path) -> None:
        super().__init__(name, path, len(files))
        self._files = files
        self._root = root
        numbers = [number for number, _ in files]
        missing = numbers[-1] - numbers[0] + 1 - len(numbers)
        if missing:
            self.problems["frame missing from the folder"] += missing

    def pictures(self, skip: int = 0) -> Iterator[Picture]:
        """See :class:`Stream`; unreadable images are counted and left out."""
        for place, (number, file) in enumerate(self._files):
            made = self._picture(file, place < skip)
            if made is not None:
                yield Picture(file.relative_to(self._root).as_posix(), self.name, number, None, *made)

    def _picture(self, file: Path, skipped: bool) -> tuple[NDArray[np.uint8] | None, tuple[int, int]] | None:
        try:
            pixels = load_image(file)
        except HandbenchError:
            if not skipped:
                self.problems["unreadable image"] += 1
            return None
        return (None if skipped else pixels), (pixels.shape[1], pixels.shape[0])


class LoosePictures(FrameFolder):
    """Pictures that belong to no video."""

    def __init__(self, name: str, path: Path, files: list[Path], root: Path) -> None:
        super().__init__(name, path, list(enumerate(files)), root)

    def pictures(self, skip: int = 0) -> Iterator[Picture]:
        """See :class:`Stream`."""
        for place, (_, file) in enumerate(self._files):
            made = self._picture(file, place < skip)
            if made is not None:
                yield Picture(file.relative_to(self._root).as_posix(), None, None, None, *made)


def _open(path: Path) -> Any:
    try:
        import av
    except ImportError:
        raise HandbenchError(f"{path}: reading a video needs PyAV: pip install 'handbench[video]'") from None
    try:
        container = av.open(str(path))
    except (av.error.FFmpegError, OSError) as error:
        raise HandbenchError(f"{path}: not a readable video ({error})") from None
    if not container.streams.video:
        container.close()
        raise HandbenchError(f"{path}: no picture in it, found {len(container.streams)} other streams")
    return container


def streams_of(paths: list[Path]) -> list[Stream]:
    """Videos and folders, in the order given; a folder's sub-folders of numbered frames are videos of their own.

    Raises:
        HandbenchError: a path is neither, a video cannot be opened, or two videos have one name.
    """
    found: list[Stream] = []
    for path in paths:
        found += _folder(path) if path.is_dir() else [_video(path)]
    names = Counter(stream.name for stream in found)
    twice = [name for name, count in names.items() if count > 1]
    if twice:
        raise HandbenchError(f"two inputs are called {twice[0]!r}; run them apart or rename one")
    return found


def _video(path: Path) -> VideoFile:
    if not path.is_file():
        raise HandbenchError(f"{path}: expected a video or a folder of images, found nothing there")
    if path.suffix.lower() in IMAGE_SUFFIXES:
        raise HandbenchError(f"{path}: a single image; give the folder that it is in")
    with _open(path) as container:
        stream = container.streams.video[0]
        total = int(stream.frames) or None
        if total is None and stream.duration and stream.average_rate:
            total = round(float(stream.duration * stream.time_base) * float(stream.average_rate))
    return VideoFile(path.name, path, total)


def _folder(root: Path) -> list[Stream]:
    by_folder: dict[Path, list[Path]] = {}
    for file in sorted(root.rglob("*")):
        if file.suffix.lower() in IMAGE_SUFFIXES and file.is_file():
            by_folder.setdefault(file.parent, []).append(file)
    if not by_folder:
        raise HandbenchError(f"{root}: no image in it; expected files such as .jpg or .png")
    found: list[Stream] = []
    for folder, files in by_folder.items():
        name = root.name if folder == root else f"{root.name}/{folder.relative_to(root).as_posix()}"
        numbered = _numbered(files)
        found.append(
            LoosePictures(name, folder, files, root) if numbered is None else FrameFolder(name, folder, numbered, root)
        )
    return found


def _numbered(files: list[Path]) -> list[tuple[int, Path]] | None:
    """Files by the number at the end of their names, None where that is no numbering of one sequence."""
    parts = [re.fullmatch(r"(.*?)(\d+)", file.stem) for file in files]
    if len(files) < 2 or any(part is None for part in parts):
        return None
    stems = {part[1] for part in parts if part}
    numbers = [int(part[2]) for part in parts if part]
    if len(stems) != 1 or len(set(numbers)) != len(numbers) or max(numbers) - min(numbers) > 20 * len(numbers):
        return None
    return sorted(zip(numbers, files, strict=True))
