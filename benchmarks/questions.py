"""Joints → questions with text → Parquet, on one core: rate and peak memory at 1.6 and 16 million.

Prints JSON lines {"name", "value", "unit"}.  Run by `make bench`.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HANDS = {"1.6M": 64_000, "16M": 640_000}


def tell(name: str, value: float, unit: str) -> None:
    """Print one figure."""
    print(json.dumps({"name": name, "value": round(value, 4), "unit": unit}), flush=True)


def make_hands(path: Path, count: int) -> None:
    """Write a hands table of random plausible hands, part by part."""
    import numpy as np
    import polars as pl

    from handbench import tables
    from handbench.hand.geometry import center_and_extent

    step = 20_000
    with tables.Writer(path, "hands", rows_per_part=step) as writer:
        for start in range(0, count, step):
            generator = np.random.default_rng(start)
            ids = range(start, min(start + step, count))
            heading = generator.normal([0, -1, 0], 0.7, (len(ids), 5, 4, 3))
            heading /= np.linalg.norm(heading, axis=-1, keepdims=True)
            chain = np.cumsum(heading * np.array([0.08, 0.04, 0.03, 0.02])[:, None], axis=2)
            joints = np.concatenate([np.zeros((len(ids), 1, 3)), chain.reshape(-1, 20, 3)], axis=1)
            joints[..., 2] += 0.6
            center, extent = center_and_extent(joints)
            writer.add(
                pl.DataFrame(
                    {
                        "hand_id": [f"bench/train/{number:08d}/right" for number in ids],
                        "image": [f"training/rgb/{number:08d}.jpg" for number in ids],
                        "dataset": ["bench"] * len(ids),
                        "split": ["train"] * len(ids),
                        "side": ["right"] * len(ids),
                        "cluster": [f"bench/{number % 32560}" for number in ids],
                        "joints_cam": pl.Series(joints),
                        "center": pl.Series(center),
                        "extent": pl.Series(extent),
                        "extent_source": ["joints"] * len(ids),
                    }
                )
            )


def ask_all(source: Path, out: Path) -> None:
    """Generate the questions of a hands table and print what it took."""
    from handbench import tables
    from handbench.runs.asking import chunks
    from handbench.tasks.handvqa.options import HandVQAOptions
    from handbench.tasks.handvqa.questions import ask, templates

    options = HandVQAOptions()
    templates(options)
    begun = time.process_time()
    with tables.Writer(out, "questions") as writer:
        for part in tables.iterate(source, "hands"):
            for chunk in chunks(part):
                writer.add(ask(chunk, options)[0])
    seconds = time.process_time() - begun
    size = sum(file.stat().st_size for file in tables.parts(out, "questions"))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"rows": writer.rows, "seconds": seconds, "bytes": size, "peak": peak}))


def main() -> None:
    """Measure both sizes, each in a process of its own with one thread."""
    environment = {
        **os.environ,
        "POLARS_MAX_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    with tempfile.TemporaryDirectory() as folder:
        for label, count in HANDS.items():
            hands = Path(folder) / f"hands-{count}.parquet"
            make_hands(hands, count)
            command = [sys.executable, __file__, str(hands), str(Path(folder) / f"questions-{count}.parquet")]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
            found = json.loads(done.stdout)
            tell(
                f"questions from joints, {label}",
                found["rows"] / found["seconds"],
                "questions per CPU second",
            )
            tell(f"questions from joints, {label}, peak memory", found["peak"], "MB")
            tell(f"questions from joints, {label}, size", found["bytes"] / found["rows"], "bytes per question")


if __name__ == "__main__":
    ask_all(Path(sys.argv[1]), Path(sys.argv[2])) if len(sys.argv) == 3 else main()
