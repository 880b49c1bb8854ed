"""Latency, frames per second and memory of the estimators, each in a process of its own, on rendered hands.

Prints JSON lines {"name", "value", "unit"}.  Run by `make bench`.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import time

NAMES = ("blaze-full", "blaze-lite", "yoha")
PICTURES, ROUNDS = 8, 6


def tell(name: str, value: float, unit: str) -> None:
    """Print one figure."""
    print(json.dumps({"name": name, "value": round(value, 2), "unit": unit}), flush=True)


def one(name: str) -> None:
    """Look at a few pictures again and again; CPU time, since machines are shared."""
    from handbench.runs.parts import make_estimator
    from handbench.synth.sample import recipe, render

    pictures = [render(recipe(0, index, size=256, pose="open_palm")) for index in range(PICTURES)]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    estimator = make_estimator(name)
    estimator(pictures[0])
    spent = []
    for _ in range(ROUNDS):
        for picture in pictures:
            begun = time.process_time()
            estimator(picture)
            spent.append(1000 * (time.process_time() - begun))
    median = statistics.median(spent)
    tell(f"{name} per image", median, "CPU ms")
    tell(f"{name} rate", 1000 / median, "images per CPU second")
    tell(f"{name} peak memory", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "MB")
    tell(f"{name} memory over the drawing of the pictures",
         max(0.0, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 - before), "MB")  # fmt: skip


if __name__ == "__main__":
    if len(sys.argv) > 1:
        one(sys.argv[1])
    else:
        for each in NAMES:
            subprocess.run([sys.executable, __file__, each], check=True)
