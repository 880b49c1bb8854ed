"""A thousand ways to damage a dataset: whole files, records of JSON, pickles, arrays, lines of text.

Each mutation takes a folder of hard links (a file is replaced, never written through) and says what may come
of it: ``exact`` where every hand that is still read must be as it was; ``value`` where a number became another
number, which no reader can know; ``less`` where data are gone, so that fewer hands need no excuse.
"""

from __future__ import annotations

import io
import json
import math
import pickle
import random
import zipfile
from pathlib import Path

import numpy as np
from scipy.io import loadmat, savemat

IMAGES = (".jpg", ".jpeg", ".png")
TEXTS = (".txt", ".yml")
PICKLES = (".pkl", ".pickle", ".npy")
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n"
JUNK = (
    b"\x00" * 64,
    b"<!DOCTYPE html><html>404</html>",
    POINTER,
    b"[]",
    b"{}",
    b"null",
    b"\xff\xfe\x00x",
    b"PK\x03\x04",
)
STRAY = (".DS_Store", "Thumbs.db", "._00000000.jpg", "readme.txt", "copy (1).json", "zz.json", "00000001.txt", "a.pkl")


class Strange:
    """What a plain pickle never holds."""

    def __reduce__(self):
        return eval, ("1 + 1",)


def put(path: Path, raw: bytes) -> None:
    """Replace a file; the other names of what was there keep it."""
    path.unlink()
    path.write_bytes(raw)


