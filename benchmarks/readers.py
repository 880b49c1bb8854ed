"""Datasets → hands on one core: FreiHAND's JSON file for each image, and FPHA's sequences.

Prints JSON lines {"name", "value", "unit"}.  Run by `make bench`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

IMAGES = 3_000
SEQUENCES, FRAMES = 60, 500


def read(spec: str, split: str) -> None:
    """Read a set twice, files being in memory the second time, and print what that took."""
    from handbench.protocols import ReadContext
    from handbench.runs.parts import load_source

    for _ in range(2):
        cpu, wall = time.process_time(), time.perf_counter()
        rows = load_source(spec, ReadContext(split=split, workers=1)).hands.height
        taken = time.process_time() - cpu, time.perf_counter() - wall
    print(json.dumps({"rows": rows, "cpu": taken[0], "wall": taken[1]}))


def main() -> None:
    """Write both sets and read each in a process of its own with one thread."""
    from synthetic_sets import write_fpha, write_freihand_files

    threads = ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    environment = {**os.environ, **dict.fromkeys(threads, "1")}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_freihand_files(root / "freihand", "evaluation", 0, IMAGES)
        write_fpha(root / "fpha", {f"Subject_5/action_{number:02d}/1": FRAMES for number in range(SEQUENCES)})
        for name, spec, split, unit in (
            ("FreiHAND, a JSON file for each image", f"freihand:{root}/freihand", "evaluation", "images"),
            ("FPHA, with images looked for and hashed", f"fpha:{root}/fpha", "paper-test", "frames"),
            ("FPHA, annotations alone", f"fpha:{root}/fpha?hash=no", "paper-test", "frames"),
        ):
            command = [sys.executable, __file__, spec, split]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
            found = json.loads(done.stdout)
            value = round(found["rows"] / found["cpu"], 1)
            print(json.dumps({"name": f"read {name}", "value": value, "unit": f"{unit} per CPU second"}), flush=True)


if __name__ == "__main__":
    read(*sys.argv[1:]) if len(sys.argv) == 3 else main()
