"""Take the vendored hand-pose networks out of the official releases that carry them.

Usage: ``python tools/fetch_models.py [--wheel FILE] [--tarball FILE]``. Without a local copy the wheel
comes from ``pip download`` and the tarball from ``npm pack``. Every archive and every member is checked
against its sha256 before anything is written, so a run either reproduces the committed files or fails.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from handbench.estimators._litert import MODEL_SHA256  # noqa: E402  (needs the path above)

WHEEL_SHA256 = "05dc4a9e593655a79558d05d6227d31018c2537a4bd3362b51e230cf22aecfe3"
TARBALL_SHA256 = "a90247c20904e3fc66fbcd637cc1062e7b46802f48772b1e434e3860b24ca858"

WHEEL_MODELS = {
    "palm_detection_full.tflite": "mediapipe/modules/palm_detection/palm_detection_full.tflite",
    "palm_detection_lite.tflite": "mediapipe/modules/palm_detection/palm_detection_lite.tflite",
    "hand_landmark_full.tflite": "mediapipe/modules/hand_landmark/hand_landmark_full.tflite",
    "hand_landmark_lite.tflite": "mediapipe/modules/hand_landmark/hand_landmark_lite.tflite",
}
WHEEL_LICENSE = "mediapipe-0.10.21.dist-info/LICENSE"
TARBALL_MODELS = {"yoha_landmark.tflite": "package/dist/lan/model.tflite"}
TARBALL_LICENSE = "package/LICENSE"


def require_sha256(name: str, content: bytes, expected: str) -> None:
    """Exit with one line when ``content`` is not the pinned file."""
    found = hashlib.sha256(content).hexdigest()
    if found != expected:
        sys.exit(f"{name}: sha256 is {found}, expected {expected}; nothing was written for it")


def download_wheel(folder: Path) -> Path:
    """Fetch the pinned MediaPipe wheel (35.6 MB) without its dependencies."""
    command = [sys.executable, "-m", "pip", "download", "mediapipe==0.10.21", "--no-deps", "--quiet"]
    command += ["--only-binary=:all:", "--implementation=cp", "--python-version=311", "--abi=cp311"]
    subprocess.run([*command, "--platform=manylinux_2_28_x86_64", f"--dest={folder}"], check=True)
    return next(folder.glob("mediapipe-*.whl"))


def download_tarball(folder: Path) -> Path:
    """Fetch the pinned Yoha npm tarball (61 MB)."""
    subprocess.run(["npm", "pack", "@handtracking.io/yoha@1.2.0", "--silent"], check=True, cwd=folder)
    return next(folder.glob("*.tgz"))


def read_wheel(path: Path) -> dict[Path, bytes]:
    """Return destination -> content of the four networks and the licence in the MediaPipe wheel."""
    require_sha256(path.name, path.read_bytes(), WHEEL_SHA256)
    with zipfile.ZipFile(path) as archive:
        files = {model_path(name): archive.read(member) for name, member in WHEEL_MODELS.items()}
        files[ROOT / "LICENSES" / "Apache-2.0-mediapipe.txt"] = archive.read(WHEEL_LICENSE)
    return files


def read_tarball(path: Path) -> dict[Path, bytes]:
    """Return destination -> content of the landmark network and the licence in the Yoha tarball."""
    require_sha256(path.name, path.read_bytes(), TARBALL_SHA256)
    with tarfile.open(path) as archive:
        files = {model_path(name): read_member(archive, member) for name, member in TARBALL_MODELS.items()}
        files[ROOT / "LICENSES" / "MIT-yoha.txt"] = read_member(archive, TARBALL_LICENSE)
    return files


def read_member(archive: tarfile.TarFile, name: str) -> bytes:
    """Return one regular file of a tar archive."""
    stream = archive.extractfile(name)
    if stream is None:
        sys.exit(f"{name}: not a regular file in the tarball")
    return stream.read()


def model_path(name: str) -> Path:
    """Return where a network of this name is vendored."""
    return ROOT / "src" / "handbench" / "data" / "models" / name


def main() -> None:
    """Fetch, check and write all files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--wheel", type=Path, help="a local copy of the MediaPipe 0.10.21 wheel")
    parser.add_argument("--tarball", type=Path, help="a local copy of the Yoha 1.2.0 npm tarball")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = read_wheel(options.wheel or download_wheel(Path(folder)))
        files |= read_tarball(options.tarball or download_tarball(Path(folder)))
    for path, content in files.items():
        if path.name in MODEL_SHA256:
            require_sha256(path.name, content, MODEL_SHA256[path.name])
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        print(f"{path.relative_to(ROOT)}  {len(content)} bytes")


if __name__ == "__main__":
    main()