def all_files(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*") if path.is_file())


def mutate(root: Path, draw: random.Random) -> tuple[str, str]:
    """Damage a folder in one way: what was done, and what may come of it."""
    files = all_files(root)
    notes = [path for path in files if path.suffix not in IMAGES]
    path = draw.choice(notes) if draw.random() < 0.75 else draw.choice(files)
    kind = draw.random()
    if kind < 0.45 or path.suffix in IMAGES:
        return whole_file(root, path, draw)
    if path.suffix == ".json":
        return in_json(root, path, draw)
    if path.suffix in PICKLES:
        return in_pickle(root, path, draw)
    if path.suffix in (".mat", ".npz"):
        return in_arrays(root, path, draw)
    if path.suffix in TEXTS:
        return in_text(root, path, draw)
    return whole_file(root, path, draw)


def whole_file(root: Path, path: Path, draw: random.Random) -> tuple[str, str]:
    raw = path.read_bytes()
    name = path.relative_to(root)
    how = draw.choice(
        [
            "delete",
            "truncate",
            "empty",
            "flip",
            "rename",
            "zip",
            "folder",
            "junk",
            "twice",
            "mark",
            "stray",
            "move",
            "lines",
        ]
    )
    if how == "delete":
        path.unlink()
        return f"{name} deleted", "less"
    if how == "truncate":
        put(path, raw[: draw.randrange(len(raw))])
        return f"{name} truncated", "value" if path.suffix in TEXTS else "exact"
    if how == "empty":
        put(path, b"")
        return f"{name} emptied", "exact"
    if how == "flip":
        data = bytearray(raw)
        for _ in range(draw.choice([1, 1, 3, 20])):
            data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        put(path, bytes(data))
        return f"{name} with flipped bits", "exact" if path.suffix in IMAGES else "value"
    if how == "rename":
        path.rename(path.with_name(draw.choice([path.name + ".bak", "x" + path.name, path.name.upper() + "x"])))
        return f"{name} renamed", "less"
    if how == "zip":
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr(path.name, raw)
        put(path, packed.getvalue())
        return f"{name} is a zip of itself", "exact"
    if how == "folder":
        path.unlink()
        path.mkdir()
        return f"{name} is a folder", "less"
    if how == "junk":
        put(path, draw.choice(JUNK))
        return f"{name} is something else", "less"
    if how == "twice":
        put(path, raw + raw)
        return f"{name} twice in a row", "exact" if path.suffix != ".yml" else "value"
    if how == "mark":
        put(path, b"\xef\xbb\xbf" + raw)
        return f"{name} with a byte-order mark", "exact"
    if how == "stray":
        place = draw.choice([folder for folder in root.rglob("*") if folder.is_dir()] or [root])
        target = place / draw.choice(STRAY)
        if not target.exists():
            target.write_bytes(draw.choice((b"", b"x", b"{}")))
        return f"{target.relative_to(root)} added", "exact"
    if how == "move":
        folder = path.parent
        if folder == root:
            path.rename(root / f"{path.stem}_{path.suffix}")
        else:
            folder.rename(folder.with_name(folder.name + "_old"))
        return f"{name.parent} renamed", "less"
    put(path, raw.replace(b"\n", b"\r\n"))
    return f"{name} with other ends of lines", "exact" if path.suffix in (*TEXTS, ".json") else "value"


WORDS = ("x", "", "0.5", "right", "left", "../../etc/passwd", "é", "nan")
OTHERS = (None, True, False, [], {}, [[]], {"a": 1}, [1, 2, 3], *WORDS)
NUMBERS = (-1, 0, 1e9, -0.5, 7)
BAD = (math.nan, math.inf, -math.inf, 10**400, 1e308, 2**70)


def in_json(root: Path, path: Path, draw: random.Random) -> tuple[str, str]:
    content = json.loads(path.read_text())
    parent, key, steps = _node(content, draw)
    what = f"{path.relative_to(root)}, at {steps}: "
    if parent is None:
        put(path, json.dumps(draw.choice(OTHERS)).encode())
        return what + "another value", "less"
    old = parent[key]
    how = draw.choice(["type", "type", "number", "bad", "drop", "double"])
    expected = "exact"
    if how == "drop":
        del parent[key]
        expected = "less" if isinstance(old, dict | list) else "value"
    elif how == "double" and isinstance(parent, list):
        parent.insert(key, old)
        expected = "value"
    elif how == "number":
        parent[key] = draw.choice(NUMBERS)
        expected = "value"
    elif how == "bad":
        parent[key] = draw.choice(BAD)
        expected = "value" if parent[key] in (1e308, 2**70) else "exact"
    else:
        parent[key] = draw.choice(OTHERS)
        same_kind = type(parent[key]) is type(old)
        expected = "less" if isinstance(old, dict | list) else "value" if same_kind or parent[key] == "0.5" else "exact"
        if isinstance(parent[key], bool):  # numpy's own flags are written so: 0 and 1
            expected = "less" if isinstance(old, dict | list) else "value"
        if parent[key] == [1, 2, 3] and isinstance(old, list):  # three other numbers
            expected = "value"
    put(path, json.dumps(content).encode())
    return what + f"{how} {str(old)[:30]!r} -> {_shown(parent, key)}", expected


def _shown(parent, key) -> str:
    try:
        return repr(parent[key])[:40]
    except (KeyError, IndexError):
        return "nothing"


def _node(content, draw: random.Random):
    """A place in nested lists and dicts: its holder, its key, and the way there."""
    parent, key, steps, here = None, None, [], content
    for _ in range(draw.randrange(1, 8)):
        if isinstance(here, dict) and here:
            parent, key = here, draw.choice(sorted(here))
        elif isinstance(here, list) and here:
            parent, key = here, draw.randrange(len(here))
        else:
            break
        steps.append(key)
        here = parent[key]
    return parent, key, steps


def in_pickle(root: Path, path: Path, draw: random.Random) -> tuple[str, str]:
    if path.suffix == ".npy":
        content = np.load(path, allow_pickle=True).item()
    else:
        content = pickle.loads(path.read_bytes().replace(b"numpy.core", b"numpy._core"))
    what = f"{path.relative_to(root)}: "
    how = draw.choice(["protocol", "type", "bad", "shape", "drop", "strange", "dtype", "number"])
    expected, protocol = "exact", 2
    parent, key = _array_of(content, draw)
    old = parent[key]
    if how == "protocol":
        protocol = draw.choice([0, 1, 3, 4, 5])
        what += f"protocol {protocol}"
    elif how == "strange":
        parent[key] = Strange()
    elif how == "drop":
        del parent[key]
        expected = "less"
    elif how == "type" or not isinstance(old, np.ndarray):
        parent[key] = draw.choice([None, "x", 3, [], {}, {1, 2}, [[1, 2], [3]], b"abc"])
        expected = "less"
    elif how == "bad":
        flat = "2d" in str(steps_of(content, old))  # a 2D point may be missing
        parent[key] = _with(old, draw, draw.choice([math.nan, math.inf]))
        expected = "value" if flat else "exact"
    elif how == "number":
        parent[key] = _with(old, draw, draw.choice([-1.0, 0.3, 1e9]))
        expected = "value"
    elif how == "shape":
        parent[key] = draw.choice([old[:-1], old.ravel(), old[None], old.T, np.zeros(0), np.float64(3)])
        expected = "value" if old.ndim == 2 and old.shape[0] == old.shape[1] else "less"
    else:
        kind = draw.choice([object, str, np.float16, np.complex128])
        parent[key] = old.astype(kind)
        expected = "value" if kind is np.float16 else "exact"
    if path.suffix == ".npy":
        path.unlink()
        np.save(path, content)
    else:
        put(path, pickle.dumps(content, protocol=protocol))
    return what + how, expected


def steps_of(content, array) -> list[str]:
    """Names on the way to an array."""
    found: list[str] = []

    def walk(here, way):
        if here is array:
            found.extend(way)
        if isinstance(here, dict):
            for key, value in here.items():
                walk(value, [*way, str(key)])

    walk(content, [])
    return found


def _array_of(content, draw: random.Random):
    parent, key = content, draw.choice(sorted(content, key=str))
    while isinstance(parent[key], dict) and parent[key]:
        parent = parent[key]
        key = draw.choice(sorted(parent, key=str))
    return parent, key


def _with(array, draw: random.Random, value: float):
    changed = np.array(array, np.float64)
    if changed.size:
        changed.flat[draw.randrange(changed.size)] = value
    return changed


def in_arrays(root: Path, path: Path, draw: random.Random) -> tuple[str, str]:
    if path.suffix == ".mat":
        content = {name: value for name, value in loadmat(path).items() if not name.startswith("__")}
    else:
        with np.load(io.BytesIO(path.read_bytes())) as archive:
            content = dict(archive)
    name = draw.choice(sorted(content))
    old = content[name]
    how = draw.choice(["bad", "shape", "drop", "type", "number"])
    expected = "exact"
    if how == "bad":
        content[name] = _with(old, draw, draw.choice([math.nan, math.inf]))
    elif how == "number":
        content[name] = _with(old, draw, draw.choice([-1.0, 0.3, 1e6]))
        expected = "value"
    elif how == "shape":
        content[name] = draw.choice([old[:-1], old.ravel(), old[None], np.zeros((0, 3)), old[..., :-1]])
        expected = "less"
    elif how == "drop":
        del content[name]
    else:
        content[name] = draw.choice([np.array("x"), np.array(["a", "b"]), old.astype(str), old.astype(np.float16)])
        expected = "value"
    path.unlink()
    if path.suffix == ".mat":
        savemat(path, content)
    else:
        np.savez(path, **content)
    return f"{path.relative_to(root)}: {how} of {name}", expected


def in_text(root: Path, path: Path, draw: random.Random) -> tuple[str, str]:
    lines = path.read_text().splitlines()
    row = draw.randrange(len(lines))
    words = lines[row].split(" ")
    at = draw.randrange(len(words))
    how = draw.choice(["bad", "word", "drop", "add", "tabs", "blank", "line", "again", "number", "spaces"])
    expected = "exact" if path.suffix == ".txt" else "value"
    if how == "bad":
        words[at] = draw.choice(["nan", "inf", "-inf", "1e999", "NaN"])
    elif how == "word":
        words[at] = draw.choice(["x", "0x10", "1,5", "--", "1_0", "é"])
    elif how == "number":
        words[at] = draw.choice(["-1", "0", "77"])
        expected = "value"
    elif how == "drop":
        del words[at]
        expected = "value" if len(words) < 3 else expected
    elif how == "add":
        words.insert(at, "1")
    lines[row] = ("\t" if how == "tabs" else "  " if how == "spaces" else " ").join(words)
    if how == "blank":
        lines.insert(row, "")
    elif how == "line":
        del lines[row]
        expected = "less"
    elif how == "again":
        lines.insert(row, lines[row])
    put(path, "\n".join(lines).encode())
    return f"{path.relative_to(root)}: {how} in line {row + 1}", expected
