"""Latency, frames per second and memory of the estimators, each in a process of its own, on rendered hands.

Prints JSON lines {"name", "value", "unit"}.  Run by `make bench`.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

NAMES = ("blaze-full", "blaze-lite", "yoha")
PICTURES, ROUNDS = 8, 6


def tell(name: str, value: float, unit: str) -> None:
    """Print one figure."""
    print(json.dumps({"name": name, "value": round(value, 2), "unit": unit}), flush=True)


def peak_memory() -> float:
    """Peak memory of this process in MB; Linux's own count, since getrusage keeps a parent's peak through fork."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return float(line.split()[1]) / 1024
    return float("nan")


def one(name: str, pictures: Path) -> None:
    """Look at a few pictures again and again; CPU time, since machines are shared."""
    from handbench.runs.parts import make_estimator

    images = np.load(pictures)
    estimator = make_estimator(name)
    estimator(images[0])
    spent = []
    for _ in range(ROUNDS):
        for image in images:
            begun = time.process_time()
            estimator(image)
            spent.append(1000 * (time.process_time() - begun))
    median = statistics.median(spent)
    tell(f"{name} per image of 256 px with one hand", median, "CPU ms")
    tell(f"{name} rate", 1000 / median, "images per CPU second")
    tell(f"{name} peak memory of the process", peak_memory(), "MB")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        one(sys.argv[1], Path(sys.argv[2]))
    else:
        from handbench.synth.sample import recipe, render

        with tempfile.TemporaryDirectory() as folder:
            drawn = Path(folder) / "pictures.npy"
            np.save(drawn, [render(recipe(0, index, pose="open_palm")) for index in range(PICTURES)])
            for each in NAMES:
                subprocess.run([sys.executable, __file__, each, str(drawn)], check=True)
