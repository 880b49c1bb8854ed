"""HandVQA at its full size: synthetic sets of 66,753 images in the three layouts, and all questions of them.

    python tools/full_size.py FOLDER [--layout files|lists]

Writes the sets under FOLDER once (about 2.5 GB), asks the questions of every set and split by the command
line, and prints wall time, CPU time, peak memory and size of each, the totals, and the shares of the
descriptors under the paper's counting rule (five of each descriptor and image, those "aligned" left out).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import polars as pl

from synthetic_sets import write_fpha, write_freihand_files, write_freihand_lists, write_interhand

IMAGES = {
    ("freihand", "paper-train"): 30_000,
    ("freihand", "paper-test"): 3_960,
    ("interhand", "paper-train"): 5_348,
    ("interhand", "paper-test"): 3_934,
    ("fpha", "paper-train"): 15_000,
    ("fpha", "paper-test"): 8_511,
}
"""Images of each set and split (HandVQA, section 7.1)."""

PAPER_SHARES = {"angle": 5.0, "distance": 5.0, "x": 4.975, "y": 4.924, "z": 4.939}
"""Questions of each descriptor per image in the paper's Table 6."""

_POSES = 32_560
_OUT = "questions"


def spread(total: int, parts: int) -> list[int]:
    """``total`` as ``parts`` nearly equal whole numbers."""
    return [total * (part + 1) // parts - total * part // parts for part in range(parts)]


def write(root: Path, layout: str) -> None:
    """Write what is not there yet."""
    for name in ("freihand-files", "freihand-lists", "interhand", "fpha"):
        place = root / name
        if (place / "done").exists() or (name.startswith("freihand") and not name.endswith(layout)):
            continue
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        begun = time.perf_counter()
        if name == "freihand-files":
            write_freihand_files(place, "training", 4 * _POSES - 30_000, 30_000)
            write_freihand_files(place, "evaluation", 0, 3_960, seed=1_000_000)
        elif name == "freihand-lists":
            write_freihand_lists(place, "training", _POSES, range(4 * _POSES - 30_000, 4 * _POSES))
            write_freihand_lists(place, "evaluation", 3_960, range(3_960), seed=1_000_000)
        elif name == "interhand":
            tested = dict(zip(range(1, 5), spread(3_934 // 2, 4), strict=True))
            trained = dict(zip(range(5, 27), spread(5_348 // 2, 22), strict=True))
            write_interhand(place, {**tested, **trained})
        else:
            actions = [f"action_{number:02d}" for number in range(45)]
            frames = iter(spread(8_511, 90))
            tested = {f"Subject_{person}/{action}/1": next(frames) for person in (5, 6) for action in actions}
            trained = {
                f"Subject_{person}/{action}/{take}": 100
                for person in range(1, 5)
                for action in actions
                for take in range(1, 5)
            }
            write_fpha(place, {**trained, **tested})
        (place / "done").touch()
        print(f"wrote {place} in {time.perf_counter() - begun:.0f} s", flush=True)


def ask(root: Path, name: str, split: str, layout: str, cache: list[str]) -> dict[str, float]:
    """Ask the questions of one set and split in a process of its own, and measure it."""
    place = f"freihand-{layout}" if name == "freihand" else name
    out = root / _OUT / f"{name}-{split}"
    shutil.rmtree(out, ignore_errors=True)
    command = [sys.executable, "-m", "handbench.cli", "ask", "handvqa", "--data", f"{name}:{root / place}"]
    command += ["--split", split, "-o", str(out), "--json", *cache]
    begun = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    said = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - begun
    if status:
        raise SystemExit(f"{' '.join(command)} failed")
    made = json.loads(said)["questions"]
    table = out / "questions.parquet"
    files = table.glob("*.parquet") if table.is_dir() else [table]
    return {
        "images": made["images"],
        "questions": made["count"],
        "wall": wall,
        "cpu": used.ru_utime + used.ru_stime,
        "peak": used.ru_maxrss / 1024,
        "megabytes": sum(file.stat().st_size for file in files) / 1e6,
    }


def shares(root: Path) -> dict[str, float]:
    """Questions per image and descriptor over all sets and splits."""
    tables = [root / _OUT / f"{name}-{split}" / "questions.parquet" for name, split in IMAGES]
    counts = pl.concat(
        pl.scan_parquet(table / "*.parquet" if table.is_dir() else table)
        .select(pl.col("about_descriptor").cast(pl.String))
        .group_by("about_descriptor")
        .len()
        .collect()
        for table in tables
    )
    total = counts.group_by("about_descriptor").agg(pl.col("len").sum())
    return {name: count / sum(IMAGES.values()) for name, count in total.iter_rows()}


def main() -> None:
    """Write, ask, print, and check the counting rule."""
    parser = argparse.ArgumentParser(description="HandVQA at its full size, on synthetic sets.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--layout", choices=("files", "lists"), default="files", help="FreiHAND's layout")
    parser.add_argument("--cache", action="store_true", help="use the cache instead of reading anew")
    given = parser.parse_args()
    write(given.folder, given.layout)
    cache = ["--cache", str(given.folder / "cache")] if given.cache else ["--no-cache"]
    total = dict.fromkeys(("images", "questions", "wall", "cpu", "megabytes"), 0.0)
    peak = 0.0
    print(f"{'set':<24}{'images':>8}{'questions':>11}{'wall s':>8}{'CPU s':>8}{'peak MB':>9}{'MB':>7}")
    for (name, split), images in IMAGES.items():
        found = ask(given.folder, name, split, given.layout, cache)
        assert found["images"] == images, f"{name} {split}: {found['images']} images, expected {images}"
        line = f"{found['images']:>8.0f}{found['questions']:>11.0f}{found['wall']:>8.1f}{found['cpu']:>8.1f}"
        print(f"{name + ' ' + split:<24}{line}{found['peak']:>9.0f}{found['megabytes']:>7.1f}", flush=True)
        peak = max(peak, found["peak"])
        for key in total:
            total[key] += found[key]
    line = f"{total['images']:>8.0f}{total['questions']:>11.0f}{total['wall']:>8.1f}{total['cpu']:>8.1f}"
    print(f"{'all':<24}{line}{peak:>9.0f}{total['megabytes']:>7.1f}")
    found = shares(given.folder)
    print("questions per image: " + ", ".join(f"{name} {found[name]:.3f}" for name in PAPER_SHARES))
    print("the paper's:         " + ", ".join(f"{name} {share:.3f}" for name, share in PAPER_SHARES.items()))
    assert found["angle"] == found["distance"] == 5, "angle and distance are asked five times of every image"
    assert all(4.5 < found[axis] <= 5 for axis in "xyz"), "offsets are asked five times unless aligned"


if __name__ == "__main__":
    main()
