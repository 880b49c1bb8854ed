"""Reading and scoring 1.6 million answers, and the cluster bootstrap, on one core.

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


def tell(name: str, value: float, unit: str) -> None:
    """Print one figure."""
    print(json.dumps({"name": name, "value": round(value, 4), "unit": unit}), flush=True)


def score(folder: Path) -> None:
    """Read and count 1.6 million answers of a model that follows the instruction."""
    import numpy as np
    import polars as pl

    from handbench import tables
    from handbench.hand.descriptors import DESCRIPTORS
    from handbench.replies.speak import answers
    from handbench.runs.asking import chunks
    from handbench.stats.counts import confusion_by_cluster
    from handbench.tasks.handvqa import reading, scoring
    from handbench.tasks.handvqa.options import HandVQAOptions
    from handbench.tasks.handvqa.questions import ask
    from questions import HANDS, make_hands

    make_hands(folder / "hands.parquet", HANDS["1.6M"])
    parts = [
        ask(chunk, HandVQAOptions())[0]
        for part in tables.iterate(folder / "hands.parquet", "hands")
        for chunk in chunks(part)
    ]
    questions = tables.conform(pl.concat(parts), "questions")
    place = questions["truth_index"].to_numpy().copy()
    place[::3] = 0
    said = tables.conform(answers(questions, pl.Series(place), "model"), "answers")
    tables.write(questions, folder / "questions.parquet", "questions")
    tables.write(said, folder / "answers.parquet", "answers")

    begun = time.process_time()
    questions = tables.read(folder / "questions.parquet", "questions", scoring.NEEDED)
    said = tables.read(folder / "answers.parquet", "answers")
    loaded = time.process_time()
    readings = reading.read(questions, said)
    cluster = questions["cluster"].rank("dense").to_numpy().astype(np.int64) - 1
    for descriptor in DESCRIPTORS:
        mine = (questions["about_descriptor"].cast(pl.String) == descriptor.name).to_numpy()
        chosen = readings["chosen_rank"].fill_null(-1).to_numpy()[mine]
        truth = questions["truth_rank"].to_numpy()[mine]
        confusion_by_cluster(cluster[mine], truth, chosen, int(cluster.max()) + 1, len(descriptor.asked_labels))
    done = time.process_time()
    tell("score answers, 1.6M, from Parquet to counts per cluster", done - begun, "CPU seconds")
    tell("score answers, 1.6M, without loading", done - loaded, "CPU seconds")


def bootstrap() -> None:
    """10,000 resamples of 48 clusters, four metrics of a four-label confusion matrix."""
    import numpy as np

    from handbench.stats.bootstrap import percentile_interval, resample
    from handbench.stats.metrics import accuracy, answer_rate, macro_f1, mae_answered, occurring

    generator = np.random.default_rng(0)
    counts = generator.multinomial(100, np.full(20, 1 / 20), size=48).astype(np.float32)
    present = occurring(counts.sum(0, dtype=np.float64).reshape(4, 5, 1))

    def metrics(sums):  # noqa: ANN001, ANN202
        confusion = sums.reshape(-1, 4, 5).transpose(1, 2, 0)
        four = [
            accuracy(confusion),
            macro_f1(confusion, present),
            mae_answered(confusion),
            answer_rate(confusion),
        ]
        return np.stack(four, axis=1)

    best = float("inf")
    for _ in range(7):
        begun = time.process_time()
        percentile_interval(resample(counts, metrics))
        best = min(best, time.process_time() - begun)
    tell("bootstrap, 10,000 resamples, 48 clusters, 4 metrics", 1000 * best, "CPU milliseconds")


def main() -> None:
    """Run in a process with one thread."""
    if os.environ.get("POLARS_MAX_THREADS") != "1":
        names = ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
        environment = {**os.environ, **dict.fromkeys(names, "1")}
        subprocess.run([sys.executable, __file__], env=environment, check=True)
        return
    bootstrap()
    with tempfile.TemporaryDirectory() as folder:
        score(Path(folder))


if __name__ == "__main__":
    main()
